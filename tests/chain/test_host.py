"""A host: order, limits, faults, cancellation, replies, and what is done behind them. P-34..P-37, P-47, P-48, P-93."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from muniment import chain
from muniment.chain import (
    FaultReport,
    Host,
    Identity,
    Message,
    ToolCall,
    ToolOutput,
    TurnContext,
    TurnOutput,
    build_answer,
    mark_aside,
)
from tests.chain.middlewares import (
    AT,
    Recorder,
    Troubled,
    answer_seen,
    cancel_itself,
    fail,
    ignore_cancellation,
    make_turn,
    wait_long,
)


def test_p5_the_chain_has_no_word_about_memory() -> None:
    """P-1, P-5: whoever searches its files finds nothing."""
    files = list(Path(chain.__file__ or "").parent.glob("*.py"))
    assert len(files) > 5
    assert [
        path.name for path in files if re.search("memory|recall", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ] == []


async def test_p35_p36_p47_in_order_and_back_in_reverse_order() -> None:
    """The first middleware is the outermost: it sees the turn first, and its end last."""
    calls: list[str] = []
    async with Host([Recorder("a", calls), Recorder("b", calls)]) as host:
        output = await host.run_turn(make_turn(), answer_seen)
        assert output.text == "seen: a,b"
    assert calls == ["before a", "before b", "after b", "after a"]


async def test_p37_a_tools_result_is_seen_in_order() -> None:
    calls: list[str] = []
    async with Host([Recorder("a", calls), Recorder("b", calls)]) as host:
        await host.report_tool(make_turn(), ToolOutput(call=ToolCall(id="c", name="look"), text="found", at=AT))
    assert calls == ["tool a found", "tool b found"]


async def test_p93_each_hook_is_optional() -> None:
    """An object with one hook is a middleware; a hook that is None is none; an object without any is refused."""

    class OnlyAfter:
        before_prompt = None
        count = 0

        async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
            self.count += 1

    only = OnlyAfter()
    async with Host([only]) as host:
        await host.run_turn(make_turn(), answer_seen)
        await host.report_tool(make_turn(), ToolOutput(call=ToolCall(id="c", name="look"), text="found", at=AT))
        assert await host.compact(make_turn(), ())
    assert only.count == 1
    with pytest.raises(TypeError, match="object has none of the hooks"):
        Host([object()])  # type: ignore[list-item] # what is refused


@pytest.mark.parametrize(
    ("trouble", "kind", "error"),
    [
        (fail, "failed", "LookupError"),
        (cancel_itself, "failed", "CancelledError"),
        (wait_long, "late", None),
        (ignore_cancellation, "late", None),
    ],
)
async def test_a_hook_in_trouble_is_skipped(
    trouble: Callable[[], Awaitable[object]], kind: str, error: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Its changes are dropped, the others run, the turn goes on at once, and no text of the error is said."""
    calls: list[str] = []
    faults: list[FaultReport] = []
    caplog.set_level(logging.DEBUG)
    host = Host(
        [Recorder("a", calls), Troubled(trouble), Recorder("b", calls)],
        before_seconds=0.05,
        tool_seconds=0.05,
        after_seconds=0.05,
        compact_seconds=0.05,
        on_fault=faults.append,
    )
    started = time.perf_counter()
    output = await host.run_turn(make_turn(), answer_seen)
    await host.report_tool(make_turn(), ToolOutput(call=ToolCall(id="c", name="look"), text="found", at=AT))
    assert not await host.compact(make_turn(), (Message(role="user", text="x"),))
    assert await host.drain(5) == 0
    assert time.perf_counter() - started < 0.45
    assert output.text == "seen: a,b"
    assert len(calls) == 8
    assert [call for call in calls if not call.startswith("after")] == [
        *("before a", "before b", "tool a found", "tool b found", "compact a 1", "compact b 1")
    ]
    assert {fault.hook for fault in faults} == {"before_prompt", "on_tool_result", "after_prompt", "before_compact"}
    assert {(fault.kind, fault.error, fault.middleware) for fault in faults} == {(kind, error, "Troubled")}
    assert all(fault.seconds == (0.05 if kind == "late" else None) for fault in faults)
    if trouble is fail:
        assert all(re.fullmatch(r"middlewares\.py:\d+", fault.place or "") for fault in faults)
    assert caplog.text.count("Troubled") == 4
    assert "hunter2" not in caplog.text
    await host.aclose()


