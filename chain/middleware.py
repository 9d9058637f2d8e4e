"""The hooks that a middleware may have. An object with any of them is one; each hook is a protocol of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from muniment.chain.values import Message, ToolOutput, TurnContext, TurnOutput


@runtime_checkable
class BeforePrompt(Protocol):
    """Sees a turn before the model does."""

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        """Return the turn, changed or as it came."""
        ...


@runtime_checkable
class AfterPrompt(Protocol):
    """Sees a turn when its answer has gone out."""

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        """Do what the turn calls for. Nobody waits for it."""
        ...


@runtime_checkable
class OnToolResult(Protocol):
    """Sees what a tool gave, before the model does."""

    async def on_tool_result(self, context: TurnContext, output: ToolOutput) -> None:
        """Note what a tool gave."""
        ...


@runtime_checkable
class BeforeCompact(Protocol):
    """Sees the messages that are about to leave a conversation."""

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        """Return when the messages may leave. What is raised keeps them."""
        ...


Middleware: TypeAlias = BeforePrompt | AfterPrompt | OnToolResult | BeforeCompact
