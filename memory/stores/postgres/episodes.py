"""What has happened in a thread that no episode tells of yet, in Postgres."""

from __future__ import annotations

from datetime import datetime

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import EpisodeSource
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_EPISODES, _READ = load_blocks("episodes"), load_blocks("read")


class PostgresEpisodes(PostgresConnections):
    """Turns and episodes as the capture of the next episode needs them."""

    async def read_thread_events(
        self, scope: Scope, *, tag: str, category: str, since: datetime, limit: int
    ) -> EpisodeSource:
        """See `Store.happened`."""
        named = {"space": scope.space, "thread": scope.thread, "tag": tag, "category": category, "since": since}
        async with self._read_transaction(scope, None) as conn:
            rev = await conn.execute(_READ["rev"], named)
            known = await conn.execute(_EPISODES["recent"], named)
            untold = await conn.execute(_EPISODES["untold"], named | {"limit": limit})
            return EpisodeSource(
                rev=Revision(require_row(await rev.fetchone())["rev"]),
                episodes=tuple(map(rows.parse_memory, await known.fetchall())),
                turns=tuple(rows.parse_turn(row) for row in reversed(await untold.fetchall())),
            )
