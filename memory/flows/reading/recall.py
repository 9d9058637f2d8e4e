"""The read flow: allow -> embed -> search (one statement) -> rank -> pack -> render."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from math import isnan

from muniment.memory import codec as wire
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Answer, Brief, Hit, Omission, Query, Returns
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Search, Sight
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import BadInput, Denied
from muniment.memory.fence import fence
from muniment.memory.flows.house import House, safe_text
from muniment.memory.flows.reading import as_of as asof
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.retrieval import query_hints as wanted, render
from muniment.memory.rules.retrieval.pack import Piece, Whole, as_json, pack
from muniment.memory.rules.retrieval.question import asked, hints, mine
from muniment.memory.rules.retrieval.rank import Lens, gate_among, rank, related, spoken_among, weights

_MOST = 1_000  # candidates from which an answer is not looked for among more
_MOST_HINTS = 1_000  # lists of a large space that are looked into
_NOTHING_ASKED = frozenset({"greeting", "acknowledgement", "empty"})


async def query(house: House, scope: Scope, agent: str, asked: Query) -> Answer:
    """See `Memory.query`."""
    reader, search = await admit(house, scope, agent, asked)
    answer = (await read(house, reader, asked, search)).answer
    if asked.as_of is None:  # who reads the past uses nothing of today
        house.noticed(scope, answer.hits)
    await _searched(house, scope, answer.hits)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A request as it was answered: what was searched for and seen, by what it was judged, and what room there was."""

    search: Search
    sight: Sight
    lens: Lens
    room: Room
    answer: Answer


async def admit(house: House, scope: Scope, agent: str, asked: Query) -> tuple[Reader, Search]:
    """Who reads, and what is searched for. Raises Denied, BadInput."""
    reader = Reader(scope=scope, allowed=house.allowed(agent))
    categories = allow(house, agent, asked, reader.allowed)
    if asked.top_k > house.settings.limits.top_k:
        raise BadInput(f"top_k: {asked.top_k} given, at most {house.settings.limits.top_k} allowed (limits.top_k)")
    if asked.threshold is not None and isnan(asked.threshold):
        raise BadInput("threshold: a number from 0 to 1 wanted")
    if asked.filters.user_id not in (None, scope.owner):
        raise Denied("filters.user_id names another user than the one that asks", agent=agent)
    return reader, await prepare(house, asked, categories)


async def read(house: House, reader: Reader, asked: Query, search: Search) -> Reading:
    """The answer with all that it comes from. Nothing is noted."""
    as_of = await asof.revision(house, reader.scope, asked.as_of)
    while True:
        sight = await house.store.look(reader, search, as_of=as_of)
        asof.reached(sight.rev, as_of)
        if wider := _wider(house, search, sight):
            search = wider
            continue
        room = Room(
            top_k=asked.top_k,
            budget=asked.budget_tokens,
            piece=partial(_piece, asked.returns),
            whole=partial(_payload, asked, sight.rev),
            to_the_end=asked.explain,
        )
        lens = _lens(house, reader.scope, asked.text, search, sight, asked.threshold)
        kept, spent, left = _kept(house, sight, lens, room)
        if len(sight.found) < search.candidates or not _starved(search, kept, left, asked.top_k):
            break
        search = replace(search, candidates=4 * search.candidates)
    answer = Answer(hits=tuple(kept), rev=sight.rev, tokens=spent, returns=asked.returns, left_out=tuple(left))
    return Reading(search=search, sight=sight, lens=lens, room=room, answer=answer)


async def brief(house: House, scope: Scope, agent: str, text: str, as_of: Revision | None) -> Brief:
    """See `Memory.brief`. One transaction: profile, changes and search are of the same revision."""
    reader = Reader(scope=scope, allowed=house.allowed(agent) - {CATEGORY})  # how-to memory is asked for, never told
    as_of = await asof.revision(house, scope, as_of)
    recall, lookback = house.settings.recall, timedelta(hours=house.settings.delta.lookback_hours)
    lasting = sorted(name for name in reader.allowed if house.categories[name].context == "all")
    moving = tuple(sorted(reader.allowed - set(lasting)))
    asked = Query(text=text, top_k=recall.context_bullets)
    search = await prepare(house, asked, moving) if gate.skip(text, "user") not in _NOTHING_ASKED else None
    look = partial(
        house.store.look,
        reader,
        stable=lasting,
        stable_limit=house.settings.limits.profile_items,
        thread=scope.thread,
        horizon=house.clock.now() - lookback,
        as_of=as_of,
    )
    sight = await look(search)
    if search and (wider := _wider(house, search, sight)):
        sight = await look(wider)
    asof.reached(sight.rev, as_of)
    budget, bullets = recall.context_budget_tokens, house.settings.delta.bullets
    header = render.fitting(sight.delta, house.categories, bullets, budget) if sight.delta else ""

    def block(kept: Sequence[Hit]) -> str:
        return fence("\n".join(filter(None, [header, *map(render.point, kept)])))

    room = Room(top_k=recall.context_bullets, budget=budget, piece=render.point, whole=block)
    kept, _, _ = _kept(house, sight, _lens(house, scope, text, search, sight, None), room)
    if as_of is None:
        house.noticed(scope, kept)
    await _searched(house, scope, kept)
    return Brief(
        rev=sight.rev,
        stable=render.stable(sight.stable, sight.profile),
        header=header,
        bullets=tuple(map(render.bullet, kept)),
        moving=block(kept),
    )


def _piece(returns: Returns, hit: Hit) -> str:
    return as_json(wire.hit(hit, returns))


