"""Meaning in a local store: vectors, an embedder that is away, and duplicates that only a vector finds."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import Vector
from muniment.memory.errors import ModelUnavailable
from muniment.plugin.domain.item import CompactPolicy, MemoryItem, SearchQuery
from muniment.plugin.stores.local.searching import CANDIDATES
from muniment.plugin.stores.local.store import LocalOptions, LocalStore
from muniment.plugin.stores.local.vectors import decode_vector, encode_vector
from tests.plugin_stores.items import ANA, START, ask, everything, make_item

PROFILE = load_settings({}).find_profile("bge-small-en-v1.5-int8")
TOPICS = (("car", "automobile", "vehicle"), ("cat", "kitten", "feline"), ("deploy", "rollout", "ship"))


class TopicEmbedder:
    """Gives texts of one topic one direction, and other texts directions of their own."""

    name = "topics"

    def __init__(self) -> None:
        self.is_away = False
        self.delay = 0.0
        self.calls = 0

    def _embed(self, text: str) -> Vector:
        words = text.lower().replace(".", "").split()
        vector = np.full(8, 0.05, dtype=np.float32)
        for at, topic in enumerate(TOPICS):
            vector[at] += any(word in topic for word in words)
        vector[3 + len(text) % 5] += 0.2
        return vector / np.float32(np.linalg.norm(vector))

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.calls += 1
        if self.is_away:
            raise ModelUnavailable
        return [self._embed(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self.calls += 1
        await asyncio.sleep(self.delay)
        if self.is_away:
            raise ModelUnavailable
        return self._embed(text)

    async def close(self) -> None:
        pass


@pytest.fixture
def embedder() -> TopicEmbedder:
    return TopicEmbedder()


@pytest_asyncio.fixture
async def local(tmp_path: Path, embedder: TopicEmbedder) -> AsyncIterator[LocalStore]:
    store = _open(tmp_path, embedder)
    yield store
    await store.close()


def _open(folder: Path, embedder: TopicEmbedder | None) -> LocalStore:
    options = LocalOptions(profile=PROFILE, query_seconds=0.2)
    return LocalStore(folder / "plugin.sqlite", embedder=embedder, options=options)


async def test_meaning_finds_what_shares_no_word(local: LocalStore) -> None:
    """P-31, P-74."""
    await local.upsert([make_item("The automobile is red."), make_item("The kitten sleeps.")])
    [hit] = await local.search(ask("which vehicle", min_score=0.3))
    assert hit.item.content == "The automobile is red."
    assert hit.parts["semantic"] > 0.5
    assert hit.parts["keyword"] == 0


async def test_another_process_sees_new_vectors(local: LocalStore, tmp_path: Path, embedder: TopicEmbedder) -> None:
    """P-117: the matrix in memory follows the file, also when rows are removed."""
    other = _open(tmp_path, embedder)
    assert not await other.search(ask("vehicle", min_score=0.3))
    items = [make_item("The automobile is red."), make_item("A car has wheels.", type="fact")]
    await local.upsert(items)
    assert len(await other.search(ask("vehicle", min_score=0.3))) == 2
    await local.forget(ANA, [items[0].id])
    assert [hit.item.id for hit in await other.search(ask("vehicle", min_score=0.3))] == [items[1].id]
    await local.compact(ANA, CompactPolicy(at=START, max_items=0))
    assert not await other.search(ask("vehicle", min_score=0.3))
    await other.close()


async def test_without_an_embedder_words_are_compared(
    local: LocalStore, tmp_path: Path, embedder: TopicEmbedder
) -> None:
    """P-91: and what was written meanwhile gets its vector later."""
    embedder.is_away = True
    await local.upsert([make_item("The automobile is red.")])
    calls = embedder.calls
    [hit] = await local.search(ask("red automobile"))
    assert "semantic" not in hit.parts
    assert embedder.calls == calls  # it is left alone for a while
    await local.close()
    embedder.is_away = False
    again = _open(tmp_path, embedder)
    await again.search(ask("vehicle"))
    await again.compact(ANA, CompactPolicy(at=START))
    [hit] = await again.search(ask("vehicle", min_score=0.3))
    assert hit.parts["semantic"] > 0.5
    await again.close()


async def test_a_slow_embedder_does_not_hold_a_search(local: LocalStore, embedder: TopicEmbedder) -> None:
    """P-91, P-16."""
    await local.upsert([make_item("The automobile is red.")])
    embedder.delay = 5
    [hit] = await asyncio.wait_for(local.search(ask("red automobile")), 2)
    assert "semantic" not in hit.parts


async def test_a_restatement_is_merged(local: LocalStore) -> None:
    """P-63: near by its vector, and no number, name or negation tells it apart."""
    [first] = await local.upsert([make_item("Always deploy the shop on Tuesday mornings.")])
    [same] = await local.upsert([make_item("Always deploy the shop on the Tuesday mornings.")])
    assert (same.id, same.outcome) in [(first.id, "known"), (first.id, "merged")]
    [other] = await local.upsert([make_item("Never deploy the shop on Tuesday mornings.")])
    assert other.outcome == "added"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Deploy with 3 replicas.", "Deploy with 5 replicas."),
        ("Anna ships the rollout.", "Bernd ships the rollout."),
        ("Deploy on Friday.", "Do not deploy on Friday."),
    ],
)
async def test_numbers_names_and_negations_keep_items_apart(local: LocalStore, new: str, old: str) -> None:
    vector = np.eye(1, 8, dtype=np.float32)[0]
    given = [make_item(text, embedding=vector, embedding_model="topics") for text in (old, new)]
    assert [each.outcome for each in await local.upsert(given)] == ["added", "added"]


async def test_compacting_merges_near_duplicates_and_keeps_the_pinned_one(
    tmp_path: Path, embedder: TopicEmbedder
) -> None:
    """Written without an embedder both stand; with one they are found to be the same."""
    plain = _open(tmp_path, None)
    pinned = make_item("Always deploy the shop on the Tuesday mornings.", pinned=True)
    await plain.upsert([make_item("Always deploy the shop on Tuesday mornings.", importance=1), pinned])
    await plain.close()
    store = _open(tmp_path, embedder)
    report = await store.compact(ANA, CompactPolicy(at=START))
    assert (report.merged, report.kept) == (1, 1)
    [kept] = await store.list(everything())
    assert (kept.id, kept.importance) == (pinned.id, 1)
    assert (await store.compact(ANA, CompactPolicy(at=START))).merged == 0
    await store.close()


async def test_vectors_of_another_model_are_not_compared(tmp_path: Path, embedder: TopicEmbedder) -> None:
    first = _open(tmp_path, embedder)
    await first.upsert([make_item("The automobile is red.")])
    await first.close()
    other = TopicEmbedder()
    other.name = "others"
    second = _open(tmp_path, other)
    assert not await second.search(ask("vehicle", min_score=0.3))
    await second.close()


async def test_a_write_that_is_rolled_back_leaves_nothing_in_memory(local: LocalStore) -> None:
    await local.upsert([make_item("A cat.")])

    def fail(connection: sqlite3.Connection, _: object) -> None:
        raise sqlite3.IntegrityError

    items = [make_item("The automobile is red."), make_item("The automobile is red.", type="fact")]
    with pytest.raises(Exception, match="failed"):
        await local.upsert(items, also=fail)
    assert not await local.search(ask("vehicle", min_score=0.3))
    assert [each.outcome for each in await local.upsert(items)] == ["added", "added"]
    assert len(await local.search(ask("vehicle", min_score=0.3))) == 2


def _make_crowd() -> tuple[MemoryItem, list[MemoryItem], SearchQuery]:
    """An item, as many others as a search takes that are nearer to a query, and the query."""
    near, far = np.eye(2, 8, dtype=np.float32)
    texts = (f"Host {number} is red." for number in range(CANDIDATES))
    gone = [make_item(text, embedding=near, embedding_model="topics") for text in texts]
    vector = (2 * near + far) / np.float32(5**0.5)
    left = make_item("The rollout is planned.", pinned=True, embedding=vector, embedding_model="topics")
    return left, gone, ask("vehicle", min_score=0, vector=near, vector_model="topics")


async def test_what_was_rolled_back_crowds_out_nothing(local: LocalStore) -> None:
    """P-117: what is in memory of a write that failed goes with it."""
    left, gone, query = _make_crowd()
    await local.upsert([left])

    def fail(connection: sqlite3.Connection, _: object) -> None:
        raise sqlite3.IntegrityError

    with pytest.raises(Exception, match="failed"):
        await local.upsert(gone, also=fail)
    assert [hit.item.id for hit in await local.search(query)] == [left.id]


async def test_what_was_rolled_back_crowds_out_nothing_where_memory_is_short(
    tmp_path: Path, embedder: TopicEmbedder
) -> None:
    """P-117: items of two users in one write take each other's place in memory, and are read again halfway."""
    options = LocalOptions(profile=PROFILE, query_seconds=0.2, cache_megabytes=0)
    store = LocalStore(tmp_path / "plugin.sqlite", embedder=embedder, options=options)
    left, gone, query = _make_crowd()
    ben, vector = replace(ANA, user="ben"), np.eye(1, 8, 5, dtype=np.float32)[0]

    def make_near(text: str, **fields: Any) -> MemoryItem:
        return make_item(text, embedding=vector, embedding_model="topics", **fields)

    await store.upsert([left, make_near("A cat.", owner=ben)])

    def fail(connection: sqlite3.Connection, _: object) -> None:
        raise sqlite3.IntegrityError

    others = [make_near(f"Room {number} is blue.", owner=ben) for number in range(64)]  # a block of them is compared
    with pytest.raises(Exception, match="failed"):
        await store.upsert([*gone, *others, make_near("Ships sail.")], also=fail)
    assert [hit.item.id for hit in await store.search(query)] == [left.id]
    await store.close()


