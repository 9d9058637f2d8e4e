"""The process that holds a lock of the whole database."""

from __future__ import annotations

from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from muniment.memory.errors import Busy
from muniment.memory.stores.postgres.sql import load_blocks

_LOCKS, _ROLES = load_blocks("locks"), load_blocks("roles")


async def build_busy_error(conn: AsyncConnection[Any], name: LiteralString | int, doing: str, advice: str) -> Busy:
    """Return the error for a lock that another process holds: what it is `doing`, since when, and what to do.

    Until its transaction ends the connection is in the role that has logged in: others do not see the holder."""
    cursor = conn.cursor(row_factory=dict_row)
    key = name if isinstance(name, int) else None
    await cursor.execute(_ROLES["own"])
    holder = await (await cursor.execute(_LOCKS["holder"], {"key": key, "name": name})).fetchone()
    return Busy.from_process(doing, advice, **(holder or {}))