def _payload(asked: Query, rev: Revision, kept: Sequence[Hit]) -> str:
    answer = Answer(hits=tuple(kept), rev=rev, tokens=0, returns=asked.returns)
    return fence(as_json(wire.answer(answer)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much an answer may hold, and what it looks like."""

    top_k: int
    budget: int
    piece: Piece
    whole: Whole
    to_the_end: bool = False

    def pack(self, judged: Iterable[Hit | Omission]) -> tuple[list[Hit], int, list[Omission]]:
        return pack(
            judged,
            top_k=self.top_k,
            budget=self.budget,
            piece=self.piece,
            whole=self.whole,
            to_the_end=self.to_the_end,
        )


def _kept(house: House, sight: Sight, lens: Lens, room: Room) -> tuple[list[Hit], int, list[Omission]]:
    """What of a sight goes into the answer, its tokens, and what was left out: the relevant, then what an edge ties to it."""
    kept, spent, left = room.pack(rank(sight.found, lens))
    # Who asks for more relevance than usual gets nothing less. Below the embedder's `check` band two texts are alike in
    # form only.
    if lens.threshold <= house.settings.recall.threshold and len(kept) < room.top_k:
        least = max(house.settings.write.link_min, house.profile.check)
        if beside := related(sight.found, kept, lens, least=least):
            kept, spent, _ = room.pack([*kept, *beside])
    shown = {hit.memory.id for hit in kept}
    return kept, spent, [one for one in left if one.id not in shown]


def _wider(house: House, search: Search, sight: Sight) -> Search | None:
    """The search for all of a few memories that are read closely, where only words have picked the candidates: what tells the
    answer in other words may not be one of them."""
    recall = house.settings.recall
    closely = recall.told_weight and sight.among <= recall.told_among
    by_words = recall.semantic_weight and not search.weights.semantic
    return replace(search, candidates=sight.among) if closely and by_words and search.candidates < sight.among else None


def _starved(search: Search, kept: Sequence[Hit], left: Sequence[Omission], top_k: int) -> bool:
    """Whether others of the same words, or of a full category, may have stood before what there is room for.

    Behind candidates that end with what is not relevant nothing is."""
    if len(kept) >= top_k or not left or search.candidates >= _MOST:
        return False
    reasons = {one.reason for one in left}
    last = left[-1]
    ended = last.reason == "below threshold" and (not kept or last.score <= kept[-1].score)
    if ended or "over budget" in reasons:
        return False
    return "near-duplicate" in reasons or ("category full" in reasons and len(search.categories) > 1)


def _lens(house: House, scope: Scope, text: str, search: Search | None, sight: Sight, threshold: float | None) -> Lens:
    recall = house.settings.recall
    text = text[: house.settings.limits.query_chars]
    names = wanted.names(text)
    known = {term for speaker in sight.speakers for term in words.terms(speaker)}
    own = mine(text)
    asks = asked(text) if recall.told_weight else None
    few = sight.among <= recall.told_among
    return Lens(
        query=text,
        at=house.clock.now(),
        profile=house.profile,
        recall=recall,
        categories=house.categories,
        threshold=recall.threshold if threshold is None else threshold,
        # No vector that is near by chance opens the gate where the embedder cannot read the question.
        gate=gate_among(sight.among if words.legible(house.profile.scripts, text) else 1, recall)
        if threshold is None
        else 0.0,
        speakers=frozenset(sight.speakers),
        strange=len(names & sight.unheard - known) / max(1, len(names)),
        periods=search.periods if search else (),
        owner=scope.owner,
        own=own,
        # A turn of a conversation leaves open of whom it is: among many, nothing of such is read into it (`spoken`).
        asked=asks if asks and (few or own or asks.aspects) else None,
        spoken=spoken_among(sight.among, recall),
    )


async def seen(house: House, scope: Scope, rev: Revision) -> None:
    """See `Memory.seen`. Raises BadInput without a thread."""
    if scope.thread is None:
        raise BadInput("a scope without a thread has no cursor")
    await house.store.seen(scope, scope.thread, rev)


def allow(house: House, agent: str, asked: Query, allowed: frozenset[str]) -> tuple[str, ...]:
    """The categories to search: without any named all but how-to memory. Raises BadInput for an unknown one, Denied for the
    whole request when one is denied."""
    named = {*asked.categories, *([] if asked.filters.category is None else [asked.filters.category])}
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
    return tuple(sorted(asked.categories or (allowed if CATEGORY in named else allowed - {CATEGORY})))


async def prepare(house: House, asked: Query, categories: tuple[str, ...]) -> Search:
    """A query as the store takes it: embedded, its terms made."""
    # Redacted before it is cut: half a secret is no longer recognised as one.
    text = safe_text(house, asked.text)[: house.settings.limits.query_chars]
    recall = house.settings.recall
    weighed = weights(text, house.profile, recall)
    return Search(
        vector=await house.embedder.query(text),
        terms=wanted.terms(text),
        categories=categories,
        filters=asked.filters,
        candidates=max(recall.candidates_own if weighed.own else recall.candidates, 5 * asked.top_k // 4),
        weights=weighed,
        hints=hints(text, _MOST_HINTS) if weighed.own and recall.hint_boost else frozenset(),
        periods=wanted.periods(text, house.clock.now()) if recall.period_boost else (),
        speakers=words.spoken(text),
        explain=asked.explain,
    )


async def _searched(house: House, scope: Scope, kept: Sequence[Hit]) -> None:
    sim = round(kept[0].score, 4) if kept else None
    await house.track(
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
