"""The database's files without what was removed: a deleted row stays in them until its table is written anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row

from muniment.memory.errors import Conflict, Denied
from muniment.memory.stores.pool import Connection, Sessions, one
from muniment.memory.stores.sql import blocks
from muniment.memory.stores.translate import translated
from muniment.memory.upkeep import Scrubbed

_SCRUB = blocks("scrubbing")
_WAITS, _WAIT_SECONDS = 20, 0.5
_SEGMENTS = 100  # of the log that are passed over, at most: 16 MB each


class Scrubs(Sessions):
    """See `Erasing.scrub`."""

    async def scrub(self) -> Scrubbed:
        """See `Erasing.scrub`. What was interrupted is done again."""
        async with self._owning() as conn:
            may = one(await (await conn.execute(_SCRUB["may"])).fetchone())
            if not may["tables"]:
                raise Denied(
                    "only the role that owns the tables may write them anew: scrub with the role that migrates"
                )
            await _unwatched(conn)
            tables = await (await conn.execute(_SCRUB["tables"])).fetchall()
            for row in tables:
                name = sql.Identifier(row["schema"], row["name"])
                await conn.execute(sql.SQL("vacuum (full, analyze) {}").format(name))
            if not may["all"]:
                return Scrubbed(tables=len(tables), statistics=False, log=False)
            # The commonest values of each column are kept for the planner, as they are.
            await conn.execute("vacuum full pg_catalog.pg_statistic")
            return Scrubbed(tables=len(tables), statistics=True, log=await _renewed(conn))

    @asynccontextmanager
    async def _owning(self) -> AsyncIterator[Connection]:
        """A connection in the role that made the schema, outside any transaction."""
        await self._ready()
        with translated("writing the tables anew"):
            async with await AsyncConnection[DictRow].connect(
                await self._address(), autocommit=True, row_factory=dict_row
            ) as conn:
                await conn.execute(_SCRUB["patience"])
                yield conn


async def _unwatched(conn: Connection) -> None:
    """Wait until nobody sees what is gone any more: until then it would be written anew, too."""
    now = one(await (await conn.execute(_SCRUB["now"])).fetchone())
    for _ in range(_WAITS):
        if not one(await (await conn.execute(_SCRUB["watched"], now)).fetchone())["others"]:
            return
        await asyncio.sleep(_WAIT_SECONDS)
    raise Conflict("a transaction that began earlier still sees what was erased: scrub again when it has ended")


async def _renewed(conn: Connection) -> bool:
    """Whether the log has no segment of before: they are removed, and those that wait for their use are written over."""
    before = one(await (await conn.execute(_SCRUB["segment"])).fetchone())
    ours = not one(await (await conn.execute(_SCRUB["set"])).fetchone())["yes"]
    if ours:
        await _execute(conn, "keep_none", "reload")
    try:
        for _ in range(_SEGMENTS):
            await _execute(conn, "next_segment")
            if not one(await (await conn.execute(_SCRUB["ahead"])).fetchone())["some"]:
                break
        await _execute(conn, "point", "next_segment", "point")
    finally:
        if ours:
            await _execute(conn, "keep_again", "reload")
    return not one(await (await conn.execute(_SCRUB["behind"], before)).fetchone())["some"]


async def _execute(conn: Connection, *names: str) -> None:
    for name in names:
        await conn.execute(_SCRUB[name])
