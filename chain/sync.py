"""A host for programs without asyncio: the chain works in a thread of its own, the answer is made in the caller's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from muniment.chain.host import Host
from muniment.chain.middleware import Middleware
from muniment.chain.outcome import build_answer, build_end, build_reply
from muniment.chain.values import Message, ToolOutput, TurnContext, TurnOutput

_Result = TypeVar("_Result")
_Opened: TypeAlias = tuple[Host, asyncio.AbstractEventLoop, asyncio.Event]
MakeHost: TypeAlias = Callable[[Sequence[Middleware]], Host]


class SyncHost:
    """The methods of a host for callers that wait for them. Made by `open_sync_host`.

    Each may be called in any thread but that of the chain itself."""

    def __init__(self, host: Host, loop: asyncio.AbstractEventLoop) -> None:
        self._host, self._loop = host, loop

    def run_turn(self, context: TurnContext, answer: Callable[[TurnContext], TurnOutput]) -> TurnOutput:
        """Return what `answer` makes of the turn in this thread, or the reply of a middleware.

        Raises what `answer` raises, as it was; the middlewares see a turn that failed or was aborted."""
        turn = context
        try:
            turn = self.prepare(context)
            output = build_reply(turn, _read_clock()) or answer(turn)
        except BaseException as error:
            self.finish(turn, build_end(error, _read_clock()))
            raise
        self.finish(turn, output)
        return output

    def stream_turn(
        self, context: TurnContext, answer: Callable[[TurnContext], Iterable[str | TurnOutput]]
    ) -> Iterator[str | TurnOutput]:
        """Yield the parts of an answer as they come, and its output last, as `Host.stream_turn` does."""
        turn, parts = context, list[str]()
        output: TurnOutput | None = None
        try:
            turn = self.prepare(context)
            if (output := build_reply(turn, _read_clock())) is not None:
                yield output.text
            else:
                for part in answer(turn):
                    if isinstance(part, TurnOutput):
                        output = part
                    else:
                        parts.append(part)
                        yield part
        except BaseException as error:
            self.finish(turn, build_end(error, _read_clock(), "".join(parts)))
            raise
        output = output or build_answer("".join(parts), _read_clock())
        self.finish(turn, output)
        yield output

    def prepare(self, context: TurnContext) -> TurnContext:
        """Return the turn as the middlewares leave it."""
        return self._wait(lambda: self._host.prepare(context))

    def report_tool(self, context: TurnContext, output: ToolOutput) -> None:
        """Tell the middlewares what a tool gave, before the model is told."""
        self._wait(lambda: self._host.report_tool(context, output))

    def finish(self, context: TurnContext, output: TurnOutput) -> None:
        """Begin what is done behind the reply of a turn. It waits for nothing."""
        self._loop.call_soon_threadsafe(self._host.finish, context, output)

    def compact(self, context: TurnContext, messages: Sequence[Message]) -> bool:
        """Return whether messages may leave the conversation: False where a middleware failed or was late."""
        return self._wait(lambda: self._host.compact(context, messages))

    def drain(self, seconds: float) -> int:
        """Wait for what is done behind replies, at most so long, and return of how many turns it is not done."""
        return self._wait(lambda: self._host.drain(seconds))

    def _wait(self, call: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        if _find_running_loop() is self._loop:
            raise RuntimeError("this thread runs the chain, which would wait for itself: await the methods of Host")
        future = asyncio.run_coroutine_threadsafe(call(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # of a caller that is interrupted
            raise


@contextmanager
def open_sync_host(
    *middlewares: Middleware | AbstractAsyncContextManager[Middleware], make_host: MakeHost = Host
) -> Iterator[SyncHost]:
    """Open middlewares, and a host over them, in a thread with an event loop of its own.

    A middleware that has to be opened comes as the context manager that opens it. At the end what is done behind
    replies is waited for. `make_host` sets limits: `functools.partial(Host, after_seconds=60)`."""
    opened: Future[_Opened] = Future()
    closed: Future[None] = Future()
    life = _hold_open(middlewares, make_host, opened)
    threading.Thread(target=_run_life, args=(life, opened, closed), daemon=True, name="muniment-chain").start()
    host, loop, ending = opened.result()
    try:
        yield SyncHost(host, loop)
    finally:
        loop.call_soon_threadsafe(ending.set)
        closed.result()


async def _hold_open(
    middlewares: Sequence[Middleware | AbstractAsyncContextManager[Middleware]],
    make_host: MakeHost,
    opened: Future[_Opened],
) -> None:
    """Opened and closed in one task, as scopes of cancellation need it."""
    async with AsyncExitStack() as stack:
        entered = [
            await stack.enter_async_context(one) if isinstance(one, AbstractAsyncContextManager) else one
            for one in middlewares
        ]
        host = await stack.enter_async_context(make_host(entered))
        ending = asyncio.Event()
        opened.set_result((host, asyncio.get_running_loop(), ending))
        await ending.wait()


def _run_life(life: Coroutine[Any, Any, None], opened: Future[_Opened], closed: Future[None]) -> None:
    """An error belongs to whoever waits: for the opening, or else for the end."""
    try:
        with asyncio.Runner() as runner:
            runner.run(life)
    except BaseException as error:  # noqa: BLE001 - carried to the waiting thread, as a future of a pool does
        (closed if opened.done() else opened).set_exception(error)
        return
    closed.set_result(None)


def _find_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _read_clock() -> datetime:
    return datetime.now(UTC)
