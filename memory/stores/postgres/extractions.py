"""What was made of each turn, in Postgres: who looked at it, and the turns around it."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Latest, Passage, Turn
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Sessions, one
from muniment.memory.stores.postgres.sql import blocks

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
            past = [rows.spoken(found) for found in reversed(await earlier.fetchall())]
            next_ = [rows.spoken(found) for found in await later.fetchall()]
        return Passage(turns=(*past, rows.spoken(row), *next_), at=len(past), looked=frozenset(row["looked"]))

    async def latest(self, scope: Scope, *, turns: int) -> Latest:
        """See `Store.latest`."""
        space = {"space": scope.space}
        async with self._reading(scope, None) as conn:
            last = await conn.execute(_EXTRACT["latest_turns"], space | {"limit": turns})
            looked = await conn.execute(_EXTRACT["looked"], space)
            found = tuple(rows.spoken(row) for row in reversed(await last.fetchall()))
            return Latest(turns=found, reflected=one(await looked.fetchone())["at"])

    async def worked(self, scope: Scope, *, limit: int) -> list[Turn]:
        """See `Learning.worked`."""
        asked = {"space": scope.space, "thread": scope.thread, "limit": limit}
        async with self._reading(scope, None) as conn:
            found = await (await conn.execute(_EXTRACT["worked"], asked)).fetchall()
        return [rows.spoken(row) for row in reversed(found)]

    async def present(self, scope: Scope, turns: Sequence[TurnId]) -> frozenset[TurnId]:
        """See `Learning.present`."""
        asked = {"space": scope.space, "turns": list(turns)}
        async with self._reading(scope, None) as conn:
            found = await (await conn.execute(_EXTRACT["present"], asked)).fetchall()
        return frozenset(row["turn_id"] for row in found)
