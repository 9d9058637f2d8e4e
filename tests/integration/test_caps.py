"""The caps on writing: three memories of a turn, rules and model together, and so many a day and user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Extraction, Turn
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.engine import NOON, engine, said, scope, settings, statement

FIVE = "I like coffee. I'm allergic to peanuts. I live in Porto. I like chess. I like rowing."
A_DAY = 4


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    async with engine(database_url) as opened:
        yield opened


@pytest.fixture
async def sparing(database_url: str) -> AsyncIterator[tuple[Memory, FixedClock]]:
    """An engine that keeps four changes a day, and its clock."""
    clock, usual = FixedClock(NOON), settings(database_url)
    tuned = usual.model_copy(update={"write": usual.write.model_copy(update={"per_day": A_DAY})})
    async with engine(database_url, clock=clock, tuned=tuned) as opened:
        yield opened, clock


async def texts(memory: Memory, user: Scope) -> set[str]:
    return {one.text for one in await memory.list(user)}


async def model_finds(memory: Memory, user: Scope, turn: Turn, *found: str) -> Receipt:
    """What a model's look at the turn comes to when it finds these statements."""
    candidates = tuple(replace(statement(text), turns=(turn.id,)) for text in found)
    looked = ExtractionRecord(turn=turn.id, source="model", found=len(found))
    return await memory.engine.writer.commit_extraction(user, Extraction(candidates=candidates), (), "worker", looked)


async def test_of_five_statements_the_least_important_share_a_memory(memory: Memory) -> None:
    """The allergy and the home are more important than tastes, which one note holds: three memories, nothing lost."""
    receipt = await memory.learn(scope(), said(FIVE))
    assert receipt.refused == ()
    assert await texts(memory, scope()) == {
        "The user is allergic to peanuts",
        "The user lives in Porto",
        "The user likes coffee. The user likes chess. The user likes rowing.",
    }


async def test_what_the_person_asked_for_is_all_kept(memory: Memory) -> None:
    """`Remember that …` and `remember` keep whatever they name."""
    asked = "Remember that I like coffee, I'm allergic to peanuts, I live in Porto, I like chess and I like rowing."
    assert (await memory.learn(scope(), said(asked))).refused == ()
    assert len(await texts(memory, scope())) > 3
    kept = await memory.remember(scope("ben"), FIVE)
    assert len(kept.changes) == 5


async def test_rules_and_model_share_the_three_of_a_turn(memory: Memory) -> None:
    """After two memories by rule a model adds one, the first of the equal ones, and may say better what is kept."""
    turn = said("I like coffee. I'm allergic to peanuts.")
    await memory.learn(scope(), turn)
    receipt = await model_finds(memory, scope(), turn, "The user wants a dog", "The user wants a boat")
    assert [change.after.text for change in receipt.changes] == ["The user wants a dog"]
    assert receipt.refused == ("more than 3 a turn",)
    assert (await model_finds(memory, scope(), turn, "The user wants a cat")).replayed


async def test_the_three_of_a_turn_are_shared_whoever_is_first(memory: Memory) -> None:
    """A worker may look at a turn before the rules' find is committed."""
    turn = said(FIVE)
    memory.engine = memory.engine.rebuild(model=ScriptedChat(()))
    await memory.conversation.record(scope(), [turn])
    await model_finds(memory, scope(), turn, "The user wants a dog", "The user wants a boat")
    receipt = await memory.learn(scope(), turn)
    assert [change.after.text for change in receipt.changes] == ["The user is allergic to peanuts"]
    assert len(await texts(memory, scope())) == 3


async def test_a_day_has_an_end(sparing: tuple[Memory, FixedClock]) -> None:
    """Over the day's cap nothing is kept but the turn in the ledger; tomorrow, by hand and for others it goes on."""
    memory, clock = sparing
    await memory.learn(scope(), said("I like coffee. I like chess. I like rowing."))
    second = await memory.learn(scope(), said("I like tea. I'm allergic to peanuts."))
    assert [change.after.text for change in second.changes] == ["The user is allergic to peanuts"]
    assert second.refused == (f"more than {A_DAY} a day",)
    late = said("I like sailing.")
    assert (await memory.learn(scope(), late)).refused == (f"more than {A_DAY} a day",)
    assert len(await texts(memory, scope())) == A_DAY
    passage = await memory.engine.store.ledger.get_passage(scope(), late.id, before=0, after=0)
    assert passage is not None
    assert (await memory.remember(scope(), "I like sailing.")).changes
    assert (await memory.learn(scope("ben"), said("I like sailing."))).changes
    clock.advance(timedelta(hours=12).total_seconds())
    assert [change.after.text for change in (await memory.learn(scope(), said("I like judo."))).changes] == [
        "The user likes judo"
    ]


async def test_nobody_counts_until_it_can_matter(sparing: tuple[Memory, FixedClock]) -> None:
    """The day is counted when there are as many revisions as it allows, not before."""
    memory, _ = sparing
    await memory.learn(scope(), said("I like coffee. I like chess. I like rowing."))
    assert not memory.engine.cache.daily_counts
    await memory.learn(scope(), said("I like tea. I like judo."))
    assert memory.engine.cache.daily_counts[scope().space] == (NOON.replace(hour=0), 3, 3)
