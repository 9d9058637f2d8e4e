"""Ranking: the signals of the search channels become one score, the sum of its parts, and one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import log
from typing import NamedTuple

from muniment.memory.config.recall import RecallSettings
from muniment.memory.config.schema import Category, EmbedderProfile
from muniment.memory.domain.memory import TRUST_RANK, StoredMemory, list_replaced
from muniment.memory.domain.query import Hit, Omission, Reason
from muniment.memory.domain.search import LOWEST_MEANING, SearchHit, Weights
from muniment.memory.rules.dates.spans import Interval
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.retrieval.intents import (
    ASKING,
    DATED,
    NAMING,
    find_dimensions,
    is_user_statement,
    read_intents,
)
from muniment.memory.rules.retrieval.question import (
    ParsedQuestion,
    collect_aliases,
    compute_nearness,
    match_statement,
    parse_question,
)
from muniment.memory.rules.retrieval.shares import share_places
from muniment.memory.rules.statements.parse import parse_statement

# Reasons why a hit is not relevant enough.
CUTS: frozenset[Reason] = frozenset({"below threshold", "far below the best", "no more alike than the rest"})
_TRUST_GAP = 1e-6
_MAX_HINTS = 128  # dimensions, with which the words of each memory are compared
_DAY = 86_400.0
_MAX_RELATED = 2
_ANSWER_COVERAGE = 0.75  # of what is asked, from which a statement counts as the answer
GATE_CANDIDATES = 16  # the best of so many decides whether anything is relevant at all
WEIGHTED_PARTS = (
    *("semantic", "keyword", "actor", "own", "period", "dated", "asking", "name"),
    *("recency", "importance", "pinned", "relation", "told"),
)
_TELLING = (WEIGHTED_PARTS.index("told"), WEIGHTED_PARTS.index("period"))
# The corrections after the sum of the weighted parts, so that all parts add up to the score.
_SCORE_PARTS = (*WEIGHTED_PARTS, "least", "insight", "another", "trust")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingContext:
    """What hits are ranked by: the query, the time, and the settings."""

    query: str
    at: datetime
    profile: EmbedderProfile
    recall: RecallSettings
    categories: Mapping[str, Category]
    threshold: float
    cut_share: float = 0.0  # of the best hit's relevance that each hit has to reach
    least_cosine: float = -1.0  # of a hit without a telling word; -1.0 asks for none
    gate: float = 0.0  # least relevance of the best hit; below it nothing is relevant
    names: frozenset[str] = frozenset()  # terms of the query that are proper nouns
    speakers: frozenset[str] = frozenset()  # speakers whom the query names, in lower case
    unknown_name_ratio: float = 0.0  # share of the names in the query that no memory in scope has, [0, 1]
    periods: tuple[Interval, ...] = ()  # that the query names
    owner: str = ""  # the user
    about_user: bool = False  # whether the query is about the user
    question: ParsedQuestion | None = None  # what the query asks for, where statements are matched with it
    corpus_size: int = 1  # memories that the search was made among


def build_weights(query: str, profile: EmbedderProfile, recall: RecallSettings) -> Weights:
    """Return the weights by which the store picks candidates.

    They have no parts that only order relevant hits, and no meaning if the embedder does not know the script."""
    question = parse_question(query)
    bands = choose_bands(profile, query, query) if profile.by_writing else profile
    own = question.concerns_user
    hints = find_dimensions(question.intents, _MAX_HINTS) if own and recall.hint_boost else ()
    traits = {
        DATED: recall.dated_boost,
        ASKING: -recall.asking_penalty,
        NAMING: recall.name_boost if question.asks_name else 0.0,
    }
    return Weights(
        floor=bands.floor,
        ceiling=bands.ceiling,
        semantic=recall.semantic_weight if tokens.is_legible(profile.scripts, query) else 0.0,
        keyword=recall.keyword_weight,
        actor=recall.actor_boost,
        # The match with the question is computed later; half of its weight is assumed here.
        own=recall.own_boost + recall.told_weight / 2 if own and recall.own_boost else 0.0,
        timely=recall.period_boost,
        before=recall.period_days_before * _DAY,
        after=recall.period_days_after * _DAY,
        traits=dict.fromkeys(hints, recall.hint_boost) | traits,
    )


def compute_gate(corpus_size: int, recall: RecallSettings) -> float:
    """Return the relevance that the best of so many memories has to reach.

    It grows with log n, as the highest of n random values does."""
    share = min(1.0, log(max(1, corpus_size)) / log(max(2, recall.gate_whole_from)))
    return recall.gate_of_one + (recall.gate - recall.gate_of_one) * share


def rank_hits(search_hits: Sequence[SearchHit], context: RankingContext) -> Iterator[Hit | Omission]:
    """Yield the hits above the threshold, best first, without near-duplicates, and between them the omissions.

    The threshold and the gate, which the best hit has to reach, are on relevance (meaning and words). All other signals
    only order relevant hits. Where the query has several names, the hits of each come by turns. Each item is computed
    when it is requested."""
    shown: list[StoredMemory] = []
    category_counts: Counter[str] = Counter()
    scored_hits = _sort_hits(search_hits, context)
    best = max((scored.relevance for scored in scored_hits[:GATE_CANDIDATES]), default=0.0)
    order, bests = list(range(len(scored_hits))), [best] * len(scored_hits)
    if best >= context.gate and len(context.names) > 1:
        relevant = [(scored.search_hit.memory, scored.relevance) for scored in scored_hits]
        order, bests = share_places(relevant, context.names, best)
    for place in order:
        scored = scored_hits[place]
        memory = scored.search_hit.memory
        reason = "below threshold" if best < context.gate else _find_cut(scored, bests[place], context)
        if reason is None:
            reason = _find_redundancy_reason(memory, context, shown, category_counts)
        if reason is not None:
            yield Omission(id=memory.id, reason=reason, score=scored.score, relevance=scored.relevance, memory=memory)
            continue
        shown.append(memory)
        category_counts[memory.category] += 1
        yield _build_hit(scored)


def score_hits(search_hits: Sequence[SearchHit], context: RankingContext) -> list[Hit]:
    """Return all hits with their scores, best first; of equals the smaller id."""
    return [_build_hit(scored) for scored in _sort_hits(search_hits, context)]


def find_related_hits(
    search_hits: Sequence[SearchHit], hits: Sequence[Hit], context: RankingContext, *, min_strength: float
) -> list[Hit]:
    """Return the two strongest memories that an edge of at least `min_strength` connects with a hit.

    They are below the threshold by themselves, repeat no hit, and are no insights."""
    hubs = {hit.memory.id for hit in hits}
    edges = [
        (*max((hit.edges[id_], id_) for id_ in hubs & hit.edges.keys()), hit)
        for hit in search_hits
        if hit.edges and hit.memory.kind != "insight" and hubs & hit.edges.keys()
    ]
    if not edges:
        return []
    shown = [hit.memory for hit in hits]
    category_counts = Counter(hit.memory.category for hit in hits)
    related: list[Hit] = []
    for strength, hub, hit in sorted(edges, key=lambda edge: (-edge[0], edge[2].memory.id)):
        if strength < min_strength or len(related) == _MAX_RELATED:
            break
        [scored] = _score_hits([hit], context)
        if (
            scored.relevance < context.threshold
            and _find_redundancy_reason(hit.memory, context, shown, category_counts) is None
        ):
            shown.append(hit.memory)
            category_counts[hit.memory.category] += 1
            related.append(replace(_build_hit(scored), related_to=hub))
    return related


def _find_cut(scored: _ScoredHit, best: float, context: RankingContext) -> Reason | None:
    """Return why a hit is not relevant enough, or None; `best` is the relevance of the best hit.

    A hit that tells what is asked, is of a time that is asked about, or has a telling word of the query may be as
    unlike the query as the rest of its space."""
    if scored.relevance < context.threshold:
        return "below threshold"
    if scored.relevance < context.cut_share * best:
        return "far below the best"
    hit = scored.search_hit
    if hit.cosine is None or hit.cosine >= context.least_cosine or hit.keyword >= context.recall.cut_words:
        return None
    return None if any(scored.parts[place] > 0 for place in _TELLING) else "no more alike than the rest"


class _ScoredHit(NamedTuple):
    """A search hit with its score; a `Hit` is built only for what is returned."""

    score: float
    relevance: float
    parts: tuple[float, ...]  # of the score, in the order of _SCORE_PARTS
    search_hit: SearchHit


def _sort_hits(search_hits: Sequence[SearchHit], context: RankingContext) -> list[_ScoredHit]:
    scored_hits = _score_hits(search_hits, context)
    if len({scored.search_hit.memory.trust for scored in scored_hits}) > 1:
        scored_hits = _order_by_trust(scored_hits, context.recall.duplicate_similarity)
    ordered = sorted(
        scored_hits,
        key=lambda scored: (-scored.score, scored.search_hit.shared is not None, scored.search_hit.memory.id),
    )
    return _put_newer_first(ordered) if any(scored.search_hit.memory.tags for scored in ordered) else ordered


def _put_newer_first(scored_hits: list[_ScoredHit]) -> list[_ScoredHit]:
    """The hits with each memory that perhaps replaces another one before that one."""
    marked = [scored for scored in scored_hits if list_replaced(scored.search_hit.memory)]
    for scored in reversed(marked):
        replaced = set(list_replaced(scored.search_hit.memory))
        at = scored_hits.index(scored)
        places = [n for n, other in enumerate(scored_hits[:at]) if str(other.search_hit.memory.id) in replaced]
        if places:
            scored_hits.insert(places[0], scored_hits.pop(at))
    return scored_hits


def _order_by_trust(scored_hits: list[_ScoredHit], min_overlap: float) -> list[_ScoredHit]:
    """Return the hits, each with a score below more trusted ones about the same thing or in nearly the same words."""
    ordered: list[_ScoredHit] = []
    for level in sorted({TRUST_RANK[scored.search_hit.memory.trust] for scored in scored_hits}, reverse=True):
        more_trusted = tuple(ordered)
        for scored in scored_hits:
            if TRUST_RANK[scored.search_hit.memory.trust] == level:
                above = [other.score for other in more_trusted if _are_rivals(other, scored, min_overlap)]
                if above and scored.score >= min(above):
                    score = min(above) - _TRUST_GAP
                    scored = scored._replace(score=score, parts=(*scored.parts[:-1], score - scored.score))  # noqa: PLW2901
                ordered.append(scored)
    return ordered


def _are_rivals(one: _ScoredHit, other: _ScoredHit, min_overlap: float) -> bool:
    a, b = one.search_hit.memory, other.search_hit.memory
    if a.fact is not None and b.fact is not None and a.fact.attribute == b.fact.attribute:
        return True
    return _is_similar(tokens.get_lexeme_set(a.text), tokens.get_lexeme_set(b.text), min_overlap)


def _score_hits(search_hits: Sequence[SearchHit], context: RankingContext) -> list[_ScoredHit]:
    recall, profile, scripts = context.recall, context.profile, context.profile.scripts
    name_boost = recall.name_boost if parse_question(context.query).asks_name else 0.0
    known_names = 1 - recall.strange_penalty * context.unknown_name_ratio
    is_legible = tokens.is_legible(scripts, context.query)
    [speaker] = context.speakers if len(context.speakers) == 1 else [None]
    # In a space that others share, "the user" is whoever said it.
    by_user = [
        hit.memory.actor_id == context.owner or (hit.memory.actor_id is None and hit.shared is None)
        for hit in search_hits
    ]
    about_user = [
        is_user_statement(hit.memory.text, by_user=by) and (by or hit.shared is None)
        for hit, by in zip(search_hits, by_user, strict=True)
    ]
    matches = _match_question(search_hits, by_user, about_user, context)
    scored_hits = []
    for hit, by, about, (told, word_weight, fit) in zip(search_hits, by_user, about_user, matches, strict=True):
        memory, keyword = hit.memory, min(1.0, hit.keyword)
        has_meaning = hit.cosine is not None and is_legible and tokens.is_legible(scripts, memory.text)
        bands = choose_bands(profile, context.query, memory.text) if profile.by_writing else profile
        cosine = hit.cosine if has_meaning and hit.cosine is not None else bands.floor
        meaning = min(1.0, max(LOWEST_MEANING, (cosine - bands.floor) / (bands.ceiling - bands.floor)))
        age = max(0.0, (context.at - memory.updated_at).total_seconds() / _DAY)
        dated, asking, naming = hit.traits
        answered = 1 - (1 - max(0.0, meaning)) * (
            1 - min(1.0, max(told, word_weight * recall.keyword_relevance * keyword))
        )
        others = 1 - recall.others_penalty if context.about_user and not about and not by else 1.0
        relevance = answered * known_names * fit * others
        parts = (
            recall.semantic_weight * meaning,
            recall.keyword_weight * keyword,
            recall.actor_boost if speaker is not None and (memory.actor_id or "").lower() == speaker else 0.0,
            recall.own_boost * relevance if context.about_user and about else 0.0,
            recall.period_boost * _compute_nearness(memory, context) if context.periods else 0.0,
            recall.dated_boost * dated,
            -recall.asking_penalty * asking,
            name_boost * naming,
            recall.recency_weight * 0.5 ** (age / recall.recency_half_life_days),
            recall.importance_weight * (memory.importance - 1) / 4,
            recall.pinned_boost if memory.pinned else 0.0,
            recall.relation_weight * max(hit.edges.values()) if hit.edges else 0.0,
            recall.told_weight * told,
        )
        total = sum(parts)
        least = max(0.0, total)
        whole = least * (recall.insight_factor if memory.kind == "insight" else 1)
        score = whole * fit
        corrections = (least - total, whole - least, score - whole, 0.0)
        scored_hits.append(_ScoredHit(score, relevance, parts + corrections, hit))
    return scored_hits


def _match_question(
    search_hits: Sequence[SearchHit], by_user: Sequence[bool], about_user: Sequence[bool], context: RankingContext
) -> Iterator[tuple[float, float, float]]:
    """Yield for each hit the share of the question that it answers, the weight of its words, and its fit.

    The words have no weight where only light words match. The fit is lower for a statement about somebody else, and for
    one by somebody else beside the user's own answer."""
    question, recall = context.question, context.recall
    if question is None or not question.parts:
        yield from [(0.0, 1.0, 1.0)] * len(search_hits)
        return
    memories = [hit.memory for hit in search_hits]
    statements = [
        read_intents(memory.text, memory.fact.predicate if memory.fact else "", about_user=about)
        for memory, about in zip(memories, about_user, strict=True)
    ]
    # Turns of a conversation rarely say whom they are about. The more of them, the less a match in one counts.
    speech_weight = max(0.0, 1 - log(max(1, context.corpus_size)) / log(max(2, recall.told_among)))
    names = collect_aliases(statements)
    matches = [
        match_statement(question, statement, names, (memory.actor_id or "").lower())
        for memory, statement in zip(memories, statements, strict=True)
    ]
    # A statement of others about themselves is no answer beside the user's own.
    has_own_answer = question.about_user and any(
        about and match.coverage >= _ANSWER_COVERAGE and not match.about_other
        for about, match in zip(about_user, matches, strict=True)
    )
    for by, about, (coverage, is_certain, about_other) in zip(by_user, about_user, matches, strict=True):
        by_others = has_own_answer and not about and not by
        told = coverage if is_certain else speech_weight * coverage
        fit = 1 - recall.another_penalty if about_other or by_others else 1.0
        yield told, 1.0 if coverage or not about else 0.0, fit


