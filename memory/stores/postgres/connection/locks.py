"""Who holds a lock of the whole database, for those who may not have it."""

from __future__ import annotations

from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from muniment.memory.errors import Busy
from muniment.memory.stores.postgres.sql import load_blocks

_LOCKS, _ROLES = load_blocks("locks"), load_blocks("roles")


async def build_busy_error(conn: AsyncConnection[Any], name: LiteralString | int, doing: str, advice: str) -> Busy:
    """The error of whoever finds the lock held: what the other process is `doing`, since when, and the way on. The connection is
    in the role that logs in from then on, until its transaction ends: another role's doings are not shown."""
    cursor = conn.cursor(row_factory=dict_row)
    key = name if isinstance(name, int) else None
    await cursor.execute(_ROLES["own"])
    found = await (await cursor.execute(_LOCKS["holder"], {"key": key, "name": name})).fetchone()
    return Busy.from_process(doing, advice, **(found or {}))
