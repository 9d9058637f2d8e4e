"""What each job does, and which turns still want one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.background import indexing, insights, maintenance, procedures
from muniment.memory.flows.consolidation import batch_collect
from muniment.memory.flows.house import House
from muniment.memory.flows.writing import consent, model_extraction
from muniment.memory.flows.writing.background_jobs import make_extraction_jobs

_PAGE = 500
# Each is called with the house, the scope and the job's key.
_PERFORMERS: dict[JobName, Callable[[House, Scope, str], Awaitable[object]]] = {
    "extract": model_extraction.perform_extraction,
    "reflect": insights.perform_reflection,
    "expire": consent.perform_expiry,
    "index": indexing.perform_indexing,
    "collect": batch_collect.perform_collection,
    "learn_path": procedures.perform_learning,
    "round": maintenance.perform_round,
    "tend": maintenance.perform_maintenance,
}
_MODEL_JOBS: frozenset[JobName] = frozenset({"extract", "reflect", "collect"})


def list_performable(house: House) -> tuple[JobName, ...]:
    """The jobs that this house can do. What wants a model waits, untouched, for a worker that has one."""
    return tuple(name for name in _PERFORMERS if house.model is not None or name not in _MODEL_JOBS)


async def perform_job(house: House, job: Job) -> None:
    """See `Memory.perform`."""
    if job.name not in _PERFORMERS:
        raise BadInput(f"there is no job called {job.name!r}")
    await _PERFORMERS[job.name](house, job.scope, job.key)


async def enqueue_missed(house: House) -> int:
    """Enqueue what the user said while there was no model, or what came with an import; returns how many turns. So are
    the spaces that want an index.

    A turn that waits already, or that a model has looked at, is left alone."""
    await indexing.enqueue_overgrown(house)
    found = 0
    if house.model is None:
        return found
    async for scope in house.store.list_spaces():
        last: Turn | None = None
        while turns := await house.store.list_unextracted_turns(scope, last, _PAGE):
            jobs = make_extraction_jobs(house, scope, turns)
            await house.store.enqueue_jobs(jobs)
            found, last = found + len(jobs), turns[-1]
    return found
