"""The score of an item for a query: the one formula of all stores, computed from the texts of both and the cosine of
their vectors. What else a store holds does not change it: the same candidates have the same order everywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from muniment.memory.rules.language.tokens import extract_lexemes, extract_terms, is_legible
from muniment.plugin.domain.item import Channel, MemoryHit, MemoryItem, SearchQuery

if TYPE_CHECKING:
    from muniment.memory.config.plugin import PluginSettings
    from muniment.memory.config.schema import CosineBands, EmbedderProfile

QUERY_TERMS = 32  # of a query that are searched for
WHOLE_TERMS = 12  # of so many terms, or more, as many are all: a long message has many words beside its subject
MIN_HITS, MAX_HITS = 3, 8
_QUERY_CHARS = 4_000  # of a query that count
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of the three channels, and the days after which recency counts half."""

    semantic: float = 0.55
    keyword: float = 0.35
    recency: float = 0.10
    half_life_days: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score of an item, and its parts, each in [0, 1]. The part `semantic` is missing where no model compares."""

    total: float
    parts: dict[Channel, float]

    @property
    def is_relevant(self) -> bool:
        """Whether the item has anything to do with the query, beside being new."""
        return self.parts["keyword"] > 0 or self.parts.get("semantic", 0.0) > 0


def make_weights(settings: PluginSettings) -> Weights:
    """Return the weights of the settings."""
    return Weights(
        semantic=settings.semantic_weight,
        keyword=settings.keyword_weight,
        recency=settings.recency_weight,
        half_life_days=settings.half_life_days,
    )


def list_query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct lexemes of a query, at most `QUERY_TERMS`."""
    return extract_terms(text[:_QUERY_CHARS], QUERY_TERMS)


def list_item_lexemes(
    content: str, summary: str | None, tags: Iterable[str] = (), keywords: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the distinct lexemes by which an item is found: of its content, summary, tags and keywords, in order."""
    texts = (content, summary or "", *tags, *keywords)
    return tuple(dict.fromkeys(chain.from_iterable(map(extract_lexemes, texts))))


def compute_score(
    *,
    terms: Collection[str],
    lexemes: Collection[str],
    meaning: float | None,
    at: datetime,
    changed_at: datetime,
    weights: Weights,
) -> Score:
    """Return the weighted sum of meaning, keywords and recency, each in [0, 1].

    `lexemes` are those of the item. `meaning` is what `scale_cosine` returns; with None the weights of the other two
    are rescaled, so that the sum reaches 1 without it."""
    keyword = measure_keywords(terms, lexemes)
    recency = measure_recency(at, changed_at, weights.half_life_days)
    parts: dict[Channel, float] = {"keyword": keyword, "recency": recency}
    total = weights.keyword * keyword + weights.recency * recency
    weight = weights.keyword + weights.recency
    if meaning is not None:
        parts["semantic"] = meaning
        total += weights.semantic * meaning
        weight += weights.semantic
    return Score(total=total / weight if weight else 0.0, parts=parts)


def measure_keywords(terms: Collection[str], lexemes: Collection[str]) -> float:
    """Return the share of a query's terms that an item has, in [0, 1]."""
    if not terms:
        return 0.0
    return min(1.0, sum(term in lexemes for term in terms) / min(len(terms), WHOLE_TERMS))


def measure_recency(at: datetime, changed_at: datetime, half_life_days: float) -> float:
    """Return how new something is, in (0, 1]: it halves every so many days. What is later than `at` counts as new."""
    days = max(0.0, (at - changed_at).total_seconds()) / _DAY
    return float(0.5 ** (days / half_life_days))


def scale_cosine(cosine: float | None, profile: EmbedderProfile | None, query: str, text: str) -> float | None:
    """Return what a cosine means, in [0, 1], from the floor to the ceiling of the embedder's profile; None where the
    embedder cannot read the query or the text, or nothing was compared."""
    if cosine is None or profile is None or not is_legible(profile.scripts, query, text):
        return None
    bands: CosineBands = profile
    if profile.by_writing:
        # It brings the schema of all settings, which a host with a model for English alone does not need here.
        from muniment.memory.rules.language.writing import choose_bands  # noqa: PLC0415

        bands = choose_bands(profile, query, text)
    return min(1.0, max(0.0, (cosine - bands.floor) / (bands.ceiling - bands.floor)))


def score_item(
    item: MemoryItem,
    query: SearchQuery,
    weights: Weights,
    *,
    cosine: float | None = None,
    profile: EmbedderProfile | None = None,
) -> Score:
    """Return the score of an item for a query, from the item alone and the cosine of the two."""
    return compute_score(
        terms=list_query_terms(query.text),
        lexemes=frozenset(list_item_lexemes(item.content, item.summary, item.tags, item.keywords)),
        meaning=scale_cosine(cosine, profile, query.text, item.content),
        at=query.at,
        changed_at=item.updated_at or item.created_at,
        weights=weights,
    )


def choose_hits(hits: Iterable[MemoryHit], query: SearchQuery) -> Sequence[MemoryHit]:
    """Return the best hits that reach the least score of the query, best first; of equal ones the lower id. There are
    at least 3 and at most 8, whatever the query asks for (P-77)."""
    good = sorted((hit for hit in hits if hit.score >= query.min_score), key=lambda hit: (-hit.score, hit.item.id))
    return good[: min(MAX_HITS, max(MIN_HITS, query.top_k))]
