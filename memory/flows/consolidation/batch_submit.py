"""Handing the prompts of a run to a batch endpoint.

The run's record holds the pairs before they are sent. After a crash a batch is found by the run's id."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import BatchDraft, BatchedPair, Pair, Run, RunStatus
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.usage import Charge
from muniment.memory.errors import Conflict, ModelError, OverBudget
from muniment.memory.flows import metering
from muniment.memory.flows.consolidation.prompt import PairPrompt, PairPrompts, make_prompt
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.process_state import WriteBehind
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.consolidation import BatchRuns, ConsolidationRuns
from muniment.memory.ports.llm import BatchModel, BatchRequest
from muniment.memory.rules.policy import cost

_FIRST_POLL = timedelta(minutes=2)
_GRACE_PERIOD = timedelta(days=1)  # after `consolidation.batch_days`, until other processes give a run up


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchSubmission:
    """Hands the pairs that a run has collected for the model to a batch endpoint, at the end of the run."""

    batch_runs: BatchRuns
    batches: BatchModel | None
    browser: MemoryBrowser
    clock: Clock
    pair_prompts: PairPrompts
    runs: ConsolidationRuns
    settings: Settings
    usage_meter: UsageMeter
    write_behind: WriteBehind

    def uses_batch(self, run: Run) -> bool:
        """Return whether the run's prompts go to a batch endpoint."""
        return self.settings.consolidation.batch and self.batches is not None and not run.dry

    def get_lease(self, run: Run) -> timedelta:
        """Return how long the run keeps its space without a sign of life."""
        return self.get_batch_timeout() if run.status == "waiting" else self.get_process_lease()

    def get_batch_timeout(self) -> timedelta:
        """Return how long after its submission a batch is given up."""
        return timedelta(days=self.settings.consolidation.batch_days) + _GRACE_PERIOD

    def get_process_lease(self) -> timedelta:
        """Return how long a run whose process is silent keeps its space."""
        return timedelta(minutes=self.settings.consolidation.lease_minutes)

    def get_waiting_time(self, run: Run) -> timedelta:
        """Return how long ago the run was submitted. A time far in the future, by a wrong clock, counts as long ago."""
        elapsed = self.clock.now() - get_submission_time(run)
        return elapsed if elapsed > -_GRACE_PERIOD else self.get_batch_timeout()

    def is_given_up(self, run: Run) -> bool:
        """Return whether the run has waited for longer than a batch may take."""
        return self.get_waiting_time(run) >= self.get_batch_timeout()

    async def end_without_answers(
        self, run: Run, status: RunStatus, reason: str | None = None, *, keeps_charge: bool = False
    ) -> Run:
        """Write that the run waits no more and got no answer. Its reserved budget is given back; with `keeps_charge`,
        for answers that may have been billed, it stays charged. Raises Conflict, StoreError."""
        unanswered = run.unanswered + len(run.asked)
        ended = replace(run, status=status, reason=reason or run.reason, unanswered=unanswered, asked=())
        if not keeps_charge:
            ended = replace(ended, requests=0, input_tokens=0, output_tokens=0, micros=0)
        reserved = get_reserved_charge(run)
        settlements = metering.make_settlements(get_budget_day(run), reserved, [reserved] if keeps_charge else ())
        return await self.runs.save_run(ended, self.get_lease(ended), settlements=settlements)

    async def submit_run(self, run: Run) -> Run:
        """Submit the run's pairs. Returns the run: `waiting`, with its reserved tokens and money; `over_budget`;
        `failed`; `running` when no pair is left to ask about; or ended, when it was cancelled. Raises Conflict,
        StoreError."""
        if self.batches is None:
            return replace(run, asked=(), status="failed", reason="ModelUnavailable")
        run, pairs = await self.reload_pairs(run)
        if not pairs:
            return run
        try:
            run, requests = await self._reserve_budget(self.batches.name, run, pairs)
        except ModelError as error:
            return replace(run, status="failed", reason=type(error).__name__)
        if run.status != "waiting":
            return run
        try:
            return await self._submit_batch(self.batches, run, requests)
        except Conflict as error:
            records = await self.runs.list_runs(run.scope, 1, run.id) if error.data.get("lost") else ()
            if not records:
                raise  # it is gone with its space
            return records[0]

    async def _reserve_budget(
        self, model: str, run: Run, pairs: Sequence[Pair]
    ) -> tuple[Run, tuple[BatchRequest, ...]]:
        """Return the waiting run with its reserved budget, and the requests that the day's budget covers; the run is
        `over_budget` when it covers none. Written before anything is sent. Raises ModelUnavailable, Conflict,
        StoreError.

        Without a daily budget the cost is reserved too: there may be one when the answers come."""
        prompts = [
            make_prompt(portion, self.settings.model.prompt_folder)
            for portion in self.pair_prompts.split_prompts(pairs)
        ]
        offers = [
            self.usage_meter.estimate_request(
                model, "consolidate", BatchRequest(id=f"{n}", messages=prompt.messages, form=prompt.form)
            )
            for n, prompt in enumerate(prompts)
        ]
        tokens, micros = self.usage_meter.get_daily_limits(model)
        now = self.clock.now()
        first = replace(run, status="waiting", model=model, prompt=prompts[0].version, handed=now, asked=())
        await self.write_behind.flush_settlements(run.scope)  # what the tenant has spent counts before more is reserved
        waiting = await self.batch_runs.reserve_submission(
            _make_drafts(first, prompts, offers),
            self.get_batch_timeout(),
            _FIRST_POLL,
            get_budget_day(first),
            tokens,
            micros,
        )
        if waiting is None:
            return replace(run, status="over_budget", reason=OverBudget.__name__), ()
        return waiting, tuple(request for request, _ in offers[: waiting.requests])

    async def _submit_batch(self, batches: BatchModel, run: Run, requests: Sequence[BatchRequest]) -> Run:
        """Return the run with the name of its batch, or `failed`. Raises Conflict, and cancels the batch, when the run
        was cancelled meanwhile."""
        try:
            name = await batches.submit_batch(str(run.id), requests)
        except ModelError as error:
            if not cost.is_unbilled(error):
                return run  # the endpoint may have it all the same: the job that collects looks for it
            return await self.end_without_answers(run, "failed", type(error).__name__)
        try:
            return await self.runs.save_run(replace(run, batch=name), self.get_lease(run), settlements=())
        except Conflict:
            with suppress(ModelError):  # the job that collects does the same as long as it is in the queue
                await batches.cancel_batch(name)
                await batches.delete_files(name)
            raise

    async def reload_pairs(self, run: Run) -> tuple[Run, list[Pair]]:
        """Return the run without its pairs to ask about, and these pairs with their memories as they are now. A pair
        with a memory that is no longer active is counted `outdated`."""
        members = await self.read_members(run)
        pairs = []
        for pair in run.asked:
            older, newer = members.get(pair.older), members.get(pair.newer)
            if older and newer and older.state == newer.state == "active":
                pairs.append(Pair(older=older, newer=newer, sim=pair.sim, tries=pair.tries))
        return replace(run, asked=(), outdated=run.outdated + len(run.asked) - len(pairs)), pairs

    async def read_members(self, run: Run) -> dict[MemoryId, StoredMemory]:
        """Return the memories of the pairs that the run asks about; erased ones are missing."""
        return await self.browser.get_memories(run.scope, (i for pair in run.asked for i in (pair.older, pair.newer)))


