"""What this process keeps between calls: spaces that it writes often, buffered events, settlements and access counts,
cached dates, and locks."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from muniment.memory.config.settings import format_embedder_setting
from muniment.memory.domain.ids import NO_VECTOR, MemoryId, Revision, RunId, SpaceId, Vector
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.memory import Neighbour
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.usage import OpsEvent, Settlement
from muniment.memory.errors import (
    BadConfig,
    Conflict,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    StoreError,
    WrongEmbedder,
)
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.operation.usage import UsageStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.rules.merging.space_index import HeldSpace, SpaceIndex

_LOGGER = logging.getLogger(__name__)
_AWAY_SECONDS = 5.0  # for which an embedder that failed is left alone
_MAX_SWITCHES = 10  # of a space while one call is repeated
_MAX_SPACES = 10_000  # whose embedders are remembered, and whose writes are counted
_MAX_BUFFERED_EVENTS = 200  # of one scope
_WRITES_IN_A_ROW = 8  # after which a space is held: reading it costs as much as a few queries for neighbours
_WRITES_AFTER_CONFLICT = -20  # so many writes more before a space that another process writes into is held again
_PAUSE_SECONDS = 10.0  # which ends a row of writes
_HELD_SECONDS = 60.0
_MAX_HELD_SPACES = 16
_MAX_HELD_MEMORIES = 4_000  # of a space: reading them holds the loop for some 30 ms
_MIN_INTERVAL = timedelta(minutes=10)  # a memory whose count was written within it waits for a later flush
# Counts are flushed without a call when one space has _FULL, all spaces have _MOST, or the oldest is _MAX_DELAY old. A
# write of many costs as much as one of few, and forgetting, which counts in weeks, does not need the last hour.
_FULL, _MOST, _MAX_DELAY = 1_000, 20_000, timedelta(hours=1)
FoundNeighbours: TypeAlias = tuple[Revision, list[tuple[Neighbour, ...]]]  # of each candidate of a draft
_Engine = TypeVar("_Engine")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ProcessCache:
    """Memories, counts and dates that save queries. Losing them costs time, never data."""

    insight_slots: dict[SpaceId, datetime] = field(default_factory=dict)  # the slot of the last insight job
    daily_counts: dict[SpaceId, tuple[datetime, int, int]] = field(default_factory=dict)  # day, revision, changes
    held_spaces: dict[SpaceId, HeldSpace] = field(default_factory=dict)
    write_counts: dict[SpaceId, tuple[int, float]] = field(default_factory=dict)  # in a row, and when the last was
    reported_runs: set[RunId] = field(default_factory=set)  # runs without an endpoint that were logged once

    def drop_space(self, scope: Scope) -> None:
        """Drop what is cached of a space from which something was erased."""
        self.insight_slots.pop(scope.space, None)
        self.daily_counts.pop(scope.space, None)
        self.held_spaces.pop(scope.space, None)


class AvailableEmbedder:
    """The embedder, for what can do without it: no vector where it fails, and then none for some seconds, so that not
    every caller waits for its time-out."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._away_until = -math.inf

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question, NO_VECTOR without the embedder."""
        if monotonic() < self._away_until:
            return NO_VECTOR
        try:
            return await self._embedder.embed_query(text)
        except ModelError as error:
            self._note_failure(error)
            return NO_VECTOR

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, NO_VECTOR for all of them without the embedder."""
        if not texts:
            return []
        if monotonic() < self._away_until:
            return [NO_VECTOR] * len(texts)
        try:
            return await self._embedder.embed_documents(texts)
        except ModelError as error:
            self._note_failure(error)
            return [NO_VECTOR] * len(texts)

    def note_success(self) -> None:
        """Use the embedder again: it has answered somebody."""
        self._away_until = -math.inf

    def _note_failure(self, error: ModelError) -> None:
        _LOGGER.warning("the embedder is away (%s): memory goes on by words", type(error).__name__)
        if isinstance(error, ModelTimeout | ModelUnavailable | ModelRateLimited):  # others may be the text's fault
            self._away_until = monotonic() + _AWAY_SECONDS


