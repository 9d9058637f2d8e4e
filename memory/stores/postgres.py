"""The Store port over Postgres and pgvector. Every method is one transaction inside one space."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import uuid4

from pgvector import HalfVector
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from muniment.memory.errors import Conflict, WrongEmbedder
from muniment.memory.ports import Dump, Probe, Sight
from muniment.memory.records import (
    Delta,
    JournalEntry,
    Memory,
    MemoryId,
    Neighbour,
    OpsEvent,
    Reader,
    Receipt,
    Revision,
    Scope,
    Search,
    Turn,
    TurnId,
    Vector,
    WritePlan,
    evolve,
)
from muniment.memory.rules import words
from muniment.memory.stores import rows
from muniment.memory.stores.sql import blocks
from muniment.memory.stores.translate import translated

Connection = AsyncConnection[DictRow]
_WRITE, _READ, _MOVE = blocks("write"), blocks("read"), blocks("move")
_POOL = 10
_WAIT_SECONDS = 15.0


class PostgresStore:
    """Opens itself on first use. `address` finds the database (and may start and migrate it)."""

    def __init__(self, address: Callable[[], Awaitable[str]], *, model: str, dimensions: int) -> None:
        self._address = address
        self._model = model
        self._dimensions = dimensions
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._opening = asyncio.Lock()
        self._checked = False

    async def open(self) -> None:
        """Connect, and refuse a database whose vectors come from another model. Raises StoreDown, WrongEmbedder."""
        async with self._opening:
            if self._pool is None:
                pool = AsyncConnectionPool(
                    await self._address(),
                    kwargs={"row_factory": dict_row, "autocommit": True},
                    configure=_configure,
                    min_size=1,
                    max_size=_POOL,
                    timeout=_WAIT_SECONDS,
                    open=False,
                    name="muniment",
                    connection_class=AsyncConnection[DictRow],
                )
                try:
                    with translated("opening the database"):
                        await pool.open(wait=True, timeout=_WAIT_SECONDS)
                except BaseException:
                    await pool.close()
                    raise
                self._pool = pool
        if not self._checked:
            await self._check_embedder()

    async def close(self) -> None:
        """Let the connections go. The next use opens again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def commit(self, plan: WritePlan) -> Receipt:
        """Apply a plan in one transaction. Raises Conflict when the space is no longer at `plan.expects`."""
        space = {"space": plan.scope.space}
        changes = tuple(
            evolve(change, after=evolve(change.after, rev=Revision(plan.expects + n)))
            for n, change in enumerate(plan.changes, 1)
        )
        rev = Revision(plan.expects + len(changes))
        async with self._writing(plan.scope, plan.at) as conn:
            bumped = await conn.execute(_WRITE["bump"], space | {"changes": len(changes), "expects": plan.expects})
            if not bumped.rowcount:
                raise Conflict(f"the space is no longer at revision {plan.expects}")
            if plan.turns and not await self._consume(conn, plan, rev):
                raise _Replayed
            async with conn.pipeline():
                for change in changes:
                    await conn.execute(_WRITE["apply"], rows.values(plan, change, change.after.rev, self._model))
                for edge in plan.relations:
                    await conn.execute(_WRITE["relate"], space | asdict(edge) | {"at": plan.at})
            return Receipt(rev=rev, changes=changes)
        return Receipt(rev=plan.expects, replayed=True)

    async def near(
        self, scope: Scope, probes: Sequence[Probe], limit: int
    ) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
        """See `Store.near`: kin by stable key or attribute, then the closest by cosine; none twice."""
        space = {"space": scope.space}
        probed = space | {
            "kinds": [one.kind for one in probes],
            "keys": [one.stable_key for one in probes],
            "attributes": [one.attribute for one in probes],
        }
        async with self._reading(scope, None) as conn, conn.pipeline():
            rev = await conn.execute(_READ["rev"], space)
            kin = await conn.execute(_READ["near"], probed)
            close = [
                await conn.execute(
                    _READ["close"],
                    space | {"vector": HalfVector(one.vector), "kind": one.kind, "model": self._model, "limit": limit},
                )
                for one in probes
            ]
            relatives: defaultdict[int, list[DictRow]] = defaultdict(list)
            for row in await kin.fetchall():
                relatives[row["n"]].append(row)
            found = [_neighbours(relatives[n], await cursor.fetchall()) for n, cursor in enumerate(close, 1)]
            return Revision(_one(await rev.fetchone())["rev"]), found

    async def look(
        self,
        reader: Reader,
        search: Search | None,
        *,
        stable: Sequence[str] = (),
        stable_limit: int = 100,
        thread: str | None = None,
        horizon: datetime | None = None,
    ) -> Sight:
        """See `Store.look`."""
        space = {"space": reader.scope.space}
        async with self._reading(reader.scope, reader.allowed) as conn, conn.pipeline():
            rev = await conn.execute(_READ["rev"], space)
            hits = await conn.execute(_READ["search"], space | self._searched(search)) if search else None
            lasting = (
                await conn.execute(_READ["stable"], space | {"categories": list(stable), "limit": stable_limit})
                if stable
                else None
            )
            unseen = (
                await conn.execute(_READ["delta"], space | {"thread": thread, "horizon": horizon}) if thread else None
            )
            now = Revision(_one(await rev.fetchone())["rev"])
            return Sight(
                rev=now,
                found=tuple(map(rows.found, await hits.fetchall())) if hits else (),
                stable=tuple(map(rows.memory, await lasting.fetchall())) if lasting else (),
                delta=_delta(await unseen.fetchall(), now) if unseen else None,
            )

    async def seen(self, scope: Scope, thread: str, rev: Revision) -> None:
        """See `Store.seen`."""
        async with self._writing(scope) as conn:
            await conn.execute(_WRITE["seen"], {"space": scope.space, "thread": thread, "rev": rev})

    async def get(self, reader: Reader, memory_id: MemoryId) -> Memory | None:
        """One memory in any state, or None."""
        async with self._reading(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_READ["get"], {"space": reader.scope.space, "memory_id": memory_id})
            row = await cursor.fetchone()
        return rows.memory(row) if row else None

    async def list(
        self,
        reader: Reader,
        *,
        categories: Sequence[str] = (),
        states: Sequence[str] = ("active",),
        limit: int = 100,
        offset: int = 0,
    ) -> list[Memory]:
        """Memories, newest change first."""
        wanted = {"categories": list(categories) or None, "states": list(states), "limit": limit, "offset": offset}
        async with self._reading(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_READ["list"], {"space": reader.scope.space} | wanted)
            return [rows.memory(row) for row in await cursor.fetchall()]

    async def history(self, reader: Reader, memory_id: MemoryId | None, limit: int) -> list[JournalEntry]:
        """See `Store.history`."""
        asked = {"space": reader.scope.space, "memory_id": memory_id, "limit": limit}
        async with self._reading(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_READ["history"], asked)
            return [rows.entry(row) for row in await cursor.fetchall()]

    async def record(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """See `Store.record`."""
        async with self._writing(scope, turns[0].at if turns else None) as conn, conn.pipeline():
            for turn in turns:
                await conn.execute(_WRITE["record"], {"space": scope.space} | _turn(turn))

    async def known(self, scope: Scope, turns: Sequence[TurnId]) -> set[TurnId]:
        """See `Store.known`."""
        async with self._reading(scope, None) as conn:
            cursor = await conn.execute(_READ["known"], {"space": scope.space, "turns": list(turns)})
            return {TurnId(row["turn_id"]) for row in await cursor.fetchall()}

    async def touch(self, scope: Scope, ids: Sequence[MemoryId], at: datetime) -> None:
        """See `Store.touch`."""
        async with self._writing(scope) as conn:
            await conn.execute(_WRITE["touch"], {"space": scope.space, "ids": list(ids), "at": at})

    async def track(self, scope: Scope, events: Sequence[OpsEvent]) -> None:
        """Write operational events."""
        async with self._writing(scope, events[0].ts if events else None) as conn, conn.pipeline():
            for event in events:
                named = {"space": scope.space, "event_id": uuid4(), "user_id": scope.owner}
                await conn.execute(_WRITE["track"], named | asdict(event))

    async def status(self, scope: Scope) -> dict[str, Any]:
        """Counts of the space and the database's version."""
        space = {"space": scope.space}
        async with self._reading(scope, None) as conn:
            rev = _one(await (await conn.execute(_READ["rev"], space)).fetchone())
            counts = _one(await (await conn.execute(_READ["counts"], space)).fetchone())
            version = conn.info.server_version
        return rev | counts | {"postgres": f"{version // 10000}.{version % 10000}", "embedder": self._model}

    async def spaces(self) -> AsyncIterator[tuple[str, str, str]]:
        """See `Store.spaces`."""
        async with self._connected() as conn, conn.transaction():
            await conn.execute(_READ["keeper"])
            found = await (await conn.execute(_READ["spaces"])).fetchall()
        for row in found:
            yield row["tenant_id"], row["owner_id"], row["owner_type"]

    async def dump(self, scope: Scope) -> Dump:
        """See `Store.dump`."""
        async with self._reading(scope, None) as conn:
            found = [row["row"] for row in await (await conn.execute(_MOVE["dump"], {"space": scope.space})).fetchall()]
        return Dump(rev=Revision(found[0]["rev"] if found else 0), rows=tuple(found))

    async def load(self, scope: Scope, dump: Dump, vectors: Sequence[Vector]) -> None:
        """See `Store.load`."""
        space, vector = {"space": scope.space}, iter(vectors)
        created = next((row["created_at"] for row in dump.rows if row["type"] == "space"), None)
        async with self._writing(scope, datetime.fromisoformat(created) if created else None) as conn:
            bumped = await conn.execute(_MOVE["load_space"], space | {"rev": dump.rev, "created_at": created})
            if not bumped.rowcount:
                raise Conflict("the space is not empty")
            async with conn.pipeline():
                for row in dump.rows:
                    if row["type"] != "space":
                        await conn.execute(_MOVE[f"load_{row['type']}"], space | self._loaded(row, vector))

    async def strangers(self, scope: Scope, limit: int) -> list[str]:
        """See `Store.strangers`."""
        async with self._reading(scope, None) as conn:
            cursor = await conn.execute(
                _MOVE["strangers"], {"space": scope.space, "model": self._model, "limit": limit}
            )
            return [row["text"] for row in await cursor.fetchall()]

    async def revector(self, scope: Scope, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """See `Store.revector`."""
        async with self._writing(scope) as conn, conn.pipeline():
            for text, vector in zip(texts, vectors, strict=True):
                named = {"space": scope.space, "model": self._model, "text": text, "embedding": HalfVector(vector)}
                await conn.execute(_MOVE["revector"], named)
                await conn.execute(_MOVE["revector_versions"], named)

    async def adopt(self) -> None:
        """See `Store.adopt`."""
        named = {"model": self._model, "dimensions": self._dimensions}
        async with self._connected() as conn, conn.transaction():
            await conn.execute(_MOVE["retire_embedders"], named)
            await conn.execute(_MOVE["adopt_embedder"], named)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        if self._pool is None:
            await self.open()
        assert self._pool is not None
        with translated():
            async with self._pool.connection() as conn:
                yield conn

    @asynccontextmanager
    async def _reading(self, scope: Scope, allowed: frozenset[str] | None) -> AsyncIterator[Connection]:
        """One snapshot of one space; with an allowlist row-level security hides every other category."""
        await self._ready()
        entered = {"space": scope.space, "allowed": sorted(allowed) if allowed is not None else None}
        async with self._connected() as conn, conn.pipeline(), conn.transaction():
            await conn.execute(_READ["snapshot"])
            await conn.execute(_READ["enter"], entered)
            yield conn

    @asynccontextmanager
    async def _writing(self, scope: Scope, found_at: datetime | None = None) -> AsyncIterator[Connection]:
        """One transaction in one space, which is founded when `found_at` is given."""
        await self._ready()
        space = {"space": scope.space, "tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type}
        try:
            async with self._connected() as conn, conn.transaction():
                async with conn.pipeline():
                    await conn.execute(_WRITE["enter"], space)
                    if found_at is not None:
                        await conn.execute(_WRITE["found_space"], space | {"at": found_at})
                yield conn
        except _Replayed:
            return

    async def _ready(self) -> None:
        if self._pool is None or not self._checked:
            await self.open()

    async def _check_embedder(self) -> None:
        named = {"model": self._model, "dimensions": self._dimensions}
        async with self._connected() as conn, conn.transaction():
            await conn.execute(_MOVE["first_embedder"], named)
            active = _one(await (await conn.execute(_MOVE["active_embedder"])).fetchone())["model"]
        if active != self._model:
            raise WrongEmbedder(
                f"the vectors of this database come from {active!r}, the configured embedder is {self._model!r}: "
                f"set MUNIMENT_EMBEDDER={active}, or run `muniment embedder switch {self._model}`",
                database=active,
                configured=self._model,
            )
        self._checked = True

    async def _consume(self, conn: Connection, plan: WritePlan, rev: Revision) -> bool:
        fresh = 0
        for turn in plan.turns:
            cursor = await conn.execute(_WRITE["consume"], {"space": plan.scope.space, "rev": rev} | _turn(turn))
            fresh += cursor.rowcount
        return fresh > 0

    def _searched(self, search: Search) -> dict[str, Any]:
        narrowed = asdict(search.filters)
        del narrowed["user_id"]
        return narrowed | {
            "vector": HalfVector(search.vector),
            "model": self._model,
            "categories": list(search.categories),
            "terms": list(search.terms),
            "tsquery": words.tsquery(search.terms),
            "candidates": search.candidates,
        }

    def _loaded(self, row: dict[str, Any], vectors: Iterator[Vector]) -> dict[str, Any]:
        found: dict[str, Any] = {"row": Jsonb({key: value for key, value in row.items() if key != "type"})}
        if row["type"] in ("memory", "version"):
            found |= {
                "embedding": HalfVector(next(vectors)).to_text(),
                "model": self._model,
                "tokens": words.tsvector(row["text"], row.get("context")),
            }
        return found


class _Replayed(Exception):
    """Every turn of the plan has been consumed before."""


async def _configure(conn: Connection) -> None:
    await register_vector_async(conn)
    await conn.execute("set role muniment_app")
    await conn.execute("set plan_cache_mode = force_custom_plan")
    await conn.execute("set jit = off")
    await conn.execute("set timezone = 'UTC'")


def _one(row: DictRow | None) -> DictRow:
    assert row is not None
    return row


def _neighbours(kin: Sequence[DictRow], close: Sequence[DictRow]) -> tuple[Neighbour, ...]:
    sims = {row["memory_id"]: row["sim"] for row in close}
    found = {
        row["memory_id"]: Neighbour(
            memory=rows.memory(row), sim=1.0 if row["same_key"] else sims.get(row["memory_id"], 0.0)
        )
        for row in kin
    }
    for row in close:
        found.setdefault(row["memory_id"], Neighbour(memory=rows.memory(row), sim=row["sim"]))
    return tuple(sorted(found.values(), key=lambda one: -one.sim))


def _delta(found: Sequence[DictRow], rev: Revision) -> Delta:
    lines = tuple(rows.entry(row) for row in found if row["rev"] is not None and row["text"] is not None)
    return Delta(since=Revision(found[0]["since"]), rev=rev, entries=lines)


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "turn_id": turn.id,
        "session": turn.session,
        "thread": turn.thread,
        "role": turn.role,
        "actor": turn.actor,
        "text": turn.text,
        "at": turn.at,
    }
