"""A host that runs a chain of middlewares around any function that answers messages."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

from muniment.chain.after_work import AfterWork
from muniment.chain.faults import FaultReport, HookName, find_place
from muniment.chain.hook_call import HookCalls, HookFault, HookResult
from muniment.chain.middleware import AfterPrompt, BeforeCompact, BeforePrompt, Middleware, OnToolResult
from muniment.chain.outcome import build_answer, build_end, build_reply, drop_asides
from muniment.chain.values import Message, ToolOutput, TurnContext, TurnOutput

_log = logging.getLogger(__name__)
_CANCEL_SECONDS = 1.0  # for calls that were cancelled to end
_Result = TypeVar("_Result")
Answer: TypeAlias = Callable[[TurnContext], Awaitable[TurnOutput]]
StreamedAnswer: TypeAlias = Callable[[TurnContext], AsyncGenerator[str | TurnOutput, None]]
_Turn: TypeAlias = tuple[TurnContext, TurnOutput]


class Host:
    """Runs the hooks of middlewares around turns: in order on the way in, in reverse order on the way out.

    Each call of a hook has a time limit in seconds and a boundary: of one that fails or is late the changes are
    dropped, the others run, and the turn goes on. `on_fault` is told, and the log. What is done behind a reply is in
    order within a session; over `max_pending` turns the oldest that has not begun is dropped. A hook that blocks the
    event loop cannot be limited.

    A host works on the event loop on which it is called, and on no other."""

    def __init__(
        self,
        middlewares: Sequence[Middleware],
        *,
        before_seconds: float = 2.0,
        tool_seconds: float = 2.0,
        after_seconds: float = 30.0,
        compact_seconds: float = 60.0,
        max_pending: int = 1_000,
        on_fault: Callable[[FaultReport], None] | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """Raises TypeError for a middleware without any hook."""
        for middleware in middlewares:
            if not isinstance(middleware, BeforePrompt | AfterPrompt | OnToolResult | BeforeCompact):
                raise TypeError(f"{type(middleware).__name__} has none of the hooks of a middleware")
        self._before = [one for one in middlewares if isinstance(one, BeforePrompt)]
        self._tool = [one for one in middlewares if isinstance(one, OnToolResult)]
        self._after = [one for one in reversed(middlewares) if isinstance(one, AfterPrompt)]
        self._compact = [one for one in middlewares if isinstance(one, BeforeCompact)]
        self._before_seconds, self._tool_seconds = before_seconds, tool_seconds
        self._after_seconds, self._compact_seconds = after_seconds, compact_seconds
        self._on_fault, self._now = on_fault, now or _read_clock
        self._calls = HookCalls()
        self._work: AfterWork[_Turn] = AfterWork(self._perform_after, max_pending, self._report_dropped)
        self._is_closed = False

    async def run_turn(self, context: TurnContext, answer: Answer) -> TurnOutput:
        """Return what `answer` makes of the turn, or the reply of a middleware. What is done behind it begins then.

        Raises what `answer` raises, as it was; the middlewares see a turn that failed or was aborted."""
        turn = context
        try:
            turn = await self.prepare(context)
            output = build_reply(turn, self._now()) or await answer(turn)
        except BaseException as error:
            self.finish(turn, build_end(error, self._now()))
            raise
        self.finish(turn, output)
        return output

    async def stream_turn(self, context: TurnContext, answer: StreamedAnswer) -> AsyncGenerator[str | TurnOutput, None]:
        """Yield the parts of an answer as they come, and its output last.

        `answer` yields texts, and its output where it is more than these. A caller that stops before the end, or is
        cancelled, aborts the turn."""
        turn, parts = context, list[str]()
        output: TurnOutput | None = None
        try:
            turn = await self.prepare(context)
            if (output := build_reply(turn, self._now())) is not None:
                yield output.text
            else:
                async with aclosing(answer(turn)) as stream:
                    async for part in stream:
                        if isinstance(part, TurnOutput):
                            output = part
                        else:
                            parts.append(part)
                            yield part
        except BaseException as error:
            self.finish(turn, build_end(error, self._now(), "".join(parts)))
            raise
        output = output or build_answer("".join(parts), self._now())
        self.finish(turn, output)
        yield output

    async def prepare(self, context: TurnContext) -> TurnContext:
        """Return the turn as the middlewares leave it, without asides of earlier turns. The first reply ends it."""
        turn = _drop_asides(context)
        for middleware in self._before:
            result = await self._call(
                "before_prompt", middleware, turn, self._before_seconds, _bind_before(middleware, turn)
            )
            if isinstance(result, HookResult):
                turn = result.value
            if turn.reply is not None:
                break
        return turn

    async def report_tool(self, context: TurnContext, output: ToolOutput) -> None:
        """Tell the middlewares what a tool gave, before the model is told."""
        for middleware in self._tool:
            await self._call(
                "on_tool_result", middleware, context, self._tool_seconds, _bind_tool(middleware, context, output)
            )

    def finish(self, context: TurnContext, output: TurnOutput) -> None:
        """Begin what is done behind the reply of a turn that `prepare` has returned. It waits for nothing.

        It is called on the event loop of the host, once for each turn, also for those that failed."""
        if not self._after:
            return
        work = (_drop_asides(context), output)  # a turn that was cancelled on its way in has them still
        if self._is_closed:
            self._report_dropped(work)
            return
        identity = context.identity
        self._work.start((identity.tenant, identity.user, identity.session), work)

    async def compact(self, context: TurnContext, messages: Sequence[Message]) -> bool:
        """Return whether messages may leave the conversation: False where a middleware failed or was late."""
        shown = drop_asides(messages)
        may_leave = True
        for middleware in self._compact:
            result = await self._call(
                "before_compact", middleware, context, self._compact_seconds, _bind_compact(middleware, context, shown)
            )
            may_leave = may_leave and isinstance(result, HookResult)
        return may_leave

    async def drain(self, seconds: float) -> int:
        """Wait for what is done behind replies, at most so long, and return of how many turns it is not done."""
        return await self._work.drain(seconds)

    async def aclose(self) -> None:
        """Wait for what is done behind replies, as long as one hook may take, and drop the rest."""
        self._is_closed = True
        await self._work.drain(self._after_seconds)
        self._work.stop()
        await self._work.drain(_CANCEL_SECONDS)
        await self._calls.aclose(_CANCEL_SECONDS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _perform_after(self, work: _Turn) -> None:
        context, output = work
        for middleware in self._after:
            await self._call(
                "after_prompt", middleware, context, self._after_seconds, _bind_after(middleware, context, output)
            )

    async def _call(
        self,
        hook: HookName,
        middleware: object,
        context: TurnContext,
        seconds: float,
        call: Callable[[], Awaitable[_Result]],
    ) -> HookResult[_Result] | HookFault:
        result = await self._calls.call_hook(call, seconds)
        if isinstance(result, HookFault):
            is_late = result.kind == "late"
            self._report_fault(
                FaultReport(
                    hook=hook,
                    kind=result.kind,
                    turn_id=context.turn_id,
                    session=context.identity.session,
                    middleware=_name_middleware(middleware),
                    seconds=seconds if is_late else None,
                    error=type(result.error).__name__ if result.error else None,
                    place=find_place(result.error) if result.error else None,
                )
            )
        return result

    def _report_dropped(self, work: _Turn) -> None:
        context, _ = work
        self._report_fault(
            FaultReport(hook="after_prompt", kind="dropped", turn_id=context.turn_id, session=context.identity.session)
        )

    def _report_fault(self, fault: FaultReport) -> None:
        _log.warning(
            "%s of %s %s in turn %s of session %s: %s %s",
            fault.hook,
            fault.middleware or "all",
            fault.kind,
            fault.turn_id,
            fault.session,
            fault.error or fault.seconds or "not begun",
            fault.place or "",
        )
        if self._on_fault is not None:
            try:
                self._on_fault(fault)
            except Exception as error:  # noqa: BLE001 - it counts and shows, and must not fail a turn
                _log.warning("on_fault failed: %s", type(error).__name__)


def _bind_before(middleware: BeforePrompt, context: TurnContext) -> Callable[[], Awaitable[TurnContext]]:
    async def call() -> TurnContext:
        changed = await middleware.before_prompt(context)
        if not isinstance(changed, TurnContext):
            raise TypeError("before_prompt returned no turn")
        if (changed.turn_id, changed.identity) != (context.turn_id, context.identity):
            raise ValueError("before_prompt changed whose turn it is")
        return changed

    return call


def _bind_tool(middleware: OnToolResult, context: TurnContext, output: ToolOutput) -> Callable[[], Awaitable[None]]:
    return lambda: middleware.on_tool_result(context, output)


def _bind_after(middleware: AfterPrompt, context: TurnContext, output: TurnOutput) -> Callable[[], Awaitable[None]]:
    return lambda: middleware.after_prompt(context, output)


def _bind_compact(
    middleware: BeforeCompact, context: TurnContext, messages: Sequence[Message]
) -> Callable[[], Awaitable[None]]:
    return lambda: middleware.before_compact(context, messages)


def _drop_asides(context: TurnContext) -> TurnContext:
    return replace(context, messages=drop_asides(context.messages))


def _name_middleware(middleware: object) -> str:
    name = getattr(middleware, "name", None)
    return name if isinstance(name, str) else type(middleware).__name__


def _read_clock() -> datetime:
    return datetime.now(UTC)
