"""The indexes of a large space: how they are made and dropped, and the text of a search that uses them.

A partial index is used only where the text itself says which rows it is about: the space and the model of such a search
are literals in its text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import Any, LiteralString

from psycopg import sql
from psycopg.rows import DictRow, dict_row

from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.maintenance import Indexing
from muniment.memory.domain.plan import Part
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.rules.retrieval import traits
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.errors import translated
from muniment.memory.stores.postgres.connection.keepalive import heeded
from muniment.memory.stores.postgres.connection.locks import busy
from muniment.memory.stores.postgres.connection.pool import Connection, Sessions, one
from muniment.memory.stores.postgres.sql import blocks

_LARGE, _ROLES, _WRITE = blocks("large"), blocks("roles"), blocks("write")
# Times the candidates, and at all: with half of it some queries of several words miss two of the first ten (ADR 20).
_WIDE, _NEAR = 6, 96
_MOST = 10_000  # postings that are read; the words that have more only tell the found apart
_FEW = 2_000  # memories of the one speaker whom a question names: all are looked at
_OWN = traits.LAST + 1  # the list of what is told of the user
_DATED = traits.LAST + 2  # there where days are listed
_DAYS = 1_500_000_000  # the list of what happened on a day is this, and its number from 1970; words and speakers have lower ones
_SHARE, _LEAST = 0.05, 1_000  # of the memories, and at all: so many changes make lists old
# With half of it a question is led away from a few memories that are unlike most of their space.
_WITH: LiteralString = "m = 16, ef_construction = 400"
_MEMORY = "512MB"  # to build with
LISTS = {"own": _OWN, "dated": _DATED, "days": _DAYS}
INDEXES = 100  # each costs every write of every space some microseconds


class Indexes(Sessions):
    """Makes and drops the indexes of a space, in the role that made the schema."""

    def __init__(self, address: Callable[[], Awaitable[str]], *, model: str) -> None:
        super().__init__(address, model=model)
        self._large: set[SpaceId] = set()  # spaces whose last search said that they have indexes

    async def index(self, scope: Scope, least: int, *, anew: bool = False) -> Indexing:
        """See `Store.index`. What was interrupted is done again; what is there stays."""
        async with self._making() as conn:
            space = await self._look(conn, scope)
            if space["active"] < least:
                return await self._drop(conn, scope, space)
            if space["elsewhere"]:
                raise Conflict("not every vector of the space is of the embedder in use: finish its switch first")
            built = await self._build(conn, scope.space, space["dimensions"])
            if built is None:
                return Indexing(memories=space["active"], indexed=False, full=True)
            changes = space["rev"] - (space["indexed_rev"] or 0)
            due = changes > (0 if anew else max(_LEAST, _SHARE * space["active"]))
            listed = built or due or space["indexed_model"] != self._model or not space["known"]
            if listed:
                await self._list(conn, scope)
                await conn.execute(_LARGE["analyze"])
        done: tuple[tuple[Part, bool], ...] = (("vectors", built), ("words", listed))
        return Indexing(memories=space["active"], indexed=True, made=tuple(part for part, made in done if made))

    async def unindex(self, scope: Scope) -> Indexing:
        """See `Store.unindex`."""
        async with self._making() as conn:
            return await self._drop(conn, scope, await self._look(conn, scope))

    async def overgrown(self, least: int) -> list[Scope]:
        """See `Store.overgrown`. Revisions stand for memories: `index` counts."""
        named = {"least": least, "model": self._model, "some": _LEAST, "share": _SHARE}
        async with self._transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            found = await (await conn.execute(_LARGE["overgrown"], named)).fetchall()
        return [Scope(tenant=row["tenant_id"], owner=row["owner_id"], owner_type=row["owner_type"]) for row in found]

    @asynccontextmanager
    async def _making(self) -> AsyncIterator[Connection]:
        """A connection of the maker's own, outside any transaction, as a concurrent build wants it. Behind a pooler it builds
        with what the server allows anybody: a build has no transaction to say more in."""
        async with self._holding(_LARGE["only"]) as (mine, held):
            if not mine:
                raise await busy(
                    held, "muniment index", "another process is making indexes", "wait until it is done, and try again"
                )
            with translated("indexing a space"):
                async with await Connection.connect(
                    await self._address(), autocommit=True, row_factory=dict_row
                ) as conn:
                    if await heeded(conn):
                        # One worker: those that work in parallel share their memory, and a container has little of that kind.
                        await conn.execute("set max_parallel_maintenance_workers = 0")
                        await conn.execute(sql.SQL("set maintenance_work_mem = {}").format(_MEMORY))
                    yield conn

    @asynccontextmanager
    async def _inside(self, conn: Connection, scope: Scope) -> AsyncIterator[dict[str, Any]]:
        async with conn.transaction():
            await conn.execute(_ROLES["app"])
            await conn.execute(_WRITE["enter"], {"space": scope.space})
            yield {"space": scope.space, "owner": scope.owner, "model": self._model, **LISTS, **rows.OF_USER}

    async def _look(self, conn: Connection, scope: Scope) -> DictRow:
        async with self._inside(conn, scope) as named:
            row = await (await conn.execute(_LARGE["look"], named)).fetchone()
        if row is None:
            raise NotFound(f"there is nothing of {scope.owner!r} yet")
        return row

    async def _build(self, conn: Connection, space: SpaceId, dimensions: int) -> bool | None:
        """The HNSW index of the space and the model; those of another model, or built otherwise, go. Whether it was made, None without room."""
        wanted, there = index_name(space, self._model), False
        own = await (await conn.execute(_LARGE["own"], {"prefix": _prefix(space)})).fetchall()
        for found in own:
            if found["name"] == wanted and found["valid"]:
                there = True
            else:
                await _dropped(conn, found["name"])
        if there:
            return False
        others = one(await (await conn.execute(_LARGE["all"])).fetchone())["indexes"]
        if others >= INDEXES:
            return None
        await conn.execute(
            sql.SQL(
                "create index concurrently {} on muniment.memories using hnsw ((embedding::halfvec({})) halfvec_ip_ops) "
                "with ({}) where space_id = {} and state = 'active' and embedding_model = {}"
            ).format(
                sql.Identifier(wanted),
                sql.Literal(dimensions),
                sql.SQL(_WITH),
                sql.Literal(space),
                sql.Literal(self._model),
            )
        )
        return True

    async def _list(self, conn: Connection, scope: Scope) -> None:
        """The lists of the space. What is written meanwhile is of a later revision than theirs."""
        async with self._inside(conn, scope) as named:
            await conn.execute("set local work_mem = '64MB'")
            await conn.execute(_LARGE["keep"], named)
            rev = one(await (await conn.execute(_LARGE["look"], named)).fetchone())["rev"]
            await conn.execute(_LARGE["forget_lists"], named)
            await conn.execute(_LARGE["lists"], named)
            await conn.execute(_LARGE["mark"], named | {"rev": rev})

    async def _drop(self, conn: Connection, scope: Scope, space: Mapping[str, Any]) -> Indexing:
        """From the first statement on a search goes without them."""
        async with self._inside(conn, scope) as named:
            await conn.execute(_LARGE["mark"], named | {"model": None, "rev": None})
            await conn.execute(_LARGE["forget_lists"], named)
        had = await self._drop_all(conn, scope) or space["indexed_model"] is not None
        return Indexing(memories=space["active"], indexed=False, made=("dropped",) if had else ())

    async def _indexed(self, scope: Scope) -> bool:
        """Whether there is any index of the space, whole or not."""
        async with self._calling() as conn:
            return bool(await (await conn.execute(_LARGE["own"], {"prefix": _prefix(scope.space)})).fetchall())

    async def _drop_all(self, conn: Connection, scope: Scope) -> bool:
        own = await (await conn.execute(_LARGE["own"], {"prefix": _prefix(scope.space)})).fetchall()
        for found in own:
            await _dropped(conn, found["name"])
        return bool(own)


def index_name(space: SpaceId, model: str) -> str:
    """The name of a space's index over the vectors of a model, as it is built now."""
    return _prefix(space) + blake2b(f"{model} with {_WITH}".encode(), digest_size=4).hexdigest()


@lru_cache(maxsize=256)
def among(text: str, space: SpaceId, model: str, dimensions: int, candidates: int) -> bytes:
    """The text of a search that is left open, for a space that has indexes of its own."""
    literals = {
        "at": space,
        "model": model,
        "dimensions": dimensions,
        # What the planner can read it does not guess.
        "wide": max(_NEAR, _WIDE * candidates),
        "most": _MOST,
        "few": _FEW,
        **LISTS,
    }
    for name, value in literals.items():
        text = text.replace(f"{{{name}}}", sql.Literal(value).as_string())
    return text.encode()


def _prefix(space: SpaceId) -> str:
    return f"memories_near_{space.hex}_"


async def _dropped(conn: Connection, name: str) -> None:
    await conn.execute(sql.SQL("drop index concurrently if exists muniment.{}").format(sql.Identifier(name)))
