"""The consolidation of many spaces, one after another; what is the matter in one of them is no matter of the next."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from muniment.memory.domain.consolidation import SpaceResult
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.flows.consolidation.consolidate import consolidate_space, find_waiting_run
from muniment.memory.flows.house import House


async def consolidate_each(
    house: House, scopes: Iterable[Scope], *, dry: bool, limit: int | None, unchanged: bool
) -> AsyncIterator[SpaceResult]:
    """See `Memory.consolidate_each`."""
    for scope in scopes:
        yield await _visit_space(house, scope, dry=dry, limit=limit, unchanged=unchanged)


async def _visit_space(house: House, scope: Scope, *, dry: bool, limit: int | None, unchanged: bool) -> SpaceResult:
    if not unchanged and not (await house.store.read_compared_revision(scope))[1]:
        return SpaceResult(scope=scope, skipped="unchanged")
    try:
        run = await consolidate_space(house, scope, dry=dry, limit=limit)
    except Conflict:
        return SpaceResult(scope=scope, skipped="busy")
    if run is not None:
        return SpaceResult(scope=scope, run=run)
    return SpaceResult(scope=scope, skipped="waiting" if await find_waiting_run(house, scope) else "busy")