async def test_a_hook_returns_the_turn_of_its_host() -> None:
    """No turn at all, and one of another identity, are faults: identity is the host's."""

    class Wrong:
        def __init__(self, change: Callable[[TurnContext], object]) -> None:
            self.change = change

        async def before_prompt(self, context: TurnContext) -> TurnContext:
            return self.change(context)  # type: ignore[return-value] # what is refused

    class Blocking:
        def before_prompt(self, context: TurnContext) -> TurnContext:
            return context

    faults: list[FaultReport] = []
    wrong = [
        Wrong(lambda context: None),
        Wrong(lambda context: replace(context, identity=Identity(user="eve", session="s1"))),
        Wrong(lambda context: replace(context, turn_id="other")),
        Blocking(),
    ]
    async with Host(wrong, on_fault=faults.append) as host:  # type: ignore[arg-type] # one is not asynchronous
        turn = await host.prepare(make_turn())
    assert turn == make_turn()
    assert [fault.error for fault in faults] == ["TypeError", "ValueError", "ValueError", "TypeError"]


async def test_what_counts_faults_cannot_fail_a_turn() -> None:
    def count(fault: FaultReport) -> None:
        raise RuntimeError

    async with Host([Troubled(fail)], on_fault=count) as host:
        assert (await host.run_turn(make_turn(), answer_seen)).status == "done"


async def test_an_answer_that_fails_is_raised_as_it_was() -> None:
    """The middlewares see a turn that failed, with the class of the error and no text."""
    recorder, error = Recorder("a", []), LookupError("secret")

    async def answer(context: TurnContext) -> TurnOutput:
        raise error

    async with Host([recorder]) as host:
        with pytest.raises(LookupError) as raised:
            await host.run_turn(make_turn(), answer)
    assert raised.value is error
    assert [(one.status, one.error, one.text) for one in recorder.outputs] == [("failed", "LookupError", "")]


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("where", ["hook", "answer"])
async def test_a_cancelled_turn_is_aborted(times: int, where: str) -> None:
    """The cancellation passes through, however often it comes; the middlewares see it and do what they do."""
    recorder, begun, faults = Recorder("a", []), asyncio.Event(), list[FaultReport]()

    class Waiting:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            if where == "hook":
                begun.set()
                await wait_long()
            return context

    async def answer(context: TurnContext) -> TurnOutput:
        begun.set()
        await wait_long()
        raise AssertionError

    async with Host([recorder, Waiting()], on_fault=faults.append) as host:
        aside = Message(role="user", text="/off", is_aside=True)
        asked = replace(make_turn(), messages=(aside, *make_turn().messages))
        turn = asyncio.create_task(host.run_turn(asked, answer))
        await begun.wait()
        for _ in range(times):
            turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert await host.drain(1) == 0
        assert [(one.status, one.error) for one in recorder.outputs] == [("aborted", "CancelledError")]
    assert faults == []
    assert [[message.text for message in one.messages] for one in recorder.ended] == [["hello"]]


async def test_scopes_of_anyio() -> None:
    """A scope of the host ends the turn; a scope inside a hook ends the hook's own work, and not the turn."""

    class Scoped:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            with anyio.move_on_after(0.01):
                await anyio.sleep(60)
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep, 0)
            return replace(context, tags=("scoped",))

    recorder = Recorder("a", [])

    async def answer(context: TurnContext) -> TurnOutput:
        assert context.tags == ("scoped",)
        await anyio.sleep(60)
        raise AssertionError

    async with Host([Scoped(), recorder]) as host:
        with anyio.move_on_after(0.1) as scope:
            await host.run_turn(make_turn(), answer)
        assert scope.cancelled_caught
        await host.drain(1)
        assert recorder.outputs[0].status == "aborted"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await host.run_turn(make_turn(), answer)


async def test_a_reply_of_a_middleware() -> None:
    """The model is not called, later middlewares are not asked, and the exchange is shown to no model later."""
    calls: list[str] = []

    class Command:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            return replace(context, reply="switched off") if context.user_text == "/off" else context

    recorder = Recorder("b", calls)

    async def answer(context: TurnContext) -> TurnOutput:
        calls.append("model " + " ".join(message.text for message in context.messages))
        return build_answer("fine", AT)

    async with Host([Command(), recorder]) as host:
        asked = make_turn("/off")
        output = await host.run_turn(asked, answer)
        assert (output.text, output.status) == ("switched off", "done")
        assert [(message.text, message.is_aside) for message in output.messages] == [("switched off", True)]
        kept = (mark_aside(asked.messages[0]), *output.messages, Message(role="user", text="hello"))
        await host.run_turn(replace(make_turn(turn_id="t2"), messages=kept), answer)
        await host.drain(1)
        assert await host.compact(make_turn(), kept)
    assert calls == ["after b", "before b", "model hello", "after b", "compact b 1"]
    assert [message.text for message in recorder.contexts[0].messages] == ["hello"]


