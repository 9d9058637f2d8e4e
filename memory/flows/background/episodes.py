"""Episodes: what was asked, decided and done in a thread, kept every now and then, deterministically and cheaply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from uuid import uuid4

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, EpisodeSource
from muniment.memory.flows.writing.transaction import PlanCommitter, Rejections, VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.rules.episodes import episode
from muniment.memory.rules.merging.merge import make_memory

_MAX_TURNS = 40  # that one look reads, at most


def _merge_episode(one: Candidate, young: Sequence[Memory], now: datetime) -> Memory | None:
    """The latest young episode of the same topic with this one added; None when there is none that has room."""
    for old in young:
        text = episode.combine_episodes(old.text, one.text) if episode.is_same_topic(old.text, one.text) else None
        if text is not None:
            turns = tuple(dict.fromkeys(old.turns + one.turns))
            return replace(old, text=text, turns=turns, event_time=one.event_time, updated_at=now)
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Episodes:
    """Episodes: what was asked, decided and done in a thread, kept every now and then, deterministically and cheaply."""

    clock: Clock
    committer: PlanCommitter
    ledger: TurnLedger
    settings: Settings

    async def capture_episode(self, scope: Scope) -> Receipt:
        """See `Memory.capture`. One read, and one commit when there is something to tell."""

        async def make_plan(vectors: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            now = self.clock.now()
            found = await self.ledger.read_thread_events(
                scope, tag=episode.TAG, category=episode.CATEGORY, since=self._find_horizon(now), limit=_MAX_TURNS
            )
            candidates = episode.build_episodes(found.turns) if self._is_due(scope, found, now) else ()
            changes = self._make_changes(scope, candidates, found.episodes, now, vectors)
            if not changes:
                return Receipt(rev=found.rev, skipped="nothing to tell")
            turns = tuple(turn for one in candidates for turn in one.turns)
            plan = WritePlan(
                scope=scope, expected_rev=found.rev, node="episodic", at=now, changes=changes, source_turns=turns
            )
            return plan, Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)

    def _is_due(self, scope: Scope, found: EpisodeSource, now: datetime) -> bool:
        """Whether enough was said, and long enough ago, since the thread's last episode."""
        rules = self.settings.episodes
        if scope.thread is None or not found.turns or len(found.turns) < rules.cooldown_turns:
            return False
        mine = [one.updated_at for one in found.episodes if one.thread_id == scope.thread]
        start = max(mine, default=found.turns[0].at)
        return now - start >= timedelta(minutes=rules.cooldown_minutes)

    def _make_changes(
        self,
        scope: Scope,
        candidates: Sequence[Candidate],
        known: Sequence[Memory],
        now: datetime,
        cache: VectorCache,
    ) -> tuple[Change, ...]:
        rules, midnight = self.settings.episodes, datetime.combine(now.astimezone(UTC).date(), time(), UTC)
        left = rules.per_day - sum(one.created_at >= midnight for one in known)
        oldest = now - timedelta(hours=rules.merge_hours)
        young = [one for one in known if one.updated_at >= oldest]
        drafts: list[tuple[Memory, Memory | None]] = []
        for one in candidates:
            merged = _merge_episode(one, young, now)
            if merged is not None:
                drafts.append((merged, young.pop(next(n for n, old in enumerate(young) if old.id == merged.id))))
            elif left > 0:
                left -= 1
                drafts.append((make_memory(one, MemoryId(uuid4()), scope, now), None))
        vectors = cache.get_vectors([after.text for after, _ in drafts])
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

    def _find_horizon(self, now: datetime) -> datetime:
        """As far back as an episode may matter: merged with, or counted today."""
        return now - timedelta(hours=max(24.0, self.settings.episodes.merge_hours))
