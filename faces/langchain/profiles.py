"""The profile of a thread stays in the system message as it first stood there, so that a provider's cache keeps the
prompt; what is new in it stands beside the message."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from muniment.memory.domain.query import Brief
from muniment.memory.domain.scope import Scope
from muniment.memory.payload import fence_text

_HEADING = "New about the person; it replaces what is said of the same above:"
_MAX_THREADS = 1_000
_LIFETIME = timedelta(hours=1)  # since the last message; no provider keeps a prompt for longer


class ThreadProfiles:
    """The profiles of the threads of this process, each line by its key."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str], tuple[Mapping[str, str], datetime]] = OrderedDict()

    def hold_profile(self, scope: Scope, brief: Brief, now: datetime) -> Brief:
        """The brief with the profile that its thread has, and with lines that are new or changed in the moving part.

        Where a line is gone, and after an hour without a message, the profile begins anew: what was forgotten is in no
        prompt."""
        if scope.thread is None:
            return brief
        key = str(scope.space), scope.thread
        lines = dict(zip(brief.stable_keys, brief.stable.splitlines(), strict=True))
        held, last = self._held.pop(key, (lines, now))
        if now - last > _LIFETIME or not held.keys() <= lines.keys():
            held = lines
        self._held[key] = held, now
        if len(self._held) > _MAX_THREADS:
            self._held.popitem(last=False)
        news = [line for name, line in lines.items() if held.get(name) != line]
        beside = fence_text("\n".join([_HEADING, *news])) if news else ""
        stable = "\n".join(held.values())
        return replace(brief, stable=stable, moving="\n\n".join(filter(None, [beside, brief.moving])))
