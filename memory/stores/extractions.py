"""What was made of each turn, in Postgres: who looked at it, and the turns around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.memory.ports import Latest, Passage
from muniment.memory.records import Scope, Turn, TurnId
from muniment.memory.stores.pool import Sessions, one
from muniment.memory.stores.sql import blocks

_EXTRACT = blocks("extract")


class Extractions(Sessions):
    """Turns as the extraction reads them."""

    async def passage(self, scope: Scope, turn: TurnId, *, before: int, after: int) -> Passage | None:
        """See `Store.passage`."""
        named = {"space": scope.space, "turn": turn}
        async with self._reading(scope, None) as conn:
            row = await (await conn.execute(_EXTRACT["here"], named)).fetchone()
            if row is None:
                return None
            named |= {"thread": row["thread_id"], "at": row["at"]}
            earlier = await conn.execute(_EXTRACT["before"], named | {"limit": before})
            later = await conn.execute(_EXTRACT["after"], named | {"limit": after})
            past = [spoken(found) for found in reversed(await earlier.fetchall())]
            next_ = [spoken(found) for found in await later.fetchall()]
        return Passage(turns=(*past, spoken(row), *next_), at=len(past), looked=frozenset(row["looked"]))

    async def latest(self, scope: Scope, *, turns: int) -> Latest:
        """See `Store.latest`."""
        space = {"space": scope.space}
        async with self._reading(scope, None) as conn:
            last = await conn.execute(_EXTRACT["latest_turns"], space | {"limit": turns})
            looked = await conn.execute(_EXTRACT["looked"], space)
            found = tuple(spoken(row) for row in reversed(await last.fetchall()))
            return Latest(turns=found, reflected=one(await looked.fetchone())["at"])


def spoken(row: Mapping[str, Any]) -> Turn:
    """A row of the `turn` block as a Turn."""
    return Turn(
        id=TurnId(row["turn_id"]),
        role=row["role"],
        text=row["text"],
        at=row["at"],
        session=row["session_id"],
        thread=row["thread_id"],
        actor=row["actor"],
        source=row["source"],
        path=row["path"],
        tags=tuple(row["tags"]),
        recalled=tuple(row["recalled"]),
    )
