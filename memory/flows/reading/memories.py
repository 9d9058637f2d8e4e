"""Single memories, pages of memories, and their history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import KINDS, STATES, TRUSTS, Memory, Neighbour
from muniment.memory.domain.query import Listing, Page
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.flows.house import House
from muniment.memory.flows.reading import as_of as asof
from muniment.memory.rules.language.normalize import clean

_MOST = 2**31 - 1
_RELATED = 10  # of a memory's edges that are shown


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
    found = await house.store.listing(house.owner(scope), replace(wanted, contains=needle, tag=tag), as_of=then)
    asof.reached(found.rev, then)
    return found


async def history(house: House, scope: Scope, memory_id: MemoryId | None, limit: int) -> Sequence[JournalEntry]:
    """See `Memory.history`. Raises BadInput for a limit that cannot be."""
    _paged(limit, 0)
    lines = await house.store.history(house.owner(scope), memory_id, limit)
    if memory_id is not None and not lines:
        await get(house, scope, memory_id)
    return lines


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
