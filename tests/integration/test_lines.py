"""Lines of an import that have only a text: what the rules read in them is known as if it had been said, the rest stays
as it is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import ImportReport, Receipt, WritePlan
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.flows.writing.importing import transfer
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope

MINUTE, DAY = 60, 86_400
HOMES: list[dict[str, Any]] = [
    {"text": "User lives in Oslo", "event_time": "2025-03-01"},
    {"text": "User lives in Rome", "event_time": "2023-03-01"},
    {"text": "The user lives in Bergen", "event_time": "2024-03-01", "kind": "semantic", "category": "profile",
     "fact": {"kind": "identity", "predicate": "lives_in", "object": "Bergen", "single": True}},
]  # fmt: skip


async def told(memory: Memory) -> dict[str, StoredMemory]:
    """What is known by now."""
    return {one.text: one for one in await memory.list(scope())}


async def imported(memory: Memory, *rows: dict[str, Any]) -> int:
    return (await memory.load(scope(), rows)).changes


async def commits(memory: Memory, rows: Sequence[dict[str, Any]]) -> list[WritePlan]:
    """The plans that an import of these rows commits."""
    plans: list[WritePlan] = []
    commit = memory.engine.store.writes.commit

    async def noted(plan: WritePlan) -> Receipt:
        plans.append(plan)
        return await commit(plan)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(memory.engine.store.writes, "commit", noted)
        await imported(memory, *rows)
    return plans


async def journal(memory: Memory, owner: str) -> list[tuple[str, str, str]]:
    """What happened to each text that is there: the memory's present words, the action, and its words after that."""
    found = await memory.list(scope(owner), limit=1_000)
    return [(one.text, line.action, line.text) for one in found for line in await memory.history(scope(owner), one.id)]


async def strengths(memory: Memory, owner: str) -> list[float]:
    """Of all edges."""
    rows = await memory.export(scope(owner), content=True)
    return sorted(row["strength"] for row in rows if row["type"] == "relation")


async def test_a_line_is_what_its_words_say(database_url: str) -> None:
    """It becomes the memory that a turn would have made, which the next turn corrects."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        assert await imported(memory, {"text": "User lives in Rome"}, {"text": "Chess in the park"}) == 2
        await memory.learn(scope("ben"), said("I live in Rome"))
        (mine,) = (one for one in await memory.list(scope()) if one.kind == "semantic")
        (bens,) = await memory.list(scope("ben"))
        for field in ("text", "category", "fact", "stable_key", "importance", "confidence", "trust", "role"):
            assert getattr(mine, field) == getattr(bens, field)
        clock.advance(MINUTE)
        await memory.learn(scope(), said("I live in Berlin now", at=clock.now()))
        assert set(await told(memory)) == {"The user lives in Berlin", "Chess in the park"}
        hits = (await memory.query(scope(), "supervisor", Query(text="Where does the user live?"))).hits
        assert [hit.memory.text for hit in hits if "live" in hit.memory.text] == ["The user lives in Berlin"]


async def test_a_line_corrects(database_url: str) -> None:
    """What tells no time is so now."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.learn(scope(), said("I live in Berlin"))
        clock.advance(MINUTE)
        assert await imported(memory, {"text": "User lives in Rome"}, {"text": "The user lives in Oslo"}) == 2
        assert set(await told(memory)) == {"The user lives in Oslo"}


async def test_the_latest_line_holds(database_url: str) -> None:
    """Wherever it stands in the file; none takes back what was said after it, and none is there twice."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        assert await imported(memory, *HOMES) == 3
        ((text, one),) = (await told(memory)).items()
        assert (text, one.event_time) == ("The user lives in Oslo", datetime(2025, 3, 1, tzinfo=UTC))
        assert [line.action for line in await memory.history(scope(), one.id)] == ["UPDATE", "UPDATE", "ADD"]
        assert await imported(memory, *HOMES) == 0
        clock.advance(MINUTE)
        await memory.learn(scope(), said("I live in Berlin now", at=clock.now()))
        assert await imported(memory, *HOMES) == 0
        assert set(await told(memory)) == {"The user lives in Berlin"}


async def test_notes_that_are_written_together_come_to_what_they_would_alone(database_url: str) -> None:
    """The same memories, the same history and the same edges, in one write of each batch: what says the same, or is
    like another with the same number, meets it there, and a statement between them corrects the one before it."""
    chance = random.Random(20261122)
    who, what, more = (
        ("Ana", "Ben", "Zoë"),
        ("scored {} points", "ran {} miles", "sang in the choir"),
        (" at noon", " on the hill", ""),
    )
    rows = [
        {"text": f"{chance.choice(who)} {chance.choice(what).format(chance.choice((12, 15)))}{chance.choice(more)}"}
        for _ in range(70)
    ]
    rows[20:20], rows[50:50] = [{"text": "User lives in Rome"}], [{"text": "User lives in Oslo"}]
    async with engine(database_url, clock=FixedClock(NOON)) as memory:
        alone = sum([(await memory.load(scope("ben"), [row])).changes for row in rows])
        assert len(await commits(memory, rows)) == 3
        ours, bens = [sorted(await journal(memory, owner)) for owner in ("ana", "ben")]
        assert len(ours) == alone
        assert 0 < sum(action == "UPDATE" for _, action, _ in ours) < alone < len({row["text"] for row in rows})
        assert ours == bens
        edges, of_ben = [await strengths(memory, owner) for owner in ("ana", "ben")]
        assert edges == pytest.approx(of_ben, abs=1e-3)
        assert len(edges) > len(set(ours))


async def test_who_leaves_an_import_learns_of_what_was_just_written(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation that comes when the rows are in, and their receipt is not, still counts them."""
    counted: list[int] = []
    async with engine(database_url) as memory:
        commit = memory.engine.store.writes.commit

        async def late(plan: WritePlan) -> Receipt:
            done = await commit(plan)
            loading.cancel()
            await asyncio.sleep(0.01)
            return done

        monkeypatch.setattr(memory.engine.store.writes, "commit", late)
        rows = [{"text": f"Note {n}: a train to Porto"} for n in range(200)]
        loading = asyncio.create_task(memory.load(scope(), rows, counted.append))
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert counted == [128]
        assert 0 < len(await memory.list(scope(), limit=1_000)) <= 128


