"""`Jobs`: what a worker performs, and what enqueues its jobs."""

from __future__ import annotations

from muniment.memory.codec import check_calls
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.engine import Engine
from muniment.memory.errors import NotFound


@check_calls
class Jobs:
    """The background jobs: performing and enqueueing them. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def extract(self, scope: Scope, turn: TurnId) -> Receipt:
        """Keep the statements that a model finds in a turn of the ledger. The same turn twice is a replay.

        Raises NotFound, StoreError, ModelError (BadExtraction, OverBudget and others); the turn can be tried again."""
        return await self.engine.run_checked(scope, lambda engine: engine.model_extraction.extract_turn(scope, turn))

    async def reflect(self, scope: Scope) -> Receipt:
        """Keep insights that a model finds in the latest memories and turns; skipped within `insights.every_hours`.

        Raises ModelError, StoreError."""
        return await self.engine.run_checked(scope, lambda engine: engine.insights.find_insights(scope))

    async def expire_consents(self, scope: Scope) -> int:
        """End the pending requests for consent that are overdue. Returns their number."""
        return await self.engine.consents.expire_consents(scope)

    async def perform_job(self, job: Job) -> None:
        """Perform a job now. One that was performed already changes nothing. Raises ModelError, StoreError,
        NotFound."""
        await self.engine.run_checked(job.scope, lambda engine: engine.job_registry.perform_job(job))

    async def count_jobs(self) -> dict[str, dict[str, int]]:
        """Return the numbers of jobs in the queue: name -> due, later, running -> number."""
        return await self.engine.store.jobs.count_jobs()

    async def hasten_job(self, job_id: int, *, tenant: str, scope: Scope | None = None) -> None:
        """Let a worker take a waiting job at once, as after a failure: one of a space, or without one of the tenant or
        of all spaces. Raises NotFound."""
        if not await self.engine.store.jobs.hasten_job(job_id, tenant=tenant, scope=scope):
            raise NotFound

    async def enqueue_missed(self) -> int:
        """Enqueue the extraction of every turn that no model has read yet. Returns the number of turns.

        A turn that is recorded while a model is configured has its job already."""
        return await self.engine.job_registry.enqueue_missed()

    async def enqueue_overgrown(self) -> None:
        """Enqueue the indexing of the spaces that want indexes, or want them no more."""
        await self.engine.indexes.enqueue_overgrown()

    async def enqueue_idle(self) -> None:
        """Enqueue the end of the sessions that nobody has gone on with."""
        await self.engine.session_keeper.enqueue_idle()

    async def enqueue_due(self) -> int | None:
        """Enqueue the maintenance of every space that is due. Returns their number, or None while another process does
        it."""
        return await self.engine.maintenance_flow.enqueue_due()
