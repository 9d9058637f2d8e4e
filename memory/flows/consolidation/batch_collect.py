"""The job that waits for a batch of questions about pairs, for days and across restarts, and does what the answers say.

Its steps: answers and money in one transaction, the end of the run, the endpoint's files. Each is found undone by the next
process, if this one dies, and none is done twice."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from muniment.memory.config.settings import Settings
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
from muniment.memory.flows.consolidation.batch_submit import (
    BatchSubmission,
    get_budget_day,
    get_reserved_charge,
)
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.process_cache import ProcessCache
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.ports.consolidation import BatchRuns, ConsolidationRuns
from muniment.memory.ports.llm import BatchModel, BatchResults
from muniment.memory.rules.merging import pair_answers

_log = logging.getLogger(__name__)
_CANCELLING = timedelta(hours=1)  # what was answered before a batch was cancelled comes within so long


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchCollection:
    """The job that waits for a batch of questions about pairs, for days and across restarts, and does what the answers say."""

    batch_runs: BatchRuns
    batch_submission: BatchSubmission
    batches: BatchModel | None
    browser: MemoryBrowser
    cache: ProcessCache
    consolidation: Consolidation
    runs: ConsolidationRuns
    settings: Settings
    usage_meter: UsageMeter

    async def perform_collection(self, scope: Scope, key: str) -> None:
        """The job `collect`: see `Memory.perform`. Raises NotReady until there is an answer, or none will come; then ModelError
        until nothing of the batch is at the endpoint any more."""
        run = next(iter(await self.runs.list_runs(scope, 1, RunId(UUID(key)))), None)
        if run is None:
            if self.batches is not None:
                await drop_batch(self.batches, key)  # its space was erased meanwhile
            return
        if run.status == "waiting":
            run = await self._collect_answers(run)
        if run.ended_at is None:
            run = await self.consolidation.end_run(run)
        await self.remove_files(run)

    async def abandon_overdue(self, scope: Scope) -> bool:
        """End the run of a space whose answers nobody has come for, though all its time is over; whether there was one."""
        run = await self.consolidation.find_waiting_run(scope)
        if run is None or self.batch_submission.get_waiting_time(run) < self.batch_submission.get_batch_timeout():
            return False
        _log.warning("a run has waited for a batch endpoint for too long, and is given up")
        await self.consolidation.end_run(await self._fail_unknown(run, ModelUnavailable))
        return True

    async def remove_files(self, run: Run) -> None:
        """Let nothing of a run that is over be at the endpoint. Raises NotReady while a batch is being cancelled, ModelError; but
        after its days nobody tries any more."""
        if self.batches is None:
            return
        try:
            await self._remove_batch(self.batches, run)
        except (ModelError, NotReady) as error:
            if self.batch_submission.get_waiting_time(run) < self.batch_submission.get_batch_timeout():
                raise
            _log.warning("the files of a batch could not be removed: %s", type(error).__name__)

    async def _remove_batch(self, batches: BatchModel, run: Run) -> None:
        name = run.batch or await batches.find_batch(str(run.id), _get_submission_time(run))
        if name is None:
            await batches.delete_orphaned_uploads(str(run.id))
            return
        if run.status in ("cancelled", "failed", "interrupted"):
            await batches.cancel_batch(name)
        if run.status == "cancelled" and run.batch is not None:
            await self._settle_late(batches, run, run.batch)
        await batches.delete_files(name)
        await self.batch_runs.release_run(run, ())

    async def _settle_late(self, batches: BatchModel, run: Run, name: str) -> None:
        """What was answered before a batch was called off is paid for, once. Raises NotReady until that is known."""
        collected = BatchResults()
        with suppress(BatchFailed):
            found = await batches.fetch_results(name)
            if found is None:
                raise NotReady
            collected = found
        used = self.usage_meter.charge_batch(get_reserved_charge(run), collected.tokens, 1)
        await self.batch_runs.release_run(run, metering.make_settlements(get_budget_day(run), None, used))

    async def _collect_answers(self, run: Run) -> Run:
        """The run with what was answered done and paid for. Raises NotReady, ModelError while there is time."""
        is_overdue = (
            self.batch_submission.get_waiting_time(run)
            >= timedelta(days=self.settings.consolidation.batch_days) + _CANCELLING
        )
        try:
            if self.batches is None:
                raise ModelUnavailable("no batch endpoint is configured (MUNIMENT_MODEL)")
            return await self._poll_batch(self.batches, run, is_overdue=is_overdue)
        except ModelError as error:
            if is_overdue:
                return await self._fail_unknown(run, type(error))
            if self.batches is not None:
                raise
        if run.id not in self.cache.reported_runs:
            self.cache.reported_runs.add(run.id)
            _log.warning("a batch waits at an endpoint, and this process has none to ask (MUNIMENT_MODEL)")
        raise NotReady

    async def _poll_batch(self, batches: BatchModel, run: Run, *, is_overdue: bool) -> Run:
        name = run.batch or await batches.find_batch(str(run.id), _get_submission_time(run))
        if name is None:
            if self.batch_submission.get_waiting_time(run) < self.batch_submission.get_process_lease():
                raise NotReady
            # Its process has died before it could ask, or the endpoint has never heard it.
            return await self.batch_submission.end_without_answers(run, "interrupted")
        if run.batch is None:
            run = await self.runs.save_run(
                replace(run, batch=name), self.batch_submission.get_lease(run), settlements=()
            )
        try:
            collected = await batches.fetch_results(name)
        except BatchFailed as error:
            return await self.batch_submission.end_without_answers(run, "failed", type(error).__name__)
        if collected is None:
            if self.batch_submission.get_waiting_time(run) >= timedelta(days=self.settings.consolidation.batch_days):
                await batches.cancel_batch(name)
            if not is_overdue:
                raise NotReady
            return await self._fail_unknown(run, ModelTimeout)
        return await self._apply_answers(run, collected)

    async def _apply_answers(self, run: Run, collected: BatchResults) -> Run:
        """Do what the answers say and settle what they cost, all or nothing."""
        used = self.usage_meter.charge_batch(get_reserved_charge(run), collected.tokens, max(1, run.requests))
        told, findings = await self._read_findings(run, collected)
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
        return await self.consolidation.apply_findings(
            told,
            findings,
            settlements=metering.make_settlements(get_budget_day(run), get_reserved_charge(run), used),
        )

    async def _fail_unknown(self, run: Run, why: type[ModelError]) -> Run:
        """The run without its answers, when nobody can say what they have cost: what was reserved stays charged."""
        return await self.batch_submission.end_without_answers(run, "failed", why.__name__, keeps_charge=True)

    async def _read_findings(self, run: Run, collected: BatchResults) -> tuple[Run, list[Finding]]:
        """What the answers say of the pairs that are as they were shown, and the run with the others counted. Nothing is said
        against a pair for which there was no time."""
        members = await self.browser.get_memories(
            run.scope, (id_ for one in run.asked for id_ in (one.older, one.newer))
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
