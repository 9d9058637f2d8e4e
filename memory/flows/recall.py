"""The read flow: allow -> embed -> search (one statement) -> rank -> pack -> render."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from muniment.memory import wire
from muniment.memory.errors import BadInput, Denied
from muniment.memory.flows.house import House, safe_text
from muniment.memory.plan import OpsEvent
from muniment.memory.ports import Sight
from muniment.memory.records import Answer, Brief, Hit, Omission, Query, Reader, Revision, Scope, Search
from muniment.memory.rules import gate, render, words
from muniment.memory.rules.pack import as_json, pack
from muniment.memory.rules.rank import rank, related, weights

_NOTHING_ASKED = frozenset({"greeting", "acknowledgement", "empty"})


async def query(house: House, scope: Scope, agent: str, asked: Query) -> Answer:
    """See `Memory.query`."""
    reader = Reader(scope=scope, allowed=house.allowed(agent))
    categories = allow(house, agent, asked, reader.allowed)
    recall = house.settings.recall
    if asked.top_k > house.settings.limits.top_k:
        raise BadInput(f"top_k: {asked.top_k} given, at most {house.settings.limits.top_k} allowed (limits.top_k)")
    if asked.filters.user_id not in (None, scope.owner):
        raise Denied("filters.user_id names another user than the one that asks", agent=agent)
    search = await prepare(house, asked, categories)
    as_of = asked.as_of
    if isinstance(as_of, datetime):
        as_of = await house.store.revision_at(scope, as_of)
    sight = await house.store.look(reader, search, as_of=as_of)
    reached(sight, as_of)
    threshold = recall.threshold if asked.threshold is None else asked.threshold
    hits, dropped = rank(
        sight.found,
        query=asked.text,
        at=house.clock.now(),
        profile=house.profile,
        recall=recall,
        categories=house.categories,
        threshold=threshold,
    )

    def rendered(kept: Sequence[Hit]) -> str:
        answer = Answer(hits=tuple(kept), rev=sight.rev, tokens=0, returns=asked.returns)
        return wire.fenced(as_json(wire.answer(answer)))

    kept, spent, left = pack(hits, top_k=asked.top_k, budget=asked.budget_tokens, rendered=rendered)
    # Who asks for more relevance than usual gets nothing less.
    if threshold <= recall.threshold and (beside := _beside(house, sight, kept, dropped, asked.text)):
        kept, spent, _ = pack([*kept, *beside], top_k=asked.top_k, budget=asked.budget_tokens, rendered=rendered)
    await _searched(house, scope, kept)
    shown = {hit.memory.id for hit in kept}
    left_out = tuple(one for one in dropped + left if one.id not in shown)
    return Answer(hits=tuple(kept), rev=sight.rev, tokens=spent, returns=asked.returns, left_out=left_out)


async def brief(house: House, scope: Scope, agent: str, text: str, as_of: Revision | None) -> Brief:
    """See `Memory.brief`. One transaction: profile, changes and search are of the same revision."""
    reader = Reader(scope=scope, allowed=house.allowed(agent))
    recall, lookback = house.settings.recall, timedelta(hours=house.settings.delta.lookback_hours)
    lasting = sorted(name for name in reader.allowed if house.categories[name].context == "all")
    moving = tuple(sorted(reader.allowed - set(lasting)))
    now = house.clock.now()
    asked = Query(text=text, top_k=recall.context_bullets)
    search = await prepare(house, asked, moving) if gate.skip(text, "user") not in _NOTHING_ASKED else None
    sight = await house.store.look(
        reader,
        search,
        stable=lasting,
        stable_limit=house.settings.limits.profile_items,
        thread=scope.thread,
        horizon=now - lookback,
        as_of=as_of,
    )
    reached(sight, as_of)
    hits, dropped = rank(
        sight.found,
        query=text,
        at=now,
        profile=house.profile,
        recall=recall,
        categories=house.categories,
        threshold=recall.threshold,
    )
    header = render.header(sight.delta, house.categories, house.settings.delta.bullets) if sight.delta else ""

    def block(kept: Sequence[Hit]) -> str:
        lines = [f"- {render.line(render.bullet(hit), 400)}" for hit in kept]
        return render.fence("\n".join(filter(None, [header, *lines])))

    limits = {"top_k": recall.context_bullets, "budget": recall.context_budget_tokens}
    kept, _, _ = pack(hits, **limits, rendered=block)
    if beside := _beside(house, sight, kept, dropped, text):
        kept, _, _ = pack([*kept, *beside], **limits, rendered=block)
    await _searched(house, scope, kept)
    return Brief(
        rev=sight.rev,
        stable=render.stable(sight.stable, sight.profile),
        header=header,
        bullets=tuple(map(render.bullet, kept)),
        moving=block(kept),
    )


def _beside(house: House, sight: Sight, kept: Sequence[Hit], dropped: Sequence[Omission], text: str) -> list[Hit]:
    """What comes along with the hits by an edge. Below the embedder's `check` band two texts are alike in form only."""
    weak = {one.id for one in dropped if one.reason == "below threshold"}
    return related(
        [one for one in sight.found if one.memory.id in weak],
        kept,
        query=text,
        at=house.clock.now(),
        profile=house.profile,
        recall=house.settings.recall,
        categories=house.categories,
        least=max(house.settings.write.link_min, house.profile.check),
    )


async def seen(house: House, scope: Scope, rev: Revision) -> None:
    """See `Memory.seen`. Raises BadInput without a thread."""
    if scope.thread is None:
        raise BadInput("a scope without a thread has no cursor")
    await house.store.seen(scope, scope.thread, rev)


def allow(house: House, agent: str, asked: Query, allowed: frozenset[str]) -> tuple[str, ...]:
    """The categories to search. Raises BadInput for an unknown one, Denied for the whole request when one is denied."""
    wanted = set(asked.categories) | ({asked.filters.category} if asked.filters.category else set())
    if unknown := wanted - set(house.categories):
        known = ", ".join(sorted(house.categories))
        raise BadInput(f"unknown category {min(unknown)!r}; allowed: {known}")
    if denied := sorted(wanted - allowed):
        permitted = sorted(allowed)
        raise Denied(
            f"agent {agent!r} may not read {', '.join(denied)}; it may read {', '.join(permitted)}",
            agent=agent,
            denied=denied,
            allowed=permitted,
        )
    return tuple(sorted(asked.categories or allowed))


def reached(sight: Sight, as_of: Revision | None) -> None:
    """Raises BadInput for a revision that the space has not reached."""
    if as_of is not None and not 0 <= as_of <= sight.rev:
        raise BadInput(f"as_of: revision {as_of} given, the space is at {sight.rev}")


async def prepare(house: House, asked: Query, categories: tuple[str, ...]) -> Search:
    """A query as the store takes it: embedded, its terms made."""
    # Redacted before it is cut: half a secret is no longer recognised as one.
    text = safe_text(house, asked.text)[: house.settings.limits.query_chars]
    return Search(
        vector=await house.embedder.query(text),
        terms=words.terms(text),
        categories=categories,
        filters=asked.filters,
        candidates=max(house.settings.recall.candidates, asked.top_k),
        weights=weights(house.profile, house.settings.recall),
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
