"""The read flow: allow -> embed -> search (one statement) -> rank -> pack -> render."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from math import isnan

from muniment.memory import codec
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Answer, Brief, Hit, Omission, Query, Returns
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Search, SearchSnapshot
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import BadInput, Denied
from muniment.memory.fence import fence_text
from muniment.memory.flows.house import House, sanitize_text
from muniment.memory.flows.reading import as_of as asof
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.retrieval import query_hints, render
from muniment.memory.rules.retrieval.pack import RenderHit, RenderPayload, encode_payload, pack_hits
from muniment.memory.rules.retrieval.question import find_hint_dimensions, is_about_user, parse_question
from muniment.memory.rules.retrieval.rank import (
    RankingContext,
    build_weights,
    compute_gate,
    compute_speech_weight,
    find_related_hits,
    rank_hits,
)

_MAX_CANDIDATES = 1_000  # candidates from which an answer is not looked for among more
_MAX_HINTS = 1_000  # lists of a large space that are looked into
_SMALL_TALK = frozenset({"greeting", "acknowledgement", "empty"})


async def query_memories(house: House, scope: Scope, agent: str, query: Query) -> Answer:
    """See `Memory.query`."""
    reader, search = await authorize_query(house, scope, agent, query)
    answer = (await retrieve_hits(house, reader, query, search)).answer
    if query.as_of is None:  # who reads the past uses nothing of today
        house.record_access(scope, answer.hits)
    await _track_search(house, scope, answer.hits)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """A request as it was answered: what was searched for and seen, by what it was judged, and what room there was."""

    search: Search
    snapshot: SearchSnapshot
    ranking: RankingContext
    token_budget: TokenBudget
    answer: Answer


async def authorize_query(house: House, scope: Scope, agent: str, query: Query) -> tuple[Reader, Search]:
    """Who reads, and what is searched for. Raises Denied, BadInput."""
    reader = Reader(scope=scope, allowed=house.get_allowed_categories(agent))
    categories = resolve_categories(house, agent, query, reader.allowed)
    if query.top_k > house.settings.limits.top_k:
        raise BadInput(f"top_k: {query.top_k} given, at most {house.settings.limits.top_k} allowed (limits.top_k)")
    if query.threshold is not None and isnan(query.threshold):
        raise BadInput("threshold: a number from 0 to 1 wanted")
    if query.filters.user_id not in (None, scope.owner):
        raise Denied("filters.user_id names another user than the one that asks", agent=agent)
    return reader, await prepare_search(house, query, categories)


async def retrieve_hits(house: House, reader: Reader, query: Query, search: Search) -> Retrieval:
    """The answer with all that it comes from. Nothing is noted."""
    as_of = await asof.resolve_revision(house, reader.scope, query.as_of)
    while True:
        snapshot = await house.store.read_snapshot(reader, search, as_of=as_of)
        asof.check_revision(snapshot.rev, as_of)
        if wider := _widen_search(house, search, snapshot):
            search = wider
            continue
        token_budget = TokenBudget(
            top_k=query.top_k,
            max_tokens=query.budget_tokens,
            render_hit=partial(_render_hit, query.returns),
            render_block=partial(_render_answer, query, snapshot.rev),
            is_exhaustive=query.explain,
        )
        ranking = _make_ranking_context(house, reader.scope, query.text, search, snapshot, query.threshold)
        kept, spent, left = _pack_hits(house, snapshot, ranking, token_budget)
        if len(snapshot.hits) < search.candidates or not _needs_more_candidates(search, kept, left, query.top_k):
            break
        search = replace(search, candidates=4 * search.candidates)
    answer = Answer(hits=tuple(kept), rev=snapshot.rev, tokens=spent, returns=query.returns, omissions=tuple(left))
    return Retrieval(search=search, snapshot=snapshot, ranking=ranking, token_budget=token_budget, answer=answer)


async def build_brief(house: House, scope: Scope, agent: str, text: str, as_of: Revision | None) -> Brief:
    """See `Memory.brief`. One transaction: profile, changes and search are of the same revision."""
    reader = Reader(
        scope=scope, allowed=house.get_allowed_categories(agent) - {CATEGORY}
    )  # how-to memory is asked for, never told
    as_of = await asof.resolve_revision(house, scope, as_of)
    recall, lookback = house.settings.recall, timedelta(hours=house.settings.delta.lookback_hours)
    lasting = sorted(name for name in reader.allowed if house.categories[name].context == "all")
    moving = tuple(sorted(reader.allowed - set(lasting)))
    query = Query(text=text, top_k=recall.context_bullets)
    search = (
        await prepare_search(house, query, moving) if gate.find_skip_reason(text, "user") not in _SMALL_TALK else None
    )
    look = partial(
        house.store.read_snapshot,
        reader,
        stable=lasting,
        stable_limit=house.settings.limits.profile_items,
        thread=scope.thread,
        horizon=house.clock.now() - lookback,
        as_of=as_of,
    )
    sight = await look(search)
    if search and (wider := _widen_search(house, search, sight)):
        sight = await look(wider)
    asof.check_revision(sight.rev, as_of)
    budget, bullets = recall.context_budget_tokens, house.settings.delta.bullets
    header = render.fit_delta_header(sight.delta, house.categories, bullets, budget) if sight.delta else ""

    def block(kept: Sequence[Hit]) -> str:
        return fence_text("\n".join(filter(None, [header, *map(render.format_context_line, kept)])))

    token_budget = TokenBudget(
        top_k=recall.context_bullets, max_tokens=budget, render_hit=render.format_context_line, render_block=block
    )
    kept, _, _ = _pack_hits(house, sight, _make_ranking_context(house, scope, text, search, sight, None), token_budget)
    if as_of is None:
        house.record_access(scope, kept)
    await _track_search(house, scope, kept)
    return Brief(
        rev=sight.rev,
        stable=render.render_stable(sight.stable, sight.profile),
        header=header,
        bullets=tuple(map(render.format_bullet, kept)),
        moving=block(kept),
    )


def _render_hit(returns: Returns, hit: Hit) -> str:
    return encode_payload(codec.encode_hit(hit, returns))


def _render_answer(query: Query, rev: Revision, kept: Sequence[Hit]) -> str:
    answer = Answer(hits=tuple(kept), rev=rev, tokens=0, returns=query.returns)
    return fence_text(encode_payload(codec.encode_answer(answer)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """How much an answer may hold, and what it looks like."""

    top_k: int
    max_tokens: int
    render_hit: RenderHit
    render_block: RenderPayload
    is_exhaustive: bool = False

    def pack_hits(self, ranked: Iterable[Hit | Omission]) -> tuple[list[Hit], int, list[Omission]]:
        return pack_hits(
            ranked,
            top_k=self.top_k,
            budget=self.max_tokens,
            render_hit=self.render_hit,
            render_payload=self.render_block,
            collect_all=self.is_exhaustive,
        )


def _pack_hits(
    house: House, snapshot: SearchSnapshot, ranking: RankingContext, token_budget: TokenBudget
) -> tuple[list[Hit], int, list[Omission]]:
    """What of a sight goes into the answer, its tokens, and what was left out: the relevant, then what an edge ties to it."""
    kept, spent, left = token_budget.pack_hits(rank_hits(snapshot.hits, ranking))
    # Who asks for more relevance than usual gets nothing less. Below the embedder's `check` band two texts are alike in
    # form only.
    if ranking.threshold <= house.settings.recall.threshold and len(kept) < token_budget.top_k:
        least = max(house.settings.write.link_min, house.profile.check)
        if beside := find_related_hits(snapshot.hits, kept, ranking, min_strength=least):
            kept, spent, _ = token_budget.pack_hits([*kept, *beside])
    shown = {hit.memory.id for hit in kept}
    return kept, spent, [one for one in left if one.id not in shown]


def _widen_search(house: House, search: Search, snapshot: SearchSnapshot) -> Search | None:
    """The search for all of a few memories that are read closely, where only words have picked the candidates: what tells the
    answer in other words may not be one of them."""
    recall = house.settings.recall
    closely = recall.told_weight and snapshot.corpus_size <= recall.told_among
    by_words = recall.semantic_weight and not search.weights.semantic
    return (
        replace(search, candidates=snapshot.corpus_size)
        if closely and by_words and search.candidates < snapshot.corpus_size
        else None
    )


def _needs_more_candidates(search: Search, kept: Sequence[Hit], left: Sequence[Omission], top_k: int) -> bool:
    """Whether others of the same words, or of a full category, may have stood before what there is room for.

    Behind candidates that end with what is not relevant nothing is."""
    if len(kept) >= top_k or not left or search.candidates >= _MAX_CANDIDATES:
        return False
    reasons = {one.reason for one in left}
    last = left[-1]
    ended = last.reason == "below threshold" and (not kept or last.score <= kept[-1].score)
    if ended or "over budget" in reasons:
        return False
    return "near-duplicate" in reasons or ("category full" in reasons and len(search.categories) > 1)


def _make_ranking_context(
    house: House, scope: Scope, text: str, search: Search | None, snapshot: SearchSnapshot, threshold: float | None
) -> RankingContext:
    recall = house.settings.recall
    text = text[: house.settings.limits.query_chars]
    names = query_hints.find_proper_nouns(text)
    known = {term for speaker in snapshot.speakers for term in tokens.extract_terms(speaker)}
    own = is_about_user(text)
    asks = parse_question(text) if recall.told_weight else None
    few = snapshot.corpus_size <= recall.told_among
    return RankingContext(
        query=text,
        at=house.clock.now(),
        profile=house.profile,
        recall=recall,
        categories=house.categories,
        threshold=recall.threshold if threshold is None else threshold,
        # No vector that is near by chance opens the gate where the embedder cannot read the question.
        gate=compute_gate(snapshot.corpus_size if tokens.is_legible(house.profile.scripts, text) else 1, recall)
        if threshold is None
        else 0.0,
        speakers=frozenset(snapshot.speakers),
        unknown_name_ratio=len(names & snapshot.missing_terms - known) / max(1, len(names)),
        periods=search.periods if search else (),
        owner=scope.owner,
        about_user=own,
        # A turn of a conversation leaves open of whom it is: among many, nothing of such is read into it (`spoken`).
        question=asks if asks and (few or own or asks.intents) else None,
        speech_weight=compute_speech_weight(snapshot.corpus_size, recall),
    )


async def mark_seen(house: House, scope: Scope, rev: Revision) -> None:
    """See `Memory.seen`. Raises BadInput without a thread."""
    if scope.thread is None:
        raise BadInput("a scope without a thread has no cursor")
    await house.store.advance_cursor(scope, scope.thread, rev)


def resolve_categories(house: House, agent: str, query: Query, allowed: frozenset[str]) -> tuple[str, ...]:
    """The categories to search: without any named all but how-to memory. Raises BadInput for an unknown one, Denied for the
    whole request when one is denied."""
    named = {*query.categories, *([] if query.filters.category is None else [query.filters.category])}
    if unknown := named - set(house.categories):
        known = ", ".join(sorted(house.categories))
        raise BadInput(f"unknown category {min(unknown)!r}; allowed: {known}")
    if denied := sorted(named - allowed):
        permitted = sorted(allowed)
        raise Denied(
            f"agent {agent!r} may not read {', '.join(denied)}; it may read {', '.join(permitted)}",
            agent=agent,
            denied=denied,
            allowed=permitted,
        )
    return tuple(sorted(query.categories or (allowed if CATEGORY in named else allowed - {CATEGORY})))


async def prepare_search(house: House, query: Query, categories: tuple[str, ...]) -> Search:
    """A query as the store takes it: embedded, its terms made."""
    # Redacted before it is cut: half a secret is no longer recognised as one.
    text = sanitize_text(house, query.text)[: house.settings.limits.query_chars]
    recall = house.settings.recall
    weighed = build_weights(text, house.profile, recall)
    return Search(
        vector=await house.embedder.embed_query(text),
        terms=query_hints.extract_terms(text),
        categories=categories,
        filters=query.filters,
        candidates=max(recall.candidates_own if weighed.own else recall.candidates, 5 * query.top_k // 4),
        weights=weighed,
        hints=find_hint_dimensions(text, _MAX_HINTS) if weighed.own and recall.hint_boost else frozenset(),
        periods=query_hints.find_periods(text, house.clock.now()) if recall.period_boost else (),
        speakers=tokens.extract_speaker_terms(text),
        explain=query.explain,
    )


async def _track_search(house: House, scope: Scope, kept: Sequence[Hit]) -> None:
    sim = round(kept[0].score, 4) if kept else None
    await house.track_event(
        scope,
        OpsEvent(
            node="context",
            op="search",
            status="ok" if kept else "skipped",
            sim=sim,
            ts=house.clock.now(),
            thread_id=scope.thread,
        ),
    )
