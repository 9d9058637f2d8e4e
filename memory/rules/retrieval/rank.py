"""Ranking: raw signals of the channels become one score, the sum of its parts, and one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from math import log
from typing import NamedTuple

from muniment.memory.config.schema import Category, Profile, Recall
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import TRUST_RANK, Memory
from muniment.memory.domain.query import Hit, Omission, Reason
from muniment.memory.domain.search import LOWEST, Found, Weights
from muniment.memory.rules.dates.spans import Period
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.merging.merge import negated
from muniment.memory.rules.retrieval import query_hints as wanted
from muniment.memory.rules.retrieval.intents import of_user as told_of_user, told
from muniment.memory.rules.retrieval.question import MOST_HINTS, Asked, called, hints, mine, read
from muniment.memory.rules.retrieval.traits import ASKING, DATED, NAMING

_BEHIND = 1e-6
_Text = tuple[str, frozenset[str]]  # with its numbers
_DAY = 86_400.0
_RELATED = 2
_TOLD = 0.75  # of what is asked, from which a statement is taken for the answer
WEIGHED = (
    "semantic", "keyword", "actor", "own", "period", "dated", "asking", "name", "recency", "importance", "pinned", "relation",
    "told",
)  # fmt: skip
# And what makes the score another than their sum, so that all parts add up to it.
_PARTS = (*WEIGHED, "least", "insight", "another", "trust")
_GATED = 16  # the best of so many decides whether anything is relevant at all


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
    owner: str = ""  # the user
    own: bool = False  # whether the query is about the user
    asked: Asked | None = None  # what it asks for, where it is read closely
    spoken: float = 0.0  # how much it counts then what a turn of a conversation tells, [0, 1]


def weights(query: str, profile: Profile, recall: Recall) -> Weights:
    """By what the store picks its candidates: the score without what only orders the relevant, nor by a meaning that the embedder
    cannot read."""
    own = mine(query)
    told_by = dict.fromkeys(hints(query, MOST_HINTS), recall.hint_boost) if own and recall.hint_boost else {}
    return Weights(
        floor=profile.floor,
        ceiling=profile.ceiling,
        semantic=recall.semantic_weight if words.legible(profile.scripts, query) else 0.0,
        keyword=recall.keyword_weight,
        actor=recall.actor_boost,
        # What it tells of what is asked is read later, and half of that is taken for granted.
        own=recall.own_boost + recall.told_weight / 2 if own and recall.own_boost else 0.0,
        timely=recall.period_boost,
        before=recall.period_days_before * _DAY,
        after=recall.period_days_after * _DAY,
        traits=told_by
        | {
            DATED: recall.dated_boost,
            ASKING: -recall.asking_penalty,
            NAMING: recall.name_boost if wanted.for_a_name(query) else 0.0,
        },
    )


def gate_among(count: int, recall: Recall) -> float:
    """The relevance that the best of so many memories has to reach: the highest of n chance values grows with log n."""
    share = min(1.0, log(max(1, count)) / log(max(2, recall.gate_whole_from)))
    return recall.gate_of_one + (recall.gate - recall.gate_of_one) * share


def spoken_among(count: int, recall: Recall) -> float:
    """How much it counts what one of so many turns of a conversation tells, which leaves open of whom it is."""
    return max(0.0, 1 - log(max(1, count)) / log(max(2, recall.told_among)))


def rank(found: Sequence[Found], lens: Lens) -> Iterator[Hit | Omission]:
    """Hits above the threshold, best first, near-duplicates collapsed, and between them what is left out with the reason.

    The threshold is on relevance (meaning and words), and so is the gate, which the best has to pass; all else only
    orders what is relevant. Nothing is judged before it is asked for."""
    told: list[_Text] = []
    held: Counter[str] = Counter()
    looks = _sorted(found, lens)
    if max((look.relevance for look in looks[:_GATED]), default=0.0) < lens.gate:
        yield from (Omission(id=look.found.memory.id, reason="below threshold", score=look.score) for look in looks)
        return
    for look in looks:
        memory = look.found.memory
        reason = _reason(look, lens, told, held)
        if reason is not None:
            yield Omission(id=memory.id, reason=reason, score=look.score)
            continue
        told.append(_text(memory))
        held[memory.category] += 1
        yield _hit(look)


def scored(found: Sequence[Found], lens: Lens) -> list[Hit]:
    """All that was found with its score, best first; of equals the smaller id."""
    return [_hit(look) for look in _sorted(found, lens)]


def related(found: Sequence[Found], kept: Sequence[Hit], lens: Lens, *, least: float) -> list[Hit]:
    """What an edge of at least this strength ties to a kept hit: the two strongest that say something else (S-20).

    Only what is not relevant enough on its own is brought along, and never an insight."""
    hubs = {hit.memory.id for hit in kept}
    tied = [
        (*_strongest(one, hubs), one)
        for one in found
        if one.edges and one.memory.kind != "insight" and hubs & one.edges.keys()
    ]
    if not tied:
        return []
    told = [_text(hit.memory) for hit in kept]
    held = Counter(hit.memory.category for hit in kept)
    brought: list[Hit] = []
    for strength, hub, one in sorted(tied, key=lambda edge: (-edge[0], edge[2].memory.id)):
        if strength < least or len(brought) == _RELATED:
            break
        [look] = _looks([one], lens)
        if look.relevance < lens.threshold and _full_or_told(one.memory, lens, told, held) is None:
            told.append(_text(one.memory))
            held[one.memory.category] += 1
            brought.append(replace(_hit(look), related_to=hub))
    return brought


class _Look(NamedTuple):
    """What was found, as the lens shows it: a hit is made only of what is asked for."""

    score: float
    relevance: float
    parts: tuple[float, ...]  # of the score, in the order of _PARTS
    found: Found


def _sorted(found: Sequence[Found], lens: Lens) -> list[_Look]:
    looks = _trusted(_looks(found, lens), lens.recall.duplicate_similarity)
    return sorted(looks, key=lambda look: (-look.score, look.found.memory.id))


def _trusted(looks: list[_Look], alike: float) -> list[_Look]:
    """The looks, none of them above one that a more trusted source says of the same thing, or in nearly the same words."""
    levels = sorted({TRUST_RANK[look.found.memory.trust] for look in looks}, reverse=True)
    if len(levels) <= 1:
        return looks
    done: list[_Look] = []
    for level in levels:
        more_trusted = tuple(done)
        for look in looks:
            if TRUST_RANK[look.found.memory.trust] == level:
                above = [other.score for other in more_trusted if _rivals(other, look, alike)]
                done.append(_behind(look, min(above)) if above and look.score >= min(above) else look)
    return done


def _behind(look: _Look, other: float) -> _Look:
    score = other - _BEHIND
    return look._replace(score=score, parts=(*look.parts[:-1], score - look.score))


def _rivals(one: _Look, other: _Look, alike: float) -> bool:
    mine, its = one.found.memory, other.found.memory
    if mine.fact is not None and its.fact is not None and mine.fact.attribute == its.fact.attribute:
        return True
    return _alike(words.lexeme_set(mine.text), words.lexeme_set(its.text), alike)


def _strongest(one: Found, hubs: AbstractSet[MemoryId]) -> tuple[float, MemoryId]:
    return max(((one.edges[id_], id_) for id_ in hubs & one.edges.keys()), key=lambda edge: (edge[0], edge[1]))


def _looks(found: Sequence[Found], lens: Lens) -> list[_Look]:
    recall = lens.recall
    floor, ceiling = lens.profile.floor, lens.profile.ceiling
    for_a_name = recall.name_boost if wanted.for_a_name(lens.query) else 0.0
    known = 1 - recall.strange_penalty * lens.strange
    [named] = lens.speakers if len(lens.speakers) == 1 else [None]
    looks = []
    for one, meant, (tells, worded, fits) in zip(found, _meant(found, lens), _closely(found, lens), strict=True):
        memory = one.memory
        meaning = min(1.0, max(LOWEST, (meant - floor) / (ceiling - floor)))
        keyword = min(1.0, one.keyword)
        age = max(0.0, (lens.at - memory.updated_at).total_seconds() / _DAY)
        dated, asking, naming = one.traits
        of_user = lens.own and _of_user(memory, lens)
        theirs = lens.own and not of_user and not _by_user(memory, lens)
        parts = (
            recall.semantic_weight * meaning,
            recall.keyword_weight * keyword,
            recall.actor_boost if named is not None and (memory.actor_id or "").lower() == named else 0.0,
            recall.own_boost if of_user else 0.0,
            recall.period_boost * _timely(memory, lens) if lens.periods else 0.0,
            recall.dated_boost * dated,
            -recall.asking_penalty * asking,
            for_a_name * naming,
            recall.recency_weight * 0.5 ** (age / recall.recency_half_life_days),
            recall.importance_weight * (memory.importance - 1) / 4,
            recall.pinned_boost if memory.pinned else 0.0,
            recall.relation_weight * max(one.edges.values()) if one.edges else 0.0,
            recall.told_weight * tells,
        )
        total = sum(parts)
        least = max(0.0, total)
        whole = least * (recall.insight_factor if memory.kind == "insight" else 1)
        score = whole * fits
        held = (least - total, whole - least, score - whole, 0.0)
        answered = 1 - (1 - max(0.0, meaning)) * (1 - min(1.0, max(tells, worded * recall.keyword_relevance * keyword)))
        nearly = 1 - recall.others_penalty if theirs else 1.0
        looks.append(_Look(score, answered * known * fits * nearly, parts + held, one))
    return looks


def _meant(found: Sequence[Found], lens: Lens) -> Iterator[float]:
    """The cosines; the floor where there is none, or where the embedder does not know the script."""
    floor, scripts = lens.profile.floor, lens.profile.scripts
    read = words.legible(scripts, lens.query)
    for one in found:
        unread = not read or not words.legible(scripts, one.memory.text)
        yield floor if one.cosine is None or unread else one.cosine


def _closely(found: Sequence[Found], lens: Lens) -> Iterator[tuple[float, float, float]]:
    """Of each, how much of what is asked it tells; how much its words count, which may be those of the question that say
    little; and how well it fits, which is less where it is of somebody else, or said by
    somebody else beside the user's own answer."""
    asked, recall = lens.asked, lens.recall
    if asked is None or not asked.parts:
        yield from [(0.0, 1.0, 1.0)] * len(found)
        return
    statements = [
        told(memory.text, memory.fact.predicate if memory.fact else "", own=_of_user(memory, lens))
        for memory in (one.memory for one in found)
    ]
    names = called(statements)
    reads = [
        read(asked, statement, names, (one.memory.actor_id or "").lower())
        for one, statement in zip(found, statements, strict=True)
    ]
    # What others say of themselves is no answer where the user's own is known.
    known = asked.own and any(
        statement.stated and one.tells >= _TOLD and not one.another
        for one, statement in zip(reads, statements, strict=True)
    )
    for one, statement, (tells, sure, another) in zip(found, statements, reads, strict=True):
        others = known and not statement.stated and not _by_user(one.memory, lens)
        told_of = tells if sure else lens.spoken * tells
        fits = 1 - recall.another_penalty if another or others else 1.0
        yield told_of, 1.0 if tells or not statement.stated else 0.0, fits


