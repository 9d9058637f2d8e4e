"""The reranker with its real model: what it makes of texts, and what a query makes of that."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import platformdirs
import pytest
from tokenizers import Tokenizer

from muniment.memory import bootstrap
from muniment.memory.engine import Memory
from muniment.memory.errors import BadConfig, ModelUnavailable
from muniment.memory.models.embedders import OnnxEmbedder
from muniment.memory.models.fetch import MODEL_FILE, TOKENIZER_FILE, fetch
from muniment.memory.models.rerank import BELOW, TOKENS, TokenReranker
from muniment.memory.records import Candidate, Query
from tests.engine import engine, scope, settings

CACHE = Path(platformdirs.user_cache_dir("muniment")) / "models" / "bge-small-en-v1.5-int8"
WHO = scope("ana")
# In other words: the vectors are nearer to the wrong one, the tokens to the right one.
ASKED = "What pet does Ben have?"
BEAGLE, FAMILY = "Ben walked his beagle Rex along the river.", "Ben wants to have a big family."
TEXTS = [BEAGLE, FAMILY, "Ben has a new desk at work.", "Yesterday it rained, again; all day!"]


@asynccontextmanager
async def reranker() -> AsyncIterator[TokenReranker]:
    embedder = OnnxEmbedder(fetch(CACHE))
    made = TokenReranker(embedder)
    try:
        yield made
    finally:
        await made.close()
        await embedder.close()


def by_hand(question: str, texts: list[str]) -> list[float]:
    """The formula, written out: every token's best cosine, each counted by its IDF among the texts."""
    import onnxruntime  # type: ignore[import-untyped]  # it has no types

    files = fetch(CACHE)
    session = onnxruntime.InferenceSession(str(files / MODEL_FILE))
    tokenizer = Tokenizer.from_file(str(files / TOKENIZER_FILE))
    tokenizer.no_padding()

    def read(text: str) -> dict[int, tuple[str, npt.NDArray[np.float32]]]:
        told = tokenizer.encode(text)
        ids = np.array([told.ids])
        states = session.run(
            None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        )[0][0]
        words = enumerate(told.tokens)
        return {n: (word, states[n]) for n, word in words if word[0] != "[" and any(map(str.isalnum, word))}

    asked, said = read(question), [read(text) for text in texts]
    shares = []
    for one in said:
        total = weights = 0.0
        for word, state in asked.values():
            having = sum(word in {other for other, _ in some.values()} for some in said)
            idf = np.log(1 + (len(said) - having + 0.5) / (having + 0.5))
            cosines = [state @ other / np.linalg.norm(state) / np.linalg.norm(other) for _, other in one.values()]
            total, weights = total + idf * max(cosines), weights + idf
        shares.append(BELOW + total / weights)
    return shares


async def test_a_text_is_as_alike_as_its_best_tokens_are() -> None:
    async with reranker() as made:
        alike = await made.alike(ASKED, TEXTS)
    assert alike == pytest.approx(by_hand(ASKED, TEXTS), abs=2e-3)
    assert alike[0] > max(alike[1:])


async def test_the_same_text_is_as_alike_wherever_it_stands_and_however_often_it_is_read() -> None:
    async with reranker() as made:
        first = await made.alike(ASKED, TEXTS)
        assert await made.alike(ASKED, TEXTS) == first
        assert await made.alike(ASKED, TEXTS[::-1]) == first[::-1]
        assert len(set(await made.alike(ASKED, [BEAGLE, FAMILY, BEAGLE]))) == 2


async def test_what_says_nothing_is_like_nothing() -> None:
    async with reranker() as made:
        assert await made.alike("?!", [BEAGLE]) == [0.0]
        assert await made.alike(ASKED, ["…", BEAGLE, ""]) == [0.0, pytest.approx(0.7, abs=0.2), 0.0]
        assert await made.alike(ASKED, []) == []


async def test_of_a_long_text_only_the_beginning_is_read() -> None:
    async with reranker() as made:
        beginning = "river " * TOKENS
        assert len(made._embedder.tokens(beginning + "beagle " * 5_000, TOKENS).ids) == TOKENS
        cut, whole = await made.alike("Who has a beagle?", [beginning + "beagle " * 5_000, beginning])
        assert cut == whole


async def test_a_closed_one_says_so() -> None:
    async with reranker() as made:
        await made.close()
        with pytest.raises(ModelUnavailable, match="closed"):
            await made.alike(ASKED, TEXTS)


@asynccontextmanager
async def told(url: str, *, rerank: int, share: float = 0.4) -> AsyncIterator[Memory]:
    own = settings(url)
    tuned = own.model_copy(update={"recall": own.recall.model_copy(update={"rerank": rerank, "rerank_share": share})})
    async with engine(url, embedder=OnnxEmbedder(fetch(CACHE)), tuned=tuned) as memory:
        if not await memory.list(WHO):
            await memory.ingest(WHO, [Candidate(text=text, category="activity", kind="episodic") for text in TEXTS])
        yield memory


async def test_a_query_orders_by_it_and_explains_it(database_url: str) -> None:
    asked = Query(text=ASKED, explain=True, threshold=0.0)
    async with told(database_url, rerank=0) as memory:
        plain = await memory.query(WHO, "supervisor", asked)
    assert plain.hits[0].memory.text == FAMILY
    assert all(hit.parts["rerank"] == 0 for hit in plain.hits)

    async with told(database_url, rerank=16) as memory:
        answer = await memory.query(WHO, "supervisor", asked)
        brief = await memory.brief(WHO, "supervisor", ASKED)
        verdict = await memory.why_not(WHO, "supervisor", answer.hits[1].memory.id, Query(text=ASKED, top_k=1))
        profile, weight = memory.house.profile, memory.house.settings.recall.semantic_weight
    assert answer.hits[0].memory.text == BEAGLE
    assert BEAGLE in brief.bullets[0]
    assert verdict.hit is not None
    assert verdict.hit.parts == pytest.approx(answer.hits[1].parts)

    before = {hit.memory.text: hit for hit in plain.hits}
    async with reranker() as made:
        alike = dict(zip(before, await made.alike(ASKED, list(before)), strict=True))
    for hit in answer.hits:
        was, scaled = (
            before[hit.memory.text],
            (alike[hit.memory.text] - profile.floor) / (profile.ceiling - profile.floor),
        )
        assert hit.parts["semantic"] == pytest.approx(0.6 * was.parts["semantic"])
        assert hit.parts["rerank"] == pytest.approx(0.4 * weight * scaled)
        assert hit.score == pytest.approx(sum(hit.parts.values()))
        assert hit.relevance == pytest.approx(was.relevance)  # it orders what is relevant, and makes nothing relevant


async def test_only_so_many_of_the_best_are_compared(database_url: str) -> None:
    async with told(database_url, rerank=1) as memory:
        hits = (await memory.query(WHO, "supervisor", Query(text=ASKED, explain=True, threshold=0.0))).hits
    assert [hit.memory.text for hit in hits if hit.parts["rerank"]] == [FAMILY]


async def test_it_wants_the_model_that_it_reads_with(database_url: str) -> None:
    own = settings(database_url)
    tuned = own.model_copy(update={"recall": own.recall.model_copy(update={"rerank": 16})})
    with pytest.raises(BadConfig, match=r"recall.rerank: 0 wanted with HashEmbedder \(hash-256\)"):
        bootstrap.memory(tuned)
