"""Replies before background work at one model, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.llm import ChatMessage
from muniment.testing.openai_server import ScriptedOpenAI

WHO = Scope(owner="ana", tenant="acme")


@asynccontextmanager
async def model(server: ScriptedOpenAI, name: str) -> AsyncIterator[OpenAIChat]:
    chat = OpenAIChat(name, api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=10, max_retries=0)
    try:
        yield chat
    finally:
        await chat.close()


def said(text: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text)]


def asked(server: ScriptedOpenAI) -> list[str]:
    return [request.body["messages"][0]["content"] for request in server.requests]


async def test_a_reply_goes_first(memory: Memory) -> None:
    """What is asked in the background waits until no reply is under way, and then goes one at a time."""
    meter = memory.engine.usage_meter
    with ScriptedOpenAI("Fine.", latency=0.3) as server:
        async with model(server, "first") as chat:
            replying = memory.conversation.meter_model(WHO, chat)
            reply = asyncio.create_task(replying.chat(said("reply")))
            await asyncio.sleep(0.1)
            jobs = [asyncio.create_task(meter.ask_model(WHO, "extract", said(f"job {n}"), model=chat)) for n in "123"]
            await reply
            assert asked(server) == ["reply"]
            # Another round of the same reply comes before the jobs that have waited longer.
            await replying.chat(said("next round"))
            await asyncio.sleep(0.4)
            assert asked(server) == ["reply", "next round", "job 1"]
            await asyncio.gather(*jobs)
    assert sorted(asked(server)[2:]) == ["job 1", "job 2", "job 3"]


async def test_background_work_alone_does_not_wait(memory: Memory) -> None:
    """Without replies requests go in parallel, and replies at another model hold up nothing."""
    meter = memory.engine.usage_meter
    with ScriptedOpenAI("Fine.", latency=0.4) as server:
        async with model(server, "busy") as busy, model(server, "idle") as idle:
            reply = asyncio.create_task(memory.conversation.meter_model(WHO, busy).chat(said("reply")))
            jobs = [asyncio.create_task(meter.ask_model(WHO, "extract", said(f"job {n}"), model=idle)) for n in "123"]
            await asyncio.sleep(0.2)
            assert sorted(asked(server)) == ["job 1", "job 2", "job 3", "reply"]
            await asyncio.gather(reply, *jobs)


async def test_many_replies_at_once_hold_up_nothing(memory: Memory) -> None:
    """An endpoint that serves so many at once does not make a reply wait for a job."""
    meter = memory.engine.usage_meter
    with ScriptedOpenAI("Fine.", latency=0.6) as server:
        async with model(server, "cloud") as chat:
            replying = memory.conversation.meter_model(WHO, chat)
            replies = [asyncio.create_task(replying.chat(said("reply"))) for _ in range(6)]
            await asyncio.sleep(0.05)
            job = asyncio.create_task(meter.ask_model(WHO, "extract", said("job"), model=chat))
            await asyncio.sleep(0.3)
            assert "job" in asked(server)
            await asyncio.gather(job, *replies)
