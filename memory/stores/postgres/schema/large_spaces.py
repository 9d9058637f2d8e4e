"""The indexes of a large space: how they are built and dropped, and the text of a search that uses them.

Postgres uses a partial index only when the text itself says which rows it is about: the space and the model of such a
search are literals in its text."""

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
from muniment.memory.rules.retrieval import intents
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.keepalive import enable_keepalive
from muniment.memory.stores.postgres.connection.locks import build_busy_error
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_LARGE, _ROLES, _WRITE = load_blocks("large_spaces"), load_blocks("roles"), load_blocks("write")
# The nearest that are read: times the candidates, and at least. Half of it loses two of the first ten hits of some
# queries of several words (ADR 20).
_CANDIDATE_FACTOR, _MIN_NEAREST = 6, 96
_MAX_POSTINGS = 10_000  # postings that are read; words with more of them only rank the candidates
_FEW = 2_000  # memories of the only speaker whom a question names: all of them become candidates
_USER_LIST = intents.LAST_TRAIT + 1  # the list of memories about the user
_DATED_LIST = intents.LAST_TRAIT + 2  # a list that is there when days are listed
# The list of a day is this and its number from 1970; words and speakers have lower ones.
_FIRST_DAY_LIST = 1_500_000_000
_CHANGED_RATIO, _MIN_CHANGES = 0.05, 1_000  # of the memories, and at least: so many changes make lists old
# Half of it does not find a few memories that are unlike most of their space.
_HNSW_OPTIONS: LiteralString = "m = 16, ef_construction = 400"
_BUILD_MEMORY = "512MB"  # for a build
LISTS = {"own": _USER_LIST, "dated": _DATED_LIST, "days": _FIRST_DAY_LIST}
INDEXES = 100  # each costs every write of every space some microseconds


