"""Ranking: raw signals of the channels become one score, the sum of its parts, and one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from math import log
from typing import NamedTuple

from muniment.memory.config.schema import Category, EmbedderProfile, RecallSettings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import TRUST_RANK, Memory
from muniment.memory.domain.query import Hit, Omission, Reason
from muniment.memory.domain.search import LOWEST_MEANING, SearchHit, Weights
from muniment.memory.rules.dates.spans import Interval
from muniment.memory.rules.language import tokens
from muniment.memory.rules.retrieval import query_hints
from muniment.memory.rules.retrieval.intents import is_user_statement as told_of_user, read_intents
from muniment.memory.rules.retrieval.question import (
    MAX_HINTS,
    ParsedQuestion,
    collect_aliases,
    find_hint_dimensions,
    is_about_user,
    match_statement,
)
from muniment.memory.rules.retrieval.traits import ASKING, DATED, NAMING
from muniment.memory.rules.statements.parse import parse_statement

_TRUST_GAP = 1e-6
_TextKey = tuple[str, frozenset[str]]  # with its numbers
_DAY = 86_400.0
_MAX_RELATED = 2
_ANSWER_COVERAGE = 0.75  # of what is asked, from which a statement is taken for the answer
WEIGHTED_PARTS = (
    "semantic", "keyword", "actor", "own", "period", "dated", "asking", "name", "recency", "importance", "pinned", "relation",
    "told",
)  # fmt: skip
# And what makes the score another than their sum, so that all parts add up to it.
_SCORE_PARTS = (*WEIGHTED_PARTS, "least", "insight", "another", "trust")
_GATE_CANDIDATES = 16  # the best of so many decides whether anything is relevant at all


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingContext:
    """By what hits are judged: the query, the time, and the settings."""

    query: str
    at: datetime
    profile: EmbedderProfile
    recall: RecallSettings
    categories: Mapping[str, Category]
    threshold: float
    gate: float = 0.0  # relevance that the best must reach, or nothing is relevant
    speakers: frozenset[str] = frozenset()  # whom of those who spoke the query names, in lower case
    unknown_name_ratio: float = 0.0  # share of the names in the query that nothing in scope has, [0, 1]
    periods: tuple[Interval, ...] = ()  # that the query names
    owner: str = ""  # the user
    about_user: bool = False  # whether the query is about the user
    question: ParsedQuestion | None = None  # what it asks for, where it is read closely
    speech_weight: float = 0.0  # how much it counts then what a turn of a conversation tells, [0, 1]


def build_weights(query: str, profile: EmbedderProfile, recall: RecallSettings) -> Weights:
    """By what the store picks its candidates: the score without what only orders the relevant, nor by a meaning that the embedder
    cannot read."""
    own = is_about_user(query)
    told_by = (
        dict.fromkeys(find_hint_dimensions(query, MAX_HINTS), recall.hint_boost) if own and recall.hint_boost else {}
    )
    return Weights(
        floor=profile.floor,
        ceiling=profile.ceiling,
        semantic=recall.semantic_weight if tokens.is_legible(profile.scripts, query) else 0.0,
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
            NAMING: recall.name_boost if query_hints.is_name_question(query) else 0.0,
        },
    )


def compute_gate(corpus_size: int, recall: RecallSettings) -> float:
    """The relevance that the best of so many memories has to reach: the highest of n chance values grows with log n."""
    share = min(1.0, log(max(1, corpus_size)) / log(max(2, recall.gate_whole_from)))
    return recall.gate_of_one + (recall.gate - recall.gate_of_one) * share


def compute_speech_weight(corpus_size: int, recall: RecallSettings) -> float:
    """How much it counts what one of so many turns of a conversation tells, which leaves open of whom it is."""
    return max(0.0, 1 - log(max(1, corpus_size)) / log(max(2, recall.told_among)))


def rank_hits(search_hits: Sequence[SearchHit], context: RankingContext) -> Iterator[Hit | Omission]:
    """Hits above the threshold, best first, near-duplicates collapsed, and between them what is left out with the reason.

    The threshold is on relevance (meaning and words), and so is the gate, which the best has to pass; all else only
    orders what is relevant. Nothing is judged before it is asked for."""
    earlier_texts: list[_TextKey] = []
    category_counts: Counter[str] = Counter()
    scored_hits = _sort_hits(search_hits, context)
    if max((look.relevance for look in scored_hits[:_GATE_CANDIDATES]), default=0.0) < context.gate:
        yield from (
            Omission(id=look.search_hit.memory.id, reason="below threshold", score=look.score) for look in scored_hits
        )
        return
    for look in scored_hits:
        memory = look.search_hit.memory
        reason = _find_omission_reason(look, context, earlier_texts, category_counts)
        if reason is not None:
            yield Omission(id=memory.id, reason=reason, score=look.score)
            continue
        earlier_texts.append(_make_text_key(memory))
        category_counts[memory.category] += 1
        yield _build_hit(look)


def score_hits(search_hits: Sequence[SearchHit], context: RankingContext) -> list[Hit]:
    """All that was found with its score, best first; of equals the smaller id."""
    return [_build_hit(look) for look in _sort_hits(search_hits, context)]


def find_related_hits(
    search_hits: Sequence[SearchHit], hits: Sequence[Hit], context: RankingContext, *, min_strength: float
) -> list[Hit]:
    """What an edge of at least this strength ties to a kept hit: the two strongest that say something else (S-20).

    Only what is not relevant enough on its own is brought along, and never an insight."""
    hubs = {hit.memory.id for hit in hits}
    tied = [
        (*_find_strongest_edge(one, hubs), one)
        for one in search_hits
        if one.edges and one.memory.kind != "insight" and hubs & one.edges.keys()
    ]
    if not tied:
        return []
    earlier_texts = [_make_text_key(hit.memory) for hit in hits]
    category_counts = Counter(hit.memory.category for hit in hits)
    brought: list[Hit] = []
    for strength, hub, one in sorted(tied, key=lambda edge: (-edge[0], edge[2].memory.id)):
        if strength < min_strength or len(brought) == _MAX_RELATED:
            break
        [look] = _compute_scores([one], context)
        if (
            look.relevance < context.threshold
            and _find_redundancy_reason(one.memory, context, earlier_texts, category_counts) is None
        ):
            earlier_texts.append(_make_text_key(one.memory))
            category_counts[one.memory.category] += 1
            brought.append(replace(_build_hit(look), related_to=hub))
    return brought


class _ScoredHit(NamedTuple):
    """What was found, as the lens shows it: a hit is made only of what is asked for."""

    score: float
    relevance: float
    parts: tuple[float, ...]  # of the score, in the order of _PARTS
    search_hit: SearchHit


def _sort_hits(search_hits: Sequence[SearchHit], context: RankingContext) -> list[_ScoredHit]:
    scored_hits = _order_by_trust(_compute_scores(search_hits, context), context.recall.duplicate_similarity)
    return sorted(scored_hits, key=lambda look: (-look.score, look.search_hit.memory.id))


def _order_by_trust(scored_hits: list[_ScoredHit], min_overlap: float) -> list[_ScoredHit]:
    """The looks, none of them above one that a more trusted source says of the same thing, or in nearly the same words."""
    levels = sorted({TRUST_RANK[look.search_hit.memory.trust] for look in scored_hits}, reverse=True)
    if len(levels) <= 1:
        return scored_hits
    done: list[_ScoredHit] = []
    for level in levels:
        more_trusted = tuple(done)
        for look in scored_hits:
            if TRUST_RANK[look.search_hit.memory.trust] == level:
                above = [other.score for other in more_trusted if _are_rivals(other, look, min_overlap)]
                done.append(_place_behind(look, min(above)) if above and look.score >= min(above) else look)
    return done


def _place_behind(look: _ScoredHit, other: float) -> _ScoredHit:
    score = other - _TRUST_GAP
    return look._replace(score=score, parts=(*look.parts[:-1], score - look.score))


def _are_rivals(one: _ScoredHit, other: _ScoredHit, min_overlap: float) -> bool:
    mine, its = one.search_hit.memory, other.search_hit.memory
    if mine.fact is not None and its.fact is not None and mine.fact.attribute == its.fact.attribute:
        return True
    return _is_similar(tokens.get_lexeme_set(mine.text), tokens.get_lexeme_set(its.text), min_overlap)


def _find_strongest_edge(one: SearchHit, hubs: AbstractSet[MemoryId]) -> tuple[float, MemoryId]:
    return max(((one.edges[id_], id_) for id_ in hubs & one.edges.keys()), key=lambda edge: (edge[0], edge[1]))


def _compute_scores(search_hits: Sequence[SearchHit], context: RankingContext) -> list[_ScoredHit]:
    recall = context.recall
    floor, ceiling = context.profile.floor, context.profile.ceiling
    for_a_name = recall.name_boost if query_hints.is_name_question(context.query) else 0.0
    known = 1 - recall.strange_penalty * context.unknown_name_ratio
    [named] = context.speakers if len(context.speakers) == 1 else [None]
    scored_hits = []
    for one, meant, (tells, worded, fits) in zip(
        search_hits, _read_cosines(search_hits, context), _match_question(search_hits, context), strict=True
    ):
        memory = one.memory
        meaning = min(1.0, max(LOWEST_MEANING, (meant - floor) / (ceiling - floor)))
        keyword = min(1.0, one.keyword)
        age = max(0.0, (context.at - memory.updated_at).total_seconds() / _DAY)
        dated, asking, naming = one.traits
        of_user = context.about_user and _is_about_user(memory, context)
        theirs = context.about_user and not of_user and not _is_said_by_user(memory, context)
        parts = (
            recall.semantic_weight * meaning,
            recall.keyword_weight * keyword,
            recall.actor_boost if named is not None and (memory.actor_id or "").lower() == named else 0.0,
            recall.own_boost if of_user else 0.0,
            recall.period_boost * _compute_nearness(memory, context) if context.periods else 0.0,
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
        scored_hits.append(_ScoredHit(score, answered * known * fits * nearly, parts + held, one))
    return scored_hits


def _read_cosines(search_hits: Sequence[SearchHit], context: RankingContext) -> Iterator[float]:
    """The cosines; the floor where there is none, or where the embedder does not know the script."""
    floor, scripts = context.profile.floor, context.profile.scripts
    read = tokens.is_legible(scripts, context.query)
    for one in search_hits:
        unread = not read or not tokens.is_legible(scripts, one.memory.text)
        yield floor if one.cosine is None or unread else one.cosine


def _match_question(search_hits: Sequence[SearchHit], context: RankingContext) -> Iterator[tuple[float, float, float]]:
    """Of each, how much of what is asked it tells; how much its words count, which may be those of the question that say
    little; and how well it fits, which is less where it is of somebody else, or said by
    somebody else beside the user's own answer."""
    asked, recall = context.question, context.recall
    if asked is None or not asked.parts:
        yield from [(0.0, 1.0, 1.0)] * len(search_hits)
        return
    statements = [
        read_intents(
            memory.text, memory.fact.predicate if memory.fact else "", about_user=_is_about_user(memory, context)
        )
        for memory in (one.memory for one in search_hits)
    ]
    names = collect_aliases(statements)
    reads = [
        match_statement(asked, statement, names, (one.memory.actor_id or "").lower())
        for one, statement in zip(search_hits, statements, strict=True)
    ]
    # What others say of themselves is no answer where the user's own is known.
    known = asked.about_user and any(
        statement.about_user and one.coverage >= _ANSWER_COVERAGE and not one.about_other
        for one, statement in zip(reads, statements, strict=True)
    )
    for one, statement, (tells, sure, another) in zip(search_hits, statements, reads, strict=True):
        others = known and not statement.about_user and not _is_said_by_user(one.memory, context)
        told_of = tells if sure else context.speech_weight * tells
        fits = 1 - recall.another_penalty if another or others else 1.0
        yield told_of, 1.0 if tells or not statement.about_user else 0.0, fits


