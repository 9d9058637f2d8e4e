"""How soon a way to Postgres that is cut off is noticed, at both of its ends: where packets vanish, nobody is told."""

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
    """The address, whose connections are lost when nothing was acknowledged for so long; what it says of that itself stays.

    Raises StoreError for one that cannot be read."""
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
    """The server, too, lets go of what this connection holds when its client has vanished, as soon as the client would.

    False behind a pooler, which hands each transaction to any of its connections: what is set for a session would be
    somebody else's, so nothing is. What is prepared is only where the pooler sees to it."""
    if not await _is_direct(conn):
        if not await _tracks_statements(conn):
            conn.prepare_threshold = None
        return False
    if read_silence_limit(conn) is not None:
        await conn.execute(_SESSION["keepalive"], conn.info.get_parameters())
    return True


def read_silence_limit(conn: AsyncConnection[Any]) -> str | None:
    """After how many milliseconds without a word the other end counts as lost, if there is a bound."""
    return conn.info.get_parameters().get("tcp_user_timeout")


async def require_direct(conn: AsyncConnection[Any], what: str) -> None:
    """Raises BadConfig behind a pooler, whether its pool is one of sessions or of transactions: that cannot be seen."""
    if not await enable_keepalive(conn):
        raise BadConfig(
            f"{what} wants a session of its own, and here a pooler is between: name Postgres itself for this command "
            "(MUNIMENT_DATABASE_URL, MUNIMENT_CHECKPOINTS_URL)"
        )


async def _is_direct(conn: AsyncConnection[Any]) -> bool:
    """Whether the process that answers is the one that greeted. A pooler greets by itself, in any of its modes."""
    cursor = conn.cursor(row_factory=scalar_row)
    return bool(
        await (await cursor.execute("select pg_backend_pid()", prepare=False)).fetchone() == conn.info.backend_pid
    )


async def _tracks_statements(conn: AsyncConnection[Any]) -> bool:
    """Whether the pooler prepares a statement again where it is not known: then it has given it a name of its own."""
    if not capabilities.has_send_close_prepared():  # it would not hear that one is not wanted any more
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