async def test_no_correction_is_taken_back(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without times, imported again after what it says was corrected, adds nothing, whatever it corrects itself;
    what was forgotten comes back."""
    monkeypatch.setattr(transfer, "_BATCH", 1)
    rows = [{"text": f"The user lives in {city}"} for city in ("Rome", "Oslo", "Rome")]
    rows += [{"text": "User has asthma"}, {"text": "User works at Acme", "event_time": "2027-01-01"}]
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        assert await imported(memory, *rows) == 5
        assert set(await told(memory)) == {"The user lives in Rome", "The user has asthma", "The user works at Acme"}
        clock.advance(MINUTE)
        await memory.learn(scope(), said("I live in Berlin now. I work at Initech now", at=clock.now()))
        assert await imported(memory, *rows) == 0
        await memory.forget(scope(), (await told(memory))["The user has asthma"].id)
        assert await imported(memory, *rows) == 1
        assert set(await told(memory)) == {
            "The user lives in Berlin",
            "The user has asthma",
            "The user works at Initech",
        }


async def test_the_same_line_is_one_signal(database_url: str) -> None:
    """However often a file is imported, nobody's profile changes by it."""
    rows = [{"text": "User prefers short answers", "event_time": "2025-03-01"}]
    async with engine(database_url) as memory:
        for _ in range(4):
            await memory.load(scope(), rows)
        (wish,) = await memory.list_consents(scope(), decided=True)
        assert (wish.decision, len(wish.turns)) == ("pending", 1)


GIVEN: Sequence[dict[str, Any]] = [
    {"kind": "episodic"},
    {"category": "activity"},
    {"actor_id": "Ben"},
]


@pytest.mark.parametrize("more", GIVEN)
async def test_what_is_given_is_taken_as_given(database_url: str, more: dict[str, Any]) -> None:
    """A row that says itself what it is, or whose words are somebody else's, is no statement of the owner's."""
    async with engine(database_url) as memory:
        await imported(memory, {"text": "User lives in Rome"} | more)
        ((text, one),) = (await told(memory)).items()
        assert (text, one.kind, one.category, one.fact) == ("User lives in Rome", "episodic", "activity", None)


async def test_what_is_not_read_stays_as_it_is(database_url: str) -> None:
    """Word for word, with its time; what has a secret in it is redacted as ever, and what is long is no statement."""
    plain = "The user lives in Rome.  Her brother paints boats"
    secret = "User's favourite word is sk-abcdefghij0123456789XYZ"
    long = "The user lives in Rome. " * 50
    async with engine(database_url) as memory:
        assert (
            await imported(memory, {"text": plain, "event_time": "2025-03-01"}, {"text": secret}, {"text": long}) == 3
        )
        known = await told(memory)
        one = known[plain]
        assert (one.kind, one.category, one.event_time) == ("episodic", "activity", datetime(2025, 3, 1, tzinfo=UTC))
        assert (one.trust, one.updated_at) == ("user", NOON)
        assert sorted(one.kind for one in known.values()) == ["episodic"] * 3
        assert "abcdefghij" not in str(await memory.export(scope()))


async def test_what_a_row_says_besides(database_url: str) -> None:
    """Its tags, importance and pin belong to each of its statements; its words are found as a whole."""
    row = {"text": "User works at Acme and lives in Rome", "tags": ["mem0"], "importance": 5, "pinned": True}
    async with engine(database_url) as memory:
        assert await imported(memory, row) == 2
        known = await told(memory)
        assert [(one.tags, one.importance, one.pinned) for one in known.values()] == [(("mem0",), 5, True)] * 2
        hits = (await memory.query(scope(), "supervisor", Query(text="Acme Rome"))).hits
        assert {hit.memory.text for hit in hits} == set(known)


async def test_what_was_so_long_ago_is_not_forgotten_at_once(database_url: str) -> None:
    """It is kept from the day on which it was imported."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await imported(memory, {"text": "User likes tea", "event_time": "2020-03-01"})
        clock.advance(59 * DAY)
        assert (await memory.admin.maintain(scope())).forgotten == 0
        clock.advance(DAY)
        assert (await memory.admin.maintain(scope())).forgotten == 1
        (gone,) = (await memory.list_page(scope(), ListRequest(states=("soft_deleted",)))).memories
        assert (gone.created_at, gone.updated_at) == (NOON, clock.now())


@pytest.mark.parametrize(
    "row",
    [
        "Sensor {n} in hall {hall} reads {value} degrees at {hour:02d}:{minute:02d}.",
        "The invoice {n} came to {value} euros.",
        "Bin {value} on shelf {hall} holds {n} screws",
        "第{n}号传感器读数为{value}度。",
        "Hall {hall}: {words} pallets",
    ],
)
async def test_rows_whose_numbers_differ_stay_apart(database_url: str, row: str) -> None:
    """However alike their words are, written together or with what is known; the same row again is no new one."""
    words = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    texts = [
        row.format(n=n, hall=n % 7, value=10 + 7 * n % 89, hour=n % 24, minute=n, words=words[n % 11])
        for n in range(50)
    ]
    async with engine(database_url) as memory:
        assert await imported(memory, *({"text": text} for text in texts[:30])) == 30
        assert await imported(memory, *({"text": text} for text in texts[30:])) == 20
        assert await imported(memory, *({"text": text} for text in texts[:5])) == 0
        assert {one.text for one in await memory.list(scope(), limit=100)} == set(texts)


async def test_notes_with_the_same_numbers_are_one_word_for_word(database_url: str) -> None:
    """Another unit, sign, currency or order of the words makes another memory; another case, width or space does not,
    in one import as in two."""
    notes = [
        "The rope is 5 m long", "The rope is 5 km long", "The tank holds five litres", "The tank holds five kilos",
        "The gauge reads -5", "The gauge reads 5", "Fee of $5", "Fee of €5", "Fee of 5%", "Score 1/5", "Score 1-5",
        "Flight 34 leaves from gate 12", "From gate 34 flight 12 leaves", "Room 12 has 3 chairs",
        "12 chairs are in room 3", "Shelf ١٢ has red boxes", "Shelf ١٣ has red boxes", "书架上有5只猫", "书架上有5条狗",
    ]  # fmt: skip
    same = ["the rope is 5 m long.", "Flight 34  leaves from gate 12", "SHELF ١٢ HAS RED BOXES", "Fee of $5"]
    async with engine(database_url) as memory:
        report = await memory.load(scope(), [{"text": text} for text in notes + same])
        assert (report.added, len(report.unused), report.merged) == (len(notes), len(same), ())
        again = await memory.load(scope(), [{"text": text} for text in same + notes])
        assert (again.added, len(again.unused)) == (0, len(notes + same))
        assert {each.text for each in await memory.list(scope(), limit=100)} == set(notes)


async def test_facts_with_one_key_are_one_whatever_their_numbers(database_url: str) -> None:
    """A later row puts right what an earlier one says of the same."""
    async with engine(database_url) as memory:
        await imported(memory, {"text": "The user is 33 years old"}, {"text": "The user is 34 years old"})
        assert [one.text for one in await memory.list(scope())] == ["The user is 34 years old"]


async def test_the_report_has_every_row(database_url: str) -> None:
    """A row is a new memory, or is named: it changed a memory that was there, or nothing."""
    rows = [
        {"text": "User lives in Oslo", "event_time": "2025-03-01"},
        {"text": "Chess in the park"},
        {"text": "User lives in Rome", "event_time": "2023-03-01"},
        {"text": "Chess in the park"},
        {"text": "User has two cats", "event_time": "2022-03-01"},
    ]
    async with engine(database_url) as memory:
        assert await memory.load(scope(), rows) == ImportReport(changes=4, added=3, merged=(1,), unused=(4,))
        assert len(await memory.list(scope())) == 3
        again = await memory.load(scope(), [*rows, {"text": "Rain on the roof"}])
        assert (again.added, again.merged, again.unused) == (1, (), (1, 2, 3, 4, 5))


async def test_the_words_of_two_speakers_are_two_memories(database_url: str) -> None:
    """However alike: who said it is a part of what is known. The words of one speaker are kept once."""
    text = "I love the smell of the sea in the morning"
    rows = [{"text": text, "category": "activity", "actor_id": actor} for actor in ("Ben", "Ana", "Ben", None)]
    async with engine(database_url) as memory:
        report = await memory.load(scope(), rows)
        assert (report.added, report.unused) == (3, (3,))
        assert {one.actor_id for one in await memory.list(scope())} == {"Ben", "Ana", None}


async def test_two_speakers_in_one_thread(database_url: str) -> None:
    """Notes of what two people say in their own words stay two."""
    async with engine(database_url) as memory:
        for actor in ("Ben", "Cem", "Cem"):
            who = scope(actor=actor)
            await memory.remember(who, "The old lighthouse always smelled of tar and wet rope")
        assert sorted(str(one.actor_id) for one in await memory.list(scope())) == ["Ben", "Cem"]
