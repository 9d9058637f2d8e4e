"""Episodes: what was asked, decided and done in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from uuid import uuid4

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory, compose_document
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, EpisodeSource, make_memory
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.vectors import VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.rules.episodes import episode

_MAX_TURNS = 40  # read at once, at most


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Episodes:
    """Captures episodes by rule, at most so many a day."""

    clock: Clock
    committer: PlanCommitter
    ledger: TurnLedger
    settings: Settings

    async def capture_episode(self, scope: Scope) -> Receipt:
        """Capture what happened in the scope's thread, if enough was said since its last episode. An episode of the
        same topic as a recent one is merged into it. Raises Conflict, ModelError, StoreError."""

        async def make_plan(vectors: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            now = self.clock.now()
            # As far back as an episode matters: it may be merged with, or it counts among those of today.
            since = now - timedelta(hours=max(24.0, self.settings.episodes.merge_hours))
            source = await self.ledger.read_thread_events(
                scope, tag=episode.TAG, category=episode.CATEGORY, since=since, limit=_MAX_TURNS
            )
            candidates = episode.build_episodes(source.turns) if self._is_due(scope, source, now) else ()
            changes = self._make_changes(scope, candidates, source.episodes, now, vectors)
            if not changes:
                return Receipt(rev=source.rev, skipped="nothing to tell")
            turns = tuple(turn for candidate in candidates for turn in candidate.turns)
            plan = WritePlan(
                scope=scope, expected_rev=source.rev, node="episodic", at=now, changes=changes, source_turns=turns
            )
            return plan, Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)

    def _is_due(self, scope: Scope, source: EpisodeSource, now: datetime) -> bool:
        """Return whether there are enough turns, and enough time has passed, since the thread's last episode."""
        rules = self.settings.episodes
        if scope.thread is None or not source.turns or len(source.turns) < rules.cooldown_turns:
            return False
        times = [memory.updated_at for memory in source.episodes if memory.thread_id == scope.thread]
        start = max(times, default=source.turns[0].at)
        return now - start >= timedelta(minutes=rules.cooldown_minutes)

    def _make_changes(
        self,
        scope: Scope,
        candidates: Sequence[Candidate],
        episodes: Sequence[StoredMemory],
        now: datetime,
        cache: VectorCache,
    ) -> tuple[Change, ...]:
        rules, midnight = self.settings.episodes, datetime.combine(now.astimezone(UTC).date(), time(), UTC)
        left = rules.per_day - sum(memory.created_at >= midnight for memory in episodes)
        oldest = now - timedelta(hours=rules.merge_hours)
        recent = [memory for memory in episodes if memory.updated_at >= oldest]
        drafts: list[tuple[StoredMemory, StoredMemory | None]] = []
        for candidate in candidates:
            merged = _merge_episode(candidate, recent, now)
            if merged is not None:
                drafts.append((merged, recent.pop([memory.id for memory in recent].index(merged.id))))
            elif left > 0:
                left -= 1
                drafts.append((make_memory(candidate, MemoryId(uuid4()), scope, now), None))
        vectors = cache.get_vectors([compose_document(after.text, after.aliases) for after, _ in drafts])
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


def _merge_episode(candidate: Candidate, recent: Sequence[StoredMemory], now: datetime) -> StoredMemory | None:
    """Return the first recent episode of the same topic with this one added; None where none has room."""
    for old in recent:
        if not episode.is_same_topic(old.text, candidate.text):
            continue
        text = episode.combine_episodes(old.text, candidate.text)
        if text is not None:
            turns = tuple(dict.fromkeys(old.turns + candidate.turns))
            return replace(old, text=text, turns=turns, event_time=candidate.event_time, updated_at=now)
    return None
