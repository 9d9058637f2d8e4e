"""Why a memory is not in an answer: asked of the very path that answers, so that it cannot say anything else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.query import Explanation, Filters, Hit, Query, Ruling
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Search, SearchHit
from muniment.memory.errors import Conflict
from muniment.memory.flows.reading import as_of as asof, recall
from muniment.memory.flows.reading.as_of import RevisionResolver
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.retrieval import render, token_count
from muniment.memory.rules.retrieval.explanation import explain_ruling
from muniment.memory.rules.retrieval.pack import JOINT_TOKENS
from muniment.memory.rules.retrieval.rank import is_near_duplicate, rank_hits, score_hits

_WIDE_CANDIDATES = 1_000  # candidates among which the place of a memory is looked for that is not among the usual ones
_ATTEMPTS = 3  # writers may change the memory between two looks
_MAX_ENTRIES = 2**31 - 1
_MAX_WORDS = 12
_FILTER_FIELDS = {
    "importance_min": "importance",
    "importance_max": "importance",
    "updated_after": "updated_at",
    "updated_before": "updated_at",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What is asked about, and by whom."""

    reads: MemoryReads
    recall: Recall
    agent: str
    reader: Reader
    owner_reader: Reader
    query: Query
    search: Search
    as_of: Revision | None
    id: MemoryId

    def make_verdict(
        self, reason: Ruling, rev: Revision, *, memory: Memory | None = None, hit: Hit | None = None, **facts: Any
    ) -> Explanation:
        readable = memory if memory is not None and memory.category in self.reader.allowed else None
        said = explain_ruling(reason, facts)
        return Explanation(id=self.id, reason=reason, rev=rev, sentence=said, facts=facts, memory=readable, hit=hit)


async def _find_verdict(case: _Case) -> Explanation | None:
    """The verdict, None when the memory changed while it was looked for."""
    reads, scope = case.reads, case.reader.scope
    now, _ = await reads.find_neighbours(scope, (), 0)
    asof.check_revision(now, case.as_of)
    rev = now if case.as_of is None else case.as_of
    memory = await reads.get_memory(case.owner_reader, case.id, as_of=case.as_of)
    if memory is None:
        lines = await _read_history(case, now)
        if not lines or any(render.name_event(line) == "deleted" for line in lines):
            return case.make_verdict("other space or unknown", rev)
        return case.make_verdict("not yet known", rev, as_of=rev, created=lines[-1].rev)
    if memory.category not in case.reader.allowed:
        allowed = sorted(case.reader.allowed)
        return case.make_verdict("not allowed", rev, agent=case.agent, category=memory.category, allowed=allowed)
    if memory.state != "active":
        return await _explain_inactive(case, memory, rev)
    if memory.category not in case.search.categories:
        wanted = list(case.search.categories)
        return case.make_verdict(
            "filtered", rev, memory=memory, filter="categories", wanted=wanted, has=memory.category
        )
    return await _explain_search(case, memory)


async def _read_history(case: _Case, rev: Revision) -> Sequence[JournalEntry]:
    """The memory's history up to a revision, newest first."""
    lines = await case.reads.read_history(case.owner_reader, case.id, _MAX_ENTRIES)
    return [line for line in lines if line.rev <= rev]


async def _explain_inactive(case: _Case, memory: Memory, rev: Revision) -> Explanation:
    """Of a memory that is not active."""
    if memory.state == "soft_deleted":
        ends = [line.ts for line in await _read_history(case, rev) if render.name_event(line) == "soft_deleted"]
        since = ends[0] if ends else memory.updated_at
        return case.make_verdict("soft-deleted", rev, memory=memory, since=since, until=memory.purge_at)
    if memory.state == "superseded":
        by = memory.superseded_by
        heir = await case.reads.get_memory(case.reader, by, as_of=case.as_of) if by is not None else None
        text: dict[str, Any] = {"text": heir.text} if heir is not None and heir.state == "active" else {}
        return case.make_verdict("superseded", rev, memory=memory, by=by, **text)
    return case.make_verdict("pending" if memory.state == "pending" else "rejected", rev, memory=memory)


async def _explain_search(case: _Case, memory: Memory) -> Explanation | None:
    """Of a memory that could be found: what the search, the ranking and the packing made of it."""
    reading = await case.recall.retrieve_hits(case.reader, case.query, case.search)
    place = _find_place(case.id, reading.answer.hits)
    if place is not None:
        hits = reading.answer.hits
        return case.make_verdict(
            "in the answer", reading.answer.rev, memory=memory, hit=hits[place - 1], place=place, of=len(hits)
        )
    usual = (reading.search or case.search).candidates
    if _find_hit(case.id, reading.snapshot.hits) is None:
        wide = replace(case.search, candidates=max(_WIDE_CANDIDATES, usual), watched=case.id)
        reading = await case.recall.retrieve_hits(case.reader, case.query, wide)
    if _find_hit(case.id, reading.snapshot.hits) is None:
        return await _explain_filtered(case, memory, reading.snapshot.rev)
    return _explain_omission(case, memory, reading, usual)


