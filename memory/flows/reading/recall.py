"""Reading: allow -> embed -> search (one statement) -> rank -> pack -> render, for queries and for briefs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from muniment.memory.codec import check_range
from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import NO_VECTOR, Revision
from muniment.memory.domain.query import LISTINGS, Answer, Brief, Hit, Omission, Query
from muniment.memory.domain.scope import Reader, Scope, make_owner_scope
from muniment.memory.domain.search import Search, SearchSnapshot
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import BadConfig, BadInput, Denied, ModelUnavailable
from muniment.memory.flows.process_state import AccessLog, AvailableEmbedder
from muniment.memory.flows.reading.candidates import build_listing, is_read_whole, needs_more_candidates
from muniment.memory.flows.reading.memories import MemoryBrowser, check_revision
from muniment.memory.flows.reading.retrieval import Retrieval, ThreadView
from muniment.memory.flows.reading.spelling import Spelling
from muniment.memory.flows.reading.stages import StageWatch
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.policy.consent import find_current_fields
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.retrieval import render
from muniment.memory.rules.retrieval.cuts import list_cuts
from muniment.memory.rules.retrieval.intents import find_dimensions
from muniment.memory.rules.retrieval.listing import list_newest
from muniment.memory.rules.retrieval.question import find_periods, find_proper_nouns, find_unknown_words, parse_question
from muniment.memory.rules.retrieval.rank import (
    RankingContext,
    build_weights,
    compute_gate,
    find_related_hits,
    rank_hits,
)
from muniment.memory.rules.retrieval.render import TOKENIZERS, choose_vocabulary, warm_up

_SHOWN_CHARS = 40  # of an unknown name in an error
_MAX_CATEGORIES = 1_000  # names of categories in one query
_LIMITED_SHARE = 0.5  # of the threshold, for a brief of so many memories
_SMALL_TALK = frozenset({"greeting", "acknowledgement", "empty"})
_MAX_HINTS = 1_000  # postings of a large space that are read for one question


class _EventTracker(Protocol):
    async def track_event(self, scope: Scope, event: OpsEvent) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recall:
    """Answers queries and makes briefs. What else reads memories does so by `retrieve_hits`, too."""

    access_log: AccessLog
    available_embedder: AvailableEmbedder
    browser: MemoryBrowser
    clock: Clock
    profile: EmbedderProfile
    reads: MemoryReads
    redactor: Redactor
    settings: Settings
    spelling: Spelling
    write_behind: _EventTracker
    writes: MemoryWrites

    async def query_memories(self, scope: Scope, agent: str, query: Query) -> Answer:
        """Return the best memories within the agent's allowlist and the query's token budget.

        Unless it reads the past, their access is counted. Raises Denied, BadInput."""
        if query.profile is not None or agent in self.settings.recall.agents:
            return await self.apply_profile(agent, query.profile).query_memories(
                scope, agent, replace(query, profile=None)
            )
        watch = StageWatch() if query.explain else None
        reader, search = await self.authorize_query(scope, agent, query, watch)
        answer = (await self.retrieve_hits(reader, query, search, watch=watch)).answer
        await self.record_search(scope, query.as_of, answer.hits)
        return answer

    async def build_brief(
        self, scope: Scope, agent: str, text: str, *, as_of: Revision | None = None, limit: int | None = None
    ) -> Brief:
        """Return what goes before a model for a message: profile, delta header and bullets, all of one revision.

        With a `limit` it has so many memories at most, and also what is less relevant. The profile gets no more than
        half of them, and what it has no room for is found like everything else. How-to memory is no part of a brief.
        Raises BadConfig for an unknown agent, BadInput for a revision that the space has not reached."""
        recall = self.apply_profile(agent) if agent in self.settings.recall.agents else self
        settings, items, threshold = recall.settings, recall.settings.limits.profile_items, None
        if limit is not None:
            # Who says how many wants them, and not only what is sure to be meant.
            threshold, items = settings.recall.threshold * _LIMITED_SHARE, min(items, limit // 2)
            settings = settings.model_copy(update={"recall": settings.recall.size_context(limit)})
            recall = replace(recall, settings=settings)
        reader = recall.make_reader(scope, agent)
        reader = replace(reader, allowed=reader.allowed - {CATEGORY})
        stable = sorted(name for name in reader.allowed if settings.categories[name].context == "all")
        horizon = recall.clock.now() - timedelta(hours=settings.delta.lookback_hours)
        view = ThreadView(stable=stable, stable_limit=items, thread=scope.thread, horizon=horizon)
        query = Query(text=text, top_k=settings.recall.context_bullets, threshold=threshold, as_of=as_of)
        if settings.recall.without_tags:
            query = settings.recall.leave_out(query, scope)
        search = None
        if gate.find_skip_reason(text, "user") not in _SMALL_TALK:
            # What the profile shows anyway is not searched.
            shown = stable if limit is None else ()
            search = await recall.prepare_search(query, tuple(sorted(reader.allowed.difference(shown))))
        retrieval = await recall.retrieve_hits(reader, query, search, view)
        snapshot = retrieval.snapshot
        fields = find_current_fields(snapshot.profile, snapshot.stable) if snapshot.profile else []
        brief, hits = render.render_brief(
            snapshot,
            retrieval.answer,
            retrieval.token_budget,
            fields,
            header=retrieval.header,
            items=items,
            limit=limit,
        )
        await recall.record_search(scope, as_of, hits)
        return brief

    def apply_profile(self, agent: str, profile: str | None = None) -> Recall:
        """Return what answers by the named profile of `recall.profiles`, without a name by that of the agent. Raises
        BadInput for an unknown one."""
        recall = self.settings.recall.choose_profile(agent, profile)
        return replace(self, settings=self.settings.model_copy(update={"recall": recall}))

    async def mark_seen(self, scope: Scope, rev: Revision) -> None:
        """Advance the cursor of the scope's thread to `rev`. Raises BadInput without a thread."""
        if scope.thread is None:
            raise BadInput("a scope without a thread has no cursor")
        check_range("rev", rev, 0, 2**63 - 1)
        await self.writes.advance_cursor(scope, scope.thread, rev)

    async def authorize_query(
        self, scope: Scope, agent: str, query: Query, watch: StageWatch | None = None
    ) -> tuple[Reader, Search]:
        """Return the reader that the agent's allowlist makes, and the search. Raises Denied, BadInput, BadConfig."""
        reader = self.make_reader(scope, agent)
        if watch:
            watch.note_stage("scope", spaces=1 + len(reader.beside))
        categories = self.resolve_categories(agent, query, reader.allowed)
        if watch:
            watch.note_stage("access", categories=len(categories))
        if query.top_k > self.settings.limits.top_k:
            raise BadInput(f"top_k: {query.top_k} given, at most {self.settings.limits.top_k} allowed (limits.top_k)")
        if query.filters.user_id not in (None, scope.owner):
            raise Denied("filters.user_id names another user than the one that asks", agent=agent)
        if self.settings.recall.without_tags:
            query = self.settings.recall.leave_out(query, scope)
        if query.text.strip() in LISTINGS:
            return reader, build_listing(query, categories, build_weights("", self.profile, self.settings.recall))
        search = await self.prepare_search(query, categories, watch)
        if search.vector is NO_VECTOR and not self.settings.recall.keyword_fallback:
            raise ModelUnavailable("the embedder does not answer, and words alone may not (recall.keyword_fallback)")
        return reader, replace(search, with_rivals=True)

    def make_reader(self, scope: Scope, agent: str) -> Reader:
        """Return a scope with the categories that an agent may read, and whose spaces it reads beside where they are
        shared. Raises BadConfig for an agent without an allowlist."""
        allowlists = self.settings.allowlists
        if agent not in allowlists:
            known = ", ".join(sorted(allowlists))
            raise BadConfig(f"unknown agent {agent!r}: it has no allowlist; known agents: {known}", agent=agent)
        names = {"project": scope.project, "agent": scope.agent or agent}
        named = ((names[owner_type], owner_type) for owner_type in self.settings.recall.beside)
        owners = [make_owner_scope(scope.tenant, name, owner_type) for name, owner_type in named if name]
        beside = tuple(one for one in owners if one.space != scope.space)
        allowed = frozenset(allowlists[agent])
        return Reader(scope=scope, allowed=allowed, beside=beside, at=self.clock.now())

    def resolve_categories(self, agent: str, query: Query, allowed: frozenset[str]) -> tuple[str, ...]:
        """Return the categories to search: all but how-to memory where none is named. Raises BadInput, Denied."""
        if len(query.categories) > _MAX_CATEGORIES:
            raise BadInput(f"categories: {len(query.categories)} given, at most {_MAX_CATEGORIES} allowed")
        named = {*query.categories, *([] if query.filters.category is None else [query.filters.category])}
        if unknown := named.difference(known := self.settings.categories):
            raise BadInput(f"unknown category {min(unknown)[:_SHOWN_CHARS]!r}; allowed: {', '.join(sorted(known))}")
        if denied := sorted(named - allowed):
            permitted = sorted(allowed)
            raise Denied(
                f"agent {agent!r} may not read {', '.join(denied)}; it may read {', '.join(permitted)}",
                agent=agent,
                denied=denied,
                allowed=permitted,
            )
        hidden = frozenset() if CATEGORY in named else {CATEGORY}
        return tuple(sorted(query.categories or allowed - hidden))

    async def prepare_search(
        self, query: Query, categories: tuple[str, ...], watch: StageWatch | None = None
    ) -> Search:
        """Return the query as the store takes it: redacted, embedded, with its terms, periods and hints. Without the
        embedder it searches by words alone."""
        # Redacted before it is cut: half a secret is no longer recognized as one.
        most = self.settings.limits.query_chars  # a secret that it cuts is looked at with what follows
        text = self.redactor.sanitize_text(query.text[: 2 * most])[:most]
        recall = self.settings.recall
        vector = await self.available_embedder.embed_query(text)
        profile = self.profile.drop_scripts() if vector is NO_VECTOR else self.profile
        if watch:
            watch.note_stage("meaning")
        question, weights = parse_question(text), build_weights(text, profile, recall)
        if watch:
            watch.note_stage("words", terms=len(question.terms))
        return Search(
            vector=vector,
            terms=question.terms,
            categories=categories,
            filters=query.filters,
            candidates=max(recall.candidates_own if weights.own else recall.candidates, 5 * query.top_k // 4),
            weights=weights,
            hints=find_dimensions(question.intents, _MAX_HINTS) if weights.own and recall.hint_boost else frozenset(),
            periods=find_periods(text, self.clock.now()) if recall.period_boost else (),
            speakers=tokens.extract_speaker_terms(text),
            explain=query.explain,
        )

    async def retrieve_hits(
        self,
        reader: Reader,
        query: Query,
        search: Search | None,
        view: ThreadView | None = None,
        watch: StageWatch | None = None,
    ) -> Retrieval:
        """Search, rank and pack. With a `view` the answer is rendered as a brief, else as the query asks. Nothing is
        recorded.

        The search is repeated among more candidates where those found may hide better ones. Raises BadInput for a
        revision that the space has not reached."""
        as_of: Revision | None = None
        if query.as_of is not None:
            reader, as_of = await self.browser.turn_back(reader, query.as_of)
        vocabulary = choose_vocabulary(self.settings.chat_model)
        if vocabulary not in TOKENIZERS:  # once per process, and not on the event loop
            await asyncio.to_thread(warm_up, vocabulary)
        beside, given, text = view or ThreadView(), query, query.text[: self.settings.limits.query_chars]
        while True:
            snapshot = await self.reads.read_snapshot(
                reader,
                search,
                stable=beside.stable,
                stable_limit=beside.stable_limit,
                thread=beside.thread,
                horizon=beside.horizon,
                as_of=as_of,
            )
            if watch:
                watch.note_search(reader, search, snapshot, as_of)
            if as_of is not None:
                check_revision(snapshot.rev, as_of)
            missing = snapshot.missing_terms if query is given else frozenset[str]()
            if search and missing and (unknown := find_unknown_words(text, missing, vocabulary)):
                query = await self.spelling.correct_query(reader, query, search, unknown, as_of)
                if query is not given:
                    corrected = await self.prepare_search(query, search.categories)
                    search = replace(corrected, with_rivals=search.with_rivals, watched=search.watched)
                    continue
            if (
                search
                and search.candidates < snapshot.corpus_size
                and is_read_whole(search, snapshot, self.settings.recall)
            ):
                search = replace(search, candidates=snapshot.corpus_size)
                continue
            retrieval = self._pack_hits(reader.scope, query, search, snapshot, view, watch)
            if (
                search is None
                or search.is_listing
                or len(snapshot.hits) < search.candidates
                or not needs_more_candidates(search, retrieval.answer, query.top_k)
            ):
                return retrieval
            search = replace(search, candidates=4 * search.candidates)

    def _make_ranking_context(
        self, scope: Scope, query: Query, search: Search | None, snapshot: SearchSnapshot, *, is_context: bool
    ) -> RankingContext:
        recall = self.settings.recall
        text = query.text[: self.settings.limits.query_chars]
        names = find_proper_nouns(text)
        speaker_terms = {term for speaker in snapshot.speakers for term in tokens.extract_terms(speaker)}
        question = parse_question(text)
        is_small = snapshot.corpus_size <= recall.told_among
        cut_share = min(recall.cut_share, recall.list_share if question.asks_list else 1.0)
        mean, spread, least_cosine = snapshot.mean_cosine, snapshot.cosine_spread, -1.0
        # A small space does not say how alike what nobody asks for is.
        is_wide = snapshot.corpus_size >= recall.cut_from and recall.cut_spread > 0 and query.threshold is None
        if mean is not None and spread is not None and is_wide:
            least_cosine = mean + recall.cut_spread * spread
        is_blind = search is not None and search.vector is NO_VECTOR
        profile = self.profile.drop_scripts() if is_blind else self.profile
        gate_size = snapshot.corpus_size if tokens.is_legible(profile.scripts, text) else 1
        return RankingContext(
            query=text,
            at=self.clock.now(),
            profile=profile,
            recall=recall,
            # A context has so many of a category, a query as many as it asks for.
            categories=self.settings.categories if is_context else {},
            threshold=recall.threshold if query.threshold is None else query.threshold,
            # When the embedder does not know the script, a vector that is near by chance must not open the gate.
            gate=compute_gate(gate_size, recall) if query.threshold is None else 0.0,
            cut_share=0.0 if query.threshold is not None else cut_share,
            least_cosine=least_cosine,
            names=names,
            speakers=frozenset(snapshot.speakers),
            unknown_name_ratio=len(names & snapshot.missing_terms - speaker_terms) / max(1, len(names)),
            periods=search.periods if search else (),
            owner=scope.owner,
            about_user=question.concerns_user,
            # In a large space a message counts as a question only if it is about the user or has an intent.
            question=question
            if recall.told_weight and (is_small or question.concerns_user or question.intents)
            else None,
            corpus_size=snapshot.corpus_size,
        )

    def _pack_hits(
        self,
        scope: Scope,
        query: Query,
        search: Search | None,
        snapshot: SearchSnapshot,
        view: ThreadView | None,
        watch: StageWatch | None,
    ) -> Retrieval:
        """Return the relevant hits, then the memories with an edge to them, as far as they fit."""
        vocabulary = choose_vocabulary(self.settings.chat_model)
        is_listed = search is not None and search.is_listing
        degraded = search is not None and search.vector is NO_VECTOR and not is_listed
        header = ""
        if view and snapshot.delta and snapshot.delta.entries:
            most, tokens_left = self.settings.delta.bullets, self.settings.recall.context_budget_tokens
            header = render.fit_delta_header(snapshot.delta, self.settings.categories, most, tokens_left, vocabulary)
        token_budget = (
            render.make_brief_budget(self.settings.recall, header, vocabulary)
            if view
            else render.make_query_budget(query, snapshot.rev, vocabulary, degraded=degraded)
        )
        ranking = self._make_ranking_context(scope, query, search, snapshot, is_context=view is not None)
        ranked: Iterable[Hit | Omission] = (
            list_newest(snapshot.hits) if is_listed else rank_hits(snapshot.hits, ranking)
        )
        if watch:  # else each is ranked when it is asked for
            ranked = [*ranked]
            watch.note_stage("rank", relevant=sum(isinstance(one, Hit) for one in ranked))
        hits, spent, omissions = token_budget.pack_hits(ranked)
        # A query with a higher threshold than usual gets no related memories. Texts below the embedder's `check` band
        # are alike in form only.
        if ranking.threshold <= self.settings.recall.threshold and len(hits) < token_budget.top_k:
            profile, asked = self.profile, ranking.query
            bands = choose_bands(profile, asked, asked) if profile.by_writing else profile
            min_strength = max(self.settings.write.link_min, bands.check)
            if related := find_related_hits(snapshot.hits, hits, ranking, min_strength=min_strength):
                hits, spent, _ = token_budget.pack_hits([*hits, *related])
        shown = {hit.memory.id for hit in hits}
        if watch:
            watch.note_stage("pack", hits=len(hits), tokens=spent)
        answer = Answer(
            hits=tuple(hits),
            rev=snapshot.rev,
            tokens=spent,
            returns=query.returns,
            omissions=tuple(omission for omission in omissions if omission.id not in shown),
            degraded=degraded,
            stages=watch.list_stages() if watch else (),
            cuts=list_cuts(ranking, token_budget) if watch else None,
        )
        return Retrieval(
            search=search, snapshot=snapshot, ranking=ranking, token_budget=token_budget, answer=answer, header=header
        )

    async def record_search(self, scope: Scope, as_of: Revision | datetime | None, hits: Sequence[Hit]) -> None:
        """Count the access to the hits, unless the past was read, and buffer the event."""
        if as_of is None:
            self.access_log.record_access(scope.owner_scope, [hit.memory.id for hit in hits if hit.shared_by is None])
        event = OpsEvent(
            node="context",
            op="search",
            status="ok" if hits else "skipped",
            sim=round(hits[0].score, 4) if hits else None,
            ts=self.clock.now(),
            thread_id=scope.thread,
        )
        await self.write_behind.track_event(scope, event)
