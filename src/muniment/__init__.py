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
        open_memory,
        open_worker,
    )
    from muniment.memory.client import (
        Conversation,
        Memory,
    )
    from muniment.memory.config.settings import (
        Settings,
        load_settings,
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
        Denied,
        EditedMigration,
        KeyReused,
        ModelError,
        ModelRateLimited,
        ModelTimeout,
        ModelUnavailable,
        MunimentError,
        NoCheckpoint,
        NotFound,
        NotPermitted,
        NotReady,
        OverBudget,
        StoreDown,
        StoreError,
        StoreFull,
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
    "Conflict",
    "Consent",
    "Conversation",
    "CopyDiffers",
    "Denied",
    "EditedMigration",
    "Embedder",
    "ErasureReceipt",
    "Explanation",
    "Fact",
    "Filters",
    "Finding",
    "Hit",
    "ImportReport",
    "IndexingResult",
    "Job",
    "Jobs",
    "JournalEntry",
    "KeyReused",
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
    "NotFound",
    "NotPermitted",
    "NotReady",
    "Omission",
    "OpsEvent",
    "OverBudget",
    "Pair",
    "Query",
    "Receipt",
    "Revision",
    "Run",
    "Scope",
    "Settings",
    "SpaceActivity",
    "SpaceChange",
    "SpaceResult",
    "StoreDown",
    "StoreError",
    "StoreFull",
    "StoredMemory",
    "SwitchProgress",
    "SwitchRange",
    "TooLarge",
    "ToolUse",
    "Traces",
    "Turn",
    "TurnId",
    "Unauthorized",
    "UndoResult",
    "UsageReport",
    "Use",
    "Worker",
    "WrongEmbedder",
    "load_settings",
    "open_memory",
    "open_worker",
]

_MODULES = {
    "admin": "Admin",
    "bootstrap": "open_memory open_worker",
    "client": "Conversation Memory",
    "config.settings": "Settings load_settings",
    "domain.consent": "Consent",
    "domain.consolidation": "Finding Pair Run SpaceResult UndoResult",
    "domain.embedding": "SwitchProgress SwitchRange",
    "domain.erasure": "ErasureReceipt Traces",
    "domain.ids": "MemoryId Revision TurnId",
    "domain.jobs": "Job",
    "domain.journal": "ChangePage JournalEntry SpaceChange",
    "domain.maintenance": "IndexingResult MaintenanceResult",
    "domain.memory": "Fact Neighbour StoredMemory",
    "domain.plan": "Change ImportReport Receipt",
    "domain.query": "Answer Brief Explanation Filters Hit ListRequest MemoryPage Omission Query",
    "domain.scope": "Scope",
    "domain.turn": "Candidate ToolUse Turn",
    "domain.usage": "OpsEvent SpaceActivity UsageReport",
    "flows.background.worker": "Worker",
    "jobs": "Jobs",
    "ports.embedders": "Embedder",
    "ports.llm": "ChatAnswer ChatMessage ChatModel",
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
