"""What performs each job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from muniment.memory.domain.embedding import SwitchRange
from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.background.indexing import Indexes
from muniment.memory.flows.background.insights import Insights
from muniment.memory.flows.background.maintenance import Maintenance
from muniment.memory.flows.background.missing_vectors import MissingVectors
from muniment.memory.flows.background.procedures import Procedures
from muniment.memory.flows.background.reembed import Reembedding
from muniment.memory.flows.background.turn_learning import TurnLearning
from muniment.memory.flows.consolidation.batch_collect import BatchCollection
from muniment.memory.flows.layers.session_builder import SessionBuilder
from muniment.memory.flows.layers.session_keeper import SessionKeeper
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.model_extraction import ModelExtraction
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.llm import ChatModel
from muniment.memory.ports.reads import MemoryReads

_PAGE = 500
_MODEL_JOBS: frozenset[JobName] = frozenset({"extract", "build", "build_missed", "reflect", "collect"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobRegistry:
    """Performs jobs by their names, and enqueues those that were missed."""

    batch_collection: BatchCollection
    consents: Consents
    indexes: Indexes
    insights: Insights
    jobs: JobQueue
    maintenance_flow: Maintenance
    missing_vectors: MissingVectors
    model: ChatModel | None
    model_extraction: ModelExtraction
    procedures: Procedures
    reads: MemoryReads
    reembedding: Reembedding
    session_builder: SessionBuilder
    session_keeper: SessionKeeper
    turn_learning: TurnLearning
    writer: Writer

    def _list_performers(self) -> dict[JobName, Callable[[Scope, str], Awaitable[object]]]:
        """Return what performs each job, called with the scope and the job's key."""
        return {
            "extract": self.model_extraction.perform_extraction,
            "build": self.session_builder.perform_building,
            "build_missed": self.session_builder.build_missed,
            "reflect": lambda scope, _key: self.insights.find_insights(scope),
            "expire": self.consents.perform_expiry,
            "index": self.indexes.perform_indexing,
            "collect": self.batch_collection.perform_collection,
            "embed": lambda scope, _key: self.missing_vectors.embed_missing(scope),
            "learn": self.turn_learning.perform_learning,
            "learn_path": self.procedures.perform_learning,
            "round": lambda _scope, _key: self.maintenance_flow.enqueue_due(),
            "end_sessions": lambda scope, _key: self.session_keeper.end_idle(scope),
            "tend": lambda scope, _key: self.maintenance_flow.maintain_space(scope),
            "reembed": lambda scope, _key: self.reembedding.reembed_all(SwitchRange(tenant=scope.tenant)),
        }

    def list_names(self) -> tuple[JobName, ...]:
        """Return all jobs, also those that this process has no model for."""
        return tuple(self._list_performers())

    def list_performable(self) -> tuple[JobName, ...]:
        """Return the jobs that this process can perform. A job that needs a model waits for a process that has one."""
        return tuple(name for name in self._list_performers() if self.model is not None or name not in _MODEL_JOBS)

    async def perform_job(self, job: Job) -> None:
        """Perform a job now. Raises BadInput for an unknown name, ModelError, StoreError, NotFound."""
        performers = self._list_performers()
        if job.name not in performers:
            raise BadInput(f"there is no job called {job.name!r}")
        await performers[job.name](job.scope, job.key)

    async def enqueue_missed(self) -> int:
        """Enqueue the turns that were recorded without a model, or imported.

        Returns how many turns. A turn that is in the queue, or that a model has read, is not among them."""
        count = 0
        if self.model is None:
            return count
        async for scope in self.reads.list_spaces():
            last: Turn | None = None
            while turns := await self.jobs.list_unextracted_turns(scope, last, _PAGE):
                readable = self.writer.turn_reader.list_readable(scope, turns)
                sessions = dict.fromkeys(turn.session or turn.thread or "" for turn in readable)
                await self.jobs.enqueue_jobs([Job(name="build_missed", scope=scope, key=each) for each in sessions])
                count, last = count + len(readable), turns[-1]
        return count
