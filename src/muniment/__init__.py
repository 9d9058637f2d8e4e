"""Muniment, the long-term memory of LangGraph agents: one tool, one journal, one Postgres.

The names below are imported when they are first used, so that `import muniment` costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.memory.bootstrap import open_memory as open_memory
    from muniment.memory.engine import Memory as Memory
    from muniment.memory.errors import (
        BadConfig as BadConfig,
        BadInput as BadInput,
        BadModelAnswer as BadModelAnswer,
        Conflict as Conflict,
        Denied as Denied,
        EditedMigration as EditedMigration,
        ModelError as ModelError,
        ModelRateLimited as ModelRateLimited,
        ModelTimeout as ModelTimeout,
        ModelUnavailable as ModelUnavailable,
        MunimentError as MunimentError,
        NotFound as NotFound,
        StoreDown as StoreDown,
        StoreError as StoreError,
        StoreFull as StoreFull,
        TooLarge as TooLarge,
        WrongEmbedder as WrongEmbedder,
    )
    from muniment.memory.records import Filters as Filters, Query as Query, Scope as Scope
    from muniment.memory.settings import Settings as Settings, load as load_settings

__version__ = "0.1.0"

_ERRORS = (
    "BadConfig", "BadInput", "BadModelAnswer", "Conflict", "Denied", "EditedMigration", "ModelError",
    "ModelRateLimited", "ModelTimeout", "ModelUnavailable", "MunimentError", "NotFound", "StoreDown", "StoreError",
    "StoreFull", "TooLarge", "WrongEmbedder",
)  # fmt: skip
_HOMES = {
    "open_memory": ("muniment.memory.bootstrap", "open_memory"),
    "Memory": ("muniment.memory.engine", "Memory"),
    "Filters": ("muniment.memory.records", "Filters"),
    "Query": ("muniment.memory.records", "Query"),
    "Scope": ("muniment.memory.records", "Scope"),
    "Settings": ("muniment.memory.settings", "Settings"),
    "load_settings": ("muniment.memory.settings", "load"),
    **{name: ("muniment.memory.errors", name) for name in _ERRORS},
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        detail = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(detail)
    module, attribute = _HOMES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
