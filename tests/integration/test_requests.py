"""Writes that are asked for again: one write and one receipt for a key, whoever asks, and whatever is cut off."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.consent import Consent, RequestId
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.plan import Receipt
from muniment.memory.errors import BadInput, KeyReused, NotFound, StoreError
from muniment.memory.records import dump_receipt, load_receipt
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope

ROOT = Path(__file__).parents[2]
ANA = scope()
DAY = 86_400
KILLS = 4
WRITER = """
import asyncio, sys
from tests.engine import engine, scope

async def write(url, first):
    async with engine(url) as memory:
        for n in range(first, 10_000):
            await memory.write_once(scope(), f"key {n}", memory.relate, f"shed {n}", "stands at", f"plot {n}")
            print(n, flush=True)

asyncio.run(write(sys.argv[1], int(sys.argv[2])))
"""


def bare(receipt: Receipt) -> Receipt:
    """A receipt without the vectors of its changes, which are not kept."""
    return replace(receipt, changes=tuple(replace(change, vector=None) for change in receipt.changes))


async def revision(memory: Memory) -> int:
    return (await memory.changes(ANA)).rev


async def calls(memory: Memory) -> list[tuple[Any, ...]]:
    """A call of each method that writes, with its arguments."""
    first, second = [
        (await memory.remember(ANA, text)).changes[0].after.id for text in ("I keep bees", "I row on Sundays")
    ]
    await memory.forget(ANA, second)
    return [
        (memory.remember, "I play the violin"),
        (memory.learn, said("I live in Porto. I love sailing.")),
        (memory.relate, "Wayfinder", "runs on", "Kafka"),
        (memory.keep_candidates, [note("Saw Turin for 3 days")]),
        (memory.pin, first),
        (memory.set_aliases, first, ["apiary"]),
        (memory.restore, second),
        (memory.forget, str(first)),
    ]


async def test_each_write_is_made_once_for_a_key(database_url: str) -> None:
    """The second call returns the receipt of the first and changes nothing, from another process, too; without a key
    the same call is a call of its own."""
    async with engine(database_url) as memory, engine(database_url) as other:
        for number, (write, *args) in enumerate(await calls(memory)):
            before = await revision(memory)
            receipt = await memory.write_once(ANA, f"key {number}", write, *args)
            after = await revision(memory)
            assert after > before, write
            for place in (memory, other):
                again = await place.write_once(ANA, f"key {number}", getattr(place, write.__name__), *args)
                assert again == bare(receipt)
            assert await revision(memory) == after


async def test_a_write_that_changes_nothing_is_answered_again(database_url: str) -> None:
    """What is known, refused or skipped has a receipt like any other, even when it would be a change by now."""
    async with engine(database_url) as memory:
        id_ = (await memory.remember(ANA, "I keep bees")).changes[0].after.id
        same = await memory.write_once(ANA, "a", memory.pin, id_, pinned=False)
        assert same.changes == ()
        await memory.pin(ANA, id_)
        assert await memory.write_once(ANA, "a", memory.pin, id_, pinned=False) == same
        assert (await memory.get(ANA, id_)).pinned
        turn = said("ok")
        skipped = await memory.write_once(ANA, "b", memory.learn, turn)
        assert skipped.skipped
        assert await memory.write_once(ANA, "b", memory.learn, turn) == skipped


async def test_a_key_is_of_one_request(database_url: str) -> None:
    """Another text, another method and another option are an error; another space has keys of its own, and the time of
    a turn does not count."""
    async with engine(database_url) as memory:
        await memory.write_once(ANA, "k", memory.remember, "I keep bees")
        for write, *args in ((memory.remember, "I keep wasps"), (memory.keep_candidates, [note("I keep bees")])):
            with pytest.raises(KeyReused):
                await memory.write_once(ANA, "k", write, *args)
        with pytest.raises(KeyReused):
            await memory.write_once(ANA, "k", memory.remember, "I keep bees", category="goals")
        assert len((await memory.write_once(scope("ben"), "k", memory.remember, "I keep wasps")).changes) == 1
        turn = said("I live in Porto", key="m")
        first = await memory.write_once(ANA, "t", memory.learn, turn)
        later = replace(turn, at=turn.at + timedelta(minutes=1))
        assert await memory.write_once(ANA, "t", memory.learn, later) == bare(first)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\x00", "a\nb", "\ud800", 7, None])
async def test_what_is_no_key(database_url: str, key: Any) -> None:
    """It is refused before anything is written."""
    async with engine(database_url) as memory:
        with pytest.raises(BadInput):
            await memory.write_once(ANA, key, memory.remember, "I keep bees")
        assert await revision(memory) == 0
        assert (await memory.write_once(ANA, "é" * 200, memory.remember, "I keep bees")).changes


async def test_a_call_that_fails_leaves_the_key_free(database_url: str) -> None:
    """It may be sent again, and is carried out then."""
    async with engine(database_url) as memory:
        await memory.remember(ANA, "I row on Sundays")
        with pytest.raises(NotFound):
            await memory.write_once(ANA, "k", memory.forget, uuid4())
        assert (await memory.write_once(ANA, "k", memory.remember, "I keep bees")).changes


async def test_many_at_once_write_once(database_url: str) -> None:
    """Of twelve calls at one moment in three processes one writes, and all have its receipt; others are not held up."""
    async with engine(database_url) as one, engine(database_url) as two, engine(database_url) as three:
        for number in range(3):
            places = [one, two, three] * 4
            done = await asyncio.gather(
                *[place.write_once(ANA, f"k{number}", place.remember, f"I keep {number + 2} bees") for place in places],
                *[place.remember(ANA, f"Note {number} {n}: the shed is green") for n, place in enumerate(places)],
            )
            assert len({repr(bare(receipt)) for receipt in done[:12]}) == 1
        assert sum("bees" in entry.text for entry in await one.history(ANA)) == 3  # a change for each key


async def test_a_process_that_dies_between_commit_and_answer(database_url: str) -> None:
    """The receipt of the commit is the answer: what was written is not written again."""
    async with engine(database_url) as memory:
        receipt = await memory.write_once(ANA, "k", memory.remember, "I keep bees")
        with psycopg.connect(database_url) as admin:  # as it is before the answer
            admin.execute("update muniment.requests set answered = false, attempt = gen_random_uuid()")
        before = await revision(memory)
        again = await memory.write_once(ANA, "k", memory.remember, "I keep bees")
        assert (again.rev, [change.after.id for change in again.changes]) == (
            receipt.rev,
            [change.after.id for change in receipt.changes],
        )
        assert await revision(memory) == before


async def test_processes_that_are_killed(database_url: str) -> None:
    """Each key that is sent again after a kill -9, answered or not, is one write: the revisions of the space are those
    of the receipts."""
    dice, first, answered = Random(26), 0, -1
    for _ in range(KILLS):
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, database_url, str(first), stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        assert writer.stdout is not None
        for _ in range(dice.randint(1, 6)):
            answered = int(await writer.stdout.readline())
        await asyncio.sleep(dice.random() * 0.03)
        writer.kill()
        answered = max([answered, *map(int, (await writer.stdout.read()).split())])
        await writer.wait()
        first = answered + 1
    async with engine(database_url) as memory:
        before = await revision(memory)
        receipts = [
            await memory.write_once(ANA, f"key {n}", memory.relate, f"shed {n}", "stands at", f"plot {n}")
            for n in range(first + 1)
        ]
        assert sum(len(receipt.changes) for receipt in receipts) == await revision(memory)
        assert await revision(memory) - before <= 1  # of the one that no process had come to


async def test_the_key_is_of_the_transaction_of_the_commit(database_url: str) -> None:
    """A write whose key another call has taken meanwhile is not made, and a write that fails takes no key."""
    async with engine(database_url) as memory:
        await memory.remember(ANA, "I row on Sundays")
        with psycopg.connect(database_url) as admin:
            admin.execute(
                "create function public.refuse() returns trigger language plpgsql as "
                "$$ begin raise exception 'no request'; end $$"
            )
            admin.execute(
                "create trigger refuse before insert on muniment.requests for each row execute function public.refuse()"
            )
        before = await revision(memory)
        with pytest.raises(StoreError):
            await memory.write_once(ANA, "k", memory.remember, "I keep bees")
        assert await revision(memory) == before


async def test_a_day_later_a_key_is_new(database_url: str) -> None:
    """After a day the same key is another request, whether it was removed or not; maintenance removes it."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.write_once(ANA, "k", memory.remember, "I keep bees")
        await memory.write_once(ANA, "other", memory.remember, "I row on Sundays")
        clock.advance(DAY - 1)
        with pytest.raises(KeyReused):
            await memory.write_once(ANA, "k", memory.remember, "I live in Porto")
        clock.advance(1)
        assert (await memory.write_once(ANA, "k", memory.remember, "I live in Porto")).changes
        await memory.admin.maintain(ANA)
        with psycopg.connect(database_url) as admin:
            assert admin.execute("select key from muniment.requests").fetchall() == [("k",)]
            (due,) = admin.execute("select tend_at from muniment.spaces").fetchone() or (None,)
        assert due == NOON + timedelta(days=2)


