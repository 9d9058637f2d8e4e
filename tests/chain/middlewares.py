"""Middlewares that record, fail, wait and answer, and what tests make turns of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from muniment.chain import Addition, Identity, Message, ToolOutput, TurnContext, TurnOutput, build_answer

AT = datetime(2026, 11, 12, 9, tzinfo=UTC)
WHO = Identity(user="ana", session="s1")


def make_turn(
    text: str = "hello", *, turn_id: str = "t1", session: str = "s1", system: str | None = None
) -> TurnContext:
    """A turn of one message."""
    messages: tuple[Message, ...] = (Message(role="user", text=text, id=f"m-{turn_id}"),)
    if system is not None:
        messages = (Message(role="system", text=system), *messages)
    return TurnContext(turn_id=turn_id, identity=replace(WHO, session=session), messages=messages, at=AT)


async def answer_seen(context: TurnContext) -> TurnOutput:
    """The answer names the sources of what was added."""
    return build_answer("seen: " + ",".join(one.source for one in context.additions), AT)


class Recorder:
    """Has all four hooks, adds its name to the turn, and writes down in `calls` what it was called with."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self.name, self.calls = name, calls
        self.outputs: list[TurnOutput] = []
        self.contexts: list[TurnContext] = []
        self.ended: list[TurnContext] = []

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        self.calls.append(f"before {self.name}")
        self.contexts.append(context)
        return replace(context, additions=(*context.additions, Addition(source=self.name, text=f"by {self.name}")))

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        self.calls.append(f"after {self.name}")
        self.outputs.append(output)
        self.ended.append(context)

    async def on_tool_result(self, context: TurnContext, output: ToolOutput) -> None:
        self.calls.append(f"tool {self.name} {output.text}")

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        self.calls.append(f"compact {self.name} {len(messages)}")


class Troubled:
    """All four hooks do the same: what `trouble` does."""

    def __init__(self, trouble: Callable[[], Awaitable[object]]) -> None:
        self.trouble = trouble

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        await self.trouble()
        return replace(context, additions=(Addition(source="troubled", text="too late"),))

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        await self.trouble()

    async def on_tool_result(self, context: TurnContext, output: ToolOutput) -> None:
        await self.trouble()

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        await self.trouble()


async def fail() -> None:
    """Raise an error whose text must not be seen."""
    raise LookupError("the password is hunter2")


async def wait_long() -> None:
    """Take longer than any limit."""
    await asyncio.sleep(60)


async def ignore_cancellation() -> None:
    """Wait half a second, whoever cancels."""
    end = asyncio.get_running_loop().time() + 0.5
    while (left := end - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


async def cancel_itself() -> None:
    """Raise a cancellation that nobody has asked for."""
    raise asyncio.CancelledError
