"""What was made of each turn, in Postgres: who looked at it, and the turns around it."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Passage, RecentConversation, Turn
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_EXTRACT = load_blocks("extract")


class PostgresExtractions(PostgresConnections):
    """Turns as the extraction reads them."""

    async def get_passage(self, scope: Scope, turn: TurnId, *, before: int, after: int) -> Passage | None:
        """See `Store.passage`."""
        named = {"space": scope.space, "turn": turn}
        async with self._read_transaction(scope, None) as conn:
            row = await (await conn.execute(_EXTRACT["here"], named)).fetchone()
            if row is None:
                return None
            named |= {"thread": row["thread_id"], "at": row["at"]}
            earlier = await conn.execute(_EXTRACT["before"], named | {"limit": before})
            later = await conn.execute(_EXTRACT["after"], named | {"limit": after})
            past = [rows.parse_turn(found) for found in reversed(await earlier.fetchall())]
            next_ = [rows.parse_turn(found) for found in await later.fetchall()]
        return Passage(turns=(*past, rows.parse_turn(row), *next_), at=len(past), extracted_by=frozenset(row["looked"]))

    async def read_latest_turns(self, scope: Scope, *, turns: int) -> RecentConversation:
        """See `Store.latest`."""
        space = {"space": scope.space}
        async with self._read_transaction(scope, None) as conn:
            last = await conn.execute(_EXTRACT["latest_turns"], space | {"limit": turns})
            looked = await conn.execute(_EXTRACT["looked"], space)
            found = tuple(rows.parse_turn(row) for row in reversed(await last.fetchall()))
            return RecentConversation(turns=found, insights_at=require_row(await looked.fetchone())["at"])

    async def list_work_turns(self, scope: Scope, *, limit: int) -> list[Turn]:
        """See `Learning.worked`."""
        asked = {"space": scope.space, "thread": scope.thread, "limit": limit}
        async with self._read_transaction(scope, None) as conn:
            found = await (await conn.execute(_EXTRACT["worked"], asked)).fetchall()
        return [rows.parse_turn(row) for row in reversed(found)]

    async def find_existing_turns(self, scope: Scope, turns: Sequence[TurnId]) -> frozenset[TurnId]:
        """See `Learning.present`."""
        asked = {"space": scope.space, "turns": list(turns)}
        async with self._read_transaction(scope, None) as conn:
            found = await (await conn.execute(_EXTRACT["present"], asked)).fetchall()
        return frozenset(row["turn_id"] for row in found)