def make_batched_pairs(pairs: Sequence[Pair], request: str = "later") -> tuple[BatchedPair, ...]:
    """Return the pairs as a run's record holds them, with their places in the prompt of `request`."""
    return tuple(
        BatchedPair(
            request=request,
            place=n,
            older=pair.older.id,
            newer=pair.newer.id,
            revs=(pair.older.rev, pair.newer.rev),
            sim=pair.sim,
            tries=pair.tries,
        )
        for n, pair in enumerate(pairs, 1)
    )


def add_charge(run: Run, charge: Charge) -> Run:
    """Return the run with the tokens and the money of a charge added."""
    return replace(
        run,
        input_tokens=run.input_tokens + charge.input_tokens,
        output_tokens=run.output_tokens + charge.output_tokens,
        micros=run.micros + charge.micros,
    )


def get_submission_time(run: Run) -> datetime:
    """Return when the run was handed to the batch endpoint, else when it began."""
    return run.handed or run.started_at


def get_budget_day(run: Run) -> date:
    """Return the day (UTC) whose budget pays for the run's prompts."""
    return get_submission_time(run).astimezone(UTC).date()


def get_reserved_charge(run: Run) -> Charge:
    """Return what is reserved for a waiting run."""
    return Charge(
        purpose="consolidate",
        model=run.model or "",
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        micros=run.micros,
    )


def _make_drafts(
    run: Run, prompts: Sequence[PairPrompt], offers: Sequence[tuple[BatchRequest, Charge]]
) -> list[BatchDraft]:
    """Return the run as it waits for the first prompt, for the first two, and so on to all."""
    drafts: list[BatchDraft] = []
    for count, ((request, charge), prompt) in enumerate(zip(offers, prompts, strict=True), 1):
        run = replace(
            add_charge(run, charge),
            requests=count,
            asked=run.asked + make_batched_pairs(prompt.pairs, request.id),
            reason=OverBudget.__name__ if count < len(offers) else None,
        )
        drafts.append(BatchDraft(charge=charge, run=run))
    return drafts
