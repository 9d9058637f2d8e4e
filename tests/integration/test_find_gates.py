"""Settings that hold back what is found by itself: each acts, and what a person asks to keep passes all of them."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.errors import ModelTimeout, ModelUnavailable
from muniment.memory.rules.policy.retry import plan_retry
from muniment.testing.fakes import ScriptedChat
from tests.engine import NOON, Leaving, engine, said, scope

WIFE = "My wife's name is Wang Min"
MOVED = "In August 2024 I moved to Hangzhou"


async def change(memory: Memory, **values: Any) -> None:
    """Change settings, whose names have two underscores for the dot."""
    named = {name.replace("__", "."): value for name, value in values.items()}
    await memory.configuration.change_settings(named, by="test")


async def learn(memory: Memory, text: str) -> list[str]:
    """What is kept of a text, or why nothing is."""
    receipt = await memory.learn(scope(), said(text))
    return [each.after.text for each in receipt.changes] or list(receipt.refused)


async def test_relations_and_events(database_url: str) -> None:
    """Relations and events are left where the settings say so; a dated event is kept where only dated ones are."""
    async with engine(database_url) as memory:
        await change(memory, finds__relations=False, finds__events="dated")
        assert await learn(memory, WIFE) == ["relations are left"]
        assert "Hangzhou" in (await learn(memory, MOVED))[0]
        await change(memory, finds__events="none")
        assert "events are left" in await learn(memory, "In June 2022 I moved to Lisbon")
        assert (await memory.remember(scope(), WIFE)).changes
        await change(memory, finds__relations=True)
        assert "Min" in (await learn(memory, "My brother's name is Li Min"))[0]


async def test_importance_confidence_and_notes(database_url: str) -> None:
    """What is less important or certain than the settings want is left, and a note is where a fact is wanted."""
    async with engine(database_url) as memory:
        await change(memory, finds__least_importance=5)
        assert await learn(memory, "I love sailing") == ["low importance"]
        await change(memory, finds__least_importance=1, finds__least_confidence=1.0)
        assert await learn(memory, "I love sailing") == ["low confidence"]
        await change(memory, finds__least_confidence=0.0, finds__canonical="required")
        assert "sailing" in (await learn(memory, "I love sailing"))[0]
        note = "The heating at our cabin makes strange noises when the wind comes from the north"
        assert await learn(memory, note) == ["no canonical statement"]
        assert (await memory.remember(scope(), note)).changes


async def test_rules_wait_for_a_model(database_url: str) -> None:
    """Where the rules are a fallback for nothing, they keep nothing of a turn while a model is configured."""
    async with engine(database_url, model=ScriptedChat([])) as memory:
        await change(memory, finds__fallback="wait")
        assert await learn(memory, "I love sailing") == ["waits for the model"]
        assert (await memory.remember(scope(), "I love sailing")).changes
    async with engine(database_url) as without:
        assert "climbing" in (await learn(without, "I love climbing"))[0]


@pytest.mark.parametrize(("contradictions", "kept"), [("supersede", 1), ("keep", 2)])
async def test_contradictions(database_url: str, contradictions: str, kept: int) -> None:
    """A later value of the same takes the place of the earlier one, or both stay."""
    async with engine(database_url) as memory:
        await change(memory, write__contradictions=contradictions)
        for city in ("Rome", "Porto"):
            await learn(memory, f"I live in {city}")
        assert len(await memory.list(scope())) == kept


async def test_words_alone(database_url: str) -> None:
    """While the embedder is away words answer, or the query says that they may not."""
    embedder = Leaving()
    async with engine(database_url, embedder=embedder) as memory:
        await memory.remember(scope(), "I love sailing")
        await change(memory, recall__keyword_fallback=False)
        embedder.leave()
        with pytest.raises(ModelUnavailable, match="keyword_fallback"):
            await memory.query(scope(), "supervisor", Query(text="sailing"))
        await change(memory, recall__keyword_fallback=True)
        answer = await memory.query(scope(), "supervisor", Query(text="sailing"))
        assert answer.degraded
        assert answer.hits


def test_the_first_wait_after_a_model_has_failed() -> None:
    """A job waits as long as the settings say, and twice as long after each failure."""
    waits = [(plan_retry(ModelTimeout(), n, NOON, first_wait=5).at - NOON).total_seconds() for n in range(3)]
    assert waits == [5, 10, 20]
