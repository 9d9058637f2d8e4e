"""Reads that leave no trace in the records of use."""

from __future__ import annotations

from dataclasses import replace

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.flows.reading.recall import Recall


class _NoEvents:
    async def track_event(self, scope: Scope, event: OpsEvent) -> None:
        """Track nothing."""


_NO_EVENTS = _NoEvents()


def stop_tracking(recall: Recall) -> Recall:
    """Return what answers as `recall` does and records no search. Reads of the past count no access in any case."""
    return replace(recall, write_behind=_NO_EVENTS)
