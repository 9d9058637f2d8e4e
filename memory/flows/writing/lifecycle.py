"""Pinning, forgetting and restoring one memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from shlex import quote

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections, VectorCache, make_deletion
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads

_SHORT_ID = 8
MakeChange = Callable[[StoredMemory], Awaitable[Change | None]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lifecycle:
    """Pins, forgets and restores one memory. A memory that is so already is not changed."""

    browser: MemoryBrowser
    clock: Clock
    committer: PlanCommitter
    reads: MemoryReads
    settings: Settings

    async def pin_memory(self, scope: Scope, memory_id: MemoryId, pinned: bool) -> Receipt:
        """Pin or unpin a memory. Raises NotFound, BadInput for a pin on a forgotten memory."""

        async def make_change(memory: StoredMemory) -> Change | None:
            if pinned and memory.state == "soft_deleted":
                way = f"muniment restore {str(memory.id)[:_SHORT_ID]} --user {quote(scope.owner)}"
                raise BadInput(
                    f"this memory is forgotten; to bring it back before it is pinned: `{way}`", id=str(memory.id)
                )
            if memory.pinned == pinned:
                return None
            after = replace(memory, pinned=pinned, updated_at=self.clock.now())
            return Change(action="UPDATE", before=memory, after=after, meta={"why": "pinned" if pinned else "unpinned"})

        return await self._commit_change(scope, memory_id, make_change)

    async def forget_memory(self, scope: Scope, memory_id: MemoryId) -> Receipt:
        """Soft-delete a memory: it can be restored until it is purged. Raises NotFound."""

        async def make_change(memory: StoredMemory) -> Change | None:
            return None if memory.state == "soft_deleted" else make_deletion(memory, self.clock.now(), self.settings)

        return await self._commit_change(scope, memory_id, make_change)

    async def restore_memory(self, scope: Scope, memory_id: MemoryId) -> Receipt:
        """Bring a forgotten memory back in its former state. Raises NotFound, BadInput when another says the same by
        now."""

        async def make_change(memory: StoredMemory) -> Change | None:
            if memory.state != "soft_deleted":
                return None
            # A memory that waited for consent, or was rejected, is not approved by having been forgotten.
            former: StoredMemory | None = memory
            while former is not None and former.state == "soft_deleted":
                former = await self.reads.get_memory(
                    self.settings.make_owner_reader(scope), memory.id, as_of=Revision(former.rev - 1)
                )
            state = "active" if former is None else former.state
            after = replace(memory, state=state, purge_at=None, updated_at=self.clock.now())
            # The journal names the memory that superseded this one: it is what the user sees.
            meta = {"into": str(memory.superseded_by)} if state == "superseded" else {}
            return Change(action="RESTORE", before=memory, after=after, meta=meta)

        return await self._commit_change(scope, memory_id, make_change)

    async def _commit_change(self, scope: Scope, memory_id: MemoryId, make_change: MakeChange) -> Receipt:
        async def make_plan(_: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _neighbours = await self.reads.find_neighbours(scope, (), 0)
            change = await make_change(await self.browser.get_memory(scope, memory_id))
            if change is None:
                return Receipt(rev=rev)
            now = self.clock.now()
            return WritePlan(scope=scope, expected_rev=rev, node="face", at=now, changes=(change,)), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)
