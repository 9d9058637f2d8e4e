"""The runs that wait for a batch endpoint: collecting their answers, for days and across restarts, and cancelling them.

Three steps collect: the answers with their cost in one transaction, the end of the run, the removal of the endpoint's
files. After a crash the job repeats what is not done yet."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from uuid import UUID

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import BatchedPair, Finding, Judgement, Pair, Run
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import (
    BadExtraction,
    BadInput,
    BatchFailed,
    Conflict,
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
    get_submission_time,
)
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.process_state import ProcessCache
from muniment.memory.ports.consolidation import BatchRuns, ConsolidationRuns
from muniment.memory.ports.llm import BatchModel, BatchResults
from muniment.memory.rules.merging import pair_answers

_log = logging.getLogger(__name__)
_CANCELLING = timedelta(hours=1)  # in which a cancelled batch still delivers what was answered before


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchCollection:
    """Collects the answers of the runs that wait for a batch endpoint, and cancels such runs."""

    batch_runs: BatchRuns
    batch_submission: BatchSubmission
    batches: BatchModel | None
    cache: ProcessCache
    consolidation: Consolidation
    runs: ConsolidationRuns
    settings: Settings
    usage_meter: UsageMeter

    async def perform_collection(self, scope: Scope, key: str) -> None:
        """Perform the job `collect`; its key is the id of the run. Raises NotReady until there are answers, or none can
        come; then ModelError until the endpoint has removed the batch."""
        run = next(iter(await self.runs.list_runs(scope, 1, RunId(UUID(key)))), None)
        if run is None:
            if self.batches is not None:
                await _drop_batch(self.batches, key)  # its space was erased meanwhile
            return
        if run.status == "waiting":
            run = await self._collect_answers(run)
        if run.ended_at is None:
            run = await self.consolidation.end_run(run)
        await self._remove_files(run)

    async def abandon_overdue(self, scope: Scope) -> bool:
        """End the waiting run of a space, if its time is over. Returns whether there was one."""
        run = await self.consolidation.find_waiting_run(scope)
        if run is None or not self.batch_submission.is_given_up(run):
            return False
        _log.warning("a run has waited for a batch endpoint for too long, and is given up")
        await self.consolidation.end_run(await self._fail_unknown(run, ModelUnavailable))
        return True

    async def cancel_consolidation(self, scope: Scope, run_id: UUID) -> Run:
        """Cancel the run and return its record. What the endpoint does not do now is left to the job that collects.

        Raises NotFound, BadInput for a run that does not wait, Conflict, StoreError."""
        run = await self._mark_cancelled(scope, run_id)
        if run.ended_at is None:
            run = await self.consolidation.end_run(run)
        with suppress(ModelError, NotReady):
            await self._remove_files(run)
        return await self.consolidation.get_run(scope, run.id)

    async def withdraw_batches(self, scope: Scope, ids: Collection[MemoryId] | None = None) -> None:
        """Before an erasure, cancel the waiting run of the space, and let the endpoint remove the files of ended runs.
        With `ids` only a run that asks about one of these memories is cancelled; its other pairs are due again.

        An endpoint that is out of reach does not delay the erasure. Raises StoreError."""
        run = await self.consolidation.find_waiting_run(scope)
        if run is not None and (ids is None or any(pair.older in ids or pair.newer in ids for pair in run.asked)):
            with suppress(BadInput):  # it was collected at this moment
                await self.cancel_consolidation(scope, run.id)
        if self.batches is not None:
            for uncollected in await self.batch_runs.list_uncollected_runs(scope):
                await self._withdraw_batch(self.batches, scope, uncollected)

    async def _remove_files(self, run: Run) -> None:
        """Remove the batch of an ended run, and its files, from the endpoint. Raises NotReady while the batch is being
        cancelled, and ModelError; neither after the time of the batch is over."""
        if self.batches is None:
            return
        try:
            await self._remove_batch(self.batches, run)
        except (ModelError, NotReady) as error:
            if not self.batch_submission.is_given_up(run):
                raise
            _log.warning("the files of a batch could not be removed: %s", type(error).__name__)

    async def _withdraw_batch(self, batches: BatchModel, scope: Scope, run_id: RunId) -> None:
        """Remove the batch of a run that is over, or gone, without waiting for late answers to be counted."""
        run = next(iter(await self.runs.list_runs(scope.owner_scope, 1, run_id)), None)
        if run is not None and run.ended_at is None:
            return
        with suppress(ModelError):
            try:
                await self.perform_collection(scope, str(run_id))
            except NotReady:
                await _drop_batch(batches, str(run_id))

    async def _mark_cancelled(self, scope: Scope, run_id: UUID) -> Run:
        """Return the run as `cancelled`, with its reserved budget given back. Raises NotFound, BadInput, Conflict."""
        for _ in range(self.settings.write.attempts):
            run = await self.consolidation.get_run(scope, run_id)
            if run.status == "cancelled":
                return run
            if run.status != "waiting":
                raise BadInput(f"the consolidation {run_id} does not wait for a batch endpoint: it is {run.status}")
            if self.batches is not None:
                with suppress(ModelError):
                    run = replace(run, batch=await _find_batch_name(self.batches, run))
            with suppress(Conflict):  # it was collected at this moment
                return await self.batch_submission.end_without_answers(run, "cancelled")
        raise Conflict

    async def _remove_batch(self, batches: BatchModel, run: Run) -> None:
        name = await _find_batch_name(batches, run)
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
        """Charge, once, what was answered before the batch was cancelled. Raises NotReady until that is known."""
        results: BatchResults | None = BatchResults()
        with suppress(BatchFailed):
            results = await batches.fetch_results(name)
        if results is None:
            raise NotReady
        used = self.usage_meter.charge_batch(get_reserved_charge(run), results.tokens, 1)
        await self.batch_runs.release_run(run, metering.make_settlements(get_budget_day(run), None, used))

    async def _collect_answers(self, run: Run) -> Run:
        """Return the run with its answers applied and charged. Raises NotReady, and ModelError while there is time."""
        deadline = timedelta(days=self.settings.consolidation.batch_days) + _CANCELLING
        is_overdue = self.batch_submission.get_waiting_time(run) >= deadline
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
        submission = self.batch_submission
        name = await _find_batch_name(batches, run)
        if name is None:
            if submission.get_waiting_time(run) < submission.get_process_lease():
                raise NotReady
            # The process died before it sent the batch, or the batch did not arrive.
            return await submission.end_without_answers(run, "interrupted")
        if run.batch is None:
            run = await self.runs.save_run(replace(run, batch=name), submission.get_lease(run), settlements=())
        try:
            results = await batches.fetch_results(name)
        except BatchFailed as error:
            return await submission.end_without_answers(run, "failed", type(error).__name__)
        if results is not None:
            return await self._apply_answers(run, results)
        if submission.get_waiting_time(run) >= timedelta(days=self.settings.consolidation.batch_days):
            await batches.cancel_batch(name)
        if not is_overdue:
            raise NotReady
        return await self._fail_unknown(run, ModelTimeout)

    async def _apply_answers(self, run: Run, results: BatchResults) -> Run:
        """Apply the answers and settle their cost in one transaction."""
        reserved = get_reserved_charge(run)
        used = self.usage_meter.charge_batch(reserved, results.tokens, max(1, run.requests))
        answered, findings = await self._read_findings(run, results)
        answered = replace(
            answered,
            # The day's budget may have covered only some of the prompts.
            status="over_budget" if run.reason == OverBudget.__name__ else "running",
            asked=(),
            requests=len(used),
            input_tokens=sum(charge.input_tokens for charge in used),
            output_tokens=sum(charge.output_tokens for charge in used),
            micros=sum(charge.micros for charge in used),
        )
        settlements = metering.make_settlements(get_budget_day(run), reserved, used)
        return await self.consolidation.apply_findings(answered, findings, settlements=settlements)

    async def _fail_unknown(self, run: Run, reason: type[ModelError]) -> Run:
        """End a run whose cost is unknown: what was reserved stays charged."""
        return await self.batch_submission.end_without_answers(run, "failed", reason.__name__, keeps_charge=True)

    async def _read_findings(self, run: Run, results: BatchResults) -> tuple[Run, list[Finding]]:
        """Return the run with its outdated and unanswered pairs counted, and the findings of the other pairs.

        A pair that the endpoint had no time for has no finding: it does not count as a try."""
        members = await self.batch_submission.read_members(run)
        findings: list[Finding] = []
        outdated = unanswered = 0
        for request, group in groupby(run.asked, key=lambda pair: pair.request):
            batched_pairs = list(group)
            judgements = _parse_judgements(results, request, len(batched_pairs))
            is_timeout = isinstance(results.failures.get(request), ModelTimeout)
            for batched in batched_pairs:
                pair = _match_pair(batched, members)
                if pair is None:
                    outdated += 1
                elif batched.place in judgements or not is_timeout:
                    findings.append(Finding(pair=pair, judgement=judgements.get(batched.place), source="model"))
                else:
                    unanswered += 1
        return replace(run, outdated=run.outdated + outdated, unanswered=run.unanswered + unanswered), findings


async def _find_batch_name(batches: BatchModel, run: Run) -> str | None:
    """Return the endpoint's name of the run's batch; None where there is none. Raises ModelError."""
    return run.batch or await batches.find_batch(str(run.id), get_submission_time(run))


async def _drop_batch(batches: BatchModel, key: str) -> None:
    """Cancel the batch of the run with this id, and remove its files. Raises ModelError."""
    name = await batches.find_batch(key)
    if name is not None:
        await batches.cancel_batch(name)
        await batches.delete_files(name)
    await batches.delete_orphaned_uploads(key)


def _parse_judgements(results: BatchResults, request: str, pair_count: int) -> dict[int, Judgement]:
    answer = results.answers.get(request)
    with suppress(BadExtraction):
        return pair_answers.parse_answer(answer.message.content, pair_count) if answer is not None else {}
    return {}


def _match_pair(pair: BatchedPair, members: dict[MemoryId, StoredMemory]) -> Pair | None:
    """Return the pair, or None where a memory is not the one that the model was shown."""
    older, newer = members.get(pair.older), members.get(pair.newer)
    if older is None or newer is None or (older.rev, newer.rev) != pair.revs:
        return None
    return Pair(older=older, newer=newer, sim=pair.sim, tries=pair.tries)
