"""The candidates of a search: those of a listing, and whether a search needs more than it has."""

from __future__ import annotations

from muniment.memory.config.recall import RecallSettings
from muniment.memory.domain.ids import NO_VECTOR
from muniment.memory.domain.query import Answer, Query
from muniment.memory.domain.search import Search, SearchSnapshot, Weights
from muniment.memory.rules.retrieval.rank import CUTS

_MAX_CANDIDATES = 1_000  # beyond so many candidates no more are searched for


def build_listing(query: Query, categories: tuple[str, ...], weights: Weights) -> Search:
    """Return the search for what is newest, which needs no embedder."""
    return Search(
        vector=NO_VECTOR,
        terms=(),
        categories=categories,
        filters=query.filters,
        candidates=query.top_k,
        weights=weights,
        explain=query.explain,
        with_rivals=True,
        is_listing=True,
    )


def is_read_whole(search: Search, snapshot: SearchSnapshot, recall: RecallSettings) -> bool:
    """Return whether a small space is ranked whole: where words alone select, the answer may be in others."""
    is_close = recall.told_weight and snapshot.corpus_size <= recall.told_among
    return bool(is_close and recall.semantic_weight and not search.weights.semantic)


def needs_more_candidates(search: Search, answer: Answer, top_k: int) -> bool:
    """Whether more candidates may have better memories: near-duplicates or a full category took their places.

    When the last candidates are below the threshold, more candidates have none."""
    hits, omissions = answer.hits, answer.omissions
    if len(hits) >= top_k or not omissions or search.candidates >= _MAX_CANDIDATES:
        return False
    reasons = {omission.reason for omission in omissions}
    last = omissions[-1]
    is_exhausted = last.reason in CUTS and (not hits or last.score <= hits[-1].score)
    if is_exhausted or "over budget" in reasons:
        return False
    return "near-duplicate" in reasons or ("category full" in reasons and len(search.categories) > 1)
