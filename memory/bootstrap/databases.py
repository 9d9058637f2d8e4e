"""Finds, migrates and rewrites the database of the settings, and makes the stores and connections over it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from muniment.memory.config.settings import Settings
from muniment.memory.domain.erasure import ScrubResult
from muniment.memory.errors import BadConfig, Denied
from muniment.memory.stores.postgres.connection import keepalive
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.embedded import login, server
from muniment.memory.stores.postgres.schema import grants, scrub
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from muniment.memory.stores.postgres.store import PostgresStore

_MIGRATE_AS_OWNER = (
    "the login that owns the tables migrates them (MUNIMENT_OWNER_URL=… muniment migrate), and `muniment grant` gives "
    "another login what the engine needs"
)
read_grant_script = grants.read_grant_script
# For connections that are not a store's: the checkpointer has a pool of its own.
enable_keepalive, read_silence_limit = keepalive.enable_keepalive, keepalive.read_silence_limit


async def ensure_database(settings: Settings) -> str:
    """Return the address of the migrated database. Starts the embedded server when none is named. Raises StoreDown."""
    await _migrate_database(settings, check=True)
    return await _find_login_address(settings)


async def find_owner_address(settings: Settings) -> str:
    """Return the address of the login that owns the tables of the memory. Starts the embedded server when no database
    is named. Raises StoreDown.

    Without MUNIMENT_OWNER_URL a server of one's own has one login for everything."""
    url = settings.owner_url or settings.database_url
    dsn = url.get_secret_value() if url else await server.ensure_server(settings.home)
    return keepalive.add_keepalive(dsn, settings.database.silent_seconds)


async def ensure_checkpoint_database(settings: Settings) -> str:
    """Return the address of the database with the checkpoints of threads. Raises StoreDown."""
    url = settings.checkpoints_url
    if url is None:
        return await ensure_database(settings)
    threads = keepalive.add_keepalive(url.get_secret_value(), settings.database.silent_seconds)
    await scrub.restore_settings(threads)
    return threads


async def find_checkpoint_address(settings: Settings) -> str:
    """Return the same address in a process whose memory is open: its database is started and migrated already. Raises
    StoreDown."""
    url = settings.checkpoints_url
    if url is None:
        return await _find_login_address(settings)
    return keepalive.add_keepalive(url.get_secret_value(), settings.database.silent_seconds)


async def scrub_database(settings: Settings, on_table: Callable[[int], None] | None = None) -> ScrubResult:
    """Rewrite the files of the database, and of that of the checkpoints, without deleted rows. May be repeated. After
    each table `on_table` is called with the number of those done. Raises Denied, Conflict, StoreDown, StoreError."""
    dsn, threads = await ensure_database(settings), await ensure_checkpoint_database(settings)
    done = await scrub.scrub_database(await find_owner_address(settings), on_table)
    return done if await is_same_database(dsn, threads) else done + await scrub.scrub_database(threads, on_table)


async def is_same_database(dsn: str, other: str) -> bool:
    """Whether two addresses lead to one database. Raises StoreDown."""
    return dsn == other or await scrub.is_same_database(dsn, other)


async def migrate_database(settings: Settings) -> list[str]:
    """Apply the migrations that are not applied yet, and return their names. Raises Denied, with the way out, for a
    login that may not."""
    return await _migrate_database(settings)


async def _migrate_database(settings: Settings, *, check: bool = False) -> list[str]:
    owner = await find_owner_address(settings)
    if settings.is_embedded:
        await login.ensure_login(settings.home)
        return await apply_migrations(owner, then=partial(grants.ensure_grants, login=login.LOGIN))
    then = partial(grants.check_grants, address=await _find_login_address(settings)) if check else None
    try:
        return await apply_migrations(owner, then=then)
    except Denied as error:
        raise Denied(f"{error}: {_MIGRATE_AS_OWNER}", **error.data) from None


async def grant_login(settings: Settings, name: str) -> None:
    """Give a login of a server of one's own what the engine needs, and nothing else. May be repeated.

    Raises NotFound, BadInput, Denied; BadConfig for the embedded server, whose login has what it needs."""
    if settings.is_embedded:
        raise BadConfig(
            "the embedded Postgres has its login already: set MUNIMENT_OWNER_URL to grant on another server"
        )
    await migrate_database(settings)
    await grants.grant_login(await find_owner_address(settings), name)


async def stop_server(settings: Settings) -> bool:
    """Stop the embedded server. Returns False when none was running."""
    return await server.stop_server(settings.home)


async def get_server_status(settings: Settings) -> dict[str, Any] | None:
    """Return the state of the embedded server, or None when it does not run or another database is named."""
    return await server.find_server(settings.home) if settings.is_embedded else None


async def _find_login_address(settings: Settings) -> str:
    url = settings.database_url or settings.owner_url
    dsn = url.get_secret_value() if url else await login.ensure_login(settings.home)
    return keepalive.add_keepalive(dsn, settings.database.silent_seconds)


def make_store(settings: Settings, model: str) -> PostgresStore:
    """Return the store of the settings' database for the vectors of a model; nothing is opened."""
    owner = partial(find_owner_address, settings)
    return PostgresStore(partial(ensure_database, settings), model=model, owner=owner)


def make_connections(settings: Settings, *, as_owner: bool) -> PostgresConnections:
    """Return connections of the engine's login, or of the owner of the tables; nothing is opened."""

    async def find_address() -> str:
        address = await ensure_database(settings)
        return await find_owner_address(settings) if as_owner else address

    return PostgresConnections(find_address, model=settings.embedder)
