"""While the embedder is away memory goes on by words; what was written gets its vector, and is merged, afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.codec import encode_receipt
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import ModelUnavailable, WrongEmbedder
from muniment.memory.flows import process_state
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.models.openai.embedder import OpenAIEmbedder
from muniment.memory.payload import encode_answer
from muniment.testing.openai_server import ScriptedOpenAI
from tests.engine import Leaving, engine, note, said, scope
from tests.switching import unopened

WHO = scope()
VECTORS = "select text, embedding_model, vector_dims(embedding) as dims from muniment.{} order by text"


class Twins(Leaving):
    """Knows that two texts say the same."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__()
        self._one, self._other = one, other

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return await super().embed_documents([self._one if text == self._other else text for text in texts])


@pytest.fixture
def leaving() -> Leaving:
    return Leaving()


@pytest.fixture
async def memory(database_url: str, leaving: Leaving) -> AsyncIterator[Memory]:
    async with engine(database_url, embedder=leaving) as opened:
        yield opened


def rows(url: str, query: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as conn:
        return conn.execute(query.encode()).fetchall()


def list_unembedded(url: str) -> list[str]:
    return [
        row["text"]
        for table in ("memories", "memory_versions")
        for row in rows(url, VECTORS.format(table))
        if not row["embedding_model"]
    ]


def plain(text: str) -> Candidate:
    """A statement without a fact, so that no key leads to it."""
    return replace(note(text), kind="semantic")


async def embed(memory: Memory) -> int:
    """Perform the jobs `embed` that wait."""
    jobs = (await memory.jobs.count_jobs()).get("embed", {"due": 0})["due"]
    queue = memory.engine.store.jobs
    worker = await queue.register_worker()
    for _ in range(jobs):
        ticket = await queue.take_job(worker, ["embed"])
        assert ticket is not None
        await memory.jobs.perform_job(ticket.job)
        await queue.finish_job(ticket)
    return jobs


async def test_what_is_said_meanwhile_is_kept_and_found_by_its_words(
    memory: Memory, leaving: Leaving, database_url: str
) -> None:
    await memory.learn(WHO, said("I live in Porto."))
    leaving.leave()
    receipt = await memory.learn(WHO, said("I play the cello."))
    assert [change.after.text for change in receipt.changes] == ["The user plays the cello."]
    assert receipt.degraded
    assert encode_receipt(receipt)["degraded"] is True
    assert (await memory.remember(WHO, "My bike is green.")).degraded
    assert len(list_unembedded(database_url)) == 2
    assert (await memory.read_status(WHO))["unembedded"] == 2
    for question, text in (("Do I play the cello?", "cello"), ("Porto", "Porto"), ("my green bike", "green")):
        answer = await memory.query(WHO, "supervisor", Query(text=question))
        assert answer.degraded
        assert encode_answer(answer)["degraded"] is True
        assert text in answer.hits[0].memory.text
    brief = await memory.brief(WHO, "supervisor", "What do you know of my bike?")
    assert brief.degraded
    assert any("green" in bullet for bullet in brief.bullets)

    leaving.come_back()
    assert await embed(memory) == 1
    assert list_unembedded(database_url) == []
    assert {row["dims"] for row in rows(database_url, VECTORS.format("memories"))} == {256}
    answer = await memory.query(WHO, "supervisor", Query(text="Do I play the cello?"))
    assert not answer.degraded
    assert "degraded" not in encode_answer(answer)
    assert answer.hits[0].parts["semantic"] > 0
    assert (await memory.read_status(WHO))["unembedded"] == 0
    assert not (await memory.learn(WHO, said("I own a kayak."))).degraded


async def test_structure_is_merged_at_once(memory: Memory, leaving: Leaving) -> None:
    """A single value has one key, a repetition its words: no vector is needed for either."""
    await memory.learn(WHO, said("I live in Porto."))
    leaving.leave()
    await memory.learn(WHO, said("I live in Bonn."))
    assert not (await memory.learn(WHO, said("I live in Bonn."))).changes
    assert [each.text for each in await memory.list(WHO)] == ["The user lives in Bonn"]


async def test_what_only_the_vectors_show_to_be_the_same_is_merged_by_the_job(database_url: str) -> None:
    """In the band `auto` the judge may call two statements the same that differ in their words. The merging waits."""
    words = ("The user loves hiking in the mountains", "The user enjoys mountain hikes")
    leaving = Twins(*words)
    crowd = [plain(f"Mountain hike {n} of hikes in the mountain") for n in range(50)]  # nearer by words than the twin
    async with engine(database_url, embedder=leaving) as memory:
        await memory.keep_candidates(WHO, [plain(words[0])], [said(words[0])])
        await memory.ingest(WHO, crowd)
        leaving.leave()
        receipt = await memory.keep_candidates(WHO, [plain(words[1])], [said(words[1])])
        assert receipt.degraded
        assert {each.text for each in await memory.list(WHO, limit=200)} >= set(words)
        leaving.come_back()
        await embed(memory)
        [left] = [each for each in await memory.list(WHO, limit=200) if each.text in words]
        gone = receipt.changes[0].after.id
        [former] = [each for each in await memory.list(WHO, states=("superseded",)) if each.id == gone]
        assert former.superseded_by == left.id
        assert left.text == words[0]


async def test_it_leaves_in_the_middle_of_a_write(memory: Memory, leaving: Leaving, database_url: str) -> None:
    """The text that merging makes is embedded last: then all of the write waits for its vectors."""
    texts = ("The user's colleague Joost draws the planting plans", "The user's colleague is Joris, not Joost")
    for after, text, name in ((5, texts[0], "Joost"), (1, texts[1], "Joris")):
        leaving.leave(after)
        turn = said(text)
        fact = Fact(kind="relationship", predicate="colleague", object=name, persons=(name,))
        candidate = Candidate(text=text, category="relationships", fact=fact, turns=(turn.id,))
        receipt = await memory.keep_candidates(WHO, [candidate], [turn])
    assert receipt.degraded
    renamed = "The user's colleague Joris draws the planting plans"
    assert [each.text for each in await memory.list(WHO)] == [renamed]
    assert list_unembedded(database_url) == [renamed]
    leaving.come_back()
    await embed(memory)
    assert list_unembedded(database_url) == []


async def test_former_versions_get_their_vectors_too(memory: Memory, leaving: Leaving, database_url: str) -> None:
    leaving.leave()
    receipt = await memory.learn(WHO, said("I play the cello."))
    await memory.pin(WHO, receipt.changes[0].after.id)
    assert len(list_unembedded(database_url)) == 2
    leaving.come_back()
    await embed(memory)
    assert list_unembedded(database_url) == []
    answer = await memory.query(WHO, "supervisor", Query(text="the cello", as_of=receipt.rev))
    assert answer.hits[0].parts["semantic"] > 0


@pytest.mark.parametrize("words", ["Forget that I play the cello.", "Forget everything about the cello."])
async def test_a_wish_to_forget_is_met_by_words(memory: Memory, leaving: Leaving, words: str) -> None:
    await memory.learn(WHO, said("I play the cello."))
    leaving.leave()
    receipt = await memory.learn(WHO, said(words))
    assert [change.action for change in receipt.changes] == ["DELETE"]
    assert await memory.list(WHO) == []


async def test_why_not_answers_without_it(memory: Memory, leaving: Leaving) -> None:
    receipt = await memory.learn(WHO, said("I play the cello."))
    leaving.leave()
    id_ = receipt.changes[0].after.id
    explanation = await memory.why_not(WHO, "supervisor", id_, Query(text="Where do I live?"))
    assert explanation.reason == "no match"


async def test_nobody_waits_for_it_again_at_once(
    memory: Memory, leaving: Leaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving.leave()
    for _ in range(5):
        assert (await memory.query(WHO, "supervisor", Query(text="cello"))).degraded
    assert leaving.requests == 1
    leaving.come_back()
    monkeypatch.setattr(process_state, "_AWAY_SECONDS", 0.0)
    leaving.requests = 0
    memory.engine.available_embedder._away_until = 0.0
    assert not (await memory.query(WHO, "supervisor", Query(text="cello"))).degraded


async def test_the_job_goes_on_where_the_embedder_left(
    memory: Memory, leaving: Leaving, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has embedded stays; the job fails, and does the rest when it is tried again."""
    monkeypatch.setattr("muniment.memory.flows.background.missing_vectors._BATCH", 2)
    leaving.leave()
    for text in ("I play the cello.", "I own a kayak.", "My bike is green.", "I live in Porto."):
        await memory.learn(WHO, said(text))
    leaving.leave(after=1)
    with pytest.raises(ModelUnavailable):
        await embed(memory)
    assert len(list_unembedded(database_url)) == 2
    leaving.come_back()
    assert await memory.engine.missing_vectors.embed_missing(WHO) == 2
    assert list_unembedded(database_url) == []


async def test_a_process_with_another_embedder_fills_nothing(
    memory: Memory, leaving: Leaving, database_url: str
) -> None:
    leaving.leave()
    await memory.learn(WHO, said("I play the cello."))
    [row] = await memory.engine.store.maintenance.list_unembedded(WHO, 10)
    with psycopg.connect(database_url) as conn:
        conn.execute("update muniment.embedders set model = 'another'")
    with pytest.raises(WrongEmbedder):
        await memory.engine.store.maintenance.write_vectors(WHO, [(row, await _embed_text(row.text))])
    assert list_unembedded(database_url) == ["The user plays the cello."]


async def _embed_text(text: str) -> Vector:
    return (await HashEmbedder().embed_documents([text]))[0]


async def test_a_switch_of_the_embedder_takes_along_what_waits(leaving: Leaving, database_url: str) -> None:
    async with engine(database_url, embedder=leaving) as memory:
        leaving.leave()
        await memory.learn(WHO, said("I play the cello."))
    async with unopened(database_url, HashEmbedder(64)) as other:
        assert await other.admin.reembed() == 1
        assert list_unembedded(database_url) == []
        answer = await other.query(WHO, "supervisor", Query(text="I play the cello"))
        assert answer.hits[0].parts["semantic"] > 0
        await embed(other)
    assert [row["dims"] for row in rows(database_url, VECTORS.format("memories"))] == [64]


def _make_client(base_url: str) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        "small-3", api_key=SecretStr("sk-test-1"), base_url=base_url, timeout_seconds=5.0, max_retries=0
    )


async def test_an_endpoint_that_is_gone_and_comes_back(database_url: str) -> None:
    """With the real client over HTTP: the first process loses its endpoint, the next one has it again."""
    with ScriptedOpenAI(fail=[None, "drop", "drop", "drop", "drop"]) as server:
        async with engine(database_url, embedder=_make_client(server.base_url)) as memory:
            assert not (await memory.learn(WHO, said("I live in Porto."))).degraded
            assert (await memory.learn(WHO, said("I play the cello."))).degraded
            answer = await memory.query(WHO, "supervisor", Query(text="Do I play the cello?"))
            assert (answer.degraded, answer.hits[0].memory.text) == (True, "The user plays the cello.")
    with ScriptedOpenAI() as server:
        async with engine(database_url, embedder=_make_client(server.base_url)) as memory:
            assert await embed(memory) == 1
            assert not (await memory.query(WHO, "supervisor", Query(text="Do I play the cello?"))).degraded
    assert list_unembedded(database_url) == []
