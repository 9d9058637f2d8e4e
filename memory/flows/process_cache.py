"""What this process remembers of spaces and runs between calls. Losing it costs time, never data."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from muniment.memory.domain.ids import RunId, SpaceId
from muniment.memory.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class ProcessCache:
    """Counts and dates that spare a question to the database."""

    insight_slots: dict[SpaceId, datetime] = field(default_factory=dict)  # the slot of the last insight job
    daily_counts: dict[SpaceId, tuple[datetime, int, int]] = field(default_factory=dict)  # day, revision, changes
    reported_runs: set[RunId] = field(default_factory=set)  # runs without an endpoint that were logged once

    def drop_space(self, scope: Scope) -> None:
        """Drop what is cached of a space from which something was erased."""
        self.insight_slots.pop(scope.space, None)
        self.daily_counts.pop(scope.space, None)