class SpaceEngines(Generic[_Engine]):
    """The engines of this process, one for each embedder that its spaces have, and which of them a space had last."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._engines: dict[str, _Engine] = {}
        self._models: dict[SpaceId, str] = {}  # of spaces that have not the first engine's

    def add_first(self, engine: _Engine, make: Callable[[str], _Engine], others: Mapping[str, _Engine]) -> None:
        """Add the engine of the configured embedder, and those of others, by their names or by what makes them."""
        self._engines, self._make_engine = {self._model: engine, **others}, make

    async def run(self, scope: Scope, call: Callable[[_Engine], Awaitable[_Result]]) -> _Result:
        """Return the result of `call` with the engine of the space's embedder.

        The engine is that of the last call. The database compares each statement's model with the space's: where
        it names another one, this call is repeated with the engine of that. Raises WrongEmbedder for one that
        cannot be made."""
        for _ in range(_MAX_SWITCHES):
            try:
                return await call(self._engines[self._models.get(scope.space, self._model)])
            except WrongEmbedder as error:
                await self._follow_space(scope, error)
        return await call(self._engines[self._models.get(scope.space, self._model)])

    def list_others(self) -> list[_Engine]:
        """Return the engines but the first."""
        return [engine for model, engine in self._engines.items() if model != self._model]

    async def _follow_space(self, scope: Scope, error: WrongEmbedder) -> None:
        """Remember the embedder that the error names for the space, and make it unless it is there."""
        model = error.data["database"]
        if model not in self._engines:
            try:
                engine = await asyncio.to_thread(self._make_engine, model)  # it may import what is slow to import
            except BadConfig as problem:
                raise WrongEmbedder(
                    f"the vectors of this space come from {model!r}, which this process does not have: {problem}; "
                    f"or run `muniment embedder switch {format_embedder_setting(self._model)} --user {scope.owner}`",
                    database=model,
                    configured=self._model,
                ) from None
            self._engines.setdefault(model, engine)
        self._models.pop(scope.space, None)
        if model != self._model:
            if len(self._models) >= _MAX_SPACES:
                self._models.clear()
            self._models[scope.space] = model


class SpaceLocks:
    """Gives the writers of a space one lock, so that within this process none outdates the plan of another."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[SpaceId, asyncio.Lock] = WeakValueDictionary()

    def space_lock(self, space: SpaceId) -> asyncio.Lock:
        """Return the lock of a space; it lives as long as somebody holds or awaits it."""
        return self._locks.setdefault(space, asyncio.Lock())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeighbourFinder:
    """Finds the neighbours of candidates. The caller holds the lock of the space.

    A space is held after some writes in a row, and for a minute at most: what changes without a revision, such as a
    vector that is made later, is seen by then. A plan from what is held is committed against its revision; where
    another process has written meanwhile, that is a Conflict, and the plan is made again by a query."""

    cache: ProcessCache
    embedder: Embedder
    reads: MemoryReads

    async def find_neighbours(self, scope: Scope, probes: Sequence[NeighbourProbe], most: int) -> FoundNeighbours:
        """Return the revision of the space and the neighbours of each probe, as the port's `find_neighbours` does."""
        now, held, index = monotonic(), self.cache.held_spaces.get(scope.space), None
        if held and held.model == self.embedder.name and now < held.until:
            index = held.index
        else:
            count, last = self.cache.write_counts.get(scope.space, (0, now))
            count = count + 1 if now - last < _PAUSE_SECONDS else 1
            if len(self.cache.write_counts) >= _MAX_SPACES:
                self.cache.write_counts.clear()
            self.cache.write_counts[scope.space] = count, now
            if count >= _WRITES_IN_A_ROW:
                index = await self._hold_space(scope)
        if index is None or any(probe.vector is NO_VECTOR for probe in probes):
            return await self.reads.find_neighbours(scope, probes, most)
        rankings = [index.rank_neighbours(probe, most) for probe in probes]
        if missing := index.list_missing(rankings):
            graph = await self.reads.read_members(scope, missing)
            if graph.rev != index.rev:
                self.drop_outdated(scope)
                return await self.reads.find_neighbours(scope, probes, most)
            index.hold_memories(graph.memories.values())
        return index.rev, [index.build_neighbours(ranking) for ranking in rankings]

    async def confirm_revision(self, scope: Scope) -> None:
        """Check that what is held of the space is not outdated, before an answer that commits nothing. Raises
        Conflict."""
        held = self.cache.held_spaces.get(scope.space)
        if held and held.index and held.index.rev != (await self.reads.find_neighbours(scope, (), 0))[0]:
            self.drop_outdated(scope)
            raise Conflict

    def apply_receipt(self, scope: Scope, receipt: Receipt) -> None:
        """Change what is held of the space by what was committed."""
        held = self.cache.held_spaces.get(scope.space)
        if held and held.index and not held.index.apply_changes(receipt.rev, receipt.changes):
            del self.cache.held_spaces[scope.space]

    def drop_outdated(self, scope: Scope) -> None:
        """Drop what is held of a space that another writer has changed."""
        if self.cache.held_spaces.pop(scope.space, None):
            self.cache.write_counts[scope.space] = _WRITES_AFTER_CONFLICT, monotonic()

    async def _hold_space(self, scope: Scope) -> SpaceIndex | None:
        space, held_spaces = scope.space, self.cache.held_spaces
        packed = await self.reads.read_packed(scope, _MAX_HELD_MEMORIES)
        held_spaces.pop(space, None)
        if len(held_spaces) >= _MAX_HELD_SPACES:
            del held_spaces[next(iter(held_spaces))]
        index, until = SpaceIndex(packed) if packed else None, monotonic() + _HELD_SECONDS
        held = held_spaces[space] = HeldSpace(model=self.embedder.name, index=index, until=until)
        asyncio.get_running_loop().call_later(_HELD_SECONDS, self._drop_expired, space, held)
        return index

    def _drop_expired(self, space: SpaceId, held: HeldSpace) -> None:
        if self.cache.held_spaces.get(space) is held:
            del self.cache.held_spaces[space]


