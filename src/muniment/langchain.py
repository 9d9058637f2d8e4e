"""Muniment in agents of LangChain and LangGraph: a middleware, one for any chain, summarization over it, a tool that
reads memory, a store of items, and a memory for programs without asyncio.

Each name is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.faces.langchain.chain import (
        ChainMiddleware,
    )
    from muniment.faces.langchain.loop import (
        open_background_memory,
    )
    from muniment.faces.langchain.middleware import (
        MemoryMiddleware,
    )
    from muniment.faces.langchain.store import (
        MunimentStore,
    )
    from muniment.faces.langchain.summarization import (
        CompactingSummarization,
    )
    from muniment.faces.langchain.tool import (
        conversation_tool,
        memory_tool,
    )

__all__ = [
    "ChainMiddleware",
    "CompactingSummarization",
    "MemoryMiddleware",
    "MunimentStore",
    "conversation_tool",
    "memory_tool",
    "open_background_memory",
]

_HOMES = {
    "ChainMiddleware": "chain",
    "CompactingSummarization": "summarization",
    "MemoryMiddleware": "middleware",
    "MunimentStore": "store",
    "conversation_tool": "tool",
    "memory_tool": "tool",
    "open_background_memory": "loop",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    try:
        home = import_module(f"muniment.faces.langchain.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain":
            raise
        raise ImportError(f'{name} needs an extra: pip install "muniment[langchain]"', name=error.name) from error
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