async def test_p48_the_reply_is_there_before_what_is_done_behind_it() -> None:
    """While each write takes 5 seconds the reply is not later."""

    class Slow:
        count = 0

        async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
            await asyncio.sleep(5)
            self.count += 1

    async def answer(context: TurnContext) -> TurnOutput:
        await asyncio.sleep(0.1)
        return build_answer("fine", AT)

    slow = Slow()
    host = Host([slow])
    started = time.perf_counter()
    for number in range(3):
        await host.run_turn(make_turn(session=f"s{number}"), answer)
    assert time.perf_counter() - started < 0.3 * 1.25
    assert (slow.count, await host.drain(0.01)) == (0, 3)
    assert await host.drain(10) == 0
    assert slow.count == 3
    await host.aclose()


async def test_what_is_done_behind_replies_is_in_order_within_a_session() -> None:
    """Each session has its own order, and does not wait for another."""
    done: list[str] = []
    gate = asyncio.Event()

    class Writer:
        async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
            if context.turn_id == "0":
                await gate.wait()
            await asyncio.sleep(0.001 * (5 - int(context.turn_id)))
            done.append(f"{context.identity.session}{context.turn_id}")

    async with Host([Writer()]) as host:
        for number in range(5):
            for session in "ab" if number else "a":
                await host.run_turn(make_turn(turn_id=str(number), session=session), answer_seen)
        await asyncio.sleep(0.05)
        assert done == ["b1", "b2", "b3", "b4"]
        gate.set()
    assert done == ["b1", "b2", "b3", "b4", "a0", "a1", "a2", "a3", "a4"]


async def test_over_the_bound_the_oldest_is_dropped_and_it_is_said() -> None:
    gate, done, faults = asyncio.Event(), list[str](), list[FaultReport]()

    class Writer:
        async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
            await gate.wait()
            done.append(context.turn_id)

    async with Host([Writer()], max_pending=3, on_fault=faults.append) as host:
        for number in range(6):
            await host.run_turn(make_turn(turn_id=str(number), session="ab"[number % 2]), answer_seen)
            await asyncio.sleep(0.001)
        assert [(fault.turn_id, fault.kind, fault.session) for fault in faults] == [
            ("2", "dropped", "a"),
            ("3", "dropped", "b"),
            ("4", "dropped", "a"),
        ]
        gate.set()
        assert await host.drain(1) == 0
        await host.run_turn(make_turn(turn_id="6", session="a"), answer_seen)
    assert sorted(done) == ["0", "1", "5", "6"]


async def test_a_closed_host_says_what_it_has_not_done() -> None:
    """What lasts too long is cancelled, what waits is dropped; turns are answered nevertheless."""
    faults: list[FaultReport] = []
    host = Host([Troubled(ignore_cancellation)], after_seconds=0.05, on_fault=faults.append)
    for number in range(3):
        host.finish(make_turn(turn_id=str(number)), build_answer("", AT))
    started = time.perf_counter()
    await host.aclose()
    assert time.perf_counter() - started < 1.5
    kinds = [(fault.turn_id, fault.kind) for fault in faults]
    assert kinds[0] in {("0", "late"), ("1", "dropped")}
    assert {turn for turn, _ in kinds} >= {"1", "2"}
    await host.run_turn(make_turn(turn_id="late"), answer_seen)
    assert (faults[-1].turn_id, faults[-1].kind) == ("late", "dropped")


async def test_p34_turns_beside_each_other() -> None:
    """A thousand turns of a hundred sessions at a time: each gets its own, and each session its order."""
    done: dict[str, list[str]] = {}

    class Writer:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            await asyncio.sleep(0)
            return replace(context, tags=(context.turn_id,))

        async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
            await asyncio.sleep(0)
            done.setdefault(context.identity.session, []).append(output.text)

    async def answer(context: TurnContext) -> TurnOutput:
        await asyncio.sleep(0)
        return build_answer(context.tags[0], AT)

    async def talk(session: str) -> None:
        for number in range(10):
            turn = make_turn(turn_id=f"{session} {number}", session=session)
            assert (await host.run_turn(turn, answer)).text == turn.turn_id

    async with Host([Writer()], max_pending=2_000) as host:
        await asyncio.gather(*(talk(str(number)) for number in range(100)))
    assert done == {str(one): [f"{one} {number}" for number in range(10)] for one in range(100)}