def _is_about_user(memory: Memory, context: RankingContext) -> bool:
    return told_of_user(memory.text, by_user=_is_said_by_user(memory, context))


def _is_said_by_user(memory: Memory, context: RankingContext) -> bool:
    return memory.actor_id in (None, context.owner)


def _build_hit(look: _ScoredHit) -> Hit:
    one, parts = look.search_hit, dict(zip(_SCORE_PARTS, look.parts, strict=True))
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


def _compute_nearness(memory: Memory, context: RankingContext) -> float:
    if memory.event_time is None:
        return 0.0
    recall = context.recall
    return query_hints.compute_nearness(
        memory.event_time, context.periods, before=recall.period_days_before, after=recall.period_days_after
    )


def _find_omission_reason(
    look: _ScoredHit, context: RankingContext, earlier_texts: Sequence[_TextKey], category_counts: Mapping[str, int]
) -> Reason | None:
    return (
        "below threshold"
        if look.relevance < context.threshold
        else _find_redundancy_reason(look.search_hit.memory, context, earlier_texts, category_counts)
    )


def _find_redundancy_reason(
    memory: Memory, context: RankingContext, earlier_texts: Sequence[_TextKey], category_counts: Mapping[str, int]
) -> Reason | None:
    """Whether the memory's category has no room for it, or a text before it says the same."""
    category = context.categories.get(memory.category)
    if category is not None and category.rag_length and category_counts.get(memory.category, 0) >= category.rag_length:
        return "category full"
    text, least = _make_text_key(memory), context.recall.duplicate_similarity
    return "near-duplicate" if any(_is_same_text(text, twin, least) for twin in earlier_texts) else None


