"""Brings a space to where a case begins: memories, an export, and a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from muniment.faces.check.bench import Bench, CaseMeter
from muniment.faces.check.file_format import Case, Step
from muniment.memory.domain.consent import SENSITIVE
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput

# Where a case names no time, it always has the same, so that "next week" means the same in every run.
FIRST_TIME = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
_BETWEEN_STEPS = timedelta(minutes=1)


@dataclass(slots=True, kw_only=True)
class Conversation:
    """What was said in one session so far, and the requests for consent about which the person was asked last."""

    turns: list[Turn] = field(default_factory=list)
    asked: list[UUID] = field(default_factory=list)


async def prepare_space(bench: Bench, scope: Scope, case: Case, rows: list[dict[str, Any]], meter: CaseMeter) -> None:
    """Fill the space of a case, and set the clock to the time at which it is looked at. `rows` are those of its export.

    Raises BadInput, StoreError, ModelError."""
    times = _list_times(case, is_export=bool(rows))
    bench.clock.set_time(times[0])
    if rows or case.given.memories:
        await meter.time_call("other", bench.memory.load(scope, rows or [*case.given.memories]))
    sessions: dict[str, Conversation] = {}
    for number, (step, time) in enumerate(zip(case.given.turns, times, strict=False)):
        bench.clock.set_time(time)
        if step.maintain:
            await _read_by_model(bench, scope, sessions, meter)
            await meter.time_call("other", bench.memory.admin.maintain(scope))
            continue
        session = step.session or str(scope.session)
        here = replace(scope, session=session, thread=session)
        await _take_turn(bench, here, step, f"{number}", sessions.setdefault(session, Conversation()), meter)
    await _read_by_model(bench, scope, sessions, meter)
    bench.clock.set_time(times[-1])


async def _take_turn(
    bench: Bench, scope: Scope, step: Step, key: str, conversation: Conversation, meter: CaseMeter
) -> None:
    """Say something, as a conversation does: an answer to what was asked decides it, all else is learned; then it is
    recorded."""
    memory, now = bench.memory, bench.clock.now()
    role, text = ("user", step.user) if step.user is not None else ("assistant", str(step.assistant))
    turn = Turn.make(
        session=str(scope.session),
        key=key,
        role="user" if role == "user" else "assistant",
        text=text,
        at=now,
        thread=scope.thread,
        actor=scope.actor if role == "user" else None,
    )
    if role == "user" and not await _answer_consents(bench, scope, text, conversation, meter):
        receipt = await meter.time_call("learn", memory.learn(scope, turn, previous=tuple(conversation.turns)))
        conversation.asked += [each.id for each in receipt.consent_requests if each.field in SENSITIVE]
    await meter.time_call("other", memory.conversation.record(scope, [turn]))
    conversation.turns.append(turn)


async def _answer_consents(bench: Bench, scope: Scope, text: str, conversation: Conversation, meter: CaseMeter) -> bool:
    """Whether a message decides what the person was asked: then it is an answer, and no statement."""
    asked, conversation.asked = conversation.asked, []
    if not asked:
        return False
    answers = await meter.time_call("other", bench.memory.conversation.answer_consents(scope, asked, text))
    conversation.asked = [each.id for each in answers if each.decision == "pending"]
    return len(answers) > len(conversation.asked)


async def _read_by_model(bench: Bench, scope: Scope, sessions: dict[str, Conversation], meter: CaseMeter) -> None:
    """Let the model, where there is one, read what it has not read yet; a worker would do it after some turns."""
    if bench.model is None:
        return
    for session in sessions:
        job = Job(name="build_missed", scope=scope.owner_scope, key=session)
        await meter.time_call("other", bench.memory.jobs.perform_job(job))


def _list_times(case: Case, *, is_export: bool) -> list[datetime]:
    """The times of the steps, and last the time at which the case is looked at. Raises BadInput where that is before a
    step."""
    steps = case.given.turns
    if case.now is not None:
        first = case.now - _BETWEEN_STEPS * len(steps)
    else:
        first = datetime.now(UTC) if is_export else FIRST_TIME
    times: list[datetime] = []
    for step in steps:
        times.append(step.at or (times[-1] + _BETWEEN_STEPS if times else first))
    now = case.now or (times[-1] + _BETWEEN_STEPS if times else first)
    if times and now < max(times):
        raise BadInput("now is before a turn that is given")
    return [*times, now]
