"""A host that streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from muniment.chain import Host, TurnContext, TurnOutput
from tests.chain.middlewares import Recorder, Troubled, fail, make_turn


async def stream_words(context: TurnContext) -> AsyncGenerator[str | TurnOutput, None]:
    """Two words."""
    for word in ("seen: ", ",".join(one.source for one in context.additions)):
        await asyncio.sleep(0)
        yield word


async def test_a_host_that_streams() -> None:
    """Parts come as they are made, the output last, and a middleware's failure changes nothing of it."""
    recorder = Recorder("a", [])
    async with Host([recorder, Troubled(fail)]) as host:
        parts = [part async for part in host.stream_turn(make_turn(), stream_words)]
    assert parts[:2] == ["seen: ", "a"]
    assert isinstance(parts[2], TurnOutput)
    assert (parts[2].text, parts[2].messages[-1].text) == ("seen: a", "seen: a")
    assert recorder.outputs == [parts[2]]


async def test_a_reader_of_a_stream_who_goes_away_aborts_the_turn() -> None:
    """What was said until then is known; the answer is closed."""
    recorder, closed = Recorder("a", []), list[bool]()

    async def answer(context: TurnContext) -> AsyncGenerator[str | TurnOutput, None]:
        try:
            yield "one "
            yield "two "
        finally:
            closed.append(True)

    async with Host([recorder]) as host, aclosing(host.stream_turn(make_turn(), answer)) as stream:
        assert await anext(stream) == "one "
        await stream.aclose()
        assert closed == [True]
        await host.drain(1)
    assert [(one.status, one.text, one.error) for one in recorder.outputs] == [("aborted", "one ", "GeneratorExit")]


async def test_a_stream_that_breaks() -> None:
    recorder = Recorder("a", [])

    async def answer(context: TurnContext) -> AsyncGenerator[str | TurnOutput, None]:
        yield "one "
        raise LookupError

    async with Host([recorder]) as host:
        with pytest.raises(LookupError):
            [part async for part in host.stream_turn(make_turn(), answer)]
    assert [(one.status, one.text) for one in recorder.outputs] == [("failed", "one ")]
