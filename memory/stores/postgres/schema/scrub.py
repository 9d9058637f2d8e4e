"""The database's files without what was removed: a deleted row stays in them until its table is written anew."""

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
_SEGMENTS = 100  # of the log that are passed over, at most: 16 MB each
_ROUNDS = 5  # each begins a new segment; where a slot or an archive keeps the log, no number would do
_LOCK = 0x7363727562  # the advisory lock of the one scrub of a database: "scrub"
_CONNECT_SECONDS = 10
_NUMBER = re.compile(r"\d+")

OnProgress = Callable[[int], None]


async def scrub_database(dsn: str, on_progress: OnProgress | None = None) -> ScrubResult:
    """Rewrite one database: what of the memory, its jobs and the checkpoints is in it. `told` hears of each table.

    Raises Denied for a role that does not own the tables, Busy while another process scrubs, an older transaction still sees
    what is gone, or a table is not let go."""
    async with _connect_as_owner(dsn) as conn:
        may = require_row(await (await conn.execute(_SCRUB["permissions"])).fetchone())
        if not may["tables"]:
            raise Denied("only the role that owns the tables may write them anew: scrub with the role that migrates")
        if not require_row(await (await conn.execute(_SCRUB["try_lock"], (_LOCK,))).fetchone())["yes"]:
            raise await build_busy_error(
                conn, _LOCK, "another process is writing the database's files anew", "wait until it is done"
            )
        if may["all"]:
            await reset_settings(conn)
        await _wait_for_watchers(conn)
        tables = [sql.Identifier(row["schema"], row["name"]) for row in
                  await (await conn.execute(_SCRUB["tables"])).fetchall()]  # fmt: skip
        if may["all"]:  # the commonest values of each column are kept for the planner, as they are
            await _execute_blocks(conn, "forget_statistics")
            tables.append(sql.Identifier("pg_catalog", "pg_statistic"))
        held = 0
        for name in tables:
            held += await _rewrite_table(conn, name)
            if on_progress is not None:
                on_progress(1)
        log = may["all"] and await _renew_log(conn)
        return ScrubResult(tables=len(tables) - may["all"], statistics=may["all"], log=log, held=held)


async def is_same_database(dsn: str, other: str) -> bool:
    """Whether two addresses are of one database."""
    found = []
    for address in (dsn, other):
        with translate_errors("the database of the checkpoints"):
            async with await AsyncConnection.connect(address, autocommit=True) as conn:
                found.append(await (await conn.execute(_SCRUB["identity"])).fetchone())
    return found[0] == found[1]


async def restore_settings(dsn: str) -> None:
    """As `put_back`, of one database."""
    with translate_errors("the database of the checkpoints"):
        async with await AsyncConnection.connect(dsn, autocommit=True, connect_timeout=_CONNECT_SECONDS) as conn:
            await reset_settings(conn)


async def reset_settings(conn: AsyncConnection[Any]) -> None:
    """Undo what a scrub that was killed has left behind in the server's settings. Does nothing for who may not."""
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
    """Wait until nobody sees what is gone any more: until then it would be written anew, too."""
    now = require_row(await (await conn.execute(_SCRUB["now"])).fetchone())
    for _ in range(_WAITS):
        found = require_row(await (await conn.execute(_SCRUB["watched"], now)).fetchone())
        if not any(found.values()):
            return
        await asyncio.sleep(_WAIT_SECONDS)
    raise Busy(
        f"{', '.join(_WATCHERS[name] for name, count in found.items() if count)} still sees what was erased: scrub again "
        "when that has ended",
        **found,
    )


_WATCHERS = {
    "transactions": "a transaction that began earlier",
    "prepared": "a prepared transaction (pg_prepared_xacts)",
    "slots": "a replication slot (pg_replication_slots)",
}


async def _rewrite_table(conn: AsyncConnection[DictRow], name: sql.Identifier) -> int:
    """Write a table anew; how many of its dead rows had to be taken along. Postgres says it by the way, to any role."""
    said: list[str] = []

    def hear(notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "INFO" and notice.message_detail:
            said.append(notice.message_detail)

    conn.add_notice_handler(hear)
    try:
        await conn.execute(sql.SQL("vacuum (full, analyze, verbose) {}").format(name))
    finally:
        conn.remove_notice_handler(hear)
    # "0 dead row versions cannot be removed yet.", in whatever language
    return int(number.group()) if said and (number := _NUMBER.search(said[0])) else 0


async def _renew_log(conn: Connection) -> bool:
    """Whether the log has no segment of before: they are removed, and those that wait for their use are written over."""
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
            # Twice: the server's processes read their settings when they come to it, and until then a segment of before
            # may have been renamed to the one that is written now.
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
    """Write over the segments that wait to be used again, and go on in one that never was."""
    for _ in range(_SEGMENTS):
        ahead = await _has_rows(conn, "ahead")
        await _execute_blocks(conn, "next_segment")
        if not ahead:
            return


async def _has_rows(conn: Connection, name: str, given: dict[str, Any] | None = None) -> bool:
    return bool(require_row(await (await conn.execute(_SCRUB[name], given)).fetchone())["some"])


async def _execute_blocks(conn: AsyncConnection[Any], *names: str) -> None:
    for name in names:
        await conn.execute(_SCRUB[name])
