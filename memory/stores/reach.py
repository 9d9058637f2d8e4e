"""How soon a way to Postgres that is cut off is noticed, at both of its ends: where packets vanish, nobody is told."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from muniment.memory.stores.sql import blocks
from muniment.memory.stores.translate import translated

_HEED = blocks("reach")["heed"]
_PROBES = 3


def bounded(dsn: str, seconds: int) -> str:
    """The address, whose connections are lost when nothing was acknowledged for so long; what it says of that itself stays.

    Raises StoreError for one that cannot be read."""
    bounds = {
        "connect_timeout": max(2, seconds // 2),
        "tcp_user_timeout": seconds * 1000,
        "keepalives_idle": max(1, seconds // 2),
        "keepalives_interval": max(1, seconds // (2 * _PROBES)),
        "keepalives_count": _PROBES,
    }
    with translated("the address of the database"):
        return make_conninfo("", **(bounds | conninfo_to_dict(dsn)))


async def heeded(conn: AsyncConnection[Any]) -> None:
    """The server, too, lets go of what this connection holds when its client has vanished, as soon as the client would."""
    told = conn.info.get_parameters()
    if "tcp_user_timeout" in told:
        await conn.execute(_HEED, told)
