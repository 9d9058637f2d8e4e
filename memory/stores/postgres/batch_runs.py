"""Runs that wait for a batch endpoint: what they reserve is written with their record, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from uuid import UUID

from muniment.memory.domain.consolidation import BatchDraft, Run
from muniment.memory.domain.ids import RunId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Settlement
from muniment.memory.errors import Conflict
from muniment.memory.ports.consolidation import BatchRuns
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.consolidation import send_run
from muniment.memory.stores.postgres.ledger import send_reservation, send_settlements
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import send_jobs

_BLOCKS, _WRITE = load_blocks("batch_runs"), load_blocks("write")


class PostgresBatchRuns(BatchRuns):
    """The `BatchRuns` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def reserve_submission(
        self,
        drafts: Sequence[BatchDraft],
        lease: timedelta,
        poll_after: timedelta,
        day: date,
        tokens: int | None,
        micros: int | None,
    ) -> Run | None:
        scope, run_id = drafts[0].run.scope, drafts[0].run.id
        run = None
        async with self._connections.writing(scope) as conn:
            own = await (await conn.execute(_BLOCKS["lock_run"], {"space": scope.space, "run_id": run_id})).fetchone()
            if own is None:
                raise Conflict("the run is over: another one has taken its place", lost=True)
            for draft in drafts:
                if not (await send_reservation(conn, scope, day, draft.charge, tokens, micros)).rowcount:
                    break
                run = draft.run
            if run is not None:
                await conn.execute(_WRITE["enter"], {"space": scope.space})
                await send_run(conn, run, lease, is_waiting=False)
                # By the queue's own clock: this one may be ahead.
                await send_jobs(conn, (Job(name="collect", scope=scope, key=str(run_id), at=own["now"] + poll_after),))
        return run

    async def list_uncollected_runs(self, scope: Scope) -> list[RunId]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_BLOCKS["uncollected_runs"], {"space": scope.space})
            return [RunId(UUID(row["run_id"])) for row in await cursor.fetchall()]

    async def release_run(self, run: Run, settlements: Sequence[Settlement]) -> bool:
        charges = [settlement.used for settlement in settlements if settlement.used is not None]
        params = {"space": run.scope.space, "run_id": run.id, "requests": len(charges)}
        for name in ("input_tokens", "output_tokens", "micros"):
            params[name] = sum(getattr(charge, name) for charge in charges)
        async with self._connections.writing(run.scope) as conn:
            if not (await conn.execute(_BLOCKS["release"], params)).rowcount:
                return False
            await send_settlements(conn, run.scope, settlements)
        return True