def is_near_duplicate(one: Memory, other: Memory, context: RankingContext) -> bool:
    """Whether two memories say the same, so that one of them is left out."""
    return _is_same_text(_make_text_key(one), _make_text_key(other), context.recall.duplicate_similarity)


def _is_same_text(one: _TextKey, other: _TextKey, min_overlap: float) -> bool:
    """Whether two texts say the same. Of nearly the same words, a number is another fact, and a stop word makes a denial.

    What is quickly known is asked first: it takes time to read a text for the first time."""
    if one[1] != other[1] or not _is_similar(
        tokens.get_lexeme_set(one[0]), tokens.get_lexeme_set(other[0]), min_overlap
    ):
        return False
    return parse_statement(one[0]).is_negated == parse_statement(other[0]).is_negated


def _make_text_key(memory: Memory) -> _TextKey:
    return memory.text, tokens.extract_numbers(memory.text)


def _is_similar(a: frozenset[str], b: frozenset[str], min_overlap: float) -> bool:
    """Whether lexemes overlap by at least this much (Jaccard); sets of unlike size cannot."""
    small, large = (len(a), len(b)) if len(a) < len(b) else (len(b), len(a))
    if not 0 < min_overlap * large <= small:
        return False
    both = len(a & b)
    return both >= min_overlap * (small + large - both)
