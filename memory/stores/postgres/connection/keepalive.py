"""How soon both ends notice that a connection to Postgres is cut off: where packets vanish, no error arrives."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection, capabilities
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import DuplicatePreparedStatement
from psycopg.rows import scalar_row

from muniment.memory.errors import BadConfig
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.sql import load_blocks

_SESSION = load_blocks("session")
_PROBES = 3
_FIRST = "_pg3_0"  # the driver's name for what a connection prepares first


def add_keepalive(dsn: str, seconds: int) -> str:
    """Return the address with limits that end a connection without an acknowledgement for `seconds`.

    Limits that the address sets itself stay. Raises StoreError for an address that cannot be parsed."""
    bounds = {
        "connect_timeout": max(2, seconds // 2),
        "tcp_user_timeout": seconds * 1000,
        "keepalives_idle": max(1, seconds // 2),
        "keepalives_interval": max(1, seconds // (2 * _PROBES)),
        "keepalives_count": _PROBES,
    }
    with translate_errors("the address of the database"):
        return make_conninfo("", **(bounds | conninfo_to_dict(dsn)))


async def enable_keepalive(conn: AsyncConnection[Any]) -> bool:
    """Let the server end this connection when its client has vanished, as soon as the client would.

    Returns False behind a pooler, which hands each transaction to any of its connections: a setting of a session
    would be another client's, so nothing is set, and statements are prepared only where the pooler tracks them."""
    if not await _is_direct(conn):
        if not await _tracks_statements(conn):
            conn.prepare_threshold = None
        return False
    if read_silence_limit(conn) is not None:
        await conn.execute(_SESSION["keepalive"], conn.info.get_parameters())
    return True


def read_silence_limit(conn: AsyncConnection[Any]) -> str | None:
    """Return after how many milliseconds without a sign the other end counts as lost; None without a limit."""
    return conn.info.get_parameters().get("tcp_user_timeout")


async def require_direct(conn: AsyncConnection[Any], purpose: str) -> None:
    """Raise BadConfig behind a pooler, also one with a pool of sessions: these cannot be told apart."""
    if not await enable_keepalive(conn):
        raise BadConfig(
            f"{purpose} wants a session of its own, and here a pooler is between: name Postgres itself for this "
            "command (MUNIMENT_DATABASE_URL, MUNIMENT_CHECKPOINTS_URL)"
        )


async def _is_direct(conn: AsyncConnection[Any]) -> bool:
    """Whether the process that answers is the one that greeted: a pooler greets itself, in any of its modes."""
    cursor = conn.cursor(row_factory=scalar_row)
    return bool(
        await (await cursor.execute("select pg_backend_pid()", prepare=False)).fetchone() == conn.info.backend_pid
    )


async def _tracks_statements(conn: AsyncConnection[Any]) -> bool:
    """Whether the pooler prepares a statement again on another connection: then it has given it a name of its own."""
    if not capabilities.has_send_close_prepared():  # the pooler would keep all of them
        return False
    cursor = conn.cursor(row_factory=scalar_row)
    try:
        async with conn.transaction():
            await cursor.execute("select 'prepared'", prepare=True)
            await cursor.execute("select 1 from pg_prepared_statements where name = %s", (_FIRST,), prepare=False)
            if raw := cursor.rowcount > 0:
                await cursor.execute(f'deallocate "{_FIRST}"', prepare=False)
    except DuplicatePreparedStatement:  # another client's
        return False
    return not raw