def _build_hit(scored: _ScoredHit) -> Hit:
    search_hit, parts = scored.search_hit, dict(zip(_SCORE_PARTS, scored.parts, strict=True))
    channels = {"dense": parts["semantic"] > 0, "keyword": search_hit.keyword > 0, "relation": bool(search_hit.edges)}
    return Hit(
        memory=search_hit.memory,
        score=scored.score,
        relevance=scored.relevance,
        parts=parts,
        channels=tuple(channel for channel, is_hit in channels.items() if is_hit),
        ranks=search_hit.ranks,
        words=search_hit.words,
        rivals=search_hit.rivals,
        shared_by=search_hit.shared.owner_type if search_hit.shared else None,
    )


def _compute_nearness(memory: StoredMemory, context: RankingContext) -> float:
    if memory.event_time is None:
        return 0.0
    before, after = context.recall.period_days_before, context.recall.period_days_after
    return compute_nearness(memory.event_time, context.periods, before=before, after=after)


def _find_redundancy_reason(
    memory: StoredMemory, context: RankingContext, earlier: Sequence[StoredMemory], category_counts: Mapping[str, int]
) -> Reason | None:
    """Return the reason to omit a memory whose category is full, or whose text repeats an earlier one."""
    category = context.categories.get(memory.category)
    if category is not None and category.rag_length and category_counts.get(memory.category, 0) >= category.rag_length:
        return "category full"
    return "near-duplicate" if any(is_near_duplicate(memory, other, context) for other in earlier) else None


def is_near_duplicate(one: StoredMemory, other: StoredMemory, context: RankingContext) -> bool:
    """Whether two memories say the same, so that one of them is omitted: nearly the same words, the same numbers, and
    no negation in one only.

    The cheap tests come first: to parse a text for the first time is slow."""
    a, b = one.text, other.text
    return (
        _is_similar(tokens.get_lexeme_set(a), tokens.get_lexeme_set(b), context.recall.duplicate_similarity)
        and tokens.extract_numbers(a) == tokens.extract_numbers(b)
        and parse_statement(a).is_negated == parse_statement(b).is_negated
    )


def _is_similar(a: frozenset[str], b: frozenset[str], min_overlap: float) -> bool:
    """Whether the Jaccard overlap of lexemes is at least `min_overlap`, which sets of unlike size cannot reach."""
    small, large = sorted((len(a), len(b)))
    if not 0 < min_overlap * large <= small:
        return False
    common = len(a & b)
    return common >= min_overlap * (small + large - common)
