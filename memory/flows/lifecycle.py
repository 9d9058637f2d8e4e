"""One memory's life: looked at, pinned, forgotten, restored. Each change is a plan through commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from shlex import quote

from muniment.memory.errors import BadInput, NotFound
from muniment.memory.flows import asof
from muniment.memory.flows.attempts import Aside, Vectors, committed
from muniment.memory.flows.house import House
from muniment.memory.pages import KINDS, STATES, TRUSTS, Listing, Page
from muniment.memory.plan import Change, Receipt, WritePlan
from muniment.memory.records import JournalEntry, Memory, MemoryId, Neighbour, Revision, Scope, State, evolve
from muniment.memory.rules.text import clean

_MOST = 2**31 - 1
_SHORT_ID = 8
_RELATED = 10  # of a memory's edges that are shown
Step = Callable[[Memory], Awaitable[Change | None]]


async def get(house: House, scope: Scope, memory_id: MemoryId, as_of: Revision | datetime | None = None) -> Memory:
    """See `Memory.get`."""
    then = await asof.revision(house, scope, as_of)
    if then is not None:
        asof.reached((await house.store.near(scope, (), 0))[0], then)
    found = await house.store.get(house.owner(scope), memory_id, as_of=then)
    if found is None:
        at = "" if then is None else f" at revision {then}"
        raise NotFound(f"no memory {memory_id} in the space of {scope.owner!r}{at}", id=str(memory_id))
    return found


async def members(house: House, scope: Scope, ids: Iterable[MemoryId]) -> dict[MemoryId, Memory]:
    """See `Memory.members`."""
    return (await house.store.members(scope, list(dict.fromkeys(ids)))).memories


async def related(house: House, scope: Scope, memory_id: MemoryId) -> list[Neighbour]:
    """See `Memory.related`."""
    return await house.store.related(house.owner(scope), memory_id, _RELATED)


async def page(house: House, scope: Scope, wanted: Listing, as_of: Revision | datetime | None = None) -> Page:
    """See `Memory.page`."""
    _paged(wanted.limit, wanted.offset)
    _known("category", wanted.categories, sorted(house.categories))
    _known("kind", wanted.kinds, KINDS)
    _known("trust", wanted.trusts, TRUSTS)
    _known("state", wanted.states, STATES)
    then = await asof.revision(house, scope, as_of)
    needle, tag = _sought("contains", wanted.contains), _sought("tag", wanted.tag)
    found = await house.store.listing(house.owner(scope), evolve(wanted, contains=needle, tag=tag), as_of=then)
    asof.reached(found.rev, then)
    return found


async def history(house: House, scope: Scope, memory_id: MemoryId | None, limit: int) -> Sequence[JournalEntry]:
    """See `Memory.history`. Raises BadInput for a limit that cannot be."""
    _paged(limit, 0)
    lines = await house.store.history(house.owner(scope), memory_id, limit)
    if memory_id is not None and not lines:
        await get(house, scope, memory_id)
    return lines


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
        after = evolve(memory, pinned=pinned, updated_at=house.clock.now())
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
        after = evolve(memory, state=state, purge_at=None, updated_at=house.clock.now())
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
    after = evolve(memory, state="soft_deleted", purge_at=purge_at, updated_at=now)
    return Change(action="DELETE", before=memory, after=after, meta={"why": "forget"})


def _known(what: str, given: Sequence[str], allowed: Sequence[str]) -> None:
    if unknown := sorted(set(given) - set(allowed)):
        raise BadInput(f"unknown {what} {unknown[0]!r}; allowed: {', '.join(allowed)}")


def _sought(what: str, given: str | None) -> str | None:
    """A text as what is stored has it. Whoever seeks an empty one does not want all."""
    if given is None:
        return None
    if not (text := clean(given)):
        raise BadInput(f"{what}: is empty; give a text, or leave it out")
    return text


def _paged(limit: int, offset: int) -> None:
    if not 1 <= limit <= _MOST or not 0 <= offset <= _MOST:
        raise BadInput(f"limit: 1 to {_MOST:,} wanted; offset: 0 to {_MOST:,} wanted")


async def _change(house: House, scope: Scope, memory_id: MemoryId, step: Step) -> Receipt:
    async def make(_: Vectors) -> tuple[WritePlan, Aside] | Receipt:
        rev, _near = await house.store.near(scope, (), 0)
        change = await step(await get(house, scope, memory_id))
        if change is None:
            return Receipt(rev=rev)
        return WritePlan(scope=scope, expects=rev, node="face", at=house.clock.now(), changes=(change,)), Aside()

    return await committed(house, scope, make)
