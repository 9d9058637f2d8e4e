"""Items of hosts over a real database: an id leads to one memory for ever (P-84, P-94)."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import psycopg

from muniment.memory.domain.ids import HostItemKey, MemoryId
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.statements.parse import normalize_sentence
from muniment.plugin.domain.item import MemoryItem
from muniment.plugin.item_mapping import map_item
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, Leaving, engine, scope, settings
from tests.erasing import commit

MADE = datetime(2026, 5, 1, 8, 0, tzinfo=UTC)


def item(content: str, **more: object) -> MemoryItem:
    values: dict[str, object] = {
        "id": str(uuid4()), "tenant_id": "default", "user_id": "ana", "type": "rule", "created_at": MADE,
    }  # fmt: skip
    return MemoryItem(content=content, **values | more)  # type: ignore[arg-type]  # as a caller names them


def candidate(one: MemoryItem) -> Candidate:
    return map_item(one, HostItemKey(id=UUID(one.id), digest=hashlib.sha256(repr(one).encode()).digest())).candidate


async def test_a_new_item_is_the_memory_of_its_id(database_url: str) -> None:
    """P-84: the same again is no write; another content changes its memory."""
    async with engine(database_url) as memory:
        ana, one = scope(), item("The project uses pnpm for all packages.")
        ana = replace(ana, session=None, thread=None)
        kept = await memory.host_items.keep(ana, candidate(one))
        assert (kept.outcome, str(kept.memory)) == ("added", one.id)
        again = await memory.host_items.keep(ana, candidate(one))
        assert (again.outcome, again.is_replayed) == ("known", True)
        changed = await memory.host_items.keep(ana, candidate(replace(one, content="The project uses yarn instead.")))
        assert changed.outcome == "updated"
        [found] = await memory.list(ana)
        assert (str(found.id), found.text) == (one.id, "The project uses yarn instead.")


async def test_what_the_memory_knew_leads_there(database_url: str) -> None:
    """The same statement under another id is one memory, to which both ids lead; forgotten, it is gone for both."""
    async with engine(database_url) as memory:
        ana = replace(scope(), session=None, thread=None)
        one, other = item("The project uses pnpm for all packages."), item("The project uses pnpm for all packages.")
        await memory.host_items.keep(ana, candidate(one))
        merged = await memory.host_items.keep(ana, candidate(other))
        assert (merged.outcome, str(merged.memory)) == ("known", one.id)
        assert {str(each.id) for each in (await memory.host_items.find_memories(ana, [UUID(other.id)])).values()} == {
            one.id
        }
        await memory.host_items.forget(ana, UUID(other.id))
        assert await memory.list(ana) == []
        for each in (one, other):
            assert (await memory.host_items.keep(ana, candidate(each))).outcome == "forgotten"
            late = candidate(replace(each, content="The project uses yarn instead."))
            assert (await memory.host_items.keep(ana, late)).outcome == "forgotten"
        assert await memory.list(ana) == []


async def test_forgotten_before_it_came(database_url: str) -> None:
    """P-114: an item that is forgotten before its first write arrives is not made by it."""
    async with engine(database_url) as memory:
        ana = replace(scope(), session=None, thread=None)
        await memory.host_items.keep(ana, candidate(item("The release is on Fridays.")))
        late = item("The project uses pnpm for all packages.")
        await memory.host_items.forget(ana, UUID(late.id))
        assert (await memory.host_items.keep(ana, candidate(late))).outcome == "forgotten"
        assert [each.text for each in await memory.list(ana)] == ["The release is on Fridays."]


async def test_what_nobody_has_forgotten_is_kept_again(database_url: str) -> None:
    """P-72, P-88: what had no room may come again under each id that led to it, also after what was left of it is
    purged."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        ana = replace(scope(), session=None, thread=None)
        one, other = item("The project uses pnpm for all packages."), item("The project uses pnpm for all packages.")
        for each in (one, other):
            await memory.host_items.keep(ana, candidate(each))
        await memory.host_items.drop(ana, MemoryId(UUID(one.id)), "no room")
        assert await memory.list(ana) == []
        assert not (await memory.host_items.drop(ana, MemoryId(UUID(one.id)), "no room")).changes
        again = await memory.host_items.keep(ana, candidate(other))
        assert (again.outcome, str(again.memory)) == ("added", other.id)
        merged = await memory.host_items.keep(ana, candidate(one))
        assert (merged.outcome, str(merged.memory)) == ("known", other.id)
        await memory.host_items.drop(ana, MemoryId(UUID(other.id)), "expired")
        clock.advance(31 * 86_400)
        assert (await memory.admin.maintain(ana)).purged == 1
        assert read_rows(database_url) == []
        again = await memory.host_items.keep(ana, candidate(one))
        assert (again.outcome, str(again.memory)) == ("added", one.id)
        await memory.host_items.forget(ana, UUID(one.id))
        clock.advance(31 * 86_400)
        await memory.admin.maintain(ana)
        assert (await memory.host_items.keep(ana, candidate(one))).outcome == "forgotten"


