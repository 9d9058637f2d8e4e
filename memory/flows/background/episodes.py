"""Episodes: what was asked, decided and done in a thread, kept every now and then, deterministically and cheaply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from uuid import uuid4

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Happened
from muniment.memory.flows.house import House
from muniment.memory.flows.writing.transaction import Aside, Vectors, committed
from muniment.memory.rules.episodes import episode
from muniment.memory.rules.merging.merge import fresh

_TURNS = 40  # that one look reads, at most


async def capture(house: House, scope: Scope) -> Receipt:
    """See `Memory.capture`. One read, and one commit when there is something to tell."""

    async def make(read: Vectors) -> tuple[WritePlan, Aside] | Receipt:
        now = house.clock.now()
        found = await house.store.happened(
            scope, tag=episode.TAG, category=episode.CATEGORY, since=_since(house, now), limit=_TURNS
        )
        told = episode.episodes(found.turns) if _due(house, scope, found, now) else ()
        changes = _changes(house, scope, told, found.episodes, now, read)
        if not changes:
            return Receipt(rev=found.rev, skipped="nothing to tell")
        turns = tuple(turn for one in told for turn in one.turns)
        plan = WritePlan(scope=scope, expects=found.rev, node="episodic", at=now, changes=changes, rests_on=turns)
        return plan, Aside()

    return await committed(house, scope, make)


def _due(house: House, scope: Scope, found: Happened, now: datetime) -> bool:
    """Whether enough was said, and long enough ago, since the thread's last episode."""
    rules = house.settings.episodes
    if scope.thread is None or not found.turns or len(found.turns) < rules.cooldown_turns:
        return False
    mine = [one.updated_at for one in found.episodes if one.thread_id == scope.thread]
    start = max(mine, default=found.turns[0].at)
    return now - start >= timedelta(minutes=rules.cooldown_minutes)


def _changes(
    house: House, scope: Scope, told: Sequence[Candidate], known: Sequence[Memory], now: datetime, read: Vectors
) -> tuple[Change, ...]:
    rules, midnight = house.settings.episodes, datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    left = rules.per_day - sum(one.created_at >= midnight for one in known)
    oldest = now - timedelta(hours=rules.merge_hours)
    young = [one for one in known if one.updated_at >= oldest]
    drafts: list[tuple[Memory, Memory | None]] = []
    for one in told:
        merged = _merged(one, young, now)
        if merged is not None:
            drafts.append((merged, young.pop(next(n for n, old in enumerate(young) if old.id == merged.id))))
        elif left > 0:
            left -= 1
            drafts.append((fresh(one, MemoryId(uuid4()), scope, now), None))
    vectors = read.of([after.text for after, _ in drafts])
    return tuple(
        Change(
            action="MERGE" if before else "ADD",
            after=after,
            before=before,
            vector=vector,
            meta={"why": "same topic", "notes": 2} if before else {},
        )
        for (after, before), vector in zip(drafts, vectors, strict=True)
    )


def _merged(one: Candidate, young: Sequence[Memory], now: datetime) -> Memory | None:
    """The latest young episode of the same topic with this one added; None when there is none that has room."""
    for old in young:
        text = episode.combined(old.text, one.text) if episode.same_topic(old.text, one.text) else None
        if text is not None:
            turns = tuple(dict.fromkeys(old.turns + one.turns))
            return replace(old, text=text, turns=turns, event_time=one.event_time, updated_at=now)
    return None


def _since(house: House, now: datetime) -> datetime:
    """As far back as an episode may matter: merged with, or counted today."""
    return now - timedelta(hours=max(24.0, house.settings.episodes.merge_hours))
