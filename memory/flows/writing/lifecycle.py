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
from muniment.memory.flows.reading.memories import get
from muniment.memory.flows.writing.transaction import Aside, Vectors, committed

_SHORT_ID = 8
Step = Callable[[Memory], Awaitable[Change | None]]


async def pin(house: House, scope: Scope, memory_id: MemoryId, pinned: bool) -> Receipt:
    """See `Memory.pin`. Raises BadInput for a pin on what is forgotten."""

    async def step(memory: Memory) -> Change | None:
        if pinned and memory.state == "soft_deleted":
            way = f"muniment restore {str(memory.id)[:_SHORT_ID]} --user {quote(scope.owner)}"
            raise BadInput(
                f"this memory is forgotten; to bring it back before it is pinned: `{way}`", id=str(memory.id)
            )
        if memory.pinned == pinned:
            return None
        after = replace(memory, pinned=pinned, updated_at=house.clock.now())
        return Change(action="UPDATE", before=memory, after=after, meta={"why": "pinned" if pinned else "unpinned"})

    return await _change(house, scope, memory_id, step)


async def forget(house: House, scope: Scope, memory_id: MemoryId) -> Receipt:
    """See `Memory.forget`."""

    async def step(memory: Memory) -> Change | None:
        return None if memory.state == "soft_deleted" else forgotten(house, memory)

    return await _change(house, scope, memory_id, step)


async def restore(house: House, scope: Scope, memory_id: MemoryId) -> Receipt:
    """See `Memory.restore`. Raises BadInput when a newer memory says the same by now."""

    async def step(memory: Memory) -> Change | None:
        if memory.state != "soft_deleted":
            return None
        state = await _former_state(house, scope, memory)
        after = replace(memory, state=state, purge_at=None, updated_at=house.clock.now())
        # Of what has given way to another one there is nothing to tell: that one is there.
        meta = {"into": str(memory.superseded_by)} if state == "superseded" else {}
        return Change(action="RESTORE", before=memory, after=after, meta=meta)

    return await _change(house, scope, memory_id, step)


async def _former_state(house: House, scope: Scope, memory: Memory) -> State:
    """What a memory was before it was forgotten: one that waits for a yes, or had a no, has none by being forgotten."""
    before: Memory | None = memory
    while before is not None and before.state == "soft_deleted":
        before = await house.store.get(house.owner(scope), memory.id, as_of=Revision(before.rev - 1))
    return "active" if before is None else before.state


def forgotten(house: House, memory: Memory) -> Change:
    """The soft deletion of a memory."""
    now = house.clock.now()
    purge_at = now + timedelta(days=house.settings.write.soft_delete_days)
    after = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=now)
    return Change(action="DELETE", before=memory, after=after, meta={"why": "forget"})


async def _change(house: House, scope: Scope, memory_id: MemoryId, step: Step) -> Receipt:
    async def make(_: Vectors) -> tuple[WritePlan, Aside] | Receipt:
        rev, _near = await house.store.near(scope, (), 0)
        change = await step(await get(house, scope, memory_id))
        if change is None:
            return Receipt(rev=rev)
        return WritePlan(scope=scope, expects=rev, node="face", at=house.clock.now(), changes=(change,)), Aside()

    return await committed(house, scope, make)
