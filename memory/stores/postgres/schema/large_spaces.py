"""The indexes of a large space: how they are made and dropped, and the text of a search that uses them.

A partial index is used only where the text itself says which rows it is about: the space and the model of such a search
are literals in its text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import Any, LiteralString

from psycopg import sql
from psycopg.rows import DictRow, dict_row

from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.maintenance import IndexingResult
from muniment.memory.domain.plan import IndexPart
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.rules.retrieval import traits
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.keepalive import enable_keepalive
from muniment.memory.stores.postgres.connection.locks import build_busy_error
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_LARGE, _ROLES, _WRITE = load_blocks("large_spaces"), load_blocks("roles"), load_blocks("write")
# Times the candidates, and at all: with half of it some queries of several words miss two of the first ten (ADR 20).
_CANDIDATE_FACTOR, _MIN_NEAREST = 6, 96
_MAX_POSTINGS = 10_000  # postings that are read; the words that have more only tell the found apart
_FEW = 2_000  # memories of the one speaker whom a question names: all are looked at
_USER_LIST = traits.LAST + 1  # the list of what is told of the user
_DATED_LIST = traits.LAST + 2  # there where days are listed
_FIRST_DAY_LIST = 1_500_000_000  # the list of what happened on a day is this, and its number from 1970; words and speakers have lower ones
_CHANGED_RATIO, _MIN_CHANGES = 0.05, 1_000  # of the memories, and at all: so many changes make lists old
# With half of it a question is led away from a few memories that are unlike most of their space.
_HNSW_OPTIONS: LiteralString = "m = 16, ef_construction = 400"
_BUILD_MEMORY = "512MB"  # to build with
LISTS = {"own": _USER_LIST, "dated": _DATED_LIST, "days": _FIRST_DAY_LIST}
INDEXES = 100  # each costs every write of every space some microseconds


class SpaceIndexes:
    """Builds and drops the indexes of a space, in the role that made the schema, and knows which spaces have them.

    `indexed_spaces` holds the spaces whose last search said that they have indexes."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections
        self.indexed_spaces: set[SpaceId] = set()

    async def build(self, scope: Scope, min_memories: int, *, force: bool = False) -> IndexingResult:
        """What was interrupted is done again; what is there stays."""
        async with self._connect_builder() as conn:
            space = await self._read_index_state(conn, scope)
            if space["active"] < min_memories:
                return await self._drop_indexes(conn, scope, space)
            if space["elsewhere"]:
                raise Conflict("not every vector of the space is of the embedder in use: finish its switch first")
            built = await self._build_vector_index(conn, scope.space, space["dimensions"])
            if built is None:
                return IndexingResult(memories=space["active"], indexed=False, full=True)
            changes = space["rev"] - (space["indexed_rev"] or 0)
            due = changes > (0 if force else max(_MIN_CHANGES, _CHANGED_RATIO * space["active"]))
            listed = built or due or space["indexed_model"] != self._connections.model or not space["known"]
            if listed:
                await self._build_lists(conn, scope)
                await conn.execute(_LARGE["analyze"])
        done: tuple[tuple[IndexPart, bool], ...] = (("vectors", built), ("words", listed))
        return IndexingResult(memories=space["active"], indexed=True, made=tuple(part for part, made in done if made))

    async def drop(self, scope: Scope) -> IndexingResult:
        async with self._connect_builder() as conn:
            return await self._drop_indexes(conn, scope, await self._read_index_state(conn, scope))

    async def find_spaces(self, min_memories: int) -> list[Scope]:
        """Revisions stand for memories: `index` counts."""
        named = {"least": min_memories, "model": self._connections.model, "some": _MIN_CHANGES, "share": _CHANGED_RATIO}
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            found = await (await conn.execute(_LARGE["spaces_to_index"], named)).fetchall()
        return [rows.parse_scope(row) for row in found]

    @asynccontextmanager
    async def _connect_builder(self) -> AsyncIterator[Connection]:
        """A connection of the maker's own, outside any transaction, as a concurrent build wants it. Behind a pooler it builds
        with what the server allows anybody: a build has no transaction to say more in."""
        async with self._connections.locking(_LARGE["try_lock"]) as (mine, held):
            if not mine:
                raise await build_busy_error(
                    held, "muniment index", "another process is making indexes", "wait until it is done, and try again"
                )
            with translate_errors("indexing a space"):
                async with await Connection.connect(
                    await self._connections.find_address(), autocommit=True, row_factory=dict_row
                ) as conn:
                    if await enable_keepalive(conn):
                        # One worker: those that work in parallel share their memory, and a container has little of that kind.
                        await conn.execute("set max_parallel_maintenance_workers = 0")
                        await conn.execute(sql.SQL("set maintenance_work_mem = {}").format(_BUILD_MEMORY))
                    yield conn

    @asynccontextmanager
    async def _enter_transaction(self, conn: Connection, scope: Scope) -> AsyncIterator[dict[str, Any]]:
        async with conn.transaction():
            await conn.execute(_ROLES["app"])
            await conn.execute(_WRITE["enter"], {"space": scope.space})
            yield {
                "space": scope.space,
                "owner": scope.owner,
                "model": self._connections.model,
                **LISTS,
                **rows.OF_USER,
            }

    async def _read_index_state(self, conn: Connection, scope: Scope) -> DictRow:
        async with self._enter_transaction(conn, scope) as named:
            row = await (await conn.execute(_LARGE["index_state"], named)).fetchone()
        if row is None:
            raise NotFound(f"there is nothing of {scope.owner!r} yet")
        return row

    async def _build_vector_index(self, conn: Connection, space: SpaceId, dimensions: int) -> bool | None:
        """The HNSW index of the space and the model; those of another model, or built otherwise, go. Whether it was made, None without room."""
        wanted, there = build_index_name(space, self._connections.model), False
        own = await (await conn.execute(_LARGE["space_indexes"], {"prefix": _build_prefix(space)})).fetchall()
        for found in own:
            if found["name"] == wanted and found["valid"]:
                there = True
            else:
                await _drop_index(conn, found["name"])
        if there:
            return False
        others = require_row(await (await conn.execute(_LARGE["count_indexes"])).fetchone())["indexes"]
        if others >= INDEXES:
            return None
        await conn.execute(
            sql.SQL(
                "create index concurrently {} on muniment.memories using hnsw ((embedding::halfvec({})) halfvec_ip_ops) "
                "with ({}) where space_id = {} and state = 'active' and embedding_model = {}"
            ).format(
                sql.Identifier(wanted),
                sql.Literal(dimensions),
                sql.SQL(_HNSW_OPTIONS),
                sql.Literal(space),
                sql.Literal(self._connections.model),
            )
        )
        return True

    async def _build_lists(self, conn: Connection, scope: Scope) -> None:
        """The lists of the space. What is written meanwhile is of a later revision than theirs."""
        async with self._enter_transaction(conn, scope) as named:
            await conn.execute("set local work_mem = '64MB'")
            await conn.execute(_LARGE["lock_space"], named)
            rev = require_row(await (await conn.execute(_LARGE["index_state"], named)).fetchone())["rev"]
            await conn.execute(_LARGE["delete_lists"], named)
            await conn.execute(_LARGE["insert_lists"], named)
            await conn.execute(_LARGE["mark"], named | {"rev": rev})

    async def _drop_indexes(self, conn: Connection, scope: Scope, space: Mapping[str, Any]) -> IndexingResult:
        """From the first statement on a search goes without them."""
        async with self._enter_transaction(conn, scope) as named:
            await conn.execute(_LARGE["mark"], named | {"model": None, "rev": None})
            await conn.execute(_LARGE["delete_lists"], named)
        had = await self._drop_vector_indexes(conn, scope) or space["indexed_model"] is not None
        return IndexingResult(memories=space["active"], indexed=False, made=("dropped",) if had else ())

    async def drop_any(self, scope: Scope) -> None:
        """Drop the indexes of a space, if it has any: only the role that made the schema may."""
        if await self._has_index(scope):
            async with self._connect_builder() as conn:
                try:
                    await self._drop_indexes(conn, scope, await self._read_index_state(conn, scope))
                except NotFound:
                    await self._drop_vector_indexes(conn, scope)
        self.indexed_spaces.discard(scope.space)

    async def _has_index(self, scope: Scope) -> bool:
        """Whether there is any index of the space, whole or not."""
        async with self._connections.statement() as conn:
            return bool(
                await (await conn.execute(_LARGE["space_indexes"], {"prefix": _build_prefix(scope.space)})).fetchall()
            )

    async def _drop_vector_indexes(self, conn: Connection, scope: Scope) -> bool:
        own = await (await conn.execute(_LARGE["space_indexes"], {"prefix": _build_prefix(scope.space)})).fetchall()
        for found in own:
            await _drop_index(conn, found["name"])
        return bool(own)


def build_index_name(space: SpaceId, model: str) -> str:
    """The name of a space's index over the vectors of a model, as it is built now."""
    return _build_prefix(space) + blake2b(f"{model} with {_HNSW_OPTIONS}".encode(), digest_size=4).hexdigest()


@lru_cache(maxsize=256)
def fill_search_text(text: str, space: SpaceId, model: str, dimensions: int, candidates: int) -> bytes:
    """The text of a search that is left open, for a space that has indexes of its own."""
    literals = {
        "at": space,
        "model": model,
        "dimensions": dimensions,
        # What the planner can read it does not guess.
        "wide": max(_MIN_NEAREST, _CANDIDATE_FACTOR * candidates),
        "most": _MAX_POSTINGS,
        "few": _FEW,
        **LISTS,
    }
    for name, value in literals.items():
        text = text.replace(f"{{{name}}}", sql.Literal(value).as_string())
    return text.encode()


def _build_prefix(space: SpaceId) -> str:
    return f"memories_near_{space.hex}_"


async def _drop_index(conn: Connection, name: str) -> None:
    await conn.execute(sql.SQL("drop index concurrently if exists muniment.{}").format(sql.Identifier(name)))