class AccessLog:
    """Counts which memories were retrieved, and writes the counts later. A count in the buffer is lost with the
    process."""

    def __init__(self, writes: MemoryWrites, clock: Clock) -> None:
        self._writes, self._clock = writes, clock
        self._counts: dict[Scope, Counter[MemoryId]] = {}
        self._accessed_at: dict[Scope, datetime] = {}
        # Ordered by age. The first of a plain dict is found past all that were removed before it.
        self._written: OrderedDict[tuple[SpaceId, MemoryId], datetime] = OrderedDict()
        self._unflushed: Counter[Scope] = Counter()  # since a write was last tried
        self._total, self._started_at = 0, clock.now()
        self._flush_task: asyncio.Task[None] | None = None

    def record_access(self, scope: Scope, ids: Iterable[MemoryId]) -> None:
        """Count that these memories of the owner's scope were retrieved now. Does not wait."""
        counts = Counter(ids)
        if not counts:
            return
        self._counts.setdefault(scope, Counter()).update(counts)
        now = self._accessed_at[scope] = self._clock.now()
        self._unflushed[scope] += len(counts)
        self._total += len(counts)
        if self._flush_task is not None and not self._flush_task.done():
            return
        if self._total >= _MOST or not timedelta() <= now - self._started_at < _MAX_DELAY:
            # Reset first: counts that cannot be written now must not be tried again with every answer.
            self._unflushed.clear()
            self._total, self._started_at = 0, now
            self._flush_task = asyncio.create_task(self._flush_scopes(list(self._counts)))
        elif self._unflushed[scope] >= _FULL:
            self._flush_task = asyncio.create_task(self._flush_scopes([scope]))

    async def flush(self, scope: Scope, *, force: bool = False) -> None:
        """Write the scope's counts, without `force` only those of memories that were not written within ten minutes.

        Counts of rows that another writer has locked stay in the buffer, and all do when the write fails. Raises
        StoreError."""
        if scope not in self._counts:
            return
        self._total -= self._unflushed.pop(scope, 0)
        counts, now = self._counts.pop(scope), self._clock.now()
        at = self._accessed_at.get(scope, now)
        due = {id_: n for id_, n in counts.items() if force or not self._is_recent(scope, id_, now)}
        rest = Counter({id_: n for id_, n in counts.items() if id_ not in due})
        try:
            if due:
                locked = await self._writes.record_access(scope, due, at)
                rest.update({id_: due[id_] for id_ in locked})
                for id_ in due.keys() - locked:
                    self._written[scope.space, id_] = now
                    self._written.move_to_end((scope.space, id_))
        except BaseException:
            rest.update(due)
            raise
        finally:
            if rest:
                self._counts.setdefault(scope, Counter()).update(rest)
            elif scope not in self._counts:
                self._accessed_at.pop(scope, None)
            self._prune_written(now)

    async def close(self) -> None:
        """Write all counts. Raises StoreError."""
        if self._flush_task is not None:
            await asyncio.gather(self._flush_task, return_exceptions=True)
        for scope in list(self._counts):
            await self.flush(scope, force=True)

    def _is_recent(self, scope: Scope, id_: MemoryId, now: datetime) -> bool:
        written = self._written.get((scope.space, id_))
        return written is not None and abs(now - written) < _MIN_INTERVAL

    def _prune_written(self, now: datetime) -> None:
        """Drop the times that no flush asks for any more; the clock may have been set back since."""
        while self._written:
            first, written = next(iter(self._written.items()))
            if abs(now - written) < _MIN_INTERVAL:
                break
            del self._written[first]

    async def _flush_scopes(self, scopes: Sequence[Scope]) -> None:
        with suppress(StoreError):  # the next explicit flush raises it
            for scope in scopes:
                await self.flush(scope, force=True)