def _of_user(memory: Memory, lens: Lens) -> bool:
    return told_of_user(memory.text, by_user=_by_user(memory, lens))


def _by_user(memory: Memory, lens: Lens) -> bool:
    return memory.actor_id in (None, lens.owner)


def _hit(look: _Look) -> Hit:
    one, parts = look.found, dict(zip(_PARTS, look.parts, strict=True))
    found_by = {"dense": parts["semantic"] > 0, "keyword": one.keyword > 0, "relation": bool(one.edges)}
    return Hit(
        memory=one.memory,
        score=look.score,
        relevance=look.relevance,
        parts=parts,
        channels=tuple(channel for channel, found in found_by.items() if found),
        ranks=one.ranks,
        words=one.words,
    )


def _timely(memory: Memory, lens: Lens) -> float:
    if memory.event_time is None:
        return 0.0
    recall = lens.recall
    return wanted.nearness(
        memory.event_time, lens.periods, before=recall.period_days_before, after=recall.period_days_after
    )


def _reason(look: _Look, lens: Lens, told: Sequence[_Text], held: Mapping[str, int]) -> Reason | None:
    return "below threshold" if look.relevance < lens.threshold else _full_or_told(look.found.memory, lens, told, held)


def _full_or_told(memory: Memory, lens: Lens, told: Sequence[_Text], held: Mapping[str, int]) -> Reason | None:
    """Whether the memory's category has no room for it, or a text before it says the same."""
    category = lens.categories.get(memory.category)
    if category is not None and category.rag_length and held.get(memory.category, 0) >= category.rag_length:
        return "category full"
    text, least = _text(memory), lens.recall.duplicate_similarity
    return "near-duplicate" if any(_same(text, twin, least) for twin in told) else None


def twins(one: Memory, other: Memory, lens: Lens) -> bool:
    """Whether two memories say the same, so that one of them is left out."""
    return _same(_text(one), _text(other), lens.recall.duplicate_similarity)


def _same(one: _Text, other: _Text, least: float) -> bool:
    """Whether two texts say the same. Of nearly the same words, a number is another fact, and a stop word makes a denial.

    What is quickly known is asked first: it takes time to read a text for the first time."""
    if one[1] != other[1] or not _alike(words.lexeme_set(one[0]), words.lexeme_set(other[0]), least):
        return False
    return negated(one[0]) == negated(other[0])


def _text(memory: Memory) -> _Text:
    return memory.text, words.numbers(memory.text)


def _alike(a: frozenset[str], b: frozenset[str], least: float) -> bool:
    """Whether lexemes overlap by at least this much (Jaccard); sets of unlike size cannot."""
    small, large = (len(a), len(b)) if len(a) < len(b) else (len(b), len(a))
    if not 0 < least * large <= small:
        return False
    both = len(a & b)
    return both >= least * (small + large - both)
