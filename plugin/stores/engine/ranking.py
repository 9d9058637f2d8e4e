"""The score of what the engine finds, by the one formula of the plugin's stores."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.domain.query import Hit
from muniment.memory.rules.language.tokens import is_legible
from muniment.plugin.domain.item import MemoryHit, SearchQuery
from muniment.plugin.item_mapping import make_item
from muniment.plugin.stores.scoring import Weights, compute_score, list_item_lexemes, list_query_terms


@dataclass(frozen=True, slots=True, kw_only=True)
class HitScorer:
    """Scores the hits of one query. `semantic_weight` is that of the recall profile by which the engine has answered;
    without a `profile` of an embedder nothing was compared by meaning."""

    query: SearchQuery
    weights: Weights
    semantic_weight: float
    profile: EmbedderProfile | None

    def score_hit(self, hit: Hit) -> MemoryHit | None:
        """Return a hit of the engine with the score of the plugin; None for one that has nothing to do with the
        query."""
        item = make_item(hit.memory, tenant=self.query.owner.tenant, user=self.query.owner.user)
        score = compute_score(
            terms=list_query_terms(self.query.text),
            lexemes=frozenset(list_item_lexemes(item.content, item.summary, item.tags, item.keywords)),
            meaning=self._read_meaning(hit),
            at=self.query.at,
            changed_at=item.updated_at or item.created_at,
            weights=self.weights,
        )
        return MemoryHit(item=item, score=score.total, parts=score.parts, store="engine") if score.is_relevant else None

    def _read_meaning(self, hit: Hit) -> float | None:
        """Return how near the meaning of a hit is, in [0, 1]; None where the embedder has not compared it."""
        if self.profile is None or not self.semantic_weight:
            return None
        if not is_legible(self.profile.scripts, self.query.text, hit.memory.text):
            return None
        return min(1.0, max(0.0, hit.parts.get("semantic", 0.0) / self.semantic_weight))
