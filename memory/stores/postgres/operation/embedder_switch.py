"""Vectors of the next model beside those in use, and the cut-over from one to the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from muniment.memory.domain.embedding import DATABASE, MemoryText, SwitchProgress, SwitchRange, UnembeddedRow
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.ports.embedders import EmbedderSwitchStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.locks import build_busy_error
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SWITCH, _READ, _ROLES = load_blocks("embedder_switch"), load_blocks("read"), load_blocks("roles")
_AT_ONCE = 256  # rows that are cleaned in one transaction
_FIRST = UUID(int=0)
_ELSEWHERE = (
    "another process is switching the embedder of this database",
    "wait until it is done, or stop it, and try again",
)


class PostgresEmbedderSwitch(EmbedderSwitchStore):
    """The `EmbedderSwitchStore` port over Postgres.

    No writer of a space is at work while its rows get vectors, so no version is archived with half of them."""

    def __init__(self, connections: PostgresConnections, model: str) -> None:
        self._connections, self._model = connections, model

    @asynccontextmanager
    async def acquire_switch(self, within: SwitchRange = DATABASE) -> AsyncIterator[UUID | None]:
        async with self._connections.locking(_SWITCH["try_lock"]) as (acquired, conn):
            if not acquired:
                raise await build_busy_error(conn, "muniment embedder switch", *_ELSEWHERE)
            yield await self._begin_switch(within)

    async def count_vectors(self, within: SwitchRange) -> SwitchProgress:
        params = _build_range(within)
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            models = require_row(await (await conn.execute(_SWITCH["models"], params)).fetchone())
            await conn.execute(_SWITCH["scan_all"])
            counts = require_row(
                await (await conn.execute(_SWITCH["counts"], params | {"next": models["next"]})).fetchone()
            )
        return SwitchProgress(**models, **counts)

    async def list_remaining_spaces(
        self, within: SwitchRange, changed_since: UUID | None = None
    ) -> list[tuple[Scope, str | None]]:
        async with self._connections.transaction() as conn:
            return await self._list_remaining(conn, within, changed_since)

    async def begin_space(self, scope: Scope, run: UUID) -> Revision | None:
        params = {"space": scope.space, "run": run}
        async with self._connections.sending(scope) as conn:
            await conn.execute(_SWITCH["lock_space"], params)
            row = await (await conn.execute(_SWITCH["begin_space"], params)).fetchone()
        return Revision(row["rev"]) if row else None

    async def list_unembedded(
        self, scope: Scope, since: Revision, until: Revision | None, after: MemoryId, limit: int
    ) -> tuple[Revision, list[UnembeddedRow]]:
        params = {"space": scope.space, "model": self._model, "since": since, "until": until}
        params |= {"after": after, "limit": limit}
        text = _SWITCH["unembedded"].replace("{changed}", _SWITCH["changed"] if since else "")
        async with self._connections.reading(scope) as conn:
            rev = await conn.execute(_READ["rev"], params)
            page = await conn.execute(text, params)
        return Revision(require_row(await rev.fetchone())["rev"]), [
            rows.parse_unembedded(row) for row in await page.fetchall()
        ]

    async def write_vectors(self, scope: Scope, run: UUID, pairs: Sequence[tuple[UnembeddedRow, Vector]]) -> None:
        params = {"space": scope.space, "model": self._model, "run": run}
        async with self._connections.writing(scope) as conn:
            await conn.execute(_SWITCH["set_lock_timeout"])
            await self._check_run(conn, run)
            await conn.execute(_SWITCH["lock_space"], params)
            if memories := [pair for pair in pairs if not pair[0].since]:
                await conn.execute(_SWITCH["write_vectors"], params | rows.build_vector_params(memories))
            if versions := [pair for pair in pairs if pair[0].since]:
                await conn.execute(_SWITCH["write_version_vectors"], params | rows.build_vector_params(versions))

    async def mark_embedded(self, scope: Scope, run: UUID, rev: Revision) -> None:
        async with self._connections.sending(scope) as conn:
            await conn.execute(_SWITCH["mark_embedded"], {"space": scope.space, "run": run, "rev": rev})

    async def activate_in_space(self, scope: Scope, run: UUID, embed_rest: Callable[[], Awaitable[None]]) -> None:
        params = {"space": scope.space, "model": self._model, "run": run}
        async with self._connections.writing(scope) as conn:
            await conn.execute(_SWITCH["set_lock_timeout"])
            await conn.execute(_SWITCH["lock_space"], params)
            await embed_rest()
            if await (await conn.execute(_SWITCH["is_pending"], params)).fetchone() is not None:
                raise Conflict("something was written in between")
            await self._check_run(conn, run)
            await conn.execute(_SWITCH["set_model"], params)

    async def finish_switch(self, run: UUID, within: SwitchRange, embed_rest: Callable[[], Awaitable[None]]) -> None:
        params = _build_range(within) | {"model": self._model}
        async with self._connections.transaction() as conn:
            await conn.execute(_SWITCH["set_lock_timeout"])
            if within.space is None:
                await conn.execute(_SWITCH["pause_writers"])
                await embed_rest()
                if await self._list_remaining(conn, within, run):
                    raise Conflict("something was written in between")
            await conn.execute(_ROLES["keeper"])
            await self._check_run(conn, run)
            if within.space is None:
                await conn.execute(_SWITCH["choose_for_tenant" if within.tenant else "forget_choices"], params)
            if within.is_database:
                await conn.execute(_SWITCH["deactivate"], params)
                await conn.execute(_SWITCH["activate"], params)
            await conn.execute(_SWITCH["end"], params)

    async def clean_vectors(self, scope: Scope) -> int:
        count = 0
        for block in ("clean", "clean_versions"):  # in this order: a memory that is not clean is archived as it is
            params = {"space": scope.space, "after": _FIRST, "rev": 0, "limit": _AT_ONCE}
            while True:
                async with self._connections.writing(scope) as conn:
                    await conn.execute(_SWITCH["keep_models"])
                    await conn.execute(_SWITCH["lock_space"], params)
                    page = await (await conn.execute(_SWITCH[block], params)).fetchall()
                count += len(page)
                if len(page) < _AT_ONCE:
                    break
                params["after"], params["rev"] = max((row["memory_id"], row["rev"]) for row in page)
        return count

    async def sample_memories(self, scope: Scope, limit: int) -> list[MemoryText]:
        return await self._list_texts(scope, "sample", {"limit": limit})

    async def find_closest(
        self, scope: Scope, model: str, vector: Vector, limit: int, excluded: MemoryId | None = None
    ) -> list[MemoryText]:
        params = {"model": model, "vector": HalfVector(vector), "limit": limit, "but": excluded}
        return await self._list_texts(scope, "closest", params)

    async def _list_texts(self, scope: Scope, block: str, params: dict[str, Any]) -> list[MemoryText]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_SWITCH[block], params | {"space": scope.space})
            return [MemoryText(id=MemoryId(row["memory_id"]), text=row["text"]) for row in await cursor.fetchall()]

    async def _begin_switch(self, within: SwitchRange) -> UUID | None:
        params = _build_range(within) | {"model": self._model}
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            await conn.execute(_SWITCH["lock_models"])
            await conn.execute(_SWITCH["abandon"], params)
            is_due = require_row(await (await conn.execute(_SWITCH["is_due"], params)).fetchone())["due"]
            if is_due is None and within.space is not None:
                raise NotFound(f"there is nothing of {within.space.owner!r} yet")
            if not is_due:
                await conn.execute(_SWITCH["end"], params)
                return None
            run: UUID = require_row(await (await conn.execute(_SWITCH["begin"], params)).fetchone())["run"]
            return run

    async def _check_run(self, conn: Connection, run: UUID) -> None:
        """Raise Conflict unless this is the switch under way, which it stays until the end of the transaction."""
        if await (await conn.execute(_SWITCH["check_run"], {"model": self._model, "run": run})).fetchone() is None:
            raise Conflict("another switch of the embedder has begun")

    async def _list_remaining(
        self, conn: Connection, within: SwitchRange, run: UUID | None
    ) -> list[tuple[Scope, str | None]]:
        await conn.execute(_ROLES["keeper"])
        params = _build_range(within) | {"model": self._model, "run": run}
        spaces = await (await conn.execute(_SWITCH["remaining_spaces"], params)).fetchall()
        await conn.execute(_ROLES["app"])
        return [(rows.parse_scope(row), row["model"]) for row in spaces]


def _build_range(within: SwitchRange) -> dict[str, Any]:
    return {"only": within.space.space if within.space else None, "tenant": within.tenant}
