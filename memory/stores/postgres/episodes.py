"""What has happened in a thread that no episode tells of yet, in Postgres."""

from __future__ import annotations

from datetime import datetime

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Happened
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Sessions, one
from muniment.memory.stores.postgres.sql import blocks

_EPISODES, _READ = blocks("episodes"), blocks("read")


class Episodes(Sessions):
    """Turns and episodes as the capture of the next episode needs them."""

    async def happened(self, scope: Scope, *, tag: str, category: str, since: datetime, limit: int) -> Happened:
        """See `Store.happened`."""
        named = {"space": scope.space, "thread": scope.thread, "tag": tag, "category": category, "since": since}
        async with self._reading(scope, None) as conn:
            rev = await conn.execute(_READ["rev"], named)
            known = await conn.execute(_EPISODES["recent"], named)
            untold = await conn.execute(_EPISODES["untold"], named | {"limit": limit})
            return Happened(
                rev=Revision(one(await rev.fetchone())["rev"]),
                episodes=tuple(map(rows.memory, await known.fetchall())),
                turns=tuple(rows.spoken(row) for row in reversed(await untold.fetchall())),
            )
