"""The job that waits for a batch of questions about pairs, for days and across restarts, and does what the answers say."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import timedelta
from itertools import groupby
from uuid import UUID

from muniment.memory.batches import BatchModel, Collected
from muniment.memory.errors import BadExtraction, BatchFailed, ModelError, ModelTimeout, NotReady
from muniment.memory.flows import consolidate, spend
from muniment.memory.flows.batch import day, lease
from muniment.memory.flows.house import House
from muniment.memory.plan import Charge
from muniment.memory.records import Memory, MemoryId, Scope, evolve
from muniment.memory.rules import pair_answers
from muniment.memory.upkeep import Asked, Finding, Judgement, Pair, Run, RunId, RunStatus

_log = logging.getLogger(__name__)
_CANCELLING = timedelta(hours=1)  # what was answered before a batch was cancelled comes within so long


async def perform(house: House, scope: Scope, key: str) -> None:
    """The job `collect`: see `Memory.perform`. Raises NotReady until there is an answer, or none will come."""
    if house.batches is None:
        raise NotReady
    run = next(iter(await house.store.runs(scope, 1, RunId(UUID(key)))), None)
    if run is None:
        await _drop(house.batches, key)  # its space was erased meanwhile
    elif run.status == "running":
        await consolidate.end(house, evolve(run, batch=None))  # a process has died between the answers and the end
    elif run.status == "waiting":
        await _collect(house, house.batches, run)


async def _collect(house: House, batches: BatchModel, run: Run) -> None:
    late = house.clock.now() - run.started_at
    name = run.batch or await batches.find(str(run.id))
    if name is None:
        if late < timedelta(minutes=house.settings.consolidation.lease_minutes):
            raise NotReady
        # Its process has died before it could ask, or the endpoint has never heard it.
        await _finish(house, run, Collected(), "interrupted")
        return
    if run.batch is None:
        run = await house.store.keep_run(evolve(run, batch=name), lease(house))
    try:
        collected = await batches.collect(name)
    except BatchFailed as error:
        await _finish(house, run, Collected(), "failed", type(error).__name__)
        return
    patience = timedelta(days=house.settings.consolidation.batch_days)
    if collected is None:
        if late >= patience:
            await batches.cancel(name)
        if late < patience + _CANCELLING:
            raise NotReady
        await _finish(house, run, None, "failed", ModelTimeout.__name__)
        return
    await _finish(house, run, collected)
    try:
        await batches.forget(name)
    except ModelError as error:
        _log.warning("the files of a batch could not be removed: %s", type(error).__name__)


async def _finish(
    house: House, run: Run, collected: Collected | None, status: RunStatus | None = None, reason: str | None = None
) -> None:
    """Do what the answers say, settle what they cost, and end the run. Without `collected` nobody knows what it has cost."""
    held = Charge(purpose="consolidate", model=run.model or "", input_tokens=run.input_tokens,
                  output_tokens=run.output_tokens, micros=run.micros)  # fmt: skip
    asked = max(1, run.requests)
    used = spend.batch_charges(house, held, collected.tokens, asked) if collected else [held]
    told, findings = await _findings(house, run, collected or Collected(), asked_of=status is None)
    told = evolve(
        told,
        status="running",
        asked=(),
        requests=len(used) if collected else run.requests,
        input_tokens=sum(one.input_tokens for one in used),
        output_tokens=sum(one.output_tokens for one in used),
        micros=sum(one.micros for one in used),
    )
    told = await consolidate.apply(house, told, findings)
    await spend.settle_batch(house, run.scope, day(run), held, used)
    if status is None and run.reason is not None:
        status = "over_budget"  # of all that there was to ask, this was what the day could pay for
    await consolidate.end(house, evolve(told, batch=None), status=status or "done", reason=reason)


async def _findings(house: House, run: Run, collected: Collected, *, asked_of: bool) -> tuple[Run, list[Finding]]:
    """What the answers say of the pairs that are as they were shown, and the run with the others counted. Unless `asked_of`
    a model, nothing is said against a pair that has no answer."""
    ids = list({id_: None for one in run.asked for id_ in (one.older, one.newer)})
    members = (await house.store.members(run.scope, ids)).memories
    findings: list[Finding] = []
    outdated = unanswered = 0
    for request, shown in groupby(run.asked, key=lambda one: one.request):
        pairs = list(shown)
        said = _said(collected, request, len(pairs))
        for one in pairs:
            pair = _same(one, members)
            if pair is None:
                outdated += 1
            elif one.place in said or asked_of:
                findings.append(Finding(pair=pair, judgement=said.get(one.place), source="model"))
            else:
                unanswered += 1
    return evolve(run, outdated=run.outdated + outdated, unanswered=run.unanswered + unanswered), findings


def _said(collected: Collected, request: str, count: int) -> dict[int, Judgement]:
    answer = collected.answers.get(request)
    if answer is None:
        return {}
    with suppress(BadExtraction):
        return pair_answers.read(answer.message.content, count)
    return {}


def _same(asked: Asked, members: dict[MemoryId, Memory]) -> Pair | None:
    """The pair, if both are what the model was shown."""
    older, newer = members.get(asked.older), members.get(asked.newer)
    if older is None or newer is None or (older.rev, newer.rev) != asked.revs:
        return None
    return Pair(older=older, newer=newer, sim=asked.sim, tries=asked.tries)


async def _drop(batches: BatchModel, key: str) -> None:
    """End a batch that nobody waits for any more."""
    found = await batches.find(key)
    if found is not None:
        await batches.cancel(found)
        await batches.forget(found)
