"""Learning behind a reply: a turn that is in the ledger is read by the rules later, here or by a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.ledger import TurnLedger

_WAIT = timedelta(seconds=30)  # in which the process that recorded the turn learns from it itself
_BEFORE = 2  # turns before it: they say what a short answer answers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TurnLearning:
    """Records turns with a job for each of the user's, and performs it. The same turn twice is one write."""

    clock: Clock
    jobs: JobQueue
    ledger: TurnLedger
    writer: Writer

    async def record_turns(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append turns to the ledger, so that what the user says in them is learned even if this process ends now.

        Raises TooLarge, StoreError."""
        at = self.clock.now() + _WAIT
        jobs = [Job(name="learn", scope=scope, key=str(turn.id), at=at) for turn in turns if turn.role == "user"]
        await self.jobs.enqueue_jobs(jobs)  # first: a job without a turn does nothing, a turn without a job is lost
        await self.writer.record_turns(scope, turns)

    async def perform_learning(self, scope: Scope, key: str) -> Receipt:
        """Learn from the turn of the ledger with this id. One that is not there has nothing to learn."""
        passage = await self.ledger.get_passage(scope, TurnId(UUID(key)), before=_BEFORE, after=0)
        if passage is None:
            return Receipt(rev=Revision(0), skipped="not in the ledger")
        return await self.writer.learn_turn(scope, passage.turn, passage.turns[: passage.at])
