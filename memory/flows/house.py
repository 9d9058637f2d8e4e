"""What every flow needs, joined once: the adapters, the settings, and what is shared between calls."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from muniment.memory.config.schema import Category, EmbedderProfile, RedactionSettings
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, RunId, SpaceId
from muniment.memory.domain.query import Hit
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.domain.usage import OpsEvent, Settlement
from muniment.memory.errors import BadConfig, BadInput
from muniment.memory.flows.access_log import AccessLog
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import BatchModel, ChatModel
from muniment.memory.ports.store import Store
from muniment.memory.rules.policy.retention import build_terms, hash_terms
from muniment.memory.rules.redaction import secret_names
from muniment.memory.rules.redaction.redact import Redactor, find_denial

_MAX_BUFFERED = 200
_REDACTION_CACHE_SIZE = 1_000
CLOSE_GRACE_SECONDS = 3.0  # that somebody who wants to leave is kept


def parse_memory_id(given: object) -> MemoryId:
    """The id of a memory, also from its text. Raises BadInput, which says of a text only how long it is: it may be anything."""
    if isinstance(given, UUID):
        return MemoryId(given)
    shape = type(given).__name__
    if isinstance(given, str):
        shape = f"text of {len(given)} characters"
        with suppress(ValueError):
            return MemoryId(UUID(given))
    raise BadInput(f"memory_id: a UUID or its text wanted, {shape} given")


class House:
    """The adapters and settings of one engine."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
        model: ChatModel | None = None,
        batches: BatchModel | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.clock = clock
        self.settings = settings
        self.model = model
        self.batches = batches  # the model's batch endpoint, if it has one
        self.redactor = Redactor(settings.redact)
        self.redact: Callable[[str], str] = self.redactor.redact_text
        # A thread goes to its model again with every turn: what was redacted once is not read again.
        self.redact_cached = lru_cache(maxsize=_REDACTION_CACHE_SIZE)(self.redact)
        self.insight_slots: dict[
            SpaceId, datetime
        ] = {}  # the slot in which insights were last asked for, in this process
        self.daily_counts: dict[SpaceId, tuple[datetime, int, int]] = {}  # day, revision and changes when last counted
        self.reported_runs: set[RunId] = set()  # batches that this process has no endpoint for; said once each
        self._space_locks: WeakValueDictionary[SpaceId, asyncio.Lock] = WeakValueDictionary()
        self.retention = build_terms(settings.forgetting, settings.session_ledger, settings.categories)
        self.access_log = AccessLog(store, clock)
        self._events: defaultdict[Scope, list[OpsEvent]] = defaultdict(list)
        self._settlements: dict[Scope, list[Settlement]] = {}

    @property
    def profile(self) -> EmbedderProfile:
        """What a cosine of the configured embedder means."""
        return self.settings.find_profile(self.embedder.name)

    @property
    def categories(self) -> Mapping[str, Category]:
        """The categories by slug."""
        return self.settings.categories

    def get_allowed_categories(self, agent: str) -> frozenset[str]:
        """The categories that an agent may read. Raises BadConfig for an agent without an allowlist."""
        allowlist = self.settings.allowlists.get(agent)
        if allowlist is None:
            known = ", ".join(sorted(self.settings.allowlists))
            raise BadConfig(f"unknown agent {agent!r}: it has no allowlist; known agents: {known}", agent=agent)
        return frozenset(allowlist)

    def make_owner_reader(self, scope: Scope) -> Reader:
        """The owner of a space as a reader: every category."""
        return Reader(scope=scope, allowed=frozenset(self.settings.categories))

    def space_lock(self, space: SpaceId) -> asyncio.Lock:
        """Lets the writers of one space in this process pass one by one, so that they do not outdate each other."""
        return self._space_locks.setdefault(space, asyncio.Lock())

    async def open(self) -> None:
        """Reach the database."""
        await self.store.open()

    async def enter(self) -> None:
        """As `open`, for whoever comes to `close` only if it succeeds."""
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Write the buffered events and let go of everything. Whoever is cancelled meanwhile, as by Ctrl-C, still writes them."""
        writing = asyncio.create_task(self._flush_all())
        try:
            await asyncio.shield(writing)
        finally:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(writing, return_exceptions=True), CLOSE_GRACE_SECONDS)
            await self.store.close()
            await self.embedder.close()
            if self.model is not None:
                await self.model.close()

    async def track_event(self, scope: Scope, event: OpsEvent) -> None:
        """Buffer an event; a full buffer is written."""
        events = self._events[scope.owner_scope]
        events.append(event)
        if len(events) >= _MAX_BUFFERED:
            await self._flush_scope(scope)

    def record_access(self, scope: Scope, hits: Iterable[Hit]) -> None:
        """Count that these were retrieved; written with a later `flush`."""
        self.access_log.record_access(scope.owner_scope, [hit.memory.id for hit in hits])

    async def flush(self, scope: Scope) -> None:
        """Write the buffered events of a scope, what its tenant owes, and what was retrieved; all stays buffered when the
        database is down."""
        await self._flush_scope(scope)
        await self.access_log.flush(scope.owner_scope)

    async def _flush_all(self) -> None:
        for scope in [*self._events, *self._settlements]:
            await self._flush_scope(scope)
        await self.access_log.close()

    async def _flush_scope(self, scope: Scope) -> None:
        await self.flush_settlements(scope)
        owner = scope.owner_scope
        events = self._events.pop(owner, [])
        if not events:
            return
        try:
            await self.store.record_events(scope, events, retention=self.retention.events)
        except BaseException:
            self._events[owner][:0] = events[-_MAX_BUFFERED:]
            raise

    def add_settlement(self, scope: Scope, settlement: Settlement) -> None:
        """Buffer what a request to a model came to, until the next `settle` or `flush`."""
        if settlement.reserved or settlement.used:
            self._settlements.setdefault(_tenant_scope(scope), []).append(settlement)

    async def flush_settlements(self, scope: Scope) -> None:
        """Write what the scope's tenant owes; it stays buffered when the database is down."""
        owed = self._settlements.pop(_tenant_scope(scope), [])
        if not owed:
            return
        try:
            await self.store.settle(scope, owed)
        except BaseException:
            self._settlements.setdefault(_tenant_scope(scope), [])[:0] = owed
            raise

    def drop_cached_state(self, scope: Scope) -> None:
        """Let go of what this process holds of a space from which something was erased."""
        self._events.pop(scope.owner_scope, None)
        self.insight_slots.pop(scope.space, None)
        self.daily_counts.pop(scope.space, None)
        self.redact_cached.cache_clear()

    async def get_status(self, scope: Scope) -> dict[str, Any]:
        """What `Store.status` tells, with the owner, and when the space was and will be tended."""
        told = await self.store.read_status(scope)
        upto, last, due, by = (told.pop(name, None) for name in ("tended_rev", "tended_at", "tend_at", "tend_terms"))
        every = timedelta(hours=self.settings.consolidation.every_hours)
        changed = () if upto == told["rev"] else (last + every if last else self.clock.now(),)
        outdated = (self.clock.now(),) if by != hash_terms(self.retention) else ()
        ahead = min([*filter(None, [due]), *changed, *outdated], default=None) if upto is not None else None
        tended = {
            name: at and at.isoformat(timespec="seconds") for name, at in (("tended", last), ("tended_next", ahead))
        }
        return {"user": scope.owner, "tenant": scope.tenant, "space": str(scope.space)} | told | tended


def find_denial_reason(house: House, scope: Scope, turn: Turn | None = None) -> str | None:
    """Why nothing of this scope, or this turn, is taken in (`redact.deny_…`), or None."""
    tags, path = (turn.tags, turn.path) if turn else ((), None)
    return find_denial(house.settings.redact, tags=tags, path=path, project=scope.project)


def sanitize_text(house: House, text: str) -> str:
    """A text as it may be stored, embedded and logged: cleaned, secrets taken out."""
    return house.redactor.sanitize_text(text)


def sanitize_value(house: House, value: Any) -> Any:
    """A JSON value with every text in it, names too, as it may be stored, embedded and logged."""
    return secret_names.redact_value(value, partial(sanitize_text, house))


def build_redactor(rules: RedactionSettings | None) -> Callable[[str], str]:
    """What takes the secrets out of a text and leaves a text without any as it is, to the byte; half a character has none."""
    return Redactor(rules).redact_text


def _tenant_scope(scope: Scope) -> Scope:
    """The scope without what differs within a tenant."""
    return Scope(tenant=scope.tenant, owner="")
