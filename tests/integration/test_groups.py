"""Writers of one user at once: their drafts are committed together, and each has what it would have had alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from random import Random
from string import ascii_lowercase
from typing import Any

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.rules.merging.earlier_changes import update_neighbours
from tests.engine import NOON, engine, note, said, scope

THINGS = ("tea", "jazz", "chess", "rye bread", "old maps", "swimming", "Porto", "night trains")
SAYINGS = (
    "I like {}", "I love {}", "I don't like {}", "my sister collects {}", "I live in {}", "I moved to {}",
    "I work at {} Ltd", "I no longer like {}", "we sold our {} at the market on Sunday", "my dog is afraid of {}",
    "actually my sister collects {}", "I have an allergy to {}", "I am allergic to {}",
)  # fmt: skip
ROUNDS = 25
WRITER = """
import asyncio, sys
from random import Random
from string import ascii_lowercase
from tests.engine import engine, scope

async def write(memory, name):
    for number in range(10_000):
        word = "".join(Random(f"{name}{number}").choices(ascii_lowercase, k=9))
        text = f"my {name} {word} stands behind the {word[::-1]} {name}"
        await memory.remember(scope(), text)
        print(text, flush=True)

async def run():
    async with engine(sys.argv[1]) as memory:
        await asyncio.gather(*(write(memory, name) for name in ("ash", "birch", "cedar", "dogwood", "elm", "fir")))

asyncio.run(run())
"""
JOURNAL = "select array_agg(rev order by rev) from muniment.journal where space_id = %s"
TRANSACTIONS = "select count(distinct xmin::text) from muniment.memories where space_id = %s"


@asynccontextmanager
async def waiting(
    memory: Memory, who: Scope, writes: Sequence[Awaitable[Any]]
) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Writes that all wait for the space, until the block ends."""
    async with memory.engine.locks.space_lock(who.space):
        tasks = [asyncio.ensure_future(write) for write in writes]
        for _ in range(50):
            await asyncio.sleep(0)
        yield tasks


async def read_row(url: str, query: str, who: Scope) -> Any:
    """The only value of a query about a space."""
    async with await psycopg.AsyncConnection.connect(url) as conn:
        row = await (await conn.execute(query.encode(), (who.space,))).fetchone()
    assert row is not None
    return row[0]


async def describe(memory: Memory, who: Scope) -> tuple[Counter[str], dict[Any, Any]]:
    """What a space holds: its memories, each as the text of its fields, and the strengths of its edges by the texts
    that they join. A tag names another memory by its text."""
    rows = await memory.export(who, content=True)
    memories = {row["memory_id"]: row for row in rows if row["type"] == "memory"}
    names = (
        "text", "kind", "category", "state", "stable_key", "importance", "confidence", "trust", "tags", "event_time",
    )  # fmt: skip
    contents = [repr([row.get(name) for name in names]) for row in memories.values()]
    for id_, row in memories.items():
        contents = [content.replace(id_, row["text"]) for content in contents]
    edges = sorted(
        (*sorted(memories[row[end]]["text"] for end in ("from_id", "to_id")), row["strength"])
        for row in rows
        if row["type"] == "relation"
    )
    # The store compares vectors of half precision.
    strengths = {(number, *ends): pytest.approx(strength, abs=2e-3) for number, (*ends, strength) in enumerate(edges)}
    return Counter(contents), strengths


def statement(dice: Random) -> str:
    return dice.choice(SAYINGS).format(dice.choice(THINGS))


def say_anything(number: int) -> str:
    """A statement in words of its own, which is like no other one."""
    dice = Random(number)
    return "my uncle " + " ".join("".join(dice.choices(ascii_lowercase, k=8)) for _ in range(4))


def say(memory: Memory, who: Scope, text: str, number: int) -> Callable[[Scope], Awaitable[Receipt]]:
    """A write of a text: by a request of the user, or as a turn of theirs."""

    def write(owner: Scope) -> Awaitable[Receipt]:
        if number % 3:
            return memory.remember(owner, text)
        turn = Turn.make(session=who.owner, key=f"{owner.owner}{number}", role="user", text=text, at=NOON)
        return memory.learn(owner, turn)

    return write


async def test_what_waits_is_one_transaction(database_url: str) -> None:
    """Sixteen writers have their own receipts, with revisions without a gap, of far fewer transactions."""
    async with engine(database_url) as memory:
        await memory.remember(scope(), "I live in Porto")
        texts = [say_anything(n) for n in range(16)]
        writes = [memory.remember(scope(), text) for text in texts]
        async with waiting(memory, scope(), writes) as tasks:
            pass
        receipts = await asyncio.gather(*tasks)
        first = await read_row(database_url, TRANSACTIONS, scope())
        assert all(text.split()[-1] in each.changes[0].after.text for text, each in zip(texts, receipts, strict=True))
        revs = sorted(change.after.rev for receipt in receipts for change in receipt.changes)
        assert revs == list(range(2, max(receipt.rev for receipt in receipts) + 1))
        assert first < 6
        stored = await memory.get(scope(), receipts[7].changes[0].after.id)
        assert stored == receipts[7].changes[0].after


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_group_writes_what_its_members_write_alone(database_url: str, seed: int) -> None:
    """Duplicates, corrections and edges come to the same as one by one, in the order in which they were written."""
    dice = Random(seed)
    before = [statement(dice) for _ in range(dice.choice((0, 3, 9, 14)))]
    texts = [statement(dice) for _ in range(dice.choice((10, 30)))]
    together, alone = scope("together"), scope("alone")
    async with engine(database_url) as memory:
        for text in before:
            for owner in (together, alone):
                await memory.remember(owner, text)
        writes = [say(memory, together, text, number) for number, text in enumerate(texts)]
        async with waiting(memory, together, [write(together) for write in writes]) as tasks:
            pass
        receipts = await asyncio.gather(*tasks)
        order = sorted(range(len(texts)), key=lambda n: (receipts[n].rev, not receipts[n].changes))
        for number in order:
            receipt = await writes[number](alone)
            mine = receipts[number]
            assert [(each.action, each.after.text, each.after.state, each.band) for each in mine.changes] == [
                (each.action, each.after.text, each.after.state, each.band) for each in receipt.changes
            ]
            assert (mine.rev, mine.refused, mine.skipped) == (receipt.rev, receipt.refused, receipt.skipped)
        held, edges = await describe(memory, together)
        assert (held, edges) == await describe(memory, alone)
    revisions = await read_row(database_url, JOURNAL, together)
    assert revisions == list(range(1, len(revisions) + 1))


