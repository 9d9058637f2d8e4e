"""Muniment, the long-term memory of LangGraph agents: one tool, one journal, one Postgres.

The names below are imported when they are first used, so that `import muniment` costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.memory.admin import (
        Admin,
    )
    from muniment.memory.bootstrap import (
        open_documents,
        open_memory,
        open_worker,
    )
    from muniment.memory.client import (
        Conversation,
        Memory,
    )
    from muniment.memory.config.changes import (
        SettingChange,
        SettingState,
        SettingsView,
    )
    from muniment.memory.config.settings import (
        Settings,
        load_settings,
    )
    from muniment.memory.config.stages import (
        SettingKey,
    )
    from muniment.memory.configuration import (
        Configuration,
    )
    from muniment.memory.domain.consent import (
        Consent,
    )
    from muniment.memory.domain.consolidation import (
        Finding,
        Pair,
        Run,
        SpaceResult,
        UndoResult,
    )
    from muniment.memory.domain.embedding import (
        SwitchProgress,
        SwitchRange,
    )
    from muniment.memory.domain.erasure import (
        ErasureReceipt,
        Traces,
    )
    from muniment.memory.domain.ids import (
        MemoryId,
        Revision,
        TurnId,
    )
    from muniment.memory.domain.jobs import (
        Job,
    )
    from muniment.memory.domain.journal import (
        ChangePage,
        JournalEntry,
        SpaceChange,
    )
    from muniment.memory.domain.layers.observation import (
        Observation,
    )
    from muniment.memory.domain.layers.projections import (
        Lineage,
        Projection,
        RebuildResult,
    )
    from muniment.memory.domain.layers.resources import (
        Resource,
        ResourceReport,
        Statement,
    )
    from muniment.memory.domain.layers.session import (
        Session,
        SessionPage,
        SessionRecord,
        SessionRequest,
        TurnHit,
    )
    from muniment.memory.domain.maintenance import (
        IndexingResult,
        MaintenanceResult,
    )
    from muniment.memory.domain.memory import (
        Fact,
        Neighbour,
        StoredMemory,
    )
    from muniment.memory.domain.plan import (
        Change,
        ImportReport,
        Receipt,
    )
    from muniment.memory.domain.query import (
        Answer,
        Brief,
        Explanation,
        Filters,
        Hit,
        ListRequest,
        MemoryPage,
        Omission,
        Query,
        Stage,
    )
    from muniment.memory.domain.scope import (
        Scope,
    )
    from muniment.memory.domain.turn import (
        Candidate,
        ToolUse,
        ToolUse as Use,
        Turn,
    )
    from muniment.memory.domain.usage import (
        OpsEvent,
        SpaceActivity,
        UsageReport,
    )
    from muniment.memory.errors import (
        BadConfig,
        BadExtraction,
        BadInput,
        BadModelAnswer,
        BatchFailed,
        Busy,
        Conflict,
        CopyDiffers,
        CuratedFileError,
        Denied,
        DuplicateMemory,
        EditedMigration,
        FileChanged,
        GatewayError,
        InitInterrupted,
        KeyReused,
        ModelError,
        ModelRateLimited,
        ModelTimeout,
        ModelUnavailable,
        MunimentError,
        NoCheckpoint,
        NoSession,
        NotFound,
        NotInitialized,
        NotPermitted,
        NotReady,
        NotStorable,
        OnlySecret,
        OverBudget,
        ProtocolMismatch,
        RemoteStoreError,
        StoreDown,
        StoreError,
        StoreFull,
        TemplateError,
        TokenConfigError,
        TokenDeleted,
        TooLarge,
        Unauthorized,
        WrongEmbedder,
    )
    from muniment.memory.flows.background.worker import (
        Worker,
    )
    from muniment.memory.jobs import (
        Jobs,
    )
    from muniment.memory.ports.embedders import (
        Embedder,
    )
    from muniment.memory.ports.llm import (
        ChatAnswer,
        ChatMessage,
        ChatModel,
    )
    from muniment.memory.projections import (
        Projections,
    )
    from muniment.memory.resources import (
        Resources,
    )
    from muniment.memory.sessions import (
        Sessions,
    )

__version__ = "0.4.0"

__all__ = [
    "Admin",
    "Answer",
    "BadConfig",
    "BadExtraction",
    "BadInput",
    "BadModelAnswer",
    "BatchFailed",
    "Brief",
    "Busy",
    "Candidate",
    "Change",
    "ChangePage",
    "ChatAnswer",
    "ChatMessage",
    "ChatModel",
    "Configuration",
    "Conflict",
    "Consent",
    "Conversation",
    "CopyDiffers",
    "CuratedFileError",
    "Denied",
    "DuplicateMemory",
    "EditedMigration",
    "Embedder",
    "ErasureReceipt",
    "Explanation",
    "Fact",
    "FileChanged",
    "Filters",
    "Finding",
    "GatewayError",
    "Hit",
    "ImportReport",
    "IndexingResult",
    "InitInterrupted",
    "Job",
    "Jobs",
    "JournalEntry",
    "KeyReused",
    "Lineage",
    "ListRequest",
    "MaintenanceResult",
    "Memory",
    "MemoryId",
    "MemoryPage",
    "ModelError",
    "ModelRateLimited",
    "ModelTimeout",
    "ModelUnavailable",
    "MunimentError",
    "Neighbour",
    "NoCheckpoint",
    "NoSession",
    "NotFound",
    "NotInitialized",
    "NotPermitted",
    "NotReady",
    "NotStorable",
    "Observation",
    "Omission",
    "OnlySecret",
    "OpsEvent",
    "OverBudget",
    "Pair",
    "Projection",
    "Projections",
    "ProtocolMismatch",
    "Query",
    "RebuildResult",
    "Receipt",
    "RemoteStoreError",
    "Resource",
    "ResourceReport",
    "Resources",
    "Revision",
    "Run",
    "Scope",
    "Session",
    "SessionPage",
    "SessionRecord",
    "SessionRequest",
    "Sessions",
    "SettingChange",
    "SettingKey",
    "SettingState",
    "Settings",
    "SettingsView",
    "SpaceActivity",
    "SpaceChange",
    "SpaceResult",
    "Stage",
    "Statement",
    "StoreDown",
    "StoreError",
    "StoreFull",
    "StoredMemory",
    "SwitchProgress",
    "SwitchRange",
    "TemplateError",
    "TokenConfigError",
    "TokenDeleted",
    "TooLarge",
    "ToolUse",
    "Traces",
    "Turn",
    "TurnHit",
    "TurnId",
    "Unauthorized",
    "UndoResult",
    "UsageReport",
    "Use",
    "Worker",
    "WrongEmbedder",
    "load_settings",
    "open_documents",
    "open_memory",
    "open_worker",
]

_MODULES = {
    "admin": "Admin",
    "bootstrap": "open_documents open_memory open_worker",
    "client": "Conversation Memory",
    "config.changes": "SettingChange SettingState SettingsView",
    "config.settings": "Settings load_settings",
    "config.stages": "SettingKey",
    "configuration": "Configuration",
    "domain.consent": "Consent",
    "domain.consolidation": "Finding Pair Run SpaceResult UndoResult",
    "domain.embedding": "SwitchProgress SwitchRange",
    "domain.erasure": "ErasureReceipt Traces",
    "domain.ids": "MemoryId Revision TurnId",
    "domain.jobs": "Job",
    "domain.journal": "ChangePage JournalEntry SpaceChange",
    "domain.layers.observation": "Observation",
    "domain.layers.projections": "Lineage Projection RebuildResult",
    "domain.layers.resources": "Resource ResourceReport Statement",
    "domain.layers.session": "Session SessionPage SessionRecord SessionRequest TurnHit",
    "domain.maintenance": "IndexingResult MaintenanceResult",
    "domain.memory": "Fact Neighbour StoredMemory",
    "domain.plan": "Change ImportReport Receipt",
    "domain.query": "Answer Brief Explanation Filters Hit ListRequest MemoryPage Omission Query Stage",
    "domain.scope": "Scope",
    "domain.turn": "Candidate ToolUse Turn",
    "domain.usage": "OpsEvent SpaceActivity UsageReport",
    "flows.background.worker": "Worker",
    "jobs": "Jobs",
    "ports.embedders": "Embedder",
    "ports.llm": "ChatAnswer ChatMessage ChatModel",
    "projections": "Projections",
    "resources": "Resources",
    "sessions": "Sessions",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}  # all others are errors


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    attribute = "ToolUse" if name == "Use" else name
    value = getattr(import_module(f"muniment.memory.{_HOMES.get(attribute, 'errors')}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