async def _explain_filtered(case: _Case, memory: Memory, rev: Revision) -> Explanation | None:
    """Each filter is tried alone, by the search itself."""
    for name, value in asdict(case.query.filters).items():
        if value is None or name == "user_id":
            continue
        alone = replace(case.search, filters=Filters(**{name: value}), candidates=1, watched=case.id)
        snapshot = await case.reads.read_snapshot(case.reader, alone, as_of=case.as_of)
        if _find_hit(case.id, snapshot.hits) is None:
            has = getattr(memory, _FILTER_FIELDS.get(name, name))
            return case.make_verdict("filtered", rev, memory=memory, filter=name, wanted=value, has=has)
    return None


def _explain_omission(case: _Case, memory: Memory, retrieval: recall.Retrieval, usual: int) -> Explanation:
    found, ranking = retrieval.snapshot.hits, retrieval.ranking
    hit = next(one for one in score_hits(found, ranking) if one.memory.id == case.id)
    hits = [one for one in rank_hits(found, ranking) if isinstance(one, Hit)]
    place = _find_place(case.id, hits)
    # What only the wider look brings up has no omission where it would be in the answer.
    reason: Ruling = next((one.reason for one in retrieval.answer.omissions if one.id == case.id), "beyond candidates")
    facts: dict[str, Any]
    if reason == "below threshold":
        facts = {"relevance": hit.relevance, "threshold": ranking.threshold, "gate": ranking.gate}
        if not hit.channels:
            reason = "no match"
            cosine = next(one.cosine for one in found if one.memory.id == case.id)
            facts |= {"cosine": cosine, "floor": ranking.profile.floor}
            facts |= {
                "words": words.extract_terms(memory.text, _MAX_WORDS),
                "asked": retrieval.search.terms if retrieval.search else (),
            }
    elif reason == "near-duplicate":
        twin = next(one.memory for one in hits if is_near_duplicate(one.memory, memory, ranking))
        facts = {"twin": twin.id, "text": twin.text}
    elif reason == "category full":
        facts = {"category": memory.category, "rag_length": ranking.categories[memory.category].rag_length}
    elif reason == "over budget":
        before = {one.memory.id for one in retrieval.answer.hits}
        facts = _count_tokens(
            hit, [one for one in hits[: (place or 1) - 1] if one.memory.id in before], retrieval.token_budget
        )
    else:
        facts = {"place": place, "top_k": case.query.top_k, "candidates": usual}
    return case.make_verdict(reason, retrieval.answer.rev, memory=memory, hit=hit, **facts)


def _count_tokens(hit: Hit, before: Sequence[Hit], token_budget: recall.TokenBudget) -> dict[str, int]:
    """The tokens that the packing wanted for a hit, and what those before it had left of the budget."""
    sizes = [token_count.count_tokens(token_budget.render_hit(one)) + JOINT_TOKENS for one in (*before, hit)]
    left = token_budget.max_tokens - token_count.count_tokens(token_budget.render_block(())) - sum(sizes[:-1])
    return {"needed": sizes[-1], "left": max(0, left), "budget": token_budget.max_tokens}


def _find_hit(memory_id: MemoryId, found: Iterable[SearchHit]) -> SearchHit | None:
    return next((one for one in found if one.memory.id == memory_id), None)


def _find_place(memory_id: MemoryId, hits: Sequence[Hit]) -> int | None:
    """From 1; None where it is not among them."""
    return next((n for n, hit in enumerate(hits, 1) if hit.memory.id == memory_id), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbsenceExplainer:
    """Why a memory is not in an answer: asked of the very path that answers, so that it cannot say anything else."""

    reads: MemoryReads
    recall: Recall
    revisions: RevisionResolver
    settings: Settings

    async def explain_absence(self, scope: Scope, agent: str, memory_id: MemoryId, asked: Query) -> Explanation:
        """See `Memory.why_not`."""
        as_of = await self.revisions.resolve_revision(scope, asked.as_of)
        asked = replace(asked, explain=True, as_of=as_of)
        reader, search = await self.recall.authorize_query(scope, agent, asked)
        case = _Case(
            reads=self.reads,
            recall=self.recall,
            agent=agent,
            reader=reader,
            query=asked,
            search=search,
            as_of=as_of,
            owner_reader=self.settings.make_owner_reader(scope),
            id=memory_id,
        )
        for _ in range(_ATTEMPTS):
            if (verdict := await _find_verdict(case)) is not None:
                return verdict
        raise Conflict
