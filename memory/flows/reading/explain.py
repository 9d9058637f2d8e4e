"""Why a memory is not in an answer: asked of the very path that answers, so that it cannot say anything else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.query import Filters, Hit, Query, Ruling, Verdict
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Found, Search
from muniment.memory.errors import Conflict
from muniment.memory.flows.house import House
from muniment.memory.flows.reading import as_of as asof, recall
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.retrieval import render, token_count as tokens
from muniment.memory.rules.retrieval.explanation import sentence
from muniment.memory.rules.retrieval.pack import JOINT
from muniment.memory.rules.retrieval.rank import rank, scored, twins

_WIDE = 1_000  # candidates among which the place of a memory is looked for that is not among the usual ones
_ATTEMPTS = 3  # writers may change the memory between two looks
_MOST = 2**31 - 1
_WORDS = 12
_HELD_IN = {
    "importance_min": "importance",
    "importance_max": "importance",
    "updated_after": "updated_at",
    "updated_before": "updated_at",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What is asked about, and by whom."""

    house: House
    agent: str
    reader: Reader
    asked: Query
    search: Search
    as_of: Revision | None
    id: MemoryId

    @property
    def owner(self) -> Reader:
        return self.house.owner(self.reader.scope)

    def verdict(
        self, reason: Ruling, rev: Revision, *, memory: Memory | None = None, hit: Hit | None = None, **facts: Any
    ) -> Verdict:
        readable = memory if memory is not None and memory.category in self.reader.allowed else None
        said = sentence(reason, facts)
        return Verdict(id=self.id, reason=reason, rev=rev, said=said, facts=facts, memory=readable, hit=hit)


async def why_not(house: House, scope: Scope, agent: str, memory_id: MemoryId, asked: Query) -> Verdict:
    """See `Memory.why_not`."""
    as_of = await asof.revision(house, scope, asked.as_of)
    asked = replace(asked, explain=True, as_of=as_of)
    reader, search = await recall.admit(house, scope, agent, asked)
    case = _Case(house=house, agent=agent, reader=reader, asked=asked, search=search, as_of=as_of, id=memory_id)
    for _ in range(_ATTEMPTS):
        if (verdict := await _judge(case)) is not None:
            return verdict
    raise Conflict


async def _judge(case: _Case) -> Verdict | None:
    """The verdict, None when the memory changed while it was looked for."""
    store, scope = case.house.store, case.reader.scope
    now, _ = await store.near(scope, (), 0)
    asof.reached(now, case.as_of)
    rev = now if case.as_of is None else case.as_of
    memory = await store.get(case.owner, case.id, as_of=case.as_of)
    if memory is None:
        lines = await _lines(case, now)
        if not lines or any(render.event(line) == "deleted" for line in lines):
            return case.verdict("other space or unknown", rev)
        return case.verdict("not yet known", rev, as_of=rev, created=lines[-1].rev)
    if memory.category not in case.reader.allowed:
        allowed = sorted(case.reader.allowed)
        return case.verdict("not allowed", rev, agent=case.agent, category=memory.category, allowed=allowed)
    if memory.state != "active":
        return await _gone(case, memory, rev)
    if memory.category not in case.search.categories:
        wanted = list(case.search.categories)
        return case.verdict("filtered", rev, memory=memory, filter="categories", wanted=wanted, has=memory.category)
    return await _searched(case, memory)


async def _lines(case: _Case, rev: Revision) -> Sequence[JournalEntry]:
    """The memory's history up to a revision, newest first."""
    lines = await case.house.store.history(case.owner, case.id, _MOST)
    return [line for line in lines if line.rev <= rev]


async def _gone(case: _Case, memory: Memory, rev: Revision) -> Verdict:
    """Of a memory that is not active."""
    if memory.state == "soft_deleted":
        ends = [line.ts for line in await _lines(case, rev) if render.event(line) == "soft_deleted"]
        since = ends[0] if ends else memory.updated_at
        return case.verdict("soft-deleted", rev, memory=memory, since=since, until=memory.purge_at)
    if memory.state == "superseded":
        by = memory.superseded_by
        heir = await case.house.store.get(case.reader, by, as_of=case.as_of) if by is not None else None
        text: dict[str, Any] = {"text": heir.text} if heir is not None and heir.state == "active" else {}
        return case.verdict("superseded", rev, memory=memory, by=by, **text)
    return case.verdict("pending" if memory.state == "pending" else "rejected", rev, memory=memory)


