"""Records of other memories through the engine: one fate each, whoever imports beside it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage
from muniment.memory.domain.memory import Role
from muniment.memory.domain.query import Query
from tests.engine import NOON, engine, said, scope, settings

THEN = datetime(2023, 5, 1, tzinfo=UTC)


def memory_of(key: str, text: str, **more: object) -> ImportedMemory:
    return ImportedMemory(place=f"record {key}", origin="mem0", key=key, text=text, **more)  # type: ignore[arg-type]  # fields


def message_of(number: int, text: str, *, role: Role = "user", talk: str = "t", at: datetime = THEN) -> ImportedMessage:
    return ImportedMessage(
        place=f"message {number}",
        origin="chatgpt",
        conversation=talk,
        key=f"m{number}",
        role=role,
        text=text,
        at=at + timedelta(minutes=number),
        began_at=at,
    )


async def test_two_imports_at_a_time(database_url: str) -> None:
    """The same records from two callers at once are there once, and each call has a fate for each record."""
    records = [memory_of(f"{n}", f"A note about subject number {n} of many") for n in range(40)]
    async with engine(database_url) as memory:
        both = await asyncio.gather(*(memory.imports.keep_memories(scope(), records) for _ in range(2)))
        assert len(await memory.list(scope(), limit=1_000)) == 40
        assert [len(outcomes) for outcomes in both] == [40, 40]
        assert sum(one.fate == "kept" for outcomes in both for one in outcomes) == 40


async def test_what_another_import_has_kept_meanwhile_holds_nothing_back(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process keeps one of the records after this one has looked which are known: the others are kept."""
    records = [memory_of(f"{n}", f"A note about subject number {n} of many") for n in range(5)]
    async with engine(database_url) as memory, engine(database_url) as other:
        ledger = type(memory.engine.record_import.ledger)
        find, looks = ledger.find_consumed_turns, count()

        async def find_late(self: Any, *args: Any) -> Any:
            found = await find(self, *args)
            if next(looks) == 0:
                await other.imports.keep_memories(scope(), records[2:3])
            return found

        monkeypatch.setattr(ledger, "find_consumed_turns", find_late)
        fates = [one.fate for one in await memory.imports.keep_memories(scope(), records)]
        assert fates == ["kept", "kept", "known", "kept", "kept"]
        assert len(await memory.list(scope())) == 5


async def test_the_same_words_under_two_keys(database_url: str) -> None:
    """Nothing is merged unsaid: the second of two records that say the same adds nothing, and that is its fate."""
    async with engine(database_url) as memory:
        records = [memory_of("1", "Chess in the park on Sundays"), memory_of("2", "Chess in the park on Sundays")]
        fates = [one.fate for one in await memory.imports.keep_memories(scope(), records)]
        assert fates[0] == "kept"
        assert fates[1] in ("merged", "known")
        assert len(await memory.list(scope())) == 1


async def test_a_past_state_ends_nothing(database_url: str) -> None:
    """What ended is kept with its time, and what is known by the same words goes on to be known."""
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I live in Rome", at=NOON))
        ended = memory_of("1", "The user lives in Rome", at=THEN, ended_at=THEN + timedelta(days=9))
        (outcome,) = await memory.imports.keep_memories(scope(), [ended])
        assert outcome.fate == "kept"
        hits = (await memory.query(scope(), "supervisor", Query(text="Where does the user live?"))).hits
        assert [hit.memory.expires_at for hit in hits] == [None]
        again = await memory.imports.keep_memories(scope(), [ended])
        assert [one.fate for one in again] == ["known"]


