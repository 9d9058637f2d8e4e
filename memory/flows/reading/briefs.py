"""Briefs: what goes before a model for a message."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Brief, Hit, Query
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Search
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.flows.reading.retrieval import Retrieval, ThreadView
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.policy.consent import find_current_fields
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.retrieval import render

_LIMITED_SHARE = 0.5  # of the threshold, for a brief of so many memories
_SMALL_TALK = frozenset({"greeting", "acknowledgement", "empty"})


async def build_brief(
    recall: Recall, scope: Scope, agent: str, text: str, *, as_of: Revision | None = None, limit: int | None = None
) -> Brief:
    """Return what goes before a model for this message: profile, delta header and bullets, all of one revision.

    With a `limit` it has so many memories at most, and also what is less relevant. The profile gets no more than half
    of them, and what it has no room for is found like everything else. How-to memory is no part of a brief. Raises
    BadConfig for an unknown agent, BadInput for a revision that the space has not reached."""
    if agent in recall.settings.recall.agents:
        recall = recall.apply_profile(agent)
    if limit is not None:
        recall = replace(recall, settings=_apply_limit(recall.settings, limit))
    settings, reader = recall.settings, recall.make_reader(scope, agent)
    reader = replace(reader, allowed=reader.allowed - {CATEGORY})
    stable = sorted(name for name in reader.allowed if settings.categories[name].context == "all")
    view = ThreadView(
        stable=stable,
        stable_limit=settings.limits.profile_items,
        thread=scope.thread,
        horizon=recall.clock.now() - timedelta(hours=settings.delta.lookback_hours),
    )
    # Who says how many wants them, and not only what is sure to be meant.
    threshold = None if limit is None else settings.recall.threshold * _LIMITED_SHARE
    query = Query(text=text, top_k=settings.recall.context_bullets, threshold=threshold, as_of=as_of)
    if settings.recall.without_tags:
        query = settings.recall.leave_out(query, scope)
    search = await _prepare_search(recall, reader, query, frozenset(stable) if limit is None else frozenset())
    retrieval = await recall.retrieve_hits(reader, query, search, view)
    brief, hits = _render_brief(retrieval, settings, limit)
    await recall.record_search(scope, as_of, hits)
    return brief


def _apply_limit(settings: Settings, limit: int) -> Settings:
    """Return the settings for a brief of so many memories, whose budget grows with them."""
    recall, limits = settings.recall, settings.limits
    tokens = recall.context_budget_tokens * max(limit, recall.context_bullets) // recall.context_bullets
    return settings.model_copy(
        update={
            "recall": recall.model_copy(update={"context_bullets": limit, "context_budget_tokens": tokens}),
            "limits": limits.model_copy(update={"profile_items": min(limits.profile_items, limit // 2)}),
        }
    )


async def _prepare_search(recall: Recall, reader: Reader, query: Query, shown: frozenset[str]) -> Search | None:
    """Return the search for what a message is about, but in the categories that are shown anyway; None for small
    talk."""
    if gate.find_skip_reason(query.text, "user") in _SMALL_TALK:
        return None
    return await recall.prepare_search(query, tuple(sorted(reader.allowed - shown)))


def _render_brief(retrieval: Retrieval, settings: Settings, limit: int | None) -> tuple[Brief, tuple[Hit, ...]]:
    snapshot, hits, items = retrieval.snapshot, retrieval.answer.hits, settings.limits.profile_items
    fields: tuple[Consent, ...] = ()
    if snapshot.profile:
        fields = tuple(find_current_fields(snapshot.profile, snapshot.stable))
    own = tuple(snapshot.stable)
    if limit is not None:
        fields = fields[:items]
        own = own[: items - len(fields)]
    shared = snapshot.shared_stable[: max(0, items - len(own) - (0 if limit is None else len(fields)))]
    lasting = (*own, *(memory for _, memory in shared))
    if limit is not None:
        shown = {memory.id for memory in lasting}
        hits = tuple(hit for hit in hits if hit.memory.id not in shown)[: limit - len(fields) - len(lasting)]
    brief = Brief(
        rev=snapshot.rev,
        stable=render.render_stable(own, fields, shared),
        stable_keys=(*(each.field for each in fields), *(str(memory.id) for memory in lasting)),
        header=retrieval.header,
        bullets=tuple(map(render.format_bullet, hits)),
        turns=tuple(frozenset(hit.memory.turns) for hit in hits),
        moving=retrieval.token_budget.render_block(hits),
        degraded=retrieval.answer.degraded,
        relevance=max((hit.relevance for hit in hits), default=0.0),
    )
    return brief, hits