async def _searched(case: _Case, memory: Memory) -> Verdict | None:
    """Of a memory that could be found: what the search, the ranking and the packing made of it."""
    reading = await recall.read(case.house, case.reader, case.asked, case.search)
    place = _place(case.id, reading.answer.hits)
    if place is not None:
        hits = reading.answer.hits
        return case.verdict(
            "in the answer", reading.answer.rev, memory=memory, hit=hits[place - 1], place=place, of=len(hits)
        )
    usual = reading.search.candidates
    if _of(case.id, reading.sight.found) is None:
        wide = replace(case.search, candidates=max(_WIDE, usual), watched=case.id)
        reading = await recall.read(case.house, case.reader, case.asked, wide)
    if _of(case.id, reading.sight.found) is None:
        return await _filtered(case, memory, reading.sight.rev)
    return _left_out(case, memory, reading, usual)


async def _filtered(case: _Case, memory: Memory, rev: Revision) -> Verdict | None:
    """Each filter is tried alone, by the search itself."""
    for name, value in asdict(case.asked.filters).items():
        if value is None or name == "user_id":
            continue
        alone = replace(case.search, filters=Filters(**{name: value}), candidates=1, watched=case.id)
        sight = await case.house.store.look(case.reader, alone, as_of=case.as_of)
        if _of(case.id, sight.found) is None:
            has = getattr(memory, _HELD_IN.get(name, name))
            return case.verdict("filtered", rev, memory=memory, filter=name, wanted=value, has=has)
    return None


def _left_out(case: _Case, memory: Memory, reading: recall.Reading, usual: int) -> Verdict:
    found, lens = reading.sight.found, reading.lens
    hit = next(one for one in scored(found, lens) if one.memory.id == case.id)
    hits = [one for one in rank(found, lens) if isinstance(one, Hit)]
    place = _place(case.id, hits)
    # What only the wider look brings up has no omission where it would be in the answer.
    reason: Ruling = next((one.reason for one in reading.answer.left_out if one.id == case.id), "beyond candidates")
    facts: dict[str, Any]
    if reason == "below threshold":
        facts = {"relevance": hit.relevance, "threshold": lens.threshold, "gate": lens.gate}
        if not hit.channels:
            reason = "no match"
            cosine = next(one.cosine for one in found if one.memory.id == case.id)
            facts |= {"cosine": cosine, "floor": lens.profile.floor}
            facts |= {"words": words.terms(memory.text, _WORDS), "asked": reading.search.terms}
    elif reason == "near-duplicate":
        twin = next(one.memory for one in hits if twins(one.memory, memory, lens))
        facts = {"twin": twin.id, "text": twin.text}
    elif reason == "category full":
        facts = {"category": memory.category, "rag_length": lens.categories[memory.category].rag_length}
    elif reason == "over budget":
        before = {one.memory.id for one in reading.answer.hits}
        facts = _cost(hit, [one for one in hits[: (place or 1) - 1] if one.memory.id in before], reading.room)
    else:
        facts = {"place": place, "top_k": case.asked.top_k, "candidates": usual}
    return case.verdict(reason, reading.answer.rev, memory=memory, hit=hit, **facts)


def _cost(hit: Hit, before: Sequence[Hit], room: recall.Room) -> dict[str, int]:
    """The tokens that the packing wanted for a hit, and what those before it had left of the budget."""
    sizes = [tokens.count(room.piece(one)) + JOINT for one in (*before, hit)]
    left = room.budget - tokens.count(room.whole(())) - sum(sizes[:-1])
    return {"needed": sizes[-1], "left": max(0, left), "budget": room.budget}


def _of(memory_id: MemoryId, found: Iterable[Found]) -> Found | None:
    return next((one for one in found if one.memory.id == memory_id), None)


def _place(memory_id: MemoryId, hits: Sequence[Hit]) -> int | None:
    """From 1; None where it is not among them."""
    return next((n for n, hit in enumerate(hits, 1) if hit.memory.id == memory_id), None)