async def test_a_conversation_is_learned_and_recorded(database_url: str) -> None:
    """A short answer is read with its question, also where it begins the next batch; a message that only asks is
    recorded, a refused one is not, and the same messages again are known."""
    own = settings(database_url)
    tuned = own.model_copy(update={"limits": own.limits.model_copy(update={"turn_chars": 400})})
    async with engine(database_url, tuned=tuned) as memory:
        first = [message_of(0, "Where do you live?", role="assistant")]
        rest = [message_of(1, "Porto"), message_of(2, "What is the capital of Peru?"), message_of(3, "x " * 300)]
        assert [one.fate for one in await memory.imports.learn_messages(scope(), first)] == ["recorded"]
        outcomes = await memory.imports.learn_messages(scope(), rest, previous=first)
        assert [one.fate for one in outcomes] == ["learned", "recorded", "refused"]
        assert [one.reason for one in outcomes][1:] == ["question", "longer than 400 characters (limits.turn_chars)"]
        assert [one.text for one in await memory.list(scope())] == ["The user lives in Porto"]
        again = await memory.imports.learn_messages(scope(), rest, previous=first)
        assert [one.fate for one in again] == ["known", "known", "refused"]


async def test_a_history_has_no_quota_of_a_day(database_url: str) -> None:
    """More is learned of a history than a day may bring."""
    own = settings(database_url)
    tuned = own.model_copy(update={"write": own.write.model_copy(update={"per_day": 3})})
    async with engine(database_url, tuned=tuned) as memory:
        talk = [
            message_of(n, f"My friend {name} lives in Oslo.")
            for n, name in enumerate(("Ada", "Ben", "Cleo", "Dan", "Eve"))
        ]
        outcomes = await memory.imports.learn_messages(scope(), talk)
        assert [one.fate for one in outcomes] == ["learned"] * 5


async def test_what_an_assistant_said_of_itself(database_url: str) -> None:
    """It is no word of the user's: the rules read no fact in it, and it has an agent's trust."""
    async with engine(database_url) as memory:
        await memory.imports.keep_memories(scope(), [memory_of("1", "The user lives in Rome", role="assistant")])
        (kept,) = await memory.list(scope())
        assert (kept.trust, kept.fact, kept.source) == ("agent", None, "mem0/1")


async def test_an_empty_batch(database_url: str) -> None:
    """Nothing in is nothing out."""
    async with engine(database_url) as memory:
        assert await memory.imports.keep_memories(scope(), []) == ()
        assert await memory.imports.learn_messages(scope(), []) == ()


@pytest.mark.parametrize(
    ("text", "later", "wanted"),
    [
        ("用户住在上海，喜欢徒步。", "我住在北京", "用户住在北京"),
        ("User lives in Shanghai and works at Acme.", "I live in Berlin now", "The user lives in Berlin"),
    ],
)
async def test_one_memory_stays_one(database_url: str, text: str, later: str, wanted: str) -> None:
    """A memory is kept as given: several statements stay one memory word for word, and what is said later stands beside
    it and is found first."""
    async with engine(database_url) as memory:
        (outcome,) = await memory.imports.keep_memories(scope(), [memory_of("1", text, at=THEN)])
        assert outcome.fate == "kept"
        assert [one.text for one in await memory.list(scope())] == [text]
        await memory.learn(scope(), said(later, at=NOON))
        assert {one.text for one in await memory.list(scope())} == {text, wanted}


async def test_a_long_memory_is_not_cut(database_url: str) -> None:
    """A memory of more characters than a statement may have is kept word for word, though the rules could read it."""
    text = f"User likes {', '.join(f'tea number {number}' for number in range(40))}"
    async with engine(database_url) as memory:
        assert len(text) > memory.engine.settings.limits.memory_chars
        await memory.imports.keep_memories(scope(), [memory_of("1", text, at=THEN)])
        assert [one.text for one in await memory.list(scope())] == [text]


async def test_a_memory_keeps_the_headings_above_it(database_url: str) -> None:
    """What stands above a memory goes with it, also where the rules read its words."""
    async with engine(database_url) as memory:
        given = memory_of("1", "The user lives in Rome", context="Notes > Home")
        await memory.imports.keep_memories(scope(), [given])
        (kept,) = await memory.list(scope())
        assert (kept.context, kept.fact is not None) == ("Notes > Home", True)
