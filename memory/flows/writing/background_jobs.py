"""The background jobs that follow from turns of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from muniment.memory.config.settings import Settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.procedures import requests
from muniment.memory.rules.procedures.tool_calls import is_work_turn
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction.redact import Redactor

_REQUEST_KEY, _WORK_KEY = "wished", "worked"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TurnJobs:
    """Makes the background jobs that follow from turns of a conversation."""

    clock: Clock
    model: ChatModel | None
    redactor: Redactor
    settings: Settings

    def make_procedure_jobs(self, scope: Scope, turns: Sequence[Turn]) -> tuple[Job, ...]:
        """Return at most two jobs a thread: one at once for a request to keep a procedure, one after a pause for work.

        The pause is `procedures.wait_seconds`; all work that comes before its end is one job."""
        jobs: dict[str, Job] = {}
        for turn in turns:
            if turn.thread is None:
                continue
            if turn.role == "user" and requests.parse_keep_request(quoted.strip_quoted(turn).text) is not None:
                key = f"{_REQUEST_KEY} {turn.thread}"
                jobs[key] = Job(name="learn_path", scope=scope, key=key)
            elif is_work_turn(turn):
                key = f"{_WORK_KEY} {turn.thread}"
                at = self.clock.now() + timedelta(seconds=self.settings.procedures.wait_seconds)
                jobs[key] = Job(name="learn_path", scope=scope, key=key, at=at)
        return tuple(jobs.values())

    def make_extraction_jobs(self, scope: Scope, turns: Sequence[Turn]) -> tuple[Job, ...]:
        """Return a job for each of the user's turns from which a model may extract statements.

        Without a model there are none; `enqueue_missed` enqueues those turns once there is one."""
        if self.model is None:
            return ()
        return tuple(
            Job(name="extract", scope=scope, key=str(turn.id))
            for turn in turns
            if turn.role == "user"
            and gate.find_skip_reason(requests.strip_keep_request(turn.text), turn.role) is None
            and self.redactor.find_denial_reason(scope, turn) is None
        )
