"""The login with which the engine works on an embedded server: another one than the role that owns it."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

from psycopg import sql

from muniment.memory.errors import StoreDown
from muniment.memory.stores.postgres.embedded import cluster_dir, server
from muniment.memory.stores.postgres.embedded.cluster_dir import ClusterDir, translate_os_errors

LOGIN = "muniment_engine"


async def ensure_login(home: Path) -> str:
    """Create the engine's login on the running server of this home, unless it exists, and return its address.

    It has no right yet: `ensure_grants` gives it what it needs. Raises BadConfig, StoreDown."""
    return await asyncio.to_thread(_ensure_login, home)


def _ensure_login(home: Path) -> str:
    home = home.absolute()
    with translate_os_errors(home):
        place = cluster_dir.find_cluster_dir(home)
        if place is None:
            raise StoreDown(f"the embedded Postgres of {home} is gone")
        if not _has_password(place):
            with server.lock_home(home):
                if not _has_password(place):
                    _create_login(place)
    return place.build_dsn(server.DATABASE, LOGIN)


def _has_password(place: ClusterDir) -> bool:
    return f":{LOGIN}:" in place.passfile.read_text()


def _create_login(place: ClusterDir) -> None:
    """Create the role, then write its password down: a login without a password in the file gets a new one."""
    secret = secrets.token_urlsafe(32)
    with server.connect(place) as conn:
        known = conn.execute("select from pg_roles where rolname = %s", (LOGIN,)).fetchone()
        conn.execute(
            sql.SQL("{} role {} login noinherit nosuperuser nobypassrls nocreatedb nocreaterole password {}").format(
                sql.SQL("create" if known is None else "alter"), sql.Identifier(LOGIN), sql.Literal(secret)
            )
        )
    draft = place.passfile.with_name("password.draft")
    draft.unlink(missing_ok=True)
    server.write_private_file(draft, f"{place.passfile.read_text()}*:*:*:{LOGIN}:{secret}\n")
    draft.replace(place.passfile)
