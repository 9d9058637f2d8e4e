"""The consolidation of many spaces, one after another; what is the matter in one of them is no matter of the next."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from muniment.memory.domain.consolidation import Visit
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.flows.consolidation.consolidate import consolidate, waiting
from muniment.memory.flows.house import House


async def consolidate_each(
    house: House, scopes: Iterable[Scope], *, dry: bool, limit: int | None, unchanged: bool
) -> AsyncIterator[Visit]:
    """See `Memory.consolidate_each`."""
    for scope in scopes:
        yield await _visit(house, scope, dry=dry, limit=limit, unchanged=unchanged)


async def _visit(house: House, scope: Scope, *, dry: bool, limit: int | None, unchanged: bool) -> Visit:
    if not unchanged and not (await house.store.compared(scope))[1]:
        return Visit(scope=scope, skipped="unchanged")
    try:
        run = await consolidate(house, scope, dry=dry, limit=limit)
    except Conflict:
        return Visit(scope=scope, skipped="busy")
    if run is not None:
        return Visit(scope=scope, run=run)
    return Visit(scope=scope, skipped="waiting" if await waiting(house, scope) else "busy")
