"""Building: one request for a session's new turns, and nothing lost or twice, whatever the model does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import ModelError
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI
from tests.answers import fact
from tests.engine import NOON, engine, scope

THINGS = ("tea", "jazz", "chess", "rain", "snow", "figs", "maps", "bells", "moss", "kites", "plums", "clay")
WHO = scope()


def told(n: int, role: str = "user", text: str = "") -> Turn:
    """The turn at a place of the session, which the rules read nothing in."""
    at = NOON + timedelta(minutes=n)
    said = text or f"In the hall there is {THINGS[n % len(THINGS)]} number {n}."
    return Turn.make(session="A", thread="A", key=str(n), role=role, text=said, at=at)  # type: ignore[arg-type]


def asked(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a request shows of the conversation."""
    content = next(one["content"] for one in reversed(body["messages"]) if one["role"] == "user")
    return dict(json.loads(content))


def answer(body: Mapping[str, Any]) -> str:
    """One fact of each turn that is to be read."""
    shown = asked(body)
    facts = [
        fact(one["text"].rstrip("."), category="knowledge", turns=[one["turn"]], quote=one["text"])
        for one in shown["conversation"]
        if one["turn"] in shown["extract_from"]
    ]
    return json.dumps({"facts": facts})


@asynccontextmanager
async def listening(
    url: str, reply: Callable[[Mapping[str, Any]], str] = answer, **more: Any
) -> AsyncIterator[tuple[Memory, ScriptedOpenAI]]:
    with ScriptedOpenAI(reply=reply, **more) as server:
        model = OpenAIChat(
            "tiny-1", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=1.0, max_retries=0
        )
        async with engine(url, model=model, clock=FixedClock(NOON + timedelta(hours=2))) as memory:
            yield memory, server


async def record(memory: Memory, turns: Sequence[Turn]) -> None:
    for turn in turns:
        await memory.conversation.record(WHO, [turn])


async def observed(memory: Memory, who: Scope = WHO) -> list[Observation]:
    reader = memory.engine.settings.make_owner_reader(who)
    return await memory.engine.layer_stores.observations.list_of_session(reader, "A", 1_000)


async def test_a_request_reads_eight_turns(database_url: str) -> None:
    """Eight waiting turns are one request, with two earlier turns as context; the rest waits for the end."""
    async with listening(database_url) as (memory, server):
        await record(memory, [told(n) for n in range(7)])
        assert "build" not in await memory.jobs.count_jobs()
        await record(memory, [told(n) for n in range(7, 11)])
        assert (await memory.jobs.count_jobs())["build"]["due"] == 1
        for _ in range(2):
            await memory.jobs.perform_job(Job(name="build", scope=WHO, key="A"))
        assert [asked(one.body)["extract_from"] for one in server.requests] == [[*range(1, 9)]]
        built = await memory.sessions.build(WHO, "A")
        assert built.built_to == built.turns == 11
        second = asked(server.requests[1].body)
        assert (len(second["conversation"]), second["extract_from"]) == (5, [3, 4, 5])
        found = await observed(memory)
        assert [one.positions for one in found] == [(n,) for n in range(11)]
        assert {one.found_by for one in found} == {"extract-3"}
        assert len(await memory.list(WHO)) == 11
        await memory.sessions.build(WHO, "A")
        assert len(server.requests) == 2


@pytest.mark.parametrize("fault", ["overloaded", "drop", "slow", "wrong_schema", "cut_off", "refusal", "too_long"])
async def test_the_turns_wait_for_a_model(database_url: str, fault: str) -> None:
    """The rules' observations are there; when the model comes back, nothing is there twice."""
    slow = iter([5.0] if fault == "slow" else [])
    fails: list[Any] = [fault] if fault != "slow" else []
    async with listening(database_url, fail=fails, latency=lambda _request: next(slow, 0.0)) as (memory, server):
        allergy = told(0, text="I'm allergic to peanuts.")
        await memory.learn(WHO, allergy)
        await record(memory, [allergy, *(told(n) for n in range(1, 5))])
        with pytest.raises(ModelError):
            await memory.sessions.build(WHO, "A")
        assert [one.type for one in await observed(memory)] == ["constraint"]
        assert (await memory.sessions.get(WHO, "A")).session.built_to == 0
        await memory.sessions.build(WHO, "A")
        await memory.sessions.build(WHO, "A")
        found = await observed(memory)
        assert len({one.stable_key for one in found}) == len(found) == 5
        assert len(server.requests) == 2


async def test_what_was_forgotten_meanwhile_does_not_come_back(database_url: str) -> None:
    """Neither by a wish in a later turn, nor with the memory that said so; what is said after that is kept."""
    async with listening(database_url) as (memory, _):
        wish = told(3, text="Forget that in the hall there is chess number 2.")
        turns = [told(1), told(2), wish, told(14)]
        gone = told(0, text="I'm allergic to peanuts.")
        receipt = await memory.learn(WHO, gone)
        await memory.forget(WHO, receipt.changes[0].after.id)
        await record(memory, [gone, *turns])
        await memory.sessions.build(WHO, "A")
        texts = {one.text for one in await memory.list(WHO)}
        assert not any("number 2" in text or "peanuts" in text for text in texts)
        assert {one.statement: one.outcome for one in await observed(memory) if one.outcome == "forgotten since"}
        assert any("number 14" in text for text in texts)


async def test_a_session_is_built_by_the_rules(database_url: str) -> None:
    """Without a model, what was only recorded is read by the rules when the session is built; again changes nothing."""
    async with engine(database_url, clock=FixedClock(NOON + timedelta(hours=2))) as memory:
        await record(memory, [told(0, text="I'm allergic to peanuts."), told(1, text="I live in Oslo.")])
        await memory.sessions.build(WHO, "A")
        rev = (await memory.read_status(WHO))["rev"]
        assert {one.type: one.positions for one in await observed(memory)} == {"constraint": (0,), "user_fact": (1,)}
        await memory.sessions.build(WHO, "A")
        assert (await memory.read_status(WHO))["rev"] == rev


CHINESE = ("我老婆叫王敏", "我做过电商运营", "我擅长 SQL", "2024年8月我搬到了杭州", "我们决定用 pnpm")
QUESTIONS = {"配偶是谁": "王敏", "什么时候搬到杭州": "2024年8月", "擅长什么": "SQL", "pnpm": "pnpm"}


async def test_a_chinese_session(database_url: str) -> None:
    """Five turns are five observations with their positions; questions find what came of them, for nobody else; on day
    15 the session is gone and all answers stand."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        for n, text in enumerate(CHINESE):
            turn = told(n, text=f"{text}。")
            await memory.learn(WHO, turn)
            await memory.conversation.record(WHO, [turn])
        clock.advance(3_600)
        await memory.sessions.end(WHO, "A")
        found = await observed(memory)
        assert [one.positions for one in found] == [(n,) for n in range(5)]
        assert [one.type for one in found] == ["user_fact"] * 4 + ["decision"]
        assert {one.memory for one in found} == {one.id for one in await memory.list(WHO)}
        for days in (0, 15):
            clock.advance(days * 86_400)
            await memory.admin.maintain(WHO)
            for question, wanted in QUESTIONS.items():
                hits = (await memory.query(WHO, "supervisor", Query(text=question))).hits
                assert wanted in hits[0].memory.text, question
                assert (await memory.query(scope("ben"), "supervisor", Query(text=question))).hits == ()
        assert await observed(memory) == []
        assert (await memory.sessions.list(WHO)).total == 0
