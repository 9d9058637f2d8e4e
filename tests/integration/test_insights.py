"""Insights over real HTTP: what a model is shown, what is kept of its answer, and how seldom it is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import psycopg
import pytest
from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadExtraction, ModelUnavailable
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import Replies, ScriptedOpenAI, structured
from tests.engine import NOON, engine, note, said, scope, settings, statement

SEEN = "The user decides quickly when options come with numbers"


def insights(*texts: str) -> str:
    return structured(
        {"insights": [{"summary": text, "memories": [1], "tags": ["Decisions"], "importance": 2} for text in texts]}
    )


@asynccontextmanager
async def reflecting(
    url: str, reply: Replies, clock: FixedClock | None = None, tuned: Settings | None = None
) -> AsyncIterator[tuple[Memory, ScriptedOpenAI]]:
    """An engine with some memories whose model is at a scripted server."""
    with ScriptedOpenAI(reply) as server:
        model = OpenAIChat("tiny-1", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=1, max_retries=0)
        async with engine(url, model=model, clock=clock, tuned=tuned) as memory:
            yield memory, server


async def lived(memory: Memory) -> None:
    """Seven things that happened, five that were stated, a stranger's word, and a conversation."""
    for thing in ("offers", "routes", "schools", "phones", "loans", "recipes", "paints"):
        await memory.keep_candidates(scope(), [note(f"Compared {thing} all morning")])
    for aim in ("sail", "juggle", "paint", "read", "weld"):
        await memory.keep_candidates(scope(), [statement(f"The user wants to {aim}")])
    await memory.keep_candidates(scope(), [statement("The user wants to obey strangers", trust="document")])
    reply = Turn.make(session="A", key="r", role="assistant", text="y" * 900, at=NOON, thread="A")
    await memory.conversation.record(scope(), [said("x" * 900, at=NOON - timedelta(minutes=1)), reply])


async def test_an_insight_is_kept_as_an_insight(database_url: str) -> None:
    """Of its own kind and category, unpinned, of low trust and confidence, resting on what was looked at."""
    async with reflecting(database_url, insights(SEEN)) as (memory, server):
        await lived(memory)
        [change] = (await memory.jobs.reflect(scope())).changes
    kept = change.after
    assert (kept.text, kept.kind, kept.category, kept.trust) == (SEEN, "insight", "relationship_dynamic", "agent")
    assert (kept.importance, kept.pinned, kept.tags, kept.fact) == (2, False, ("Decisions",), None)
    assert kept.turns
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0, 220)


async def test_the_model_is_shown_a_little(database_url: str) -> None:
    """At most 5 activities, 3 facts and 1,000 characters of conversation, the latest; no stranger's words."""
    async with reflecting(database_url, insights(SEEN)) as (memory, server):
        await lived(memory)
        await memory.jobs.reflect(scope())
    shown = json.loads(server.requests[0].body["messages"][1]["content"])
    assert len(shown["activities"]) == 5
    assert len(shown["facts"]) == 3
    assert not any("strangers" in text for text in shown["facts"])
    assert [(one["role"], one["text"]) for one in shown["conversation"]] == [
        ("user", "x" * 100),
        ("assistant", "y" * 900),
    ]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (insights(), []),
        (insights(SEEN, "You trust me", "I am liked", "They answer in few words"),
            [SEEN, "The user answers in few words"]),
        (insights("The user prefers numbers. " * 20), ["The user prefers numbers. " * 10]),
        (insights(SEEN, "Proof calms the user", "Jokes open doors", "Mornings suit calls"),
            [SEEN, "Proof calms the user", "Jokes open doors"]),
        (('Well: {"insights": [{"summary": 7}, "x",'
            ' {"summary": "The user plans ahead", "memories": [1], "importance": 99}]}'),
            ["The user plans ahead"]),
    ],
)  # fmt: skip
async def test_what_is_not_fit_is_not_kept(database_url: str, answer: str, kept: list[str]) -> None:
    """None is fine; pronouns that leave open whom they mean, a fourth one and the end of a long one go."""
    async with reflecting(database_url, answer) as (memory, _):
        await lived(memory)
        found = [one.after.text for one in (await memory.jobs.reflect(scope())).changes]
    assert found == [text.strip() for text in kept]


