"""P-20: a person changes a memory by hand: the change is a new version, and the former one can be brought back."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import Fact, FactKind, StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput, Conflict, DuplicateMemory, NotFound
from tests.engine import engine, note, said, scope

SECRET = "ghp_" + "a1B2" * 9


def fact(predicate: str, value: str, *, kind: FactKind = "relationship", single: bool = False) -> Fact:
    return Fact(kind=kind, predicate=predicate, object=value, single=single)


def sentence(text: str, category: str = "activity", **more: Any) -> Candidate:
    return replace(note(text, category), **{"kind": "semantic", **more})


async def keep(memory: Memory, text: str = "The office is in Lisbon.", **more: Any) -> StoredMemory:
    [change] = (await memory.keep_candidates(scope(), [sentence(text, **more)])).changes
    return change.after


def only(receipt: Receipt) -> StoredMemory:
    [change] = receipt.changes
    assert change.action == "UPDATE"
    return change.after


async def found(memory: Memory, text: str) -> list[str]:
    answer = await memory.query(scope(), "supervisor", Query(text=text))
    return [hit.memory.text for hit in answer.hits]


async def test_words_by_hand_are_a_version_that_is_the_persons_own(database_url: str) -> None:
    """S-78: the journal has a line, the former words are in the past, and the new ones are what is found."""
    async with engine(database_url) as memory:
        one = await keep(memory, trust="tool")
        after = only(await memory.edits.change_memory(scope(), str(one.id)[:8], text="The office is in Porto."))
        assert (after.id, after.text, after.trust, after.confidence) == (one.id, "The office is in Porto.", "user", 1.0)
        assert await found(memory, "office Porto") == ["The office is in Porto."]
        assert (await memory.get(scope(), one.id, as_of=one.rev)).text == one.text
        newest, *_ = await memory.history(scope(), one.id)
        assert (newest.action, newest.meta["why"], newest.text) == ("UPDATE", "edited", after.text)
        assert set(one.turns) < set(after.turns)
        again = await memory.edits.change_memory(scope(), one.id, text="The office is in Porto.")
        assert again.changes == ()


async def test_the_fact_follows_the_words(database_url: str) -> None:
    """Where the value alone is new it is the value of the fact, and of its key."""
    async with engine(database_url) as memory:
        text = "The user lives in Lisbon"
        lisbon = sentence(text, category="profile", fact=fact("lives_in", "Lisbon", kind="identity", single=True))
        [change] = (await memory.keep_candidates(scope(), [lisbon])).changes
        after = only(await memory.edits.change_memory(scope(), change.after.id, text="The user lives in Vila Real"))
        assert after.fact is not None
        assert (after.fact.predicate, after.fact.object) == ("lives_in", "Vila Real")
        assert after.stable_key == change.after.stable_key
        moved = only(await memory.edits.change_memory(scope(), change.after.id, text="I live in Braga"))
        assert moved.fact is not None
        assert (moved.text, moved.fact.object) == ("The user lives in Braga", "Braga")


async def test_a_value_by_hand_is_proposed_for_the_profile(database_url: str) -> None:
    """The former request is withdrawn, and the new value waits for a yes like any other."""
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I live in Lisbon."))
        [asked] = await memory.list_consents(scope())
        await memory.edits.change_memory(scope(), str(asked.memory), text="The user lives in Porto")
        [waiting] = await memory.list_consents(scope())
        assert (waiting.field, waiting.value) == ("city", "Porto")


async def test_category_importance_and_names_change_and_the_words_stay_whose_they_were(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory, trust="tool")
        receipt = await memory.edits.change_memory(
            scope(), one.id, category="projects", importance=5, aliases=["HQ"], expected_rev=one.rev
        )
        after = only(receipt)
        assert (after.category, after.importance, after.aliases) == ("projects", 5, ("HQ",))
        assert (after.text, after.trust, after.turns) == (one.text, "tool", one.turns)
        assert await found(memory, "HQ") == [one.text]


async def test_a_former_version_comes_back_and_that_can_be_taken_back(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory)
        await memory.pin(scope(), one.id)
        edited = only(await memory.edits.change_memory(scope(), one.id, text="The office is in Porto.", importance=5))
        back = only(await memory.edits.restore_version(scope(), one.id, one.rev))
        assert (back.text, back.importance, back.pinned) == (one.text, one.importance, True)
        assert set(edited.turns) == set(back.turns)  # an erasure finds what supported it
        assert await found(memory, "office") == [one.text]
        assert (await memory.edits.restore_version(scope(), one.id, back.rev)).changes == ()
        assert only(await memory.edits.restore_version(scope(), one.id, edited.rev)).text == edited.text
        with pytest.raises(NotFound):
            await memory.edits.restore_version(scope(), one.id, Revision(one.rev - 1))


async def test_what_was_seen_is_what_is_changed(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory)
        await memory.pin(scope(), one.id)
        with pytest.raises(Conflict, match="was seen"):
            await memory.edits.change_memory(scope(), one.id, text="The office is in Porto.", expected_rev=one.rev)
        assert (await memory.get(scope(), one.id)).text == one.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"The key is {SECRET}.", "it has an API key, which is not kept"),
        ("We met you there.", "first or second person"),
        ("", "no text"),
        ("Where is the office?", "a question"),
        ("ok", "nothing in it"),
        ("The office is big. " + "word " * 80, "longer than 280"),
    ],
)
async def test_words_by_hand_pass_the_write_gate(database_url: str, text: str, reason: str) -> None:
    """Nothing of what is refused is kept, neither in the memory nor in the ledger."""
    async with engine(database_url) as memory:
        one = await keep(memory)
        with pytest.raises(BadInput, match=reason):
            await memory.edits.change_memory(scope(), one.id, text=text)
        assert (await memory.get(scope(), one.id)).rev == one.rev
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from muniment.turns where kind = 'audit'").fetchone() == (0,)


async def test_a_secret_in_an_episode_is_redacted(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory, kind="episodic")
        receipt = await memory.edits.change_memory(scope(), one.id, text=f"The key {SECRET} was shown.")
        assert SECRET not in only(receipt).text
        assert receipt.left_out == ("an API key",)


@pytest.mark.parametrize("change", [{"category": "no such"}, {"importance": 6}, {"importance": 0}, {"aliases": [""]}])
async def test_a_part_that_there_is_not_is_refused(database_url: str, change: dict[str, Any]) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory)
        with pytest.raises(BadInput):
            await memory.edits.change_memory(scope(), one.id, **change)


async def test_only_what_is_in_force_is_changed_and_another_user_has_no_such_memory(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory)
        for call in (
            memory.edits.change_memory(scope("bo"), one.id, text="The office is in Porto."),
            memory.edits.restore_version(scope("bo"), one.id, one.rev),
        ):
            with pytest.raises(NotFound):
                await call
        await memory.forget(scope(), one.id)
        with pytest.raises(BadInput, match="soft-deleted"):
            await memory.edits.change_memory(scope(), one.id, text="The office is in Porto.")


async def test_what_two_memories_would_say_alike_is_refused(database_url: str) -> None:
    async with engine(database_url) as memory:
        mia = sentence("The user has the cat Mia", fact=fact("has_pet", "Mia", kind="relationship"))
        lucky = sentence("The user has the dog Lucky", fact=fact("has_pet", "Lucky", kind="relationship"))
        one, _two = (change.after for change in (await memory.keep_candidates(scope(), [mia, lucky])).changes)
        with pytest.raises(DuplicateMemory):
            await memory.edits.change_memory(scope(), one.id, text="The user has the cat Lucky")


async def test_an_erasure_takes_the_words_by_hand_along(database_url: str) -> None:
    """What was written in the place of the words is a trace of the memory."""
    async with engine(database_url) as memory:
        one = await keep(memory)
        await memory.edits.change_memory(scope(), one.id, text="The office is in Porto.")
        await memory.admin.erase(scope(), one.id)
        assert (await memory.list_page(scope(), ListRequest())).total == 0
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from muniment.turns where text like '%Porto%'").fetchone() == (0,)


async def test_a_change_by_hand_is_one_write_for_its_key(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory)
        for _ in range(2):
            receipt = await memory.write_once(
                scope(), "k1", memory.edits.change_memory, one.id, text="The office is in Porto."
            )
            assert only(receipt).text == "The office is in Porto."
        assert len(await memory.history(scope(), one.id)) == 2
