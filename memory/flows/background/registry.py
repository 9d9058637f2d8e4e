"""What each job does, and which turns still want one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.background import indexing, insights, maintenance as tend, procedures
from muniment.memory.flows.consolidation import batch_collect as collect
from muniment.memory.flows.house import House
from muniment.memory.flows.writing import consent, model_extraction as extract
from muniment.memory.flows.writing.background_jobs import extractions

_PAGE = 500
# Each is called with the house, the scope and the job's key.
_PERFORMERS: dict[JobName, Callable[[House, Scope, str], Awaitable[object]]] = {
    "extract": extract.perform,
    "reflect": insights.perform,
    "expire": consent.perform,
    "index": indexing.perform,
    "collect": collect.perform,
    "learn_path": procedures.perform,
    "round": tend.perform_round,
    "tend": tend.perform,
}
_ASK_A_MODEL: frozenset[JobName] = frozenset({"extract", "reflect", "collect"})


def doable(house: House) -> tuple[JobName, ...]:
    """The jobs that this house can do. What wants a model waits, untouched, for a worker that has one."""
    return tuple(name for name in _PERFORMERS if house.model is not None or name not in _ASK_A_MODEL)


async def perform(house: House, job: Job) -> None:
    """See `Memory.perform`."""
    if job.name not in _PERFORMERS:
        raise BadInput(f"there is no job called {job.name!r}")
    await _PERFORMERS[job.name](house, job.scope, job.key)


async def catch_up(house: House) -> int:
    """Enqueue what the user said while there was no model, or what came with an import; returns how many turns. So are
    the spaces that want an index.

    A turn that waits already, or that a model has looked at, is left alone."""
    await indexing.catch_up(house)
    found = 0
    if house.model is None:
        return found
    async for scope in house.store.spaces():
        last: Turn | None = None
        while turns := await house.store.unextracted(scope, last, _PAGE):
            jobs = extractions(house, scope, turns)
            await house.store.enqueue(jobs)
            found, last = found + len(jobs), turns[-1]
    return found