class WriteBehind:
    """Buffers events, settlements and access counts beside the reply, and writes them later.

    While the database is down the buffers keep their content."""

    def __init__(self, *, usage: UsageStore, access_log: AccessLog, retention: RetentionTerms) -> None:
        self._usage, self._access_log, self.retention = usage, access_log, retention
        self._events: defaultdict[Scope, list[OpsEvent]] = defaultdict(list)
        self._settlements: dict[Scope, list[Settlement]] = {}

    async def track_event(self, scope: Scope, event: OpsEvent) -> None:
        """Buffer an event; a full buffer is written."""
        events = self._events[scope.owner_scope]
        events.append(event)
        if len(events) >= _MAX_BUFFERED_EVENTS:
            await self._flush_events(scope)

    def add_settlement(self, scope: Scope, settlement: Settlement) -> None:
        """Buffer what a request to a model came to. The settlements of a tenant are one list."""
        if settlement.reserved or settlement.used:
            self._settlements.setdefault(_make_tenant_scope(scope), []).append(settlement)

    async def flush_settlements(self, scope: Scope) -> None:
        """Write the settlements of the scope's tenant. Raises StoreError."""
        if not (settlements := self._settlements.pop(_make_tenant_scope(scope), [])):
            return
        try:
            await self._usage.settle(scope, settlements)
        except BaseException:
            self._settlements.setdefault(_make_tenant_scope(scope), [])[:0] = settlements
            raise

    async def flush(self, scope: Scope) -> None:
        """Write the settlements, events and access counts of a scope. Raises StoreError."""
        await self._flush_events(scope)
        await self._access_log.flush(scope.owner_scope)

    async def flush_all(self) -> None:
        """Write everything that is buffered. Raises StoreError."""
        for scope in [*self._events, *self._settlements]:
            await self._flush_events(scope)
        await self._access_log.close()

    def drop_space(self, scope: Scope) -> None:
        """Drop the events of a space from which something was erased."""
        self._events.pop(scope.owner_scope, None)

    async def _flush_events(self, scope: Scope) -> None:
        if self._settlements:
            await self.flush_settlements(scope)
        owner = scope.owner_scope
        if not (events := self._events.pop(owner, [])):
            return
        try:
            await self._usage.record_events(scope, events, retention=self.retention.events)
        except BaseException:
            self._events[owner][:0] = events[-_MAX_BUFFERED_EVENTS:]
            raise


def _make_tenant_scope(scope: Scope) -> Scope:
    return Scope(tenant=scope.tenant, owner="")