async def test_what_another_process_removes_crowds_out_nothing(
    local: LocalStore, tmp_path: Path, embedder: TopicEmbedder
) -> None:
    """P-117: more rows than a search takes are removed, and what is left is found behind where they were."""
    left, gone, query = _make_crowd()
    await local.upsert([left, *gone])
    assert left.id not in {hit.item.id for hit in await local.search(query)}
    other = _open(tmp_path, embedder)
    assert (await other.compact(ANA, CompactPolicy(at=START, max_items=1))).kept == 1
    await other.close()
    assert [hit.item.id for hit in await local.search(query)] == [left.id]


def test_vectors_are_half_floats() -> None:
    vector = np.linspace(-1, 1, 384, dtype=np.float32)
    assert len(encode_vector(vector)) == 768
    assert np.abs(decode_vector(encode_vector(vector)) - vector).max() < 1e-3


async def test_the_words_of_others_crowd_out_nothing(tmp_path: Path) -> None:
    """P-73, P-89: another user of the file has more items, with better words for the query, than are read at first."""
    store = _open(tmp_path, None)
    ben = replace(ANA, user="ben")
    await store.upsert([make_item(f"Cache {number}.", owner=ben) for number in range(5 * CANDIDATES)])
    item = make_item("Deploys of the shop wait until somebody has emptied the cache by hand.")
    await store.upsert([item])
    assert [hit.item.id for hit in await store.search(ask("cache", min_score=0))] == [item.id]
    await store.close()
