"""Notes through the whole engine: what ends them, and what takes their place."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI
from tests.answers import fact
from tests.engine import NOON, engine, said, scope

THINGS = ("stamps from Peru", "a diary in Latin", "two oak desks", "tomatoes", "bees", "an old canoe", "clocks", "maps")
PLACES = ("the shed", "the attic", "my office", "the harbour", "a barn")
TALK = [f"I keep {thing} in {place}." for thing in THINGS for place in PLACES]


async def list_texts(memory: Memory) -> list[str]:
    return [one.text for one in await memory.list(scope())]


async def test_what_an_ending_names_is_found_by_its_words(database_url: str) -> None:
    """Also where a long statement ends what it names in one of its words, among much else."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        for text in ("I really hate ironing shirts.", *TALK):
            clock.advance(60)
            await memory.learn(scope(), said(text, at=clock.now()))
        clock.advance(timedelta(days=1).total_seconds())
        long = (
            "You know, after a whole month with my mother in law and her three cats in the guest room upstairs, "
            "and with all of her washing, I've come round to ironing. I actually like it now."
        )
        await memory.learn(scope(), said(long, at=clock.now()))
        known = await list_texts(memory)
    assert not any("hates ironing" in text for text in known)
    assert any("come round to ironing" in text for text in known)
    assert len(known) > len(TALK)


@pytest.mark.parametrize(
    ("text", "statement", "stays"),
    [
        (
            "Our boat leaks again, so I spend my Sundays in the harbour.",
            "The user spends Sundays in the harbour",
            False,
        ),
        # a name of the note stands in no fact
        ("Our boat Albatros leaks again, so I spend my Sundays in the harbour.", "The user spends Sundays there", True),
        # a sentence of the note was not read
        ("Our boat leaks again. We moor it for nothing at a farm.", "The user has a boat that leaks", True),
    ],
)
async def test_what_a_model_has_read_leaves_no_note(database_url: str, text: str, statement: str, stays: bool) -> None:
    """In whichever words it says it, as long as no name and no sentence is lost."""
    read = fact(statement, kind="note", predicate="habit", object=statement.removeprefix("The user "))
    with ScriptedOpenAI(json.dumps({"facts": [read]})) as server:
        model = OpenAIChat("tiny-1", api_key=SecretStr("k"), base_url=server.base_url, max_retries=0)
        async with engine(database_url, model=model) as memory:
            turn = said(text)
            await memory.conversation.record(scope(), [turn])
            await memory.learn(scope(), turn)
            [note] = await list_texts(memory)
            await memory.jobs.extract(scope(), turn.id)
            known = await list_texts(memory)
    assert statement in known
    assert (note in known) == stays