async def test_one_that_is_cancelled_takes_nothing_from_the_others(database_url: str) -> None:
    """One writer is cancelled before its group begins, another while it is written; the rest is kept, each once."""
    texts = [say_anything(n) for n in range(8)]
    for turns in range(0, 60, 4):
        who = scope(f"owner{turns}")
        async with engine(database_url) as memory:
            async with waiting(memory, who, [memory.remember(who, text) for text in texts]) as tasks:
                tasks[2].cancel()
            for _ in range(turns):
                await asyncio.sleep(0)
            tasks[0].cancel()
            receipts = await asyncio.gather(*tasks, return_exceptions=True)
            assert [n for n, each in enumerate(receipts) if isinstance(each, asyncio.CancelledError)] in ([0, 2], [2])
            held = Counter(each.text for each in await memory.list(who))
        kept = {each.changes[0].after.text for each in receipts if isinstance(each, Receipt)}
        assert kept <= held.keys()
        assert len(held) <= len(texts) - 1
        assert max(held.values()) == 1


async def test_one_that_fails_leaves_the_others(database_url: str) -> None:
    """A turn that was consumed before ends the transaction: that write is a replay, the others are kept."""
    turn = said("my aunt grows saffron")
    async with engine(database_url) as memory:
        await memory.keep_candidates(scope(), [replace(note(say_anything(99)), turns=(turn.id,))], [turn])
        good = [note(say_anything(n)) for n in range(6)]
        writes = [memory.keep_candidates(scope(), [each]) for each in good]
        writes.insert(3, memory.keep_candidates(scope(), [replace(note(say_anything(98)), turns=(turn.id,))], [turn]))
        async with waiting(memory, scope(), writes) as tasks:
            pass
        receipts = await asyncio.gather(*tasks)
        assert [n for n, each in enumerate(receipts) if each.replayed] == [3]
        held = {each.text for each in await memory.list(scope())}
        assert held == {each.text for each in good} | {say_anything(99)}


async def test_what_a_killed_process_acknowledged_is_there(database_url: str) -> None:
    """Six writers are killed in the midst: every receipt holds, and the revisions have no gap."""
    for count in (30, 55):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            WRITER,
            database_url,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": "."},
        )
        assert process.stdout is not None
        acknowledged = [(await process.stdout.readline()).decode().strip() for _ in range(count)]
        process.send_signal(signal.SIGKILL)
        with suppress(ProcessLookupError):
            await process.wait()
        async with engine(database_url) as memory:
            held = " ".join(each.text for each in await memory.list(scope(), limit=1000))
        assert all(text.removeprefix("my ") in held for text in acknowledged if text)
        revisions = await read_row(database_url, JOURNAL, scope())
        assert revisions == list(range(1, len(revisions) + 1))


async def test_neighbours_are_those_that_the_store_would_list(database_url: str) -> None:
    """After every change they are the same by the rule as by the store, or the rule leaves it to the store."""
    dice, known = Random(7), 0
    embedder = HashEmbedder()
    async with engine(database_url) as memory:
        reads = memory.engine.store.reads
        for number in range(100):
            words = dice.sample(THINGS, 3)
            fact = Fact(
                kind="preference",
                predicate=dice.choice(("likes", "eats")),
                object=dice.choice((*THINGS, f"rice {number}")),
            )
            text = f"The user's {' '.join(words)} {say_anything(number)[3:]}"
            [probed] = await embedder.embed_documents([" ".join(dice.sample(THINGS, 3))])
            probe = NeighbourProbe(vector=probed, kind="semantic", stable_key=fact.key, attribute=fact.attribute)
            _, [before] = await reads.find_neighbours(scope(), [probe], 5)
            kept = Candidate(text=text, category="preferences", fact=fact, turns=(said(text).id,))
            receipt = await memory.keep_candidates(scope(), [kept])
            updated = update_neighbours(probe, before, receipt.changes, 5)
            _, [after] = await reads.find_neighbours(scope(), [probe], 5)
            if updated is not None:
                known += 1
                assert {each.memory.id for each in updated} == {each.memory.id for each in after}
                assert [each.sim for each in updated] == pytest.approx([each.sim for each in after], abs=2e-3)
    assert known > 15
