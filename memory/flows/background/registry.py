"""What each job does, and which turns still want one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.background.indexing import Indexes
from muniment.memory.flows.background.insights import Insights
from muniment.memory.flows.background.maintenance import Maintenance
from muniment.memory.flows.background.procedures import Procedures
from muniment.memory.flows.consolidation.batch_collect import BatchCollection
from muniment.memory.flows.writing.background_jobs import TurnJobs
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.model_extraction import ModelExtraction
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.llm import ChatModel
from muniment.memory.ports.reads import MemoryReads

_PAGE = 500
_MODEL_JOBS: frozenset[JobName] = frozenset({"extract", "reflect", "collect"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobRegistry:
    """What each job does, and which turns still want one."""

    batch_collection: BatchCollection
    consents: Consents
    indexes: Indexes
    insights: Insights
    jobs: JobQueue
    maintenance_flow: Maintenance
    model: ChatModel | None
    model_extraction: ModelExtraction
    procedures: Procedures
    reads: MemoryReads
    turn_jobs: TurnJobs

    def _performers(self) -> dict[JobName, Callable[[Scope, str], Awaitable[object]]]:
        """What each job does, called with the scope and the job's key."""
        return {
            "extract": self.model_extraction.perform_extraction,
            "reflect": self.insights.perform_reflection,
            "expire": self.consents.perform_expiry,
            "index": self.indexes.perform_indexing,
            "collect": self.batch_collection.perform_collection,
            "learn_path": self.procedures.perform_learning,
            "round": self.maintenance_flow.perform_round,
            "tend": self.maintenance_flow.perform_maintenance,
        }

    def list_performable(self) -> tuple[JobName, ...]:
        """The jobs that this house can do. What wants a model waits, untouched, for a worker that has one."""
        return tuple(name for name in self._performers() if self.model is not None or name not in _MODEL_JOBS)

    async def perform_job(self, job: Job) -> None:
        """See `Memory.perform`."""
        performers = self._performers()
        if job.name not in performers:
            raise BadInput(f"there is no job called {job.name!r}")
        await performers[job.name](job.scope, job.key)

    async def enqueue_missed(self) -> int:
        """Enqueue what the user said while there was no model, or what came with an import; returns how many turns. So are
        the spaces that want an index.

        A turn that waits already, or that a model has looked at, is left alone."""
        await self.indexes.enqueue_overgrown()
        found = 0
        if self.model is None:
            return found
        async for scope in self.reads.list_spaces():
            last: Turn | None = None
            while turns := await self.jobs.list_unextracted_turns(scope, last, _PAGE):
                jobs = self.turn_jobs.make_extraction_jobs(scope, turns)
                await self.jobs.enqueue_jobs(jobs)
                found, last = found + len(jobs), turns[-1]
        return found
