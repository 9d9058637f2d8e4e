"""Input that nobody should send, and memories that stand in each other's way."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from muniment.memory import query_codec
from muniment.memory.domain.ids import Revision, Vector
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadInput, DuplicateMemory, StoreDown, StoreError
from muniment.memory.models.hash_embedder import HashEmbedder
from tests.engine import engine, note, said, scope, statement

NOBODY = "00000000-0000-0000-0000-000000000001"
FACT = {"kind": "goal", "predicate": "wants", "object": "tea"}
IMPOSSIBLE: list[Any] = [
    "text",
    {"type": ["memory"], "text": "A note"},
    {"text": "A note", "tags": 5},
    {"text": "A note", "tags": "abc"},
    {"text": "A note", "tags": ["\x00"]},
    {"text": "A note", "kind": "bogus"},
    {"text": "A note", "category": ["goals"]},
    {"text": "A note", "pinned": "false"},
    {"text": "A note", "actor_id": 5},
    {"text": "A note", "actor_id": "half \ud800"},
    {"text": "A note", "fact": "tea"},
    {"text": "A note", "fact": FACT},
    {"text": "A note", "kind": "semantic", "fact": FACT | {"kind": "bogus"}},
    {"text": "A note", "kind": "semantic", "fact": FACT | {"object": 5}},
    {"text": "A note", "kind": "semantic", "fact": FACT | {"single": "yes"}},
    {"text": "A note", "kind": "semantic", "fact": FACT | {"persons": "Bob"}},
    {"text": "A note", "kind": "semantic", "fact": FACT | {"object": "x" * 600}},
    {"text": "A note", "event_time": "9999-12-31T23:59:59-12:00"},
    {"text": "A note", "event_time": "0001-01-01T00:00:00+14:00"},
]
TAMPERED: list[tuple[str, dict[str, Any]]] = [
    ("space", {"rev": None}),
    ("space", {"rev": "x"}),
    ("space", {"rev": True}),
    ("space", {"rev": 1}),
    ("space", {"rev": 2**70}),
    ("space", {"created_at": None}),
    ("space", {"created_at": "infinity"}),
    ("memory", {"type": "space"}),
    ("memory", {"memory_id": "x"}),
    ("memory", {"memory_id": NOBODY}),
    ("memory", {"category": None}),
    ("memory", {"context": 5}),
    ("memory", {"event_time": "infinity"}),
    ("memory", {"event_time": "20000-01-01"}),
    ("memory", {"fact": {"bogus": 1}}),
    ("memory", {"fact": [1]}),
    ("memory", {"importance": 7}),
    ("memory", {"rev": 99}),
    ("memory", {"state": "bogus"}),
    ("memory", {"tags": "x"}),
    ("memory", {"tags": [None]}),
    ("memory", {"confidence": "NaN"}),
    ("memory", {"actor_id": "half \ud800"}),
    ("version", {"to_rev": 99}),
    ("journal", {"rev": 99}),
    ("journal", {"rev": 0}),
    ("journal", {"memory_id": NOBODY}),
    ("journal", {"action": "BOGUS"}),
    ("journal", {"meta": [1]}),
    ("journal", {"sim": "NaN"}),
    ("journal", {"ts": "infinity"}),
    ("relation", {"to_id": NOBODY}),
    ("thread", {"rev": 99}),
    ("turn", {"role": None}),
    ("turn", {"consumed_rev": 99}),
    ("turn", {"at": "infinity"}),
    ("consent", {"field": "bank"}),
    ("consent", {"decision": "maybe"}),
    ("consent", {"value": None}),
    ("consent", {"memory_id": "x"}),
    ("consent", {"expires_at": "infinity"}),
]


async def test_restoring_what_a_newer_memory_says(database_url: str) -> None:
    """A memory whose place is taken stays deleted, with the way out; when the newer one goes, it comes back."""
    async with engine(database_url) as memory:
        first = (await memory.keep_candidates(scope(), [statement("The user wants a boat")])).changes[0].after.id
        await memory.forget(scope(), first)
        second = (await memory.keep_candidates(scope(), [statement("The user wants a boat")])).changes[0].after.id
        with pytest.raises(DuplicateMemory):
            await memory.restore(scope(), first)
        await memory.forget(scope(), second)
        assert (await memory.restore(scope(), first)).changes[0].after.state == "active"


async def test_many_memories_of_one_attribute_hide_no_other_key(database_url: str) -> None:
    """The first candidate's many relatives do not crowd out the memory that has the second one's key."""
    async with engine(database_url) as memory:
        many = [statement(f"The user wants thing{n}", value=f"thing{n}") for n in range(210)]
        for start in range(0, 210, 70):
            await memory.ingest(scope(), many[start : start + 70])
        other = statement("Every day the user dreams of owning that gadget", value="thing3")
        receipt = await memory.keep_candidates(scope(), [statement("The user wants a zebra", value="zebra"), other])
        assert sorted(change.action for change in receipt.changes) == ["ADD", "MERGE"]


async def test_what_happened_twice_is_two_memories(database_url: str) -> None:
    """The same words with another date are another event."""
    async with engine(database_url) as memory:
        rows = [{"text": "Went running in the park", "event_time": f"2026-01-0{day}"} for day in (1, 5, 5)]
        report = await memory.load(scope(), rows)
        assert (report.added, report.merged, report.unused) == (2, (), (3,))
        assert {str(one.event_time)[:10] for one in await memory.list(scope())} == {"2026-01-01", "2026-01-05"}


async def test_a_statement_does_not_hide_its_denial(database_url: str) -> None:
    """Two memories that differ in a `not` are no duplicates; an answer shows both."""
    async with engine(database_url) as memory:
        texts = ["The user likes green tea at night", "The user does not like green tea at night"]
        await memory.ingest(scope(), [note(text) for text in texts])
        hits = (await memory.query(scope(), "supervisor", Query(text="green tea at night"))).hits
        assert {hit.memory.text for hit in hits} == set(texts)


async def test_no_secret_reaches_the_embedder(database_url: str) -> None:
    """A question and an import are redacted before they are embedded, facts and context too before they are stored."""
    seen: list[str] = []

    class Listening(HashEmbedder):
        async def embed_query(self, text: str) -> Vector:
            seen.append(text)
            return await super().embed_query(text)

    secret = "sk-abcdefghij0123456789XYZ"
    async with engine(database_url, embedder=Listening()) as memory:
        await memory.brief(scope(), "supervisor", f"What is my key {secret} good for?")
        await memory.query(scope(), "supervisor", Query(text=f"key {secret}"))
        fact = FACT | {"object": f"the key {secret}", "entities": [secret]}
        row = {"text": "The user keeps a key", "category": "goals", "kind": "semantic", "fact": fact, "tags": [secret]}
        await memory.load(scope(), [row])
        await memory.load(scope("copy"), [one | _leak(one, secret) for one in await memory.export(scope())])
        kept = [await memory.export(scope()), await memory.export(scope("copy"))]
    assert len(seen) == 2
    assert secret not in str(seen + kept)


def _leak(row: dict[str, Any], secret: str) -> dict[str, Any]:
    return {"text": f"{row['text']} {secret}"} if row["type"] == "memory" else {}


async def test_a_plain_row_that_cannot_be(database_url: str) -> None:
    """It is refused by its number before the first row is written."""
    async with engine(database_url) as memory:
        for row in IMPOSSIBLE:
            with pytest.raises(BadInput, match="row 2: "):
                await memory.load(scope(), [{"text": "A good note"}, row])
            assert await memory.list(scope()) == [], row


async def test_an_export_that_was_tampered_with(database_url: str) -> None:
    """It is refused as a whole, and the space takes the true one afterwards."""
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("Hi, call me Ana. I am lactose intolerant."))
        await memory.keep_candidates(scope(), [note("A cat sat on the mat today")])
        known = await memory.list(scope())
        await memory.pin(scope(), known[0].id)
        await memory.conversation.mark_seen(scope(), Revision(1))
        rows = list(await memory.export(scope()))
        edge: dict[str, Any] = {
            "type": "relation",
            "from_id": str(min(one.id for one in known)),
            "relation_type": "related_to",
        }
        edge |= {"to_id": str(max(one.id for one in known)), "strength": 0.7, "created_at": rows[0]["created_at"]}
        rows.append(edge)
        for kind, changed in TAMPERED:
            place = next(n for n, row in enumerate(rows) if row["type"] == kind)
            with pytest.raises(BadInput, match=r"^row |^the rows are no export"):
                await memory.load(scope("copy"), [*rows[:place], rows[place] | changed, *rows[place + 1 :]])
            assert await memory.export(scope("copy")) == (), changed
        assert (await memory.load(scope("copy"), rows)).added == len(known)


async def test_a_space_that_was_only_asked_is_empty(database_url: str) -> None:
    """A question leaves a trace in the tracking, which does not stand in the way of an import."""
    async with engine(database_url) as memory:
        await memory.keep_candidates(scope(), [note("A cat sat on the mat today")])
        rows = await memory.export(scope())
        await memory.query(scope("copy"), "supervisor", Query(text="cat"))
        await memory.conversation.flush(scope("copy"))
        assert (await memory.load(scope("copy"), rows)).added == 1
        assert list(await memory.export(scope("copy"))) == list(rows)


@pytest.mark.parametrize("filters", [{"agent_id": "a\x00"}, {"role": "\ud800"}, {"updated_after": "0001-01-01"}])
async def test_a_filter_that_cannot_be(filters: dict[str, Any]) -> None:
    """It is refused by its name."""
    with pytest.raises(BadInput, match=f"filters.{next(iter(filters))}"):
        query_codec.parse_query({"query": "cat", "filters": filters})


async def test_a_filter_beyond_every_memory(database_url: str) -> None:
    """A number of 64 bits is a number: all or nothing is below it. A larger one is refused by its place."""
    async with engine(database_url) as memory:
        await memory.keep_candidates(scope(), [note("A cat sat on the mat today")])
        for filters, found in ({"importance_min": 2**62}, 0), ({"importance_max": 2**62}, 1):
            asked = query_codec.parse_query({"query": "cat on the mat", "filters": filters})
            assert len((await memory.query(scope(), "supervisor", asked)).hits) == found
        beyond = query_codec.parse_query({"query": "cat on the mat", "filters": {"importance_min": 2**70}})
        with pytest.raises(BadInput, match="importance_min"):
            await memory.query(scope(), "supervisor", beyond)


async def test_pages_that_cannot_be(database_url: str) -> None:
    """A limit below one or beyond Postgres is a BadInput, not a failing database."""
    async with engine(database_url) as memory:
        for limit, offset, name in (-1, 0, "limit"), (2**70, 0, "limit"), (1, -1, "offset"):
            with pytest.raises(BadInput, match=name):
                await memory.list(scope(), limit=limit, offset=offset)
        with pytest.raises(BadInput, match="limit"):
            await memory.history(scope(), limit=0)


@pytest.mark.parametrize("thread", ["a\x00b", "half \udcff"])
async def test_a_thread_that_postgres_cannot_name(database_url: str, thread: str) -> None:
    """The error says what is wrong with the name; the database is not to blame."""
    async with engine(database_url) as memory:
        with pytest.raises(BadInput, match="has a NUL or half a character"):
            await memory.learn(scope(thread=thread), said("Hi, call me Ana."))
        assert await memory.list(scope()) == []


async def test_a_name_too_long_for_an_index_is_no_lost_database(database_url: str) -> None:
    """Nobody lets the connections go for it, and nobody waits for the database to come back."""
    name = "".join(random.Random(7).choices(string.ascii_letters, k=9_000))
    async with engine(database_url) as memory:
        await memory.keep_candidates(scope(), [note("A cat sat on the mat today")])
        with pytest.raises(StoreError, match="54000") as caught:
            await memory.conversation.mark_seen(scope(thread=name), Revision(1))
        assert not isinstance(caught.value, StoreDown)


class Mute(HashEmbedder):
    """An embedder whose vectors have no direction, as those of a service that is ill."""

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [np.zeros_like(vector) for vector in await super().embed_documents(texts)]


async def test_a_vector_without_a_direction_stops_nothing(database_url: str) -> None:
    """Its cosine is no number; the next statements are kept all the same, and correct what they correct."""
    async with engine(database_url, embedder=Mute()) as memory:
        for text in ("I like tea.", "I live in Rome.", "I live in Bonn."):
            assert len((await memory.learn(scope(), said(text))).changes) == 1
        assert {one.text for one in await memory.list(scope())} == {"The user likes tea", "The user lives in Bonn"}
        assert (await memory.query(scope(), "supervisor", Query(text="user lives in Bonn"))).hits
