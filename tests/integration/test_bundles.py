"""The bundle before a model: with 500 memories and any budget it is never larger, and the best stays in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.domain.query import Hit, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.payload import dump_compact, encode_answer, fence_text
from muniment.memory.rules.retrieval import render
from muniment.memory.rules.retrieval.rank import rank_hits
from muniment.memory.rules.retrieval.render import JOINT_TOKENS, TokenBudget, count_tokens
from tests.engine import engine, note, scope
from tests.integration.test_several_spaces import ATLAS, share

ANA = scope(project="atlas")
BUDGETS = range(20, 2_001)
VOCABULARY = "o200k_base"
WORDS = ("kettle", "harbour", "fence", "rehearsal", "orchard", "ferry", "lantern")


def told(owner: Scope, count: int) -> list[str]:
    """Statements of many lengths about the same thing, each the only one of its kind."""
    lengths = [1 + 7 * n % 60 for n in range(count)]
    return [
        f"{owner.owner} number {n} on packages: " + " ".join(WORDS[(n + k) % len(WORDS)] for k in range(length))
        for n, length in enumerate(lengths)
    ]


def count_alone(best: Hit, budget: TokenBudget) -> int:
    """The tokens with which the best fits alone."""
    packed = count_tokens(budget.render_block(())) + count_tokens(budget.render_hit(best)) + JOINT_TOKENS
    return max(packed, count_tokens(budget.render_block([best])))


def check(hits: Sequence[Hit], best: Hit, budget: TokenBudget, alone: int) -> None:
    """The block of these hits fits, and the best is the first of them wherever it fits alone."""
    size = count_tokens(budget.render_block(hits))
    assert size <= budget.max_tokens or not hits
    if alone <= budget.max_tokens:
        assert hits[0].memory.id == best.memory.id


async def test_every_budget_from_20_to_2000_tokens(database_url: str) -> None:
    """As the answer to a query in bullets and as a brief, and with each twelfth in whole memories, of two spaces."""
    await share(database_url, ATLAS, ANA)
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(text, "tasks") for text in told(ANA, 300)])
        await memory.ingest(ATLAS, [note(text, "tasks") for text in told(ATLAS, 200)])
        recall = memory.engine.recall
        for returns in ("bullets", "full"):
            query = Query(text="packages number", top_k=60, returns=returns, threshold=0.0, budget_tokens=10**6)
            reader, search = await recall.authorize_query(ANA, "planner", query)
            found = await recall.retrieve_hits(reader, query, search)
            ranked = [one for one in rank_hits(found.snapshot.hits, found.ranking) if isinstance(one, Hit)]
            assert {hit.shared_by for hit in ranked} == {None, "project"}
            alone = count_alone(
                ranked[0], render.make_query_budget(query, found.snapshot.rev, VOCABULARY, degraded=False)
            )
            for tokens in BUDGETS if returns == "bullets" else BUDGETS[::12]:
                asked = replace(query, budget_tokens=tokens)
                budget = render.make_query_budget(asked, found.snapshot.rev, VOCABULARY, degraded=False)
                check(budget.pack_hits(ranked)[0], ranked[0], budget, alone)
        alone = count_alone(ranked[0], render.make_brief_budget(recall.settings.recall, "", VOCABULARY))
        for tokens in BUDGETS:
            limited = recall.settings.recall.model_copy(update={"context_budget_tokens": tokens})
            budget = render.make_brief_budget(limited, "", VOCABULARY)
            hits, _, _ = budget.pack_hits(ranked)
            check(hits, ranked[0], budget, alone)
            assert count_tokens(budget.render_block(hits)) <= tokens
        for tokens in (20, 64, 200, 777, 2_000):
            answer = await memory.query(ANA, "planner", replace(query, returns="bullets", budget_tokens=tokens))
            assert not answer.hits or count_tokens(fence_text(dump_compact(encode_answer(answer)))) <= tokens
