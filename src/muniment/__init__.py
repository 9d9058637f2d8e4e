"""Muniment, the long-term memory of LangGraph agents: one tool, one journal, one Postgres.

The names below are imported when they are first used, so that `import muniment` costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.memory.acts import Use
    from muniment.memory.bootstrap import open_memory
    from muniment.memory.engine import Memory
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
    from muniment.memory.records import Filters, Query, Scope
    from muniment.memory.settings import Settings, load as load_settings

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

_HOMES = {
    "open_memory": ("muniment.memory.bootstrap", "open_memory"),
    "Memory": ("muniment.memory.engine", "Memory"),
    "Filters": ("muniment.memory.records", "Filters"),
    "Query": ("muniment.memory.records", "Query"),
    "Scope": ("muniment.memory.records", "Scope"),
    "Settings": ("muniment.memory.settings", "Settings"),
    "Use": ("muniment.memory.acts", "Use"),
    "load_settings": ("muniment.memory.settings", "load"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    module, attribute = _HOMES.get(name, ("muniment.memory.errors", name))
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
