"""The door of workers."""

from __future__ import annotations

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.engine import Engine
from muniment.memory.flows.background.reembed import EmbedderSwitch as EmbedderSwitch  # noqa: PLC0414 - a face says what it was given


class Jobs:
    """The background jobs: what a worker performs, and what is enqueued. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def extract(self, scope: Scope, turn: TurnId) -> Receipt:
        """Keep what a model finds in a turn of the ledger; a turn that it has looked at before is a replay.

        Raises NotFound, ModelError (BadExtraction, OverBudget and the others; the turn can be tried again), StoreError."""
        return await self.engine.model_extraction.extract_turn(scope, turn)

    async def reflect(self, scope: Scope) -> Receipt:
        """Look for insights in the latest memories and words; skipped within `insights.every_hours` of the last look.

        Raises ModelError, StoreError."""
        return await self.engine.insights.find_insights(scope)

    async def expire_consents(self, scope: Scope) -> int:
        """End the requests that nobody answered in time; how many."""
        return await self.engine.consents.expire_consents(scope)

    async def perform_job(self, job: Job) -> None:
        """Do a job now. A job that is done already changes nothing. Raises ModelError, StoreError, NotFound."""
        await self.engine.job_registry.perform_job(job)

    async def count_jobs(self) -> dict[str, dict[str, int]]:
        """The jobs in the queue: name -> due, later, running."""
        return await self.engine.store.jobs.count_jobs()

    async def enqueue_missed(self) -> int:
        """Enqueue the turns of every space that a model has yet to look at; how many."""
        return await self.engine.job_registry.enqueue_missed()

    async def enqueue_due(self) -> int | None:
        """A round: enqueue a `tend` for every space that is due; how many. None while another process does the same."""
        return await self.engine.maintenance_flow.enqueue_due()
