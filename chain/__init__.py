"""A chain of middlewares around any function that answers messages. It knows nothing of what they do.

`Host` runs the chain; `ChatLoop` is a plain loop over a client of openai; `open_sync_host` is the door for programs
without asyncio. Each name is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.chain.chat_loop import ChatLoop
    from muniment.chain.faults import FaultReport
    from muniment.chain.host import Host
    from muniment.chain.middleware import AfterPrompt, BeforeCompact, BeforePrompt, Middleware, OnToolResult
    from muniment.chain.outcome import build_answer, drop_asides, mark_aside
    from muniment.chain.placement import append_text, join_additions, place_additions
    from muniment.chain.sync import SyncHost, open_sync_host
    from muniment.chain.values import Addition, Identity, Message, ToolCall, ToolOutput, TurnContext, TurnOutput

__all__ = [
    "Addition",
    "AfterPrompt",
    "BeforeCompact",
    "BeforePrompt",
    "ChatLoop",
    "FaultReport",
    "Host",
    "Identity",
    "Message",
    "Middleware",
    "OnToolResult",
    "SyncHost",
    "ToolCall",
    "ToolOutput",
    "TurnContext",
    "TurnOutput",
    "append_text",
    "build_answer",
    "drop_asides",
    "join_additions",
    "mark_aside",
    "open_sync_host",
    "place_additions",
]

_MODULES = {
    "chat_loop": "ChatLoop",
    "faults": "FaultReport",
    "host": "Host",
    "middleware": "AfterPrompt BeforeCompact BeforePrompt Middleware OnToolResult",
    "outcome": "build_answer drop_asides mark_aside",
    "placement": "append_text join_additions place_additions",
    "sync": "SyncHost open_sync_host",
    "values": "Addition Identity Message ToolCall ToolOutput TurnContext TurnOutput",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value = getattr(import_module(f"muniment.chain.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
