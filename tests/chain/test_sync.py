"""The door for programs without asyncio."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import pytest
from openai import OpenAI

from muniment.chain import (
    Host,
    Message,
    Middleware,
    SyncHost,
    ToolCall,
    ToolOutput,
    TurnContext,
    TurnOutput,
    build_answer,
    open_sync_host,
    place_additions,
)
from muniment.testing import ScriptedOpenAI
from tests.chain.middlewares import AT, Recorder, Troubled, fail, make_turn, wait_long


def test_the_synchronous_client_of_openai() -> None:
    """The answer is made in the caller's thread by a blocking client; the chain is around it."""
    calls: list[str] = []
    with (
        ScriptedOpenAI(lambda body: body["messages"][-1]["content"]) as server,
        OpenAI(base_url=server.base_url, api_key="none") as client,
        open_sync_host(Recorder("a", calls), Troubled(fail)) as host,
    ):

        def answer(turn: TurnContext) -> TurnOutput:
            calls.append(f"model in {threading.current_thread().name}")
            messages = [{"role": message.role, "content": message.text} for message in place_additions(turn)]
            completion = client.chat.completions.create(model="scripted", messages=messages)  # type: ignore[arg-type] # plain dicts
            return build_answer(completion.choices[0].message.content or "", AT)

        output = host.run_turn(make_turn(), answer)
        host.report_tool(make_turn(), ToolOutput(call=ToolCall(id="c", name="look"), text="found", at=AT))
        assert not host.compact(make_turn(), (Message(role="user", text="x"),))
        assert host.drain(5) == 0
    assert output.text == "hello\n\nby a"
    assert calls.pop(2 if calls[2] == "after a" else 3) == "after a"
    assert calls == ["before a", f"model in {threading.current_thread().name}", "tool a found", "compact a 1"]


def test_a_middleware_that_has_to_be_opened() -> None:
    """It is opened and closed in one task, as scopes need it, and on the loop on which its hooks are called."""
    seen: list[object] = []

    class OnLoop:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            seen.append(asyncio.get_running_loop())
            return context

        async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
            seen.append(output.status)

    @asynccontextmanager
    async def open_on_loop() -> AsyncIterator[Middleware]:
        seen.append(asyncio.get_running_loop())
        with anyio.CancelScope():
            yield OnLoop()
        seen.append("closed")

    with open_sync_host(open_on_loop()) as host:
        host.run_turn(make_turn(), lambda turn: build_answer("fine", AT))
    assert seen[0] is seen[1]
    assert seen[2:] == ["done", "closed"]


def test_errors_belong_to_whoever_waits() -> None:
    """That of an opening to the one who opens, that of a closing to the one who closes, an answer's to its caller."""

    @asynccontextmanager
    async def open_badly(*, at_end: bool) -> AsyncIterator[Middleware]:
        if not at_end:
            raise LookupError("no file")
        yield Recorder("a", [])
        raise LookupError("no file")

    with pytest.raises(LookupError), open_sync_host(open_badly(at_end=False)):
        raise AssertionError
    with pytest.raises(LookupError), open_sync_host(open_badly(at_end=True)):
        pass
    recorder = Recorder("a", [])

    def answer(turn: TurnContext) -> TurnOutput:
        raise KeyboardInterrupt

    with open_sync_host(recorder) as host, pytest.raises(KeyboardInterrupt):
        host.run_turn(make_turn(), answer)
    assert [(one.status, one.error) for one in recorder.outputs] == [("aborted", "KeyboardInterrupt")]


def test_p48_nothing_waits_for_what_is_done_behind_a_reply() -> None:
    """A turn is answered while the writes of the one before it take long; limits are those of the host."""
    with open_sync_host(Troubled(wait_long), make_host=partial(Host, before_seconds=0.02, after_seconds=0.2)) as host:
        started = time.perf_counter()
        for _ in range(3):
            host.run_turn(make_turn(), lambda turn: build_answer("fine", AT))
        assert time.perf_counter() - started < 0.2


def test_a_synchronous_host_that_streams() -> None:
    """Parts come as they are made; one that breaks, and one that is left, are seen as that."""
    recorder = Recorder("a", [])

    def answer(turn: TurnContext) -> Iterator[str]:
        yield "one "
        yield "two"
        if turn.user_text == "break":
            raise LookupError

    with open_sync_host(recorder) as host:
        *parts, output = host.stream_turn(make_turn(), answer)
        assert isinstance(output, TurnOutput)
        assert (parts, output.text) == (["one ", "two"], "one two")
        with pytest.raises(LookupError):
            list(host.stream_turn(make_turn("break"), answer))
        left = host.stream_turn(make_turn(), answer)
        assert next(left) == "one "
        del left
    assert [(one.status, one.text) for one in recorder.outputs] == [
        ("done", "one two"),
        ("failed", "one two"),
        ("aborted", "one "),
    ]


def test_a_reply_of_a_middleware() -> None:
    class Command:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            return replace(context, reply="switched off")

    def answer(turn: TurnContext) -> TurnOutput:
        raise AssertionError

    with open_sync_host(Command()) as host:
        assert host.run_turn(make_turn(), answer).messages[0].is_aside
        assert [part for part in host.stream_turn(make_turn(), answer) if isinstance(part, str)] == ["switched off"]  # type: ignore[arg-type] # never called


def test_a_caller_that_is_interrupted() -> None:
    """Ctrl-C ends the wait and the hook that was waited for; the turn was aborted."""
    ended: list[str] = []
    recorder = Recorder("a", [])
    caller = threading.get_ident()

    class Waiting:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            try:
                asyncio.get_running_loop().call_later(0.05, signal.pthread_kill, caller, signal.SIGINT)
                await wait_long()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise
            return context

    with open_sync_host(Waiting(), recorder, make_host=partial(Host, before_seconds=30)) as host:
        with pytest.raises(KeyboardInterrupt):
            host.run_turn(make_turn(), lambda turn: build_answer("fine", AT))
        assert host.drain(1) == 0
        assert ended == ["cancelled"]
    assert [one.status for one in recorder.outputs] == ["aborted"]


def test_the_thread_of_the_chain_is_refused() -> None:
    """It would wait for itself."""
    hosts: list[SyncHost] = []
    errors: list[str] = []

    class Calling:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            try:
                hosts[0].prepare(context)
            except RuntimeError as error:
                errors.append(str(error))
            return context

    with open_sync_host(Calling()) as host:
        hosts.append(host)
        host.prepare(make_turn())
    assert errors == ["this thread runs the chain, which would wait for itself: await the methods of Host"]


async def test_a_caller_on_a_loop_of_its_own() -> None:
    """A program may call it by threads of its own loop, beside each other."""
    with open_sync_host(Recorder("a", [])) as host:
        turns = [make_turn(turn_id=str(number)) for number in range(20)]
        outputs = await asyncio.gather(
            *(asyncio.to_thread(host.run_turn, turn, lambda turn: build_answer(turn.turn_id, AT)) for turn in turns)
        )
    assert [output.text for output in outputs] == [turn.turn_id for turn in turns]
