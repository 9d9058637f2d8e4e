"""The engine joins the flows over the adapters. `Memory`, `Conversation`, `Admin` and `Jobs` share one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar, get_type_hints

from muniment.memory.config.settings import Settings
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.background.episodes import Episodes
from muniment.memory.flows.background.erase import Erasures
from muniment.memory.flows.background.indexing import Indexes
from muniment.memory.flows.background.insights import Insights
from muniment.memory.flows.background.maintenance import Maintenance
from muniment.memory.flows.background.missing_vectors import MissingVectors
from muniment.memory.flows.background.procedures import Procedures
from muniment.memory.flows.background.reembed import Reembedding
from muniment.memory.flows.background.registry import JobRegistry
from muniment.memory.flows.background.tasks import BackgroundTasks
from muniment.memory.flows.background.turn_learning import TurnLearning
from muniment.memory.flows.consolidation.all_spaces import SpaceSweep
from muniment.memory.flows.consolidation.batch_collect import BatchCollection
from muniment.memory.flows.consolidation.batch_submit import BatchSubmission
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.flows.consolidation.prompt import PairPrompts
from muniment.memory.flows.consolidation.undo import RunUndo
from muniment.memory.flows.layers.chat_keeper import ChatKeeper
from muniment.memory.flows.layers.host_item_keeper import HostItemKeeper
from muniment.memory.flows.layers.inbox import Inbox
from muniment.memory.flows.layers.message_stream import MessageStream
from muniment.memory.flows.layers.projections import Projections
from muniment.memory.flows.layers.resources import ResourceKeeper
from muniment.memory.flows.layers.session_builder import SessionBuilder
from muniment.memory.flows.layers.session_keeper import SessionKeeper
from muniment.memory.flows.layers.skills import Skills
from muniment.memory.flows.live_settings import LiveSettings
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.process_state import (
    AccessLog,
    AvailableEmbedder,
    NeighbourFinder,
    ProcessCache,
    SpaceEngines,
    SpaceLocks,
    WriteBehind,
)
from muniment.memory.flows.reading.bisection import Bisecting
from muniment.memory.flows.reading.changes import ChangeLog
from muniment.memory.flows.reading.explain import AbsenceExplainer
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.reading.person import PersonRecords
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.flows.reading.spelling import Spelling
from muniment.memory.flows.reading.stats import Statistics
from muniment.memory.flows.reading.verification import Verification
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.forget import Forgetting
from muniment.memory.flows.writing.forgotten import Forgotten
from muniment.memory.flows.writing.group import DraftGroups, GroupQueues
from muniment.memory.flows.writing.import_rows import ImportRows
from muniment.memory.flows.writing.importing.records import RecordImport
from muniment.memory.flows.writing.importing.restore import ExportRestore
from muniment.memory.flows.writing.importing.transfer import CLOSE_GRACE_SECONDS, Transfer
from muniment.memory.flows.writing.items import Items
from muniment.memory.flows.writing.lifecycle import Lifecycle
from muniment.memory.flows.writing.model_extraction import ModelExtraction
from muniment.memory.flows.writing.plan import PlanCommitter, Planner, Quotas
from muniment.memory.flows.writing.refile import Refiling
from muniment.memory.flows.writing.requested_texts import HandEdits, RequestedTexts
from muniment.memory.flows.writing.requests import Requests
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.installation import InstallationKey
from muniment.memory.ports.items import ItemStore
from muniment.memory.ports.layers.stores import LayerStores
from muniment.memory.ports.llm import BatchModel, ChatModel
from muniment.memory.ports.readers import TextReader
from muniment.memory.ports.store import Store
from muniment.memory.rules.extraction.turn_reader import TurnReader
from muniment.memory.rules.policy.retention import build_terms
from muniment.memory.rules.redaction.redact import Redactor

_Result = TypeVar("_Result")
MakeStore = Callable[[str], Store]
MakeEmbedder = Callable[[str], Embedder]
_PROCESS = ("locks", "cache", "access_log", "write_behind", "background_tasks", "engines")
_PORTS = (
    "reads", "writes", "ledger", "jobs", "runs", "batch_runs", "erasure", "maintenance", "usage", "embedder_switch",
)  # fmt: skip
_LAYER_PORTS = (
    "chats",
    "host_items",
    "inbox_reads",
    "messages",
    "observations",
    "person_reads",
    "replays",
    "resources",
    "seals",
    "sessions",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Engine:
    """The adapters, the settings, the state of the process, and the flows; each flow needs only parts before it."""

    store: Store
    item_store: ItemStore
    layer_stores: LayerStores
    embedder: Embedder
    clock: Clock
    installation_key: InstallationKey
    settings: Settings
    live_settings: LiveSettings
    model: ChatModel | None
    batches: BatchModel | None
    retention: RetentionTerms
    redactor: Redactor
    text_reader: TextReader
    locks: SpaceLocks
    cache: ProcessCache
    access_log: AccessLog
    available_embedder: AvailableEmbedder
    write_behind: WriteBehind
    background_tasks: BackgroundTasks
    make_store: MakeStore
    make_embedder: MakeEmbedder
    own_prompt: str | None
    engines: SpaceEngines[Engine]

    usage_meter: UsageMeter
    browser: MemoryBrowser
    spelling: Spelling
    recall: Recall
    projections: Projections
    change_log: ChangeLog
    absence_explainer: AbsenceExplainer
    bisecting: Bisecting
    statistics: Statistics
    person_records: PersonRecords
    verification: Verification
    consents: Consents
    skills: Skills
    neighbour_finder: NeighbourFinder
    committer: PlanCommitter
    quotas: Quotas
    forgetting: Forgetting
    lifecycle: Lifecycle
    planner: Planner
    draft_groups: DraftGroups
    writer: Writer
    requested_texts: RequestedTexts
    hand_edits: HandEdits
    requests: Requests
    import_rows: ImportRows
    export_restore: ExportRestore
    transfer: Transfer
    record_import: RecordImport
    items: Items
    refiling: Refiling
    forgotten: Forgotten
    model_extraction: ModelExtraction
    host_item_keeper: HostItemKeeper
    inbox: Inbox
    resource_keeper: ResourceKeeper
    session_builder: SessionBuilder
    session_keeper: SessionKeeper
    message_stream: MessageStream
    chat_keeper: ChatKeeper
    pair_prompts: PairPrompts
    batch_submission: BatchSubmission
    consolidation: Consolidation
    batch_collection: BatchCollection
    space_sweep: SpaceSweep
    run_undo: RunUndo
    episodes: Episodes
    insights: Insights
    procedures: Procedures
    maintenance_flow: Maintenance
    indexes: Indexes
    missing_vectors: MissingVectors
    reembedding: Reembedding
    erasures: Erasures
    turn_learning: TurnLearning
    job_registry: JobRegistry

    @classmethod
    def build(
        cls,
        *,
        store: Store,
        item_store: ItemStore,
        layer_stores: LayerStores,
        embedder: Embedder,
        clock: Clock,
        installation_key: InstallationKey,
        settings: Settings,
        live_settings: LiveSettings,
        model: ChatModel | None = None,
        batches: BatchModel | None = None,
        text_reader: TextReader,
        make_store: MakeStore,
        make_embedder: MakeEmbedder,
        own_prompt: str | None = None,
        beside: Engine | None = None,
        engines: SpaceEngines[Engine] | None = None,
    ) -> Self:
        """Return the engine over these adapters; nothing is opened. Each field of a flow gets the part of its name.

        `make_store` and `make_embedder` return those for spaces of another embedder, by its name; `own_prompt` says
        what is worth remembering, beside the prompt. An engine `beside` another one shares the state of its process,
        unless it has `engines` of its own."""
        redactor = Redactor(settings.redact)
        retention = build_terms(settings.forgetting, settings.session_ledger, settings.categories)
        process = _share_process(beside, engines) or _begin_process(store, embedder, clock, retention)
        parts: dict[str, Any] = {name: getattr(store, name) for name in _PORTS}
        parts |= {name: getattr(layer_stores, name) for name in _LAYER_PORTS} | {
            "store": store,
            "item_store": item_store,
            "layer_stores": layer_stores,
            "projection_store": layer_stores.projections,
            "embedder": embedder,
            "clock": clock,
            "installation_key": installation_key,
            "settings": settings,
            "live_settings": live_settings,
            "model": model,
            "batches": batches,
            "make_store": make_store,
            "make_embedder": make_embedder,
            "own_prompt": own_prompt,
            "retention": retention,
            "profile": settings.find_profile(embedder.name),
            "redactor": redactor,
            "text_reader": text_reader,
            "turn_reader": TurnReader(redactor=redactor, limits=settings.limits, per_turn=settings.write.per_turn),
            "available_embedder": AvailableEmbedder(embedder),
            "group_queues": GroupQueues(),
            **process,
        }
        for name, flow in get_type_hints(cls).items():
            if name not in parts:
                parts[name] = flow(**{field.name: parts[field.name] for field in fields(flow)})
        engine = cls(**{field.name: parts[field.name] for field in fields(cls)})
        if beside is None:
            engine.engines.add_first(engine, engine.make_sibling, {})
        return engine

    def make_sibling(self, model: str) -> Self:
        """Return the engine of another embedder in the same process. Raises BadConfig where it cannot be made."""
        return self.rebuild(store=self.make_store(model), embedder=self.make_embedder(model), beside=self)

    def configure(
        self, *, embedder: Embedder, model: ChatModel | None, prompt: str | None, make_former: MakeEmbedder
    ) -> Engine:
        """Return the engine of spaces with models of their own, in the same process and over the same connections.

        `make_former` returns an embedder that such a space had before, by its name. What uses this engine keeps to its
        spaces; it is not closed, and neither are its models."""
        engines = SpaceEngines[Engine](embedder.name)
        engine = self.rebuild(
            store=self.make_store(embedder.name),
            embedder=embedder,
            model=model,
            batches=None,
            make_embedder=make_former,
            own_prompt=prompt,
            beside=self,
            engines=engines,
        )
        engines.add_first(engine, engine.make_sibling, {})
        return engine

    def rebuild(self, **changes: Any) -> Self:
        """Return an engine over the same adapters, with `changes` to the arguments of `build`."""
        names = (
            "store", "item_store", "layer_stores", "embedder", "clock", "installation_key", "settings", "live_settings",
            "model", "batches", "text_reader", "make_store", "make_embedder", "own_prompt",
        )  # fmt: skip
        return self.build(**{name: getattr(self, name) for name in names} | changes)

    def follow_settings(self) -> Engine:
        """Return the engine of the same process by the settings as they are now, with those of other embedders, and
        let later calls use them. A call that is under way goes on with what it began with."""
        first = self.rebuild(beside=self)
        others = {
            each.embedder.name: first.rebuild(store=each.store, embedder=each.embedder, beside=first)
            for each in self.engines.list_others()
        }
        self.engines.add_first(first, first.make_sibling, others)
        self.write_behind.retention = first.retention
        return first

    async def run_checked(self, scope: Scope, call: Callable[[Engine], Awaitable[_Result]]) -> _Result:
        """Return the result of a long `call` with the engine of the space's embedder, for which the database is asked
        first. Raises StoreError, WrongEmbedder for one that cannot be made."""

        async def check_and_call(engine: Engine) -> _Result:
            await engine.store.writes.check_embedder(scope)
            return await call(engine)

        return await self.engines.run(scope, check_and_call)

    async def open(self) -> None:
        """Connect. Raises StoreDown, WrongEmbedder."""
        await self.store.open()

    async def open_or_close(self) -> None:
        """Connect; close everything when that fails. Raises StoreDown, WrongEmbedder."""
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish what goes on behind replies, write what is buffered, close the adapters. A caller that is cancelled,
        as by Ctrl-C, still waits for the write."""
        await self.live_settings.stop()
        try:
            await self.finish_background()
        finally:
            await self._close_adapters()

    async def finish_background(self) -> None:
        """Wait for what goes on behind replies, for some seconds at most."""
        with suppress(TimeoutError):  # a worker does the rest
            await self.background_tasks.finish_all(CLOSE_GRACE_SECONDS)

    async def _close_adapters(self) -> None:
        writing = asyncio.create_task(self.write_behind.flush_all())
        try:
            await asyncio.shield(writing)
        finally:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(writing, return_exceptions=True), CLOSE_GRACE_SECONDS)
            await self.store.close()
            for engine in (self, *self.engines.list_others()):
                await engine.embedder.close()
            if self.model is not None:
                await self.model.close()


def _begin_process(store: Store, embedder: Embedder, clock: Clock, retention: RetentionTerms) -> dict[str, Any]:
    """The state of a process that has no engine yet."""
    access_log = AccessLog(store.writes, clock)
    return {
        "locks": SpaceLocks(),
        "cache": ProcessCache(),
        "access_log": access_log,
        "write_behind": WriteBehind(usage=store.usage, access_log=access_log, retention=retention),
        "background_tasks": BackgroundTasks(),
        "engines": SpaceEngines[Engine](embedder.name),
    }


def _share_process(engine: Engine | None, engines: SpaceEngines[Engine] | None) -> dict[str, Any]:
    """The state of the process of an engine, with other `engines` where some are given; empty without an engine."""
    shared = {} if engine is None else {name: getattr(engine, name) for name in _PROCESS}
    return shared if engine is None or engines is None else shared | {"engines": engines}
