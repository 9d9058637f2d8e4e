"""The upkeep of a host's file: it is compacted behind replies, so that it keeps to its bounds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from muniment.memory.errors import MunimentError
from muniment.plugin.domain.item import CompactPolicy, ItemOwner

if TYPE_CHECKING:
    from muniment.memory.config.plugin import GateSettings, PluginSettings
    from muniment.plugin.ports import MemoryStore
    from muniment.plugin.problems import ProblemLog
    from muniment.plugin.sessions import Sessions

_EVERY = timedelta(days=1)
_MOST_WRITES = 200  # items that a user may have over the bound until the next day
_MOST_USERS = 1_000
_FILES = ("local", "hybrid")  # a server keeps its own bounds


@dataclass(slots=True, kw_only=True)
class _Due:
    """When the items of a user were compacted last, and how many were written since."""

    at: datetime | None = None
    written: int = 0


class StoreUpkeep:
    """Compacts the items of a user at the first turn of a process, then once a day or after 200 writes.

    One compaction is under way at a time, beside the turns. One that lasts longer than `after_seconds` ends there: what
    it has done stays done, and the next goes on."""

    def __init__(self, store: MemoryStore, settings: PluginSettings, sessions: Sessions, problems: ProblemLog) -> None:
        self._store, self._settings, self._sessions, self._problems = store, settings, sessions, problems
        self._due: OrderedDict[tuple[str, str], _Due] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def note_turn(self, owner: ItemOwner, at: datetime, gates: GateSettings, written: int) -> None:
        """Count what a turn has written, and begin to compact where that is due."""
        if self._settings.store not in _FILES:
            return
        due = self._due.setdefault((owner.tenant, owner.user), _Due())
        self._due.move_to_end((owner.tenant, owner.user))
        while len(self._due) > _MOST_USERS:
            self._due.popitem(last=False)
        due.written += written
        is_due = due.at is None or at - due.at >= _EVERY or due.written >= min(_MOST_WRITES, self._settings.max_items)
        if is_due and (self._task is None or self._task.done()):
            due.at, due.written = at, 0
            policy = CompactPolicy(
                at=at, merge_similarity=gates.duplicate_similarity, max_items=self._settings.max_items
            )
            self._task = asyncio.create_task(self._compact(owner, policy))

    async def close(self) -> None:
        """Wait for what is under way; it ends by itself."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _compact(self, owner: ItemOwner, policy: CompactPolicy) -> None:
        try:
            async with asyncio.timeout(self._settings.after_seconds):
                report = await self._store.compact(owner, policy)
        except (MunimentError, TimeoutError, OSError) as error:
            self._problems.note_problem("upkeep", error)
            return
        self._problems.note_success("upkeep")
        if report.expired or report.merged or report.dropped:
            self._sessions.note_write(owner)
