"""Settings of retrieval that a user feels: each changes an answer, and a reset takes it back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from muniment.memory.client import Memory
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Candidate
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope

VALUES = {
    "recall.keyword_weight": 0.0,
    "recall.period_days_before": 300.0,
    "recall.name_boost": 1.0,
    "recall.recency_weight": 1.0,
    "recall.recency_half_life_days": 0.1,
    "recall.importance_weight": 1.0,
    "recall.pinned_boost": 1.0,
    "recall.insight_factor": 0.0,
    "recall.keyword_relevance": 0.01,
}
ASKED = (
    "What tea does Vera drink in the morning?",
    "green tea",
    "tea in May 2026",
    "Who is Vera?",
    "What tea do I like?",
)
EARLIER = timedelta(days=40)


def make_memories() -> list[Candidate]:
    """Memories of each trait that a weight is for: a speaker, a date, importance, a pin, an insight, a name."""
    liking = Fact(kind="preference", predicate="likes", object="black tea")
    name = Fact(kind="identity", predicate="name", object="Ana")
    turn = (said("tea").id,)
    return [
        note("Vera drinks green tea in the morning", actor="vera"),
        note("A festival of tea is in May", event_time=NOON - timedelta(days=45)),
        note("Tea is served at five", pinned=True),
        note("Tea was cheap", importance=5),
        Candidate(text="The user likes black tea", category="preferences", fact=liking, importance=5, turns=turn),
        Candidate(text="The user often talks of tea", category="interests", kind="insight", turns=turn),
        Candidate(text="The user's name is Ana", category="profile", fact=name, turns=turn),
    ]


async def read(memory: Memory) -> list[Any]:
    """What is answered to each question, with the scores, and what is left out of it."""
    asked = [Query(text=text, explain=True, top_k=20, budget_tokens=4_000) for text in ASKED]
    answers = [await memory.query(scope(), "supervisor", query) for query in asked]
    return [[(hit.memory.text, round(hit.score, 5)) for hit in one.hits] + [*one.omissions] for one in answers]


async def test_each_changes_an_answer(database_url: str) -> None:
    clock = FixedClock(NOON - EARLIER)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(scope(), make_memories())
        clock.advance(EARLIER.total_seconds())
        await memory.ingest(scope(), [note(f"Green tea number {n} is on the list of cello strings") for n in range(40)])
        usual = await read(memory)
        assert await read(memory) == usual
        for key, value in VALUES.items():
            await memory.configuration.change_settings({key: value}, by="test")
            assert await read(memory) != usual, key
            await memory.configuration.change_settings({}, [key], by="test")
        assert await read(memory) == usual
