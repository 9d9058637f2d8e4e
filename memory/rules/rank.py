"""Ranking: raw signals of the channels become one score in [0, 1] and one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime

from muniment.memory.looks import Found, Weights
from muniment.memory.records import TRUST_RANK, Hit, Memory, MemoryId, Omission, Reason, evolve
from muniment.memory.rules import wanted, words
from muniment.memory.rules.merge import negated
from muniment.memory.rules.traits import ASKING, DATED, NAMING
from muniment.memory.rules.wanted import Period
from muniment.memory.sections import Category, Profile, Recall

# Below the floor meaning goes on falling, down to _LOWEST: the floor says what is relevant, not what comes first.
_LOWEST = -0.25
_BEHIND = 1e-6
_DAY = 86_400.0
_RELATED = 2
_GATED = 20  # the best of so many decides whether anything is relevant at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """By what hits are judged: the query, the time, and the settings."""

    query: str
    at: datetime
    profile: Profile
    recall: Recall
    categories: Mapping[str, Category]
    threshold: float
    gate: float = 0.0  # relevance that the best must reach, or nothing is relevant
    speakers: frozenset[str] = frozenset()  # whom of those who spoke the query names, in lower case
    strange: float = 0.0  # share of the names in the query that nothing in scope has, [0, 1]
    periods: tuple[Period, ...] = ()  # that the query names


def weights(query: str, profile: Profile, recall: Recall) -> Weights:
    """By what the store picks its candidates: the score without what only orders the relevant."""
    return Weights(
        floor=profile.floor,
        ceiling=profile.ceiling,
        semantic=recall.semantic_weight,
        keyword=recall.keyword_weight,
        actor=recall.actor_boost,
        timely=recall.period_boost,
        before=recall.period_days_before * _DAY,
        after=recall.period_days_after * _DAY,
        traits={
            DATED: recall.dated_boost,
            ASKING: -recall.asking_penalty,
            NAMING: recall.name_boost if wanted.for_a_name(query) else 0.0,
        },
    )


def rank(found: Sequence[Found], lens: Lens) -> Iterator[Hit | Omission]:
    """Hits above the threshold, best first, near-duplicates collapsed, and between them what is left out with the reason.

    The threshold is on relevance (meaning and words), and so is the gate, which the best has to pass; all else only
    orders what is relevant. Nothing is judged before it is asked for."""
    seen: list[Hit] = []
    held: Counter[str] = Counter()
    hits = scored(found, lens)
    if max((hit.relevance for hit in hits[:_GATED]), default=0.0) < lens.gate:
        yield from (Omission(id=hit.memory.id, reason="below threshold", score=hit.score) for hit in hits)
        return
    for hit in hits:
        reason = _reason(hit, lens, seen, held)
        if reason is not None:
            yield Omission(id=hit.memory.id, reason=reason, score=hit.score)
            continue
        seen.append(hit)
        held[hit.memory.category] += 1
        yield hit


def scored(found: Sequence[Found], lens: Lens) -> list[Hit]:
    """All that was found with its score, best first; of equals the smaller id."""
    hits = _trusted([_score(one, lens) for one in found], lens.recall.duplicate_similarity)
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))


def related(found: Sequence[Found], kept: Sequence[Hit], lens: Lens, *, least: float) -> list[Hit]:
    """What an edge of at least this strength ties to a kept hit: the two strongest that say something else (S-20).

    Only what is not relevant enough on its own is brought along, and never an insight."""
    hubs = {hit.memory.id for hit in kept}
    tied = [(*_strongest(one, hubs), one) for one in found if one.memory.kind != "insight" and hubs & one.edges.keys()]
    seen = list(kept)
    held = Counter(hit.memory.category for hit in kept)
    brought: list[Hit] = []
    for strength, hub, one in sorted(tied, key=lambda edge: (-edge[0], edge[2].memory.id)):
        if strength < least or len(brought) == _RELATED:
            break
        hit = replace(_score(one, lens), related_to=hub)
        if _reason(hit, lens, (), {}) == "below threshold" and _full_or_told(hit, lens, seen, held) is None:
            seen.append(hit)
            held[hit.memory.category] += 1
            brought.append(hit)
    return brought


def _trusted(hits: list[Hit], alike: float) -> list[Hit]:
    """The hits, none of them above one that a more trusted source says of the same thing, or in nearly the same words."""
    levels = sorted({TRUST_RANK[hit.memory.trust] for hit in hits}, reverse=True)
    if len(levels) <= 1:
        return hits
    done: list[Hit] = []
    for level in levels:
        more_trusted = tuple(done)
        for hit in hits:
            if TRUST_RANK[hit.memory.trust] == level:
                above = [other.score for other in more_trusted if _rivals(other, hit, alike)]
                done.append(evolve(hit, score=min(above) - _BEHIND) if above and hit.score >= min(above) else hit)
    return done


def _rivals(one: Hit, other: Hit, alike: float) -> bool:
    mine, its = one.memory, other.memory
    if mine.fact is not None and its.fact is not None and mine.fact.attribute == its.fact.attribute:
        return True
    return _alike(mine.text, its.text, alike)


def _strongest(one: Found, hubs: AbstractSet[MemoryId]) -> tuple[float, MemoryId]:
    return max(((one.edges[id_], id_) for id_ in hubs & one.edges.keys()), key=lambda edge: (edge[0], edge[1]))


def _score(one: Found, lens: Lens) -> Hit:
    memory, profile, recall = one.memory, lens.profile, lens.recall
    cosine = one.cosine
    if cosine is None or ("cjk" not in profile.scripts and words.has_cjk(lens.query + memory.text)):
        cosine = profile.floor
    meaning = min(1.0, max(_LOWEST, (cosine - profile.floor) / (profile.ceiling - profile.floor)))
    keyword = min(1.0, one.keyword)
    age = max(0.0, (lens.at - memory.updated_at).total_seconds() / _DAY)
    dated, asking, naming = one.traits
    parts = {
        "semantic": recall.semantic_weight * meaning,
        "keyword": recall.keyword_weight * keyword,
        "actor": recall.actor_boost * _spoken_by_the_named(memory, lens),
        "period": recall.period_boost * _timely(memory, lens),
        "dated": recall.dated_boost * dated,
        "asking": -recall.asking_penalty * asking,
        "name": recall.name_boost * naming if wanted.for_a_name(lens.query) else 0.0,
        "recency": recall.recency_weight * 0.5 ** (age / recall.recency_half_life_days),
        "importance": recall.importance_weight * (memory.importance - 1) / 4,
        "pinned": recall.pinned_boost if memory.pinned else 0.0,
        "relation": recall.relation_weight * max(one.edges.values(), default=0.0),
    }
    score = max(0.0, sum(parts.values()))
    if memory.kind == "insight":
        score *= recall.insight_factor
    answered = 1 - (1 - max(0.0, meaning)) * (1 - min(1.0, recall.keyword_relevance * keyword))
    return Hit(
        memory=memory,
        score=score,
        relevance=answered * (1 - recall.strange_penalty * lens.strange),
        parts=parts,
        channels=("dense",) * (meaning > 0) + ("keyword",) * (keyword > 0) + ("relation",) * bool(one.edges),
        ranks=one.ranks,
    )


def _spoken_by_the_named(memory: Memory, lens: Lens) -> bool:
    """Whether the one speaker whom the query names said it."""
    return len(lens.speakers) == 1 and memory.actor_id is not None and memory.actor_id.lower() in lens.speakers


def _timely(memory: Memory, lens: Lens) -> float:
    if not lens.periods or memory.event_time is None:
        return 0.0
    recall = lens.recall
    return wanted.nearness(
        memory.event_time, lens.periods, before=recall.period_days_before, after=recall.period_days_after
    )


def _reason(hit: Hit, lens: Lens, seen: Sequence[Hit], held: Mapping[str, int]) -> Reason | None:
    return "below threshold" if hit.relevance < lens.threshold else _full_or_told(hit, lens, seen, held)


def _full_or_told(hit: Hit, lens: Lens, seen: Sequence[Hit], held: Mapping[str, int]) -> Reason | None:
    """Whether the hit's category has no room for it, or a hit before it says the same."""
    category = lens.categories.get(hit.memory.category)
    if category is not None and category.rag_length and held.get(hit.memory.category, 0) >= category.rag_length:
        return "category full"
    text = hit.memory.text
    # A stop word alone tells a statement from its denial.
    twins = (one.memory.text for one in seen if _alike(text, one.memory.text, lens.recall.duplicate_similarity))
    return "near-duplicate" if any(negated(text) == negated(twin) for twin in twins) else None


def _alike(text: str, other: str, least: float) -> bool:
    """Whether the lexemes of two texts overlap by at least this much (Jaccard); sets of unlike size cannot."""
    a, b = words.lexeme_set(text), words.lexeme_set(other)
    small, large = (len(a), len(b)) if len(a) < len(b) else (len(b), len(a))
    return 0 < least * large <= small and len(a & b) >= least * len(a | b)
