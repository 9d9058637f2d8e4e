"""Muniment, the long-term memory of LangGraph agents: one tool, one journal, one Postgres.

The names below are imported when they are first used, so that `import muniment` costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.memory.bootstrap import open_memory
    from muniment.memory.client import Memory
    from muniment.memory.config.settings import Settings, load_settings
    from muniment.memory.domain.query import Filters, Query
    from muniment.memory.domain.scope import Scope
    from muniment.memory.domain.turn import ToolUse as Use
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
        ModelError,
        ModelRateLimited,
        ModelTimeout,
        ModelUnavailable,
        MunimentError,
        NoCheckpoint,
        NotFound,
        NotReady,
        OverBudget,
        StoreDown,
        StoreError,
        StoreFull,
        TooLarge,
        WrongEmbedder,
    )

__version__ = "0.4.0"

__all__ = [
    "BadConfig",
    "BadExtraction",
    "BadInput",
    "BadModelAnswer",
    "BatchFailed",
    "Busy",
    "Conflict",
    "CopyDiffers",
    "Denied",
    "EditedMigration",
    "Filters",
    "Memory",
    "ModelError",
    "ModelRateLimited",
    "ModelTimeout",
    "ModelUnavailable",
    "MunimentError",
    "NoCheckpoint",
    "NotFound",
    "NotReady",
    "OverBudget",
    "Query",
    "Scope",
    "Settings",
    "StoreDown",
    "StoreError",
    "StoreFull",
    "TooLarge",
    "Use",
    "WrongEmbedder",
    "load_settings",
    "open_memory",
]

_LAZY_IMPORTS = {
    "open_memory": ("muniment.memory.bootstrap", "open_memory"),
    "Memory": ("muniment.memory.client", "Memory"),
    "Filters": ("muniment.memory.domain.query", "Filters"),
    "Query": ("muniment.memory.domain.query", "Query"),
    "Scope": ("muniment.memory.domain.scope", "Scope"),
    "Settings": ("muniment.memory.config.settings", "Settings"),
    "Use": ("muniment.memory.domain.turn", "ToolUse"),
    "load_settings": ("muniment.memory.config.settings", "load_settings"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    module, attribute = _LAZY_IMPORTS.get(name, ("muniment.memory.errors", name))
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