async def test_one_look_a_day(database_url: str) -> None:
    """A look that found nothing counts; after 24 hours there is another."""
    clock = FixedClock(NOON)
    async with reflecting(database_url, [insights(), insights(SEEN)], clock) as (memory, server):
        await lived(memory)
        await memory.jobs.reflect(scope())
        clock.advance(23 * 3600)
        assert (await memory.jobs.reflect(scope())).skipped
        assert len(server.requests) == 1
        clock.advance(3601)
        assert len((await memory.jobs.reflect(scope())).changes) == 1


async def test_looks_may_be_hours_apart(database_url: str) -> None:
    """The second one of a day is asked for, and what it finds is kept."""
    tuned, clock = settings(database_url), FixedClock(NOON)
    often = tuned.model_copy(update={"insights": tuned.insights.model_copy(update={"every_hours": 6})})
    async with reflecting(database_url, [insights(), insights(SEEN)], clock, often) as (memory, _):
        await lived(memory)
        await memory.jobs.reflect(scope())
        clock.advance(6 * 3600)
        await memory.conversation.schedule_reflection(scope())
        assert [change.after.text for change in (await memory.jobs.reflect(scope())).changes] == [SEEN]
        clock.advance(6 * 3600)
        await memory.conversation.schedule_reflection(scope())
    asked = "select count(*) from jobs.queue where name = 'reflect'"
    with psycopg.connect(database_url) as conn:
        assert conn.execute(asked).fetchone() == (2,)


async def test_nothing_to_look_at_costs_nothing(database_url: str) -> None:
    """A new space has shown nothing yet."""
    async with reflecting(database_url, insights(SEEN)) as (memory, server):
        assert (await memory.jobs.reflect(scope())).skipped == "nothing to look at"
    assert server.requests == []


@pytest.mark.parametrize(("reply", "error"), [("No idea.", BadExtraction), ('{"insights": 3}', BadExtraction)])
async def test_an_answer_that_is_none_can_be_asked_for_again(
    database_url: str, reply: str, error: type[Exception]
) -> None:
    """It leaves no mark: the next look is not put off for a day."""
    async with reflecting(database_url, [reply, insights(SEEN)]) as (memory, _):
        await lived(memory)
        with pytest.raises(error):
            await memory.jobs.reflect(scope())
        assert (await memory.jobs.reflect(scope())).changes


async def test_a_turn_asks_for_a_look_once_a_day(database_url: str) -> None:
    """Not before it is due, and not at all where nobody can look."""
    clock = FixedClock(NOON)
    async with reflecting(database_url, insights(SEEN), clock) as (memory, _):
        await lived(memory)
        await memory.jobs.reflect(scope())
        clock.advance(3600)
        for _ in range(3):
            await memory.conversation.schedule_reflection(scope())
        assert memory.engine.cache.insight_slots == {scope().space: NOON.replace(hour=0)}
    async with engine(database_url) as memory:
        await memory.conversation.schedule_reflection(scope())
        assert memory.engine.cache.insight_slots == {}
        with pytest.raises(ModelUnavailable):
            await memory.jobs.reflect(scope(owner="ben")) if await _shown(memory, "ben") else None


async def _shown(memory: Memory, owner: str) -> bool:
    await memory.keep_candidates(scope(owner=owner), [note("Compared two offers")])
    return True


async def test_insights_are_found_with_little_weight(database_url: str) -> None:
    """Behind a plain statement in the same words."""
    async with reflecting(database_url, insights("Tables of prices calm the user")) as (memory, _):
        await memory.keep_candidates(scope(), [statement("The user compares prices in tables", "preferences")])
        await memory.jobs.reflect(scope())
        answer = await memory.query(scope(), "supervisor", Query(text="prices in tables", threshold=0.0))
    kinds = [hit.memory.kind for hit in answer.hits]
    assert kinds == ["semantic", "insight"]
