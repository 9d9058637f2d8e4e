"""What consolidation runs have judged, in Postgres, for the console."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from muniment.memory.domain.console.nights import JudgedPair, PairMemory, PairPage
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.ports.console.nights import NightReads
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_nights")
_PLACES: Mapping[str, int] = {"same": 0, "supersedes": 1, "unanswered": 2, "different": 3}
_MAX_SCORE = 1_000
_PARTS = 4


class PostgresNightReads(NightReads):
    """The `NightReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_pairs(self, scope: Scope, run: RunId, after: str | None, limit: int) -> PairPage:
        params = {"space": scope.space, "run_id": run, "limit": limit + 1, **_parse_place(after)}
        async with self._connections.reading(scope) as conn:
            rows = await (await conn.execute(_SQL["pairs"], params)).fetchall()
        pairs = tuple(_parse_pair(row) for row in rows[:limit])
        return PairPage(pairs=pairs, next=_name_place(pairs[-1]) if len(rows) > limit else None)


def _name_place(pair: JudgedPair) -> str:
    return f"{_PLACES[pair.judgement]}.{pair.score}.{pair.low}.{pair.high}"


def _parse_place(after: str | None) -> dict[str, Any]:
    """Return what a page begins behind. Raises BadInput."""
    if after is None:
        return dict.fromkeys(("place", "score", "low", "high"))
    try:
        place, score, low, high = after.split(".", _PARTS - 1)
        found = {"place": int(place), "score": int(score), "low": UUID(low), "high": UUID(high)}
    except ValueError:
        raise BadInput("after: is no place in the list of pairs") from None
    if found["place"] not in _PLACES.values() or abs(int(score)) > _MAX_SCORE:
        raise BadInput("after: is no place in the list of pairs")
    return found


def _parse_pair(row: DictRow) -> JudgedPair:
    return JudgedPair(
        **{name: row[name] for name in ("low", "high", "score", "judgement", "source", "pair_class")},
        first=_parse_side(row, "first", row["low"]),
        second=_parse_side(row, "second", row["high"]),
    )


def _parse_side(row: DictRow, side: str, id_: MemoryId) -> PairMemory | None:
    if row[f"{side}_state"] is None:
        return None
    return PairMemory(id=id_, text=row[f"{side}_text"], state=row[f"{side}_state"], category=row[f"{side}_category"])
