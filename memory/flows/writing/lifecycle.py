"""Pinning, forgetting and restoring one memory. Each change is a plan through commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from shlex import quote

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import Memory, State
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.flows.house import House
from muniment.memory.flows.reading.memories import get_memory
from muniment.memory.flows.writing.transaction import Rejections, VectorCache, commit_with_retry

_SHORT_ID = 8
MakeChange = Callable[[Memory], Awaitable[Change | None]]


async def pin_memory(house: House, scope: Scope, memory_id: MemoryId, pinned: bool) -> Receipt:
    """See `Memory.pin`. Raises BadInput for a pin on what is forgotten."""

    async def make_change(memory: Memory) -> Change | None:
        if pinned and memory.state == "soft_deleted":
            way = f"muniment restore {str(memory.id)[:_SHORT_ID]} --user {quote(scope.owner)}"
            raise BadInput(
                f"this memory is forgotten; to bring it back before it is pinned: `{way}`", id=str(memory.id)
            )
        if memory.pinned == pinned:
            return None
        after = replace(memory, pinned=pinned, updated_at=house.clock.now())
        return Change(action="UPDATE", before=memory, after=after, meta={"why": "pinned" if pinned else "unpinned"})

    return await _commit_change(house, scope, memory_id, make_change)


async def forget_memory(house: House, scope: Scope, memory_id: MemoryId) -> Receipt:
    """See `Memory.forget`."""

    async def make_change(memory: Memory) -> Change | None:
        return None if memory.state == "soft_deleted" else make_deletion(house, memory)

    return await _commit_change(house, scope, memory_id, make_change)


async def restore_memory(house: House, scope: Scope, memory_id: MemoryId) -> Receipt:
    """See `Memory.restore`. Raises BadInput when a newer memory says the same by now."""

    async def make_change(memory: Memory) -> Change | None:
        if memory.state != "soft_deleted":
            return None
        state = await _find_former_state(house, scope, memory)
        after = replace(memory, state=state, purge_at=None, updated_at=house.clock.now())
        # Of what has given way to another one there is nothing to tell: that one is there.
        meta = {"into": str(memory.superseded_by)} if state == "superseded" else {}
        return Change(action="RESTORE", before=memory, after=after, meta=meta)

    return await _commit_change(house, scope, memory_id, make_change)


async def _find_former_state(house: House, scope: Scope, memory: Memory) -> State:
    """What a memory was before it was forgotten: one that waits for a yes, or had a no, has none by being forgotten."""
    before: Memory | None = memory
    while before is not None and before.state == "soft_deleted":
        before = await house.store.get_memory(house.make_owner_reader(scope), memory.id, as_of=Revision(before.rev - 1))
    return "active" if before is None else before.state


def make_deletion(house: House, memory: Memory) -> Change:
    """The soft deletion of a memory."""
    now = house.clock.now()
    purge_at = now + timedelta(days=house.settings.write.soft_delete_days)
    after = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=now)
    return Change(action="DELETE", before=memory, after=after, meta={"why": "forget"})


async def _commit_change(house: House, scope: Scope, memory_id: MemoryId, make_change: MakeChange) -> Receipt:
    async def make_plan(_: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
        rev, _near = await house.store.find_neighbours(scope, (), 0)
        change = await make_change(await get_memory(house, scope, memory_id))
        if change is None:
            return Receipt(rev=rev)
        return WritePlan(
            scope=scope, expected_rev=rev, node="face", at=house.clock.now(), changes=(change,)
        ), Rejections()

    return await commit_with_retry(house, scope, make_plan)
