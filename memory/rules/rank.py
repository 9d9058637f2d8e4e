"""Ranking: raw signals of the channels become one score in [0, 1] and one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from muniment.memory.records import TRUST_RANK, Found, Hit, MemoryId, Omission, Reason, Weights, evolve
from muniment.memory.rules import words
from muniment.memory.rules.merge import negated
from muniment.memory.sections import Category, Profile, Recall

# Measured on dialogue recall. The keyword share is that of the query's own ceiling: where its words are hardly met, the
# order leans on meaning by itself. Below the floor meaning goes on falling, down to _LOWEST: the floor says what is
# relevant, not what comes first.
_SEMANTIC, _KEYWORD = 0.4, 0.6
_LOWEST = -0.25
_BEHIND = 1e-6
_DAY = 86_400.0
_RELATED = 2


def rank(
    found: Sequence[Found],
    *,
    query: str,
    at: datetime,
    profile: Profile,
    recall: Recall,
    categories: Mapping[str, Category],
    threshold: float,
) -> tuple[list[Hit], list[Omission]]:
    """Hits above the threshold, best first, near-duplicates collapsed, and what was left out with the reason.

    The threshold is on relevance (meaning and words); recency, importance and edges only order what is relevant."""
    named = _named(query, found)
    scored = _trusted([_score(one, query, at, profile, recall, named) for one in found], recall.duplicate_similarity)
    scored.sort(key=lambda hit: (-hit.score, str(hit.memory.id)))
    kept: list[Hit] = []
    left: list[Omission] = []
    seen: list[tuple[frozenset[str], bool]] = []
    held: dict[str, int] = {}
    for hit in scored:
        reason = _reason(hit, threshold, seen, held, recall, categories)
        if reason is not None:
            left.append(Omission(id=hit.memory.id, reason=reason, score=hit.score))
            continue
        seen.append(_gist(hit))
        held[hit.memory.category] = held.get(hit.memory.category, 0) + 1
        kept.append(hit)
    return kept, left


def _trusted(scored: Sequence[Hit], alike: float) -> list[Hit]:
    """The hits, none of them above one that a more trusted source says of the same thing, or in nearly the same words."""
    done: list[Hit] = []
    for trust in sorted({hit.memory.trust for hit in scored}, key=lambda one: -TRUST_RANK[one]):
        more_trusted = tuple(done)
        for hit in scored:
            if hit.memory.trust == trust:
                above = [other.score for other in more_trusted if _rivals(other, hit, alike)]
                done.append(evolve(hit, score=min(above) - _BEHIND) if above and hit.score >= min(above) else hit)
    return done


def _rivals(one: Hit, other: Hit, alike: float) -> bool:
    mine, its = one.memory, other.memory
    if mine.fact is not None and its.fact is not None and mine.fact.attribute == its.fact.attribute:
        return True
    return _alike(_gist(one)[0], _gist(other)[0], alike)


def related(
    found: Sequence[Found],
    kept: Sequence[Hit],
    *,
    query: str,
    at: datetime,
    profile: Profile,
    recall: Recall,
    categories: Mapping[str, Category],
    least: float,
) -> list[Hit]:
    """What an edge of at least this strength ties to a kept hit: the two strongest that say something else (S-20).

    `found` are those that were not relevant enough on their own. An insight is never brought along."""
    hubs = {hit.memory.id for hit in kept}
    tied = [(*_strongest(one, hubs), one) for one in found if one.memory.kind != "insight" and hubs & one.edges.keys()]
    seen = [_gist(hit) for hit in kept]
    held = Counter(hit.memory.category for hit in kept)
    brought: list[Hit] = []
    for strength, hub, one in sorted(tied, key=lambda edge: (-edge[0], str(edge[2].memory.id))):
        if strength < least or len(brought) == _RELATED:
            break
        hit = replace(_score(one, query, at, profile, recall, frozenset()), related_to=hub)
        if _reason(hit, 0.0, seen, held, recall, categories) is None:
            seen.append(_gist(hit))
            held[hit.memory.category] += 1
            brought.append(hit)
    return brought


def _strongest(one: Found, hubs: AbstractSet[MemoryId]) -> tuple[float, MemoryId]:
    return max(((one.edges[id_], id_) for id_ in hubs & one.edges.keys()), key=lambda edge: (edge[0], str(edge[1])))


def weights(profile: Profile, recall: Recall) -> Weights:
    """By what the store picks its candidates: the score without what only orders the relevant."""
    return Weights(
        floor=profile.floor,
        ceiling=profile.ceiling,
        semantic=_SEMANTIC,
        keyword=_KEYWORD,
        actor=recall.actor_boost,
    )


def relevance(hit: Hit) -> float:
    """How far a hit answers the query by meaning and words alone, in [0, 1]: either may carry it."""
    semantic, keyword = hit.parts["semantic"], hit.parts["keyword"]
    return 1 - (1 - semantic) * (1 - keyword)


def _score(
    one: Found,
    query: str,
    at: datetime,
    profile: Profile,
    recall: Recall,
    named: frozenset[str],
) -> Hit:
    memory = one.memory
    known_script = "cjk" in profile.scripts or not words.has_cjk(query + memory.text)
    cosine = one.cosine if one.cosine is not None and known_script else profile.floor
    meaning = min(1.0, max(_LOWEST, (cosine - profile.floor) / (profile.ceiling - profile.floor)))
    age = max(0.0, (at - memory.updated_at).total_seconds() / _DAY)
    parts = {
        "semantic": max(0.0, meaning),
        "keyword": min(1.0, one.keyword),
        "recency": recall.recency_weight * 0.5 ** (age / recall.recency_half_life_days),
        "importance": recall.importance_weight * (memory.importance - 1) / 4,
        "pinned": recall.pinned_boost if memory.pinned else 0.0,
        "relation": recall.relation_weight * max(one.edges.values(), default=0.0),
        "actor": recall.actor_boost if memory.actor_id and memory.actor_id.casefold() in named else 0.0,
    }
    base = max(0.0, _SEMANTIC * meaning + _KEYWORD * parts["keyword"])
    score = base + sum(parts[name] for name in ("recency", "importance", "pinned", "relation", "actor"))
    if memory.kind == "insight":
        score *= recall.insight_factor
    channels = ("dense",) * (meaning > 0) + ("keyword",) * (one.keyword > 0) + ("relation",) * bool(one.edges)
    return Hit(memory=memory, score=score, parts=parts, channels=channels, ranks=one.ranks)


def _reason(
    hit: Hit,
    threshold: float,
    seen: Sequence[tuple[frozenset[str], bool]],
    held: Mapping[str, int],
    recall: Recall,
    categories: Mapping[str, Category],
) -> Reason | None:
    if relevance(hit) < threshold:
        return "below threshold"
    category = categories.get(hit.memory.category)
    if category is not None and category.rag_length and held.get(hit.memory.category, 0) >= category.rag_length:
        return "category full"
    mine, denied = _gist(hit)
    if any(denies == denied and _alike(mine, other, recall.duplicate_similarity) for other, denies in seen):
        return "near-duplicate"
    return None


def _gist(hit: Hit) -> tuple[frozenset[str], bool]:
    """The words of a hit, and whether it denies them: a stop word alone tells a statement from its denial."""
    return words.lexeme_set(hit.memory.text), negated(hit.memory.text)


def _alike(a: frozenset[str], b: frozenset[str], least: float) -> bool:
    """Whether two sets of lexemes overlap by at least this much (Jaccard); sets of unlike size cannot."""
    small, large = sorted((len(a), len(b)))
    return small > 0 and small >= least * large and len(a & b) >= least * len(a | b)


def _named(query: str, found: Sequence[Found]) -> frozenset[str]:
    """The one speaker that the query names, if it names just one."""
    spoken = set(words.spoken(query))
    actors = {one.memory.actor_id.casefold() for one in found if one.memory.actor_id}
    named = {actor for actor in actors if actor in spoken}
    return frozenset(named) if len(named) == 1 else frozenset()
