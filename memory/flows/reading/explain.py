"""Why a memory is not in an answer. The search, ranking and packing that answer the query give the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import StoredMemory, list_places
from muniment.memory.domain.query import Explanation, Filters, Hit, Query, Ruling
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Search, SearchHit
from muniment.memory.errors import Conflict
from muniment.memory.flows.reading.memories import MemoryBrowser, check_revision
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.flows.reading.retrieval import Retrieval
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.policy.retention import has_expired
from muniment.memory.rules.retrieval import render
from muniment.memory.rules.retrieval.explanation import explain_ruling
from muniment.memory.rules.retrieval.rank import GATE_CANDIDATES, is_near_duplicate, rank_hits, score_hits
from muniment.memory.rules.retrieval.render import JOINT_TOKENS, TokenBudget, count_tokens

_WIDE_CANDIDATES = 1_000  # candidates of the second search, for a memory that is not among the usual ones
_ATTEMPTS = 3  # writers may change the memory between two reads
_MAX_ENTRIES = 2**31 - 1
_MAX_WORDS = 12
_FILTER_FIELDS = {
    "importance_min": "importance",
    "importance_max": "importance",
    "updated_after": "updated_at",
    "updated_before": "updated_at",
    "event_after": "event_time",
    "event_before": "event_time",
}
# Filters of the fact -> its fields.
_FACT_FIELDS = {
    "fact_kind": "kind",
    "predicate": "predicate",
    "person": "persons",
    "entity": "entities",
    "location": "location",
    "topic": "topic",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbsenceExplainer:
    """Explains why a memory is not in the answer to a query."""

    browser: MemoryBrowser
    reads: MemoryReads
    recall: Recall
    settings: Settings

    async def explain_absence(self, scope: Scope, agent: str, memory_id: MemoryId, query: Query) -> Explanation:
        """Return the first reason that keeps the memory out of the answer. Of another space's memory it says nothing.

        Raises Denied, BadInput, Conflict when writers change the memory at each of three attempts."""
        query.require_question()
        moment, recall = query.as_of, self.recall.apply_profile(agent, query.profile)
        as_of = await self.browser.resolve_revision(scope, moment)
        query = replace(query, explain=True, as_of=as_of)
        reader, search = await recall.authorize_query(scope, agent, query)
        reader, _ = await self.browser.turn_back(reader, moment)
        case = _Case(
            reads=self.reads,
            recall=recall,
            agent=agent,
            reader=reader,
            query=query,
            search=search,
            as_of=as_of,
            owner_reader=self.settings.make_owner_reader(scope),
            id=memory_id,
        )
        for _ in range(_ATTEMPTS):
            if (explanation := await case.explain()) is not None:
                return explanation
        raise Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One request: the memory, the query and its search, and the agent that reads."""

    reads: MemoryReads
    recall: Recall
    agent: str
    reader: Reader
    owner_reader: Reader
    query: Query
    search: Search
    as_of: Revision | None
    id: MemoryId

    async def explain(self) -> Explanation | None:
        """Return the explanation, or None when the memory changed while it was read."""
        latest, _ = await self.reads.find_neighbours(self.reader.scope, (), 0)
        check_revision(latest, self.as_of)
        rev = latest if self.as_of is None else self.as_of
        memory = await self.reads.get_memory(self.owner_reader, self.id, as_of=self.as_of)
        if memory is None:
            entries = await self._read_history(latest)
            if not entries or any(render.name_event(entry) == "deleted" for entry in entries):
                return self._make_explanation("other space or unknown", rev)
            return self._make_explanation("not yet known", rev, as_of=rev, created=entries[-1].rev)
        if memory.category not in self.reader.allowed:
            allowed = sorted(self.reader.allowed)
            return self._make_explanation(
                "not allowed", rev, agent=self.agent, category=memory.category, allowed=allowed
            )
        if memory.state != "active":
            return await self._explain_inactive(memory, rev)
        if (unfound := self._explain_limits(memory, rev)) is not None:
            return unfound
        if memory.category not in self.search.categories:
            facts: dict[str, Any] = {"filter": "categories", "wanted": list(self.search.categories)}
            return self._make_explanation("filtered", rev, memory=memory, has=memory.category, **facts)
        return await self._explain_search(memory)

    def _make_explanation(
        self, reason: Ruling, rev: Revision, *, memory: StoredMemory | None = None, hit: Hit | None = None, **facts: Any
    ) -> Explanation:
        readable = memory if memory is not None and memory.category in self.reader.allowed else None
        sentence = explain_ruling(reason, facts)
        return Explanation(id=self.id, reason=reason, rev=rev, sentence=sentence, facts=facts, memory=readable, hit=hit)

    async def _read_history(self, rev: Revision) -> Sequence[JournalEntry]:
        """Return the memory's journal entries up to a revision, newest first."""
        entries = await self.reads.read_history(self.owner_reader, self.id, _MAX_ENTRIES)
        return [entry for entry in entries if entry.rev <= rev]

    async def _explain_inactive(self, memory: StoredMemory, rev: Revision) -> Explanation:
        if memory.state == "soft_deleted":
            entries = await self._read_history(rev)
            since = next(
                (entry.ts for entry in entries if render.name_event(entry) == "soft_deleted"), memory.updated_at
            )
            return self._make_explanation("soft-deleted", rev, memory=memory, since=since, until=memory.purge_at)
        if memory.state == "superseded":
            by = memory.superseded_by
            heir = await self.reads.get_memory(self.reader, by, as_of=self.as_of) if by is not None else None
            text: dict[str, Any] = {"text": heir.text} if heir is not None and heir.state == "active" else {}
            return self._make_explanation("superseded", rev, memory=memory, by=by, **text)
        return self._make_explanation("pending" if memory.state == "pending" else "rejected", rev, memory=memory)

    def _explain_limits(self, memory: StoredMemory, rev: Revision) -> Explanation | None:
        """Explain an active memory that has expired, or is not found where the query is made."""
        scope, now = self.reader.scope, self.reader.at
        if self.as_of is None and now is not None and has_expired(memory, now):
            return self._make_explanation("expired", rev, memory=memory, until=memory.expires_at)
        if memory.place in list_places(scope):
            return None
        is_project = memory.reach == "project"
        name, here = (memory.project_id, scope.project) if is_project else (memory.session_id, scope.session)
        facts: dict[str, Any] = {"reach": memory.reach, "place": name, "here": here or f"no {memory.reach}"}
        return self._make_explanation("out of reach", rev, memory=memory, **facts)

    async def _explain_search(self, memory: StoredMemory) -> Explanation | None:
        """Explain an active memory of the categories that are searched: by the search, the ranking and the packing."""
        retrieval = await self.recall.retrieve_hits(self.reader, self.query, self.search)
        hits, rev = retrieval.answer.hits, retrieval.answer.rev
        if (place := _find_place(self.id, hits)) is not None:
            facts = {"place": place, "of": len(hits)}
            return self._make_explanation("in the answer", rev, memory=memory, hit=hits[place - 1], **facts)
        usual = (retrieval.search or self.search).candidates
        if not _has_hit(self.id, retrieval.snapshot.hits):
            wide = replace(self.search, candidates=max(_WIDE_CANDIDATES, usual), watched=self.id)
            retrieval = await self.recall.retrieve_hits(self.reader, self.query, wide)
        if not _has_hit(self.id, retrieval.snapshot.hits):
            return await self._explain_filtered(memory, retrieval.snapshot.rev)
        return self._explain_omission(memory, retrieval, usual)

    async def _explain_filtered(self, memory: StoredMemory, rev: Revision) -> Explanation | None:
        """Search with each filter alone, and name the first that leaves the memory out."""
        for name, value in asdict(self.query.filters).items():
            if value is None or name == "user_id":
                continue
            alone = replace(self.search, filters=Filters(**{name: value}), candidates=1, watched=self.id)
            snapshot = await self.reads.read_snapshot(self.reader, alone, as_of=self.as_of)
            if not _has_hit(self.id, snapshot.hits):
                fact = _FACT_FIELDS.get(name)
                has = getattr(memory.fact, fact, None) if fact else getattr(memory, _FILTER_FIELDS.get(name, name))
                return self._make_explanation("filtered", rev, memory=memory, filter=name, wanted=value, has=has)
        return None

    def _explain_omission(self, memory: StoredMemory, retrieval: Retrieval, usual: int) -> Explanation:
        """Explain a candidate that is not in the answer. `usual`: how many candidates the query itself has."""
        candidates, ranking, answer = retrieval.snapshot.hits, retrieval.ranking, retrieval.answer
        hit = next(hit for hit in score_hits(candidates, ranking) if hit.memory.id == self.id)
        ranked = [hit for hit in rank_hits(candidates, ranking) if isinstance(hit, Hit)]
        place = _find_place(self.id, ranked)
        # A memory that only the wide search finds, and that would be in the answer, has no omission.
        reason: Ruling = next((each.reason for each in answer.omissions if each.id == self.id), "beyond candidates")
        facts: dict[str, Any]
        if reason == "below threshold":
            facts = {"relevance": hit.relevance, "threshold": ranking.threshold, "gate": ranking.gate}
            if not hit.channels:
                reason = "no match"
                cosine = next(candidate.cosine for candidate in candidates if candidate.memory.id == self.id)
                facts |= {
                    "cosine": cosine,
                    "floor": choose_bands(ranking.profile, ranking.query, memory.text).floor,
                    "words": tokens.extract_terms(memory.text, _MAX_WORDS),
                    "asked": retrieval.search.terms if retrieval.search else (),
                }
        elif reason == "far below the best":
            best = max(other.relevance for other in score_hits(candidates, ranking)[:GATE_CANDIDATES])
            facts = {"relevance": hit.relevance, "best": best, "cut_share": ranking.cut_share}
        elif reason == "no more alike than the rest":
            cosine = next(candidate.cosine for candidate in candidates if candidate.memory.id == self.id)
            facts = {"cosine": cosine, "least_cosine": ranking.least_cosine}
        elif reason == "near-duplicate":
            twin = next(other.memory for other in ranked if is_near_duplicate(other.memory, memory, ranking))
            facts = {"twin": twin.id, "text": twin.text}
        elif reason == "over budget":
            shown = {hit.memory.id for hit in answer.hits}
            before = [other for other in ranked[: (place or 1) - 1] if other.memory.id in shown]
            facts = _count_tokens(hit, before, retrieval.token_budget)
        else:
            facts = {"place": place, "top_k": self.query.top_k, "candidates": usual}
        return self._make_explanation(reason, answer.rev, memory=memory, hit=hit, **facts)


def _count_tokens(hit: Hit, before: Sequence[Hit], budget: TokenBudget) -> dict[str, int]:
    """Return the tokens that the hit needs, and those that the hits before it leave of the budget."""
    sizes = [count_tokens(budget.render_hit(each), budget.vocabulary) + JOINT_TOKENS for each in (*before, hit)]
    left = budget.max_tokens - count_tokens(budget.render_block(()), budget.vocabulary) - sum(sizes[:-1])
    return {"needed": sizes[-1], "left": max(0, left), "budget": budget.max_tokens}


def _has_hit(memory_id: MemoryId, hits: Iterable[SearchHit]) -> bool:
    return any(hit.memory.id == memory_id for hit in hits)


def _find_place(memory_id: MemoryId, hits: Sequence[Hit]) -> int | None:
    """Return the place of a memory among the hits, from 1, or None."""
    return next((n for n, hit in enumerate(hits, 1) if hit.memory.id == memory_id), None)