async def test_no_receipt_keeps_what_was_erased(database_url: str) -> None:
    """After the erasure of a memory no word of it is left in the requests, and the call that wrote it is still not made
    again; a user who is erased has no request, and no export has one."""
    async with engine(database_url) as memory:
        receipt = await memory.write_once(ANA, "k", memory.remember, "I keep canaries in Zanzibar")
        assert "Zanzibar" not in repr([row for row in await memory.export(ANA) if row["type"] == "request"])
        await memory.admin.erase(ANA, receipt.changes[0].after.id)
        with psycopg.connect(database_url) as admin:
            rows = repr(admin.execute("select t::text from muniment.requests t").fetchall())
        assert "anar" not in rows
        again = await memory.write_once(ANA, "k", memory.remember, "I keep canaries in Zanzibar")
        assert again == Receipt(rev=receipt.rev, replayed=True)
        assert await memory.list(ANA) == []
        await memory.admin.erase_space(ANA)
        with psycopg.connect(database_url) as admin:
            assert admin.execute("select from muniment.requests").fetchall() == []


def test_a_receipt_comes_back_as_it_was() -> None:
    """Every field, with times, ids, facts and requests for consent."""
    request, about = RequestId(UUID(int=3)), MemoryId(UUID(int=4))
    consent = Consent(
        id=request, field="city", value="Porto", decision="pending", memory=about, asked_at=NOON, expires_at=NOON
    )
    whole = Receipt(
        rev=Revision(7), refused=("a secret",), left_out=("a password",), consent_requests=(consent,), degraded=True
    )
    assert load_receipt(dump_receipt(whole)) == whole
    assert load_receipt({"rev": 7, "replayed": True}) == Receipt(rev=Revision(7), replayed=True)
