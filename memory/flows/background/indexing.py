"""The indexes of large spaces: made when a space has grown, made anew when it has changed, dropped when it has shrunk."""

from __future__ import annotations

from collections.abc import Callable

from muniment.memory.domain.jobs import Job
from muniment.memory.domain.maintenance import Indexing
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.house import House


async def index(house: House, scope: Scope, *, drop: bool) -> Indexing:
    """See `Memory.index`."""
    if drop:
        return await house.store.unindex(scope)
    return await house.store.index(scope, house.settings.recall.index_from, anew=True)


async def index_all(house: House, progress: Callable[[int], None] | None, *, drop: bool) -> dict[Scope, Indexing]:
    """See `Memory.index_all`."""
    done: dict[Scope, Indexing] = {}
    async for scope in house.store.spaces():
        found = await index(house, scope, drop=drop)
        if found.indexed or found.made or found.full:
            done[scope] = found
        if progress:
            progress(1)
    return done


async def perform(house: House, scope: Scope, _key: str) -> Indexing:
    """The job: what has changed little is left as it is."""
    return await house.store.index(scope, house.settings.recall.index_from)


async def catch_up(house: House) -> None:
    """Enqueue the spaces that have grown, or changed, too much."""
    grown = await house.store.overgrown(house.settings.recall.index_from)
    await house.store.enqueue([Job(name="index", scope=scope) for scope in grown])