class SpaceIndexes:
    """Builds and drops the indexes of a space, in the role that made the schema, and knows which spaces have them.

    `indexed_spaces` holds the spaces whose last search said that they have indexes."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections
        self.indexed_spaces: set[SpaceId] = set()

    async def build(self, scope: Scope, min_memories: int, *, force: bool = False) -> IndexingResult:
        """Build the indexes of a space, or drop those of a space with fewer memories.

        A build that was interrupted is done again; a valid index stays. Raises NotFound for a space that does not
        exist, Conflict during a switch of the embedder, Busy while another process builds."""
        async with self._connect_builder() as conn:
            space = await self._read_index_state(conn, scope)
            if space["active"] < min_memories:
                return await self._drop_indexes(conn, scope, space)
            if space["elsewhere"]:
                raise Conflict("not every vector of the space is of the embedder in use: finish its switch first")
            built = await self._build_vector_index(conn, scope.space, space["model"], space["dimensions"])
            if built is None:
                return IndexingResult(memories=space["active"], indexed=False, full=True)
            changes = space["rev"] - (space["indexed_rev"] or 0)
            due = changes > (0 if force else max(_MIN_CHANGES, _CHANGED_RATIO * space["active"]))
            listed = built or due or space["indexed_model"] != space["model"] or not space["known"]
            if listed:
                await self._build_lists(conn, scope, space["model"])
                await conn.execute(_LARGE["analyze"])
        done: tuple[tuple[IndexPart, bool], ...] = (("vectors", built), ("words", listed))
        return IndexingResult(memories=space["active"], indexed=True, made=tuple(part for part, made in done if made))

    async def drop(self, scope: Scope) -> IndexingResult:
        """Drop the indexes of a space. Raises NotFound for a space that does not exist."""
        async with self._connect_builder() as conn:
            return await self._drop_indexes(conn, scope, await self._read_index_state(conn, scope))

    async def find_spaces(self, min_memories: int) -> list[Scope]:
        """Return the spaces whose indexes may have to change, the most written first: `build` counts active memories.

        There are none for a role that cannot build, and none without an index once as many have one as may."""
        params = {
            "least": min_memories,
            "some": _MIN_CHANGES,
            "share": _CHANGED_RATIO,
        }
        has_owner = await self._connections.find_owner_address() != await self._connections.find_address()
        async with self._connections.transaction() as conn:
            counted = require_row(await (await conn.execute(_LARGE["count_indexes"])).fetchone())
            if not counted["may_build"] and not has_owner:
                return []
            await conn.execute(_ROLES["keeper"])
            params["room"] = counted["indexes"] < INDEXES
            spaces = await (await conn.execute(_LARGE["spaces_to_index"], params)).fetchall()
        return [rows.parse_scope(row) for row in spaces]

    @asynccontextmanager
    async def _connect_builder(self) -> AsyncIterator[Connection]:
        """Connect outside any transaction, as a concurrent build needs it, as the login that owns the tables.

        Behind a pooler a build has the server's own settings: there is no transaction to set others for."""
        async with self._connections.locking(_LARGE["try_lock"]) as (acquired, lock_conn):
            if not acquired:
                raise await build_busy_error(
                    lock_conn,
                    "muniment index",
                    "another process is making indexes",
                    "wait until it is done, and try again",
                )
            with translate_errors("indexing a space"):
                async with await Connection.connect(
                    await self._connections.find_owner_address(), autocommit=True, row_factory=dict_row
                ) as conn:
                    if await enable_keepalive(conn):
                        # One worker: parallel ones need shared memory, of which a container has little.
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
                **LISTS,
                **rows.OF_USER,
            }

    async def _read_index_state(self, conn: Connection, scope: Scope) -> DictRow:
        async with self._enter_transaction(conn, scope) as params:
            row = await (await conn.execute(_LARGE["index_state"], params)).fetchone()
        if row is None:
            raise NotFound(f"there is nothing of {scope.owner!r} yet")
        return row

    async def _build_vector_index(self, conn: Connection, space: SpaceId, model: str, dimensions: int) -> bool | None:
        """Build the HNSW index of the space and the model, and drop others of the space.

        Returns whether it was built; None when too many spaces have one."""
        name, exists = build_index_name(space, model), False
        for index in await _list_indexes(conn, space):
            if index["name"] == name and index["valid"]:
                exists = True
            else:
                await _drop_index(conn, index["name"])
        if exists:
            return False
        others = require_row(await (await conn.execute(_LARGE["count_indexes"])).fetchone())["indexes"]
        if others >= INDEXES:
            return None
        await conn.execute(
            sql.SQL(
                "create index concurrently {} on muniment.memories "
                "using hnsw ((embedding::halfvec({})) halfvec_ip_ops) with ({}) "
                "where space_id = {} and state = 'active' and embedding_model = {}"
            ).format(
                sql.Identifier(name),
                sql.Literal(dimensions),
                sql.SQL(_HNSW_OPTIONS),
                sql.Literal(space),
                sql.Literal(model),
            )
        )
        return True

    async def _build_lists(self, conn: Connection, scope: Scope, model: str) -> None:
        """Write the lists of the space anew. What is written meanwhile is of a later revision than theirs."""
        async with self._enter_transaction(conn, scope) as params:
            await conn.execute("set local work_mem = '64MB'")
            await conn.execute(_LARGE["lock_space"], params)
            rev = require_row(await (await conn.execute(_LARGE["index_state"], params)).fetchone())["rev"]
            await conn.execute(_LARGE["delete_lists"], params)
            await conn.execute(_LARGE["insert_lists"], params)
            await conn.execute(_LARGE["mark"], params | {"model": model, "rev": rev})

    async def _drop_indexes(self, conn: Connection, scope: Scope, space: Mapping[str, Any]) -> IndexingResult:
        """Drop lists and index; from the first statement on a search scans the space."""
        async with self._enter_transaction(conn, scope) as params:
            await conn.execute(_LARGE["mark"], params | {"model": None, "rev": None})
            await conn.execute(_LARGE["delete_lists"], params)
        had = await _drop_vector_indexes(conn, scope.space) or space["indexed_model"] is not None
        return IndexingResult(memories=space["active"], indexed=False, made=("dropped",) if had else ())

    async def drop_any(self, scope: Scope) -> None:
        """Drop the indexes of a space, if it has any: only the role that made the schema may."""
        async with self._connections.statement() as conn:
            indexes = await _list_indexes(conn, scope.space)
        if indexes:
            async with self._connect_builder() as conn:
                try:
                    await self._drop_indexes(conn, scope, await self._read_index_state(conn, scope))
                except NotFound:
                    await _drop_vector_indexes(conn, scope.space)
        self.indexed_spaces.discard(scope.space)


async def _list_indexes(conn: Connection, space: SpaceId) -> list[DictRow]:
    return await (await conn.execute(_LARGE["space_indexes"], {"prefix": _build_prefix(space)})).fetchall()


async def _drop_vector_indexes(conn: Connection, space: SpaceId) -> bool:
    """Drop the indexes of a space, whole or not; return whether there was one."""
    indexes = await _list_indexes(conn, space)
    for index in indexes:
        await _drop_index(conn, index["name"])
    return bool(indexes)


def build_index_name(space: SpaceId, model: str) -> str:
    """Return the name of a space's index over the vectors of a model, with the options of today."""
    return _build_prefix(space) + blake2b(f"{model} with {_HNSW_OPTIONS}".encode(), digest_size=4).hexdigest()


@lru_cache(maxsize=256)
def fill_search_text(text: str, space: SpaceId, model: str, dimensions: int, candidates: int) -> bytes:
    """Fill the text of a search with literals of a space that has indexes of its own."""
    literals = {
        "at": space,
        "model": model,
        "dimensions": dimensions,
        # The planner reads literals, and would guess parameters.
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
