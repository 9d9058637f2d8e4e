"""The configurations of tokens in Postgres: one is found by a digest or for a job; only the issuer sees the table."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import LockNotAvailable

from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Grant, Scope
from muniment.memory.domain.tokens.config import FIELDS, KEYS, TOKEN_OWNER, name_tenant
from muniment.memory.errors import Conflict
from muniment.memory.ports.operation.token_configs import StoredToken, TokenConfigRow, TokenConfigStore
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.operation.tokens import insert_grant, parse_grant, revoke_grant
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import send_jobs

_CONFIGS, _ROLES, _SWITCH = load_blocks("token_configs"), load_blocks("roles"), load_blocks("embedder_switch")
_GRANT = ("id", "tenant", "owner", "agents", "projects", "scopes", "created_at", "expires_at", "revoked_at")
_PLAIN = tuple(name for name in FIELDS if name not in KEYS)


class PostgresTokenConfigs(TokenConfigStore):
    """The `TokenConfigStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def open(self) -> None:
        """Connect, whatever the embedder of the database. Raises StoreDown."""
        await self._connections.open(any_model=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    async def add_token(self, grant: Grant, digest: bytes, row: TokenConfigRow, model: str) -> None:
        async with self._issuing() as conn:
            await insert_grant(conn, grant, digest)
            await conn.execute(_CONFIGS["add"], _build_params(grant.id, row))
            await conn.execute(_ROLES["keeper"])
            await conn.execute(_CONFIGS["choose_model"], {"tenant": grant.tenant, "model": model})

    async def find_token(self, digest: bytes) -> StoredToken | None:
        async with self._connections.statement() as conn:
            row = await (await conn.execute(_CONFIGS["find"], {"digest": digest})).fetchone()
        return _parse_token(row) if row else None

    async def find_by_id(self, id_: UUID) -> StoredToken | None:
        async with self._connections.working() as conn:
            row = await (await conn.execute(_CONFIGS["find_by_id"], {"id": id_})).fetchone()
        return _parse_token(row) if row else None

    async def list_tokens(self) -> Sequence[StoredToken]:
        async with self._issuing() as conn:
            rows = await (await conn.execute(_CONFIGS["listed"], {"id": None})).fetchall()
        return [_parse_token(row) for row in rows]

    async def get_token(self, id_: UUID) -> StoredToken | None:
        async with self._issuing() as conn:
            row = await (await conn.execute(_CONFIGS["listed"], {"id": id_})).fetchone()
        return _parse_token(row) if row else None

    async def update_config(self, id_: UUID, row: TokenConfigRow, *, model: str | None) -> bool:
        params, tenant = _build_params(id_, row), name_tenant(id_)
        try:
            async with self._connections.transaction() as conn:
                if model is not None and await _replace_model(conn, tenant, model):
                    params["sealed_formers"] = model = None
                await conn.execute(_ROLES["issuer"])
                await _write_config(conn, params)
                if model is not None:
                    await conn.execute(_ROLES["worker"])
                    await send_jobs(conn, [Job(name="reembed", scope=Scope(tenant=tenant, owner=TOKEN_OWNER))])
        except Conflict:
            return False
        return True

    async def drop_formers(self, id_: UUID, revision: int) -> bool:
        params = {"id": id_, "revision": revision}
        async with self._connections.working() as conn:
            row = require_row(await (await conn.execute(_CONFIGS["drop_formers"], params)).fetchone())
        return bool(row["count"])

    async def replace_digest(self, id_: UUID, digest: bytes, hint: str) -> bool:
        async with self._issuing() as conn:
            params = {"id": id_, "digest": digest, "hint": hint}
            return (await conn.execute(_CONFIGS["replace_digest"], params)).rowcount > 0

    async def revoke_grant(self, id_: UUID, at: datetime) -> Grant | None:
        async with self._issuing() as conn:
            return await revoke_grant(conn, id_, at)

    async def delete_config(self, id_: UUID, at: datetime) -> Grant | None:
        async with self._issuing() as conn:
            if (await conn.execute(_CONFIGS["delete"], {"id": id_})).rowcount == 0:
                return None
            return await revoke_grant(conn, id_, at)

    @asynccontextmanager
    async def _issuing(self) -> AsyncIterator[Connection]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["issuer"])
            yield conn


async def _write_config(conn: Connection, params: dict[str, Any]) -> None:
    """Replace a configuration in the caller's transaction. Raises Conflict when it is another by now."""
    if (await conn.execute(_CONFIGS["update"], params)).rowcount == 0:
        raise Conflict


async def _replace_model(conn: Connection, tenant: str, model: str) -> bool:
    """Give a tenant without vectors another embedder in the caller's transaction, where no writer is at work; False
    for a tenant with some, and where writers cannot be paused."""
    await conn.execute(_ROLES["keeper"])
    if await _has_vectors(conn, tenant):
        return False
    try:
        async with conn.transaction():
            await conn.execute(_ROLES["app"])
            await conn.execute(_SWITCH["set_lock_timeout"])
            await conn.execute(_SWITCH["pause_writers"])
    except LockNotAvailable:
        return False
    await conn.execute(_ROLES["keeper"])
    if await _has_vectors(conn, tenant):
        return False
    await conn.execute(_CONFIGS["replace_model"], {"tenant": tenant, "model": model})
    return True


async def _has_vectors(conn: Connection, tenant: str) -> bool:
    row = await (await conn.execute(_CONFIGS["has_vectors"], {"tenant": tenant})).fetchone()
    return bool(require_row(row)["yes"])


def _build_params(id_: UUID, row: TokenConfigRow) -> dict[str, Any]:
    return {
        **{name: row.fields.get(name) for name in _PLAIN},
        "id": id_,
        "hint": row.hint,
        "revision": row.revision,
        "sealed_keys": row.sealed_keys,
        "sealed_formers": row.sealed_formers,
    }


def _parse_token(row: dict[str, Any]) -> StoredToken:
    config = row["config"]
    stored = None
    if config is not None:
        stored = TokenConfigRow(
            fields={name: config[name] for name in _PLAIN},
            sealed_keys=row["sealed_keys"],
            sealed_formers=row["sealed_formers"],
            hint=config["hint"],
            revision=config["revision"],
        )
    return StoredToken(grant=parse_grant({name: row[name] for name in _GRANT}), digest=bytes(row["digest"]), row=stored)
