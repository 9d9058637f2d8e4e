"""The limits of an answer, for a caller who asks how it came about."""

from __future__ import annotations

from muniment.memory.domain.query import Cuts
from muniment.memory.rules.retrieval.rank import RankingContext
from muniment.memory.rules.retrieval.render import TokenBudget


def list_cuts(ranking: RankingContext, budget: TokenBudget) -> Cuts:
    """Return what a candidate has to reach to be in an answer."""
    return Cuts(
        threshold=ranking.threshold,
        gate=ranking.gate,
        best_share=ranking.cut_share,
        least_cosine=ranking.least_cosine if ranking.least_cosine > -1.0 else None,
        top_k=budget.top_k,
        budget_tokens=budget.max_tokens,
    )
