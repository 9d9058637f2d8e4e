"""Pinning, forgetting and restoring one memory. Each change is a plan through commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from shlex import quote

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import Memory, State
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.writing.transaction import PlanCommitter, Rejections, VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads

_SHORT_ID = 8
MakeChange = Callable[[Memory], Awaitable[Change | None]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lifecycle:
    """Pinning, forgetting and restoring one memory. Each change is a plan through commit."""

    browser: MemoryBrowser
    clock: Clock
    committer: PlanCommitter
    reads: MemoryReads
    settings: Settings

    async def pin_memory(self, scope: Scope, memory_id: MemoryId, pinned: bool) -> Receipt:
        """See `Memory.pin`. Raises BadInput for a pin on what is forgotten."""

        async def make_change(memory: Memory) -> Change | None:
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
        """See `Memory.forget`."""

        async def make_change(memory: Memory) -> Change | None:
            return None if memory.state == "soft_deleted" else self.make_deletion(memory)

        return await self._commit_change(scope, memory_id, make_change)

    async def restore_memory(self, scope: Scope, memory_id: MemoryId) -> Receipt:
        """See `Memory.restore`. Raises BadInput when a newer memory says the same by now."""

        async def make_change(memory: Memory) -> Change | None:
            if memory.state != "soft_deleted":
                return None
            state = await self._find_former_state(scope, memory)
            after = replace(memory, state=state, purge_at=None, updated_at=self.clock.now())
            # Of what has given way to another one there is nothing to tell: that one is there.
            meta = {"into": str(memory.superseded_by)} if state == "superseded" else {}
            return Change(action="RESTORE", before=memory, after=after, meta=meta)

        return await self._commit_change(scope, memory_id, make_change)

    async def _find_former_state(self, scope: Scope, memory: Memory) -> State:
        """What a memory was before it was forgotten: one that waits for a yes, or had a no, has none by being forgotten."""
        before: Memory | None = memory
        while before is not None and before.state == "soft_deleted":
            before = await self.reads.get_memory(
                self.settings.make_owner_reader(scope), memory.id, as_of=Revision(before.rev - 1)
            )
        return "active" if before is None else before.state

    def make_deletion(self, memory: Memory) -> Change:
        """The soft deletion of a memory."""
        now = self.clock.now()
        purge_at = now + timedelta(days=self.settings.write.soft_delete_days)
        after = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=now)
        return Change(action="DELETE", before=memory, after=after, meta={"why": "forget"})

    async def _commit_change(self, scope: Scope, memory_id: MemoryId, make_change: MakeChange) -> Receipt:
        async def make_plan(_: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _near = await self.reads.find_neighbours(scope, (), 0)
            change = await make_change(await self.browser.get_memory(scope, memory_id))
            if change is None:
                return Receipt(rev=rev)
            return WritePlan(
                scope=scope, expected_rev=rev, node="face", at=self.clock.now(), changes=(change,)
            ), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)
