"""The indexes of large spaces: made when a space has grown, made anew when it has changed, dropped when it has shrunk."""

from __future__ import annotations

from collections.abc import Callable

from muniment.memory.domain.jobs import Job
from muniment.memory.domain.maintenance import IndexingResult
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.house import House


async def index_space(house: House, scope: Scope, *, drop: bool) -> IndexingResult:
    """See `Memory.index`."""
    if drop:
        return await house.store.unindex_space(scope)
    return await house.store.index_space(scope, house.settings.recall.index_from, force=True)


async def index_spaces(
    house: House, on_progress: Callable[[int], None] | None, *, drop: bool
) -> dict[Scope, IndexingResult]:
    """See `Memory.index_all`."""
    done: dict[Scope, IndexingResult] = {}
    async for scope in house.store.list_spaces():
        found = await index_space(house, scope, drop=drop)
        if found.indexed or found.made or found.full:
            done[scope] = found
        if on_progress:
            on_progress(1)
    return done


async def perform_indexing(house: House, scope: Scope, _key: str) -> IndexingResult:
    """The job: what has changed little is left as it is."""
    return await house.store.index_space(scope, house.settings.recall.index_from)


async def enqueue_overgrown(house: House) -> None:
    """Enqueue the spaces that have grown, or changed, too much."""
    grown = await house.store.find_spaces_to_index(house.settings.recall.index_from)
    await house.store.enqueue_jobs([Job(name="index", scope=scope) for scope in grown])
