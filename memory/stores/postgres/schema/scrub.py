"""Rewrite a database's files: a deleted row stays in them until its table is written anew."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection, sql
from psycopg.errors import Diagnostic
from psycopg.rows import DictRow, dict_row

from muniment.memory.domain.erasure import ScrubResult
from muniment.memory.errors import Busy, Denied
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.keepalive import require_direct
from muniment.memory.stores.postgres.connection.locks import build_busy_error
from muniment.memory.stores.postgres.connection.pool import Connection, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SCRUB = load_blocks("scrub")
_WAITS, _WAIT_SECONDS = 20, 0.5
_SEGMENTS = 100  # log segments that are written over, at most: 16 MB each
_ROUNDS = 5  # each begins a new segment; when a slot or an archive keeps the log, no number is enough
_LOCK = 0x7363727562  # the advisory lock of the one scrub of a database: "scrub"
_CONNECT_SECONDS = 10
_NUMBER = re.compile(r"\d+")

OnProgress = Callable[[int], None]


async def scrub_database(dsn: str, on_progress: OnProgress | None = None) -> ScrubResult:
    """Rewrite the tables of the memory, its jobs and the checkpoints in one database; calls `on_progress` for each.

    Raises Denied for a role that does not own the tables, Busy while another process scrubs, an older transaction may
    still see removed rows, or a table stays locked."""
    async with _connect_as_owner(dsn) as conn:
        permissions = require_row(await (await conn.execute(_SCRUB["permissions"])).fetchone())
        if not permissions["tables"]:
            raise Denied("only the role that owns the tables may write them anew: scrub with the role that migrates")
        if not require_row(await (await conn.execute(_SCRUB["try_lock"], (_LOCK,))).fetchone())["yes"]:
            raise await build_busy_error(
                conn, _LOCK, "another process is writing the database's files anew", "wait until it is done"
            )
        if permissions["all"]:
            await reset_settings(conn)
        await _wait_for_watchers(conn)
        tables = [
            sql.Identifier(row["schema"], row["name"])
            for row in await (await conn.execute(_SCRUB["tables"])).fetchall()
        ]
        if permissions["all"]:  # the planner's statistics have the most common values of each column
            await _execute_blocks(conn, "forget_statistics")
            tables.append(sql.Identifier("pg_catalog", "pg_statistic"))
        held = 0
        for name in tables:
            held += await _rewrite_table(conn, name)
            if on_progress is not None:
                on_progress(1)
        log = permissions["all"] and await _renew_log(conn)
        return ScrubResult(tables=len(tables) - permissions["all"], statistics=permissions["all"], log=log, held=held)


async def is_same_database(dsn: str, other: str) -> bool:
    """Whether two addresses are of one database."""
    identities = []
    for address in (dsn, other):
        with translate_errors("the database of the checkpoints"):
            async with await AsyncConnection.connect(address, autocommit=True) as conn:
                identities.append(await (await conn.execute(_SCRUB["identity"])).fetchone())
    return identities[0] == identities[1]


async def restore_settings(dsn: str) -> None:
    """Undo what a killed scrub of one database has left in the server's settings."""
    with translate_errors("the database of the checkpoints"):
        async with await AsyncConnection.connect(dsn, autocommit=True, connect_timeout=_CONNECT_SECONDS) as conn:
            await reset_settings(conn)


async def reset_settings(conn: AsyncConnection[Any]) -> None:
    """Undo what a killed scrub has left in the server's settings; does nothing for a role that may not."""
    if (
        await (await conn.execute(_SCRUB["is_recycling_stopped"])).fetchone()
        and await (await conn.execute(_SCRUB["is_own_setting"])).fetchone()
    ):
        await _execute_blocks(conn, "restore_recycling", "reload")


@asynccontextmanager
async def _connect_as_owner(dsn: str) -> AsyncIterator[Connection]:
    """A connection in the role that made the schema, outside any transaction."""
    with translate_errors("writing the tables anew"):
        async with await Connection.connect(dsn, autocommit=True, row_factory=dict_row) as conn:
            await require_direct(conn, "writing tables anew")
            await _execute_blocks(conn, "set_lock_timeout", "set_name")
            yield conn


async def _wait_for_watchers(conn: Connection) -> None:
    """Wait until no transaction sees removed rows: until then they would be rewritten, too. Raises Busy."""
    now = require_row(await (await conn.execute(_SCRUB["now"])).fetchone())
    for _ in range(_WAITS):
        watchers = require_row(await (await conn.execute(_SCRUB["watched"], now)).fetchone())
        if not any(watchers.values()):
            return
        await asyncio.sleep(_WAIT_SECONDS)
    raise Busy(
        f"{', '.join(_WATCHERS[name] for name, count in watchers.items() if count)} still sees what was erased: "
        "scrub again when that has ended",
        **watchers,
    )


_WATCHERS = {
    "transactions": "a transaction that began earlier",
    "prepared": "a prepared transaction (pg_prepared_xacts)",
    "slots": "a replication slot (pg_replication_slots)",
}


async def _rewrite_table(conn: AsyncConnection[DictRow], name: sql.Identifier) -> int:
    """Rewrite a table; return how many dead rows had to stay, which Postgres reports as a notice."""
    details: list[str] = []

    def collect(notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "INFO" and notice.message_detail:
            details.append(notice.message_detail)

    conn.add_notice_handler(collect)
    try:
        await conn.execute(sql.SQL("vacuum (full, analyze, verbose) {}").format(name))
    finally:
        conn.remove_notice_handler(collect)
    # "0 dead row versions cannot be removed yet.", in the language of the server
    return int(number.group()) if details and (number := _NUMBER.search(details[0])) else 0


async def _renew_log(conn: Connection) -> bool:
    """Remove or overwrite the log segments of before; return whether none is left."""
    before = require_row(await (await conn.execute(_SCRUB["segment"])).fetchone())
    ours = not await _has_rows(conn, "is_set")
    if ours:
        await _execute_blocks(conn, "stop_recycling", "reload")
    clean = 0
    try:
        for _ in range(_ROUNDS):
            await _switch_segment(conn)
            await _execute_blocks(conn, "write_checkpoint")
            left = await _has_rows(conn, "behind", before) or await _has_rows(conn, "ahead")
            # Twice: until a server process has read the new settings, it may rename an old segment for reuse.
            clean = 0 if left else clean + 1
            if clean > 1:
                return True
            if left:
                await asyncio.sleep(_WAIT_SECONDS)
        return False
    finally:
        if ours:
            await _execute_blocks(conn, "restore_recycling", "reload")


async def _switch_segment(conn: Connection) -> None:
    """Write over the segments that wait for reuse, and go on in a new one."""
    for _ in range(_SEGMENTS):
        ahead = await _has_rows(conn, "ahead")
        await _execute_blocks(conn, "next_segment")
        if not ahead:
            return


async def _has_rows(conn: Connection, name: str, params: dict[str, Any] | None = None) -> bool:
    return bool(require_row(await (await conn.execute(_SCRUB[name], params)).fetchone())["some"])


async def _execute_blocks(conn: AsyncConnection[Any], *names: str) -> None:
    for name in names:
        await conn.execute(_SCRUB[name])