async def test_the_same_words_are_one_item_without_an_embedder(database_url: str) -> None:
    """P-39, P-63: whatever their case and full stop, and for statements in a person's own words, too."""
    embedder = Leaving()
    embedder.left = 0
    async with engine(database_url, embedder=embedder) as memory:
        for kind in ("fact", "preference", "rule"):
            said = f"The {kind} board is on the third floor."
            one, other = item(said, type=kind), item(said.upper().rstrip("."), type=kind)
            added, known = [await memory.host_items.keep(scope(), candidate(each)) for each in (one, other)]
            assert (added.outcome, known.outcome, str(known.memory)) == ("added", "known", one.id)


async def test_a_secret_is_refused(database_url: str) -> None:
    """P-86: redaction is the engine's own, and a statement of a secret is none."""
    async with engine(database_url) as memory:
        ana = replace(scope(), session=None, thread=None)
        secret = item("The deploy key is ghp_abcdefghijklmnopqrstuvwxyz0123456789.")
        kept = await memory.host_items.keep(ana, candidate(secret))
        assert (kept.outcome, kept.reason) == ("refused", "a secret")


async def test_an_erasure_leaves_the_id_alone(database_url: str) -> None:
    """A digest would let a short text be guessed. The id stays, so that a late write does not bring the text back."""
    async with engine(database_url) as memory:
        ana = replace(scope(), session=None, thread=None)
        one = item("The project uses pnpm for all packages.")
        kept = await memory.host_items.keep(ana, candidate(one))
        assert kept.memory is not None
        assert read_rows(database_url) == [(UUID(one.id), kept.memory, True)]
        await memory.admin.erase(ana, kept.memory)
        assert read_rows(database_url) == [(UUID(one.id), None, False)]
        assert (await memory.host_items.keep(ana, candidate(one))).outcome == "forgotten"
        assert await memory.list(ana) == []
        await memory.admin.erase_space(ana)
        assert read_rows(database_url) == []


async def test_many_at_once(database_url: str) -> None:
    """P-84: the same item from several at once is one memory; of several contents one stands in the end."""
    async with engine(database_url) as first, engine(database_url) as second:
        ana = replace(scope(), session=None, thread=None)
        one = item("The project uses pnpm for all packages.")
        doors = (first.host_items, second.host_items) * 4
        kept = await asyncio.gather(*(door.keep(ana, candidate(one)) for door in doors))
        assert {str(each.memory) for each in kept} == {one.id}
        assert len(await first.list(ana)) == 1
        others = [replace(one, content=f"The project uses build tool {n} for packages.") for n in range(8)]
        await asyncio.gather(
            *(door.keep(ana, candidate(each)) for door, each in zip(doors, others, strict=True)),
            first.host_items.pin(ana, UUID(one.id), pinned=True),
        )
        [left] = await first.list(ana)
        assert str(left.id) == one.id
        assert left.text in {each.content for each in others}


async def test_it_leads_to_what_replaced_it(database_url: str) -> None:
    """An id leads on to the memory that superseded its own."""
    async with engine(database_url) as memory:
        ana = replace(scope(), session=None, thread=None)
        one, other = item("The project uses pnpm for all packages."), item("The release is on Fridays.")
        for each in (one, other):
            await memory.host_items.keep(ana, candidate(each))
        before = await memory.get(ana, one.id)
        after = replace(before, state="superseded", superseded_by=MemoryId(UUID(other.id)))
        await commit(memory, ana, changes=(Change(action="MERGE", before=before, after=after),))
        found = await memory.host_items.find_memories(ana, [UUID(one.id)])
        assert str(found[UUID(one.id)].id) == other.id
        assert (await memory.host_items.keep(ana, candidate(one))).outcome == "known"


def read_rows(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as admin:
        query = "select item_id, memory_id, octet_length(digest) = 32 from muniment.host_items"
        return admin.execute(query).fetchall()


async def test_no_digest_can_be_guessed(database_url: str, tmp_path: Path) -> None:
    """P-85: who reads the table cannot tell by a list of short texts what was kept or forgotten; the digests of another
    installation are others."""
    ana = replace(scope(), session=None, thread=None)
    text = "The project uses pnpm."
    seen: list[bytes] = []
    for name in ("first", "second"):
        tuned = settings(database_url, MUNIMENT_HOME=str(tmp_path / name))
        async with engine(database_url, tuned=tuned) as memory:
            one = item(text)
            await memory.host_items.keep(ana, candidate(one))
            await memory.host_items.forget(ana, UUID(one.id))
            with psycopg.connect(database_url) as admin:
                query = "select digest, said from muniment.host_items where item_id = %s"
                rows = admin.execute(query, (one.id,)).fetchall()
        seen += [bytes(value) for row in rows for value in row]
    guesses = {
        hashlib.sha256(prefix + guess.encode()).digest()
        for prefix in (b"", ana.space.bytes)
        for guess in (text, normalize_sentence(text))
    }
    assert len(set(seen)) == 4
    assert guesses.isdisjoint(seen)
