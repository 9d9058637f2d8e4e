"""The job that waits for a batch of questions about pairs, for days and across restarts, and does what the answers say.

Its steps: answers and money in one transaction, the end of the run, the endpoint's files. Each is found undone by the next
process, if this one dies, and none is done twice."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from muniment.memory.domain.consolidation import BatchedPair, Finding, Judgement, Pair, Run
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import (
    BadExtraction,
    BatchFailed,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    NotReady,
    OverBudget,
)
from muniment.memory.flows import metering
from muniment.memory.flows.consolidation import consolidate
from muniment.memory.flows.consolidation.batch_submit import (
    end_without_answers,
    get_batch_timeout,
    get_budget_day,
    get_lease,
    get_process_lease,
    get_reserved_charge,
    get_waiting_time,
)
from muniment.memory.flows.house import House
from muniment.memory.flows.reading import memories
from muniment.memory.ports.llm import BatchModel, BatchResults
from muniment.memory.rules.merging import pair_answers

_log = logging.getLogger(__name__)
_CANCELLING = timedelta(hours=1)  # what was answered before a batch was cancelled comes within so long


async def perform_collection(house: House, scope: Scope, key: str) -> None:
    """The job `collect`: see `Memory.perform`. Raises NotReady until there is an answer, or none will come; then ModelError
    until nothing of the batch is at the endpoint any more."""
    run = next(iter(await house.store.list_runs(scope, 1, RunId(UUID(key)))), None)
    if run is None:
        if house.batches is not None:
            await drop_batch(house.batches, key)  # its space was erased meanwhile
        return
    if run.status == "waiting":
        run = await _collect_answers(house, run)
    if run.ended_at is None:
        run = await consolidate.end_run(house, run)
    await remove_files(house, run)


async def abandon_overdue(house: House, scope: Scope) -> bool:
    """End the run of a space whose answers nobody has come for, though all its time is over; whether there was one."""
    run = await consolidate.find_waiting_run(house, scope)
    if run is None or get_waiting_time(house, run) < get_batch_timeout(house):
        return False
    _log.warning("a run has waited for a batch endpoint for too long, and is given up")
    await consolidate.end_run(house, await _fail_unknown(house, run, ModelUnavailable))
    return True


async def remove_files(house: House, run: Run) -> None:
    """Let nothing of a run that is over be at the endpoint. Raises NotReady while a batch is being cancelled, ModelError; but
    after its days nobody tries any more."""
    if house.batches is None:
        return
    try:
        await _remove_batch(house, house.batches, run)
    except (ModelError, NotReady) as error:
        if get_waiting_time(house, run) < get_batch_timeout(house):
            raise
        _log.warning("the files of a batch could not be removed: %s", type(error).__name__)


async def _remove_batch(house: House, batches: BatchModel, run: Run) -> None:
    name = run.batch or await batches.find_batch(str(run.id), _get_submission_time(run))
    if name is None:
        await batches.delete_orphaned_uploads(str(run.id))
        return
    if run.status in ("cancelled", "failed", "interrupted"):
        await batches.cancel_batch(name)
    if run.status == "cancelled" and run.batch is not None:
        await _settle_late(house, batches, run, run.batch)
    await batches.delete_files(name)
    await house.store.release_run(run, ())


async def _settle_late(house: House, batches: BatchModel, run: Run, name: str) -> None:
    """What was answered before a batch was called off is paid for, once. Raises NotReady until that is known."""
    collected = BatchResults()
    with suppress(BatchFailed):
        found = await batches.fetch_results(name)
        if found is None:
            raise NotReady
        collected = found
    used = metering.charge_batch(house, get_reserved_charge(run), collected.tokens, 1)
    await house.store.release_run(run, metering.make_settlements(get_budget_day(run), None, used))


async def _collect_answers(house: House, run: Run) -> Run:
    """The run with what was answered done and paid for. Raises NotReady, ModelError while there is time."""
    is_overdue = get_waiting_time(house, run) >= timedelta(days=house.settings.consolidation.batch_days) + _CANCELLING
    try:
        if house.batches is None:
            raise ModelUnavailable("no batch endpoint is configured (MUNIMENT_MODEL)")
        return await _poll_batch(house, house.batches, run, is_overdue=is_overdue)
    except ModelError as error:
        if is_overdue:
            return await _fail_unknown(house, run, type(error))
        if house.batches is not None:
            raise
    if run.id not in house.reported_runs:
        house.reported_runs.add(run.id)
        _log.warning("a batch waits at an endpoint, and this process has none to ask (MUNIMENT_MODEL)")
    raise NotReady


async def _poll_batch(house: House, batches: BatchModel, run: Run, *, is_overdue: bool) -> Run:
    name = run.batch or await batches.find_batch(str(run.id), _get_submission_time(run))
    if name is None:
        if get_waiting_time(house, run) < get_process_lease(house):
            raise NotReady
        # Its process has died before it could ask, or the endpoint has never heard it.
        return await end_without_answers(house, run, "interrupted")
    if run.batch is None:
        run = await house.store.save_run(replace(run, batch=name), get_lease(house, run), settlements=())
    try:
        collected = await batches.fetch_results(name)
    except BatchFailed as error:
        return await end_without_answers(house, run, "failed", type(error).__name__)
    if collected is None:
        if get_waiting_time(house, run) >= timedelta(days=house.settings.consolidation.batch_days):
            await batches.cancel_batch(name)
        if not is_overdue:
            raise NotReady
        return await _fail_unknown(house, run, ModelTimeout)
    return await _apply_answers(house, run, collected)


async def _apply_answers(house: House, run: Run, collected: BatchResults) -> Run:
    """Do what the answers say and settle what they cost, all or nothing."""
    used = metering.charge_batch(house, get_reserved_charge(run), collected.tokens, max(1, run.requests))
    told, findings = await _read_findings(house, run, collected)
    told = replace(
        told,
        # It may have asked only as much as the day could pay for.
        status="over_budget" if run.reason == OverBudget.__name__ else "running",
        asked=(),
        requests=len(used),
        input_tokens=sum(one.input_tokens for one in used),
        output_tokens=sum(one.output_tokens for one in used),
        micros=sum(one.micros for one in used),
    )
    return await consolidate.apply_findings(
        house,
        told,
        findings,
        settlements=metering.make_settlements(get_budget_day(run), get_reserved_charge(run), used),
    )


async def _fail_unknown(house: House, run: Run, why: type[ModelError]) -> Run:
    """The run without its answers, when nobody can say what they have cost: what was reserved stays charged."""
    return await end_without_answers(house, run, "failed", why.__name__, keeps_charge=True)


async def _read_findings(house: House, run: Run, collected: BatchResults) -> tuple[Run, list[Finding]]:
    """What the answers say of the pairs that are as they were shown, and the run with the others counted. Nothing is said
    against a pair for which there was no time."""
    members = await memories.get_memories(
        house, run.scope, (id_ for one in run.asked for id_ in (one.older, one.newer))
    )
    findings: list[Finding] = []
    outdated = unanswered = 0
    for request, shown in groupby(run.asked, key=lambda one: one.request):
        pairs = list(shown)
        said = _parse_judgements(collected, request, len(pairs))
        asked_of = not isinstance(collected.failures.get(request), ModelTimeout)
        for one in pairs:
            pair = _match_pair(one, members)
            if pair is None:
                outdated += 1
            elif one.place in said or asked_of:
                findings.append(Finding(pair=pair, judgement=said.get(one.place), source="model"))
            else:
                unanswered += 1
    return replace(run, outdated=run.outdated + outdated, unanswered=run.unanswered + unanswered), findings


def _parse_judgements(collected: BatchResults, request: str, count: int) -> dict[int, Judgement]:
    answer = collected.answers.get(request)
    if answer is None:
        return {}
    with suppress(BadExtraction):
        return pair_answers.parse_answer(answer.message.content, count)
    return {}


def _match_pair(asked: BatchedPair, members: dict[MemoryId, Memory]) -> Pair | None:
    """The pair, if both are what the model was shown."""
    older, newer = members.get(asked.older), members.get(asked.newer)
    if older is None or newer is None or (older.rev, newer.rev) != asked.revs:
        return None
    return Pair(older=older, newer=newer, sim=asked.sim, tries=asked.tries)


def _get_submission_time(run: Run) -> datetime:
    return run.handed or run.started_at


async def drop_batch(batches: BatchModel, key: str) -> None:
    """End a batch that nobody waits for any more. Raises ModelError."""
    found = await batches.find_batch(key)
    if found is not None:
        await batches.cancel_batch(found)
        await batches.delete_files(found)
    await batches.delete_orphaned_uploads(key)
