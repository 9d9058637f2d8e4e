"""Questions about pairs that go to a batch endpoint: noted while a run goes on, handed over at its end.

The record says what is being asked before it is asked: a process that dies in between leaves a batch that is found again by
the run's id, or a run of which nothing was asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import BatchDraft, BatchedPair, Pair, Run, RunStatus
from muniment.memory.domain.usage import Charge
from muniment.memory.errors import Conflict, ModelError, OverBudget
from muniment.memory.flows import metering
from muniment.memory.flows.consolidation.prompt import PairPrompt, PairPrompts, make_prompt
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.write_behind import WriteBehind
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.consolidation import BatchRuns, ConsolidationRuns
from muniment.memory.ports.llm import BatchModel, BatchRequest
from muniment.memory.rules.policy import cost

_FIRST_POLL = timedelta(minutes=2)
_GRACE_PERIOD = timedelta(days=1)  # nobody gives up what waits before its own time is over
_UNASSIGNED = "later"


def defer_pairs(run: Run, pairs: Sequence[Pair]) -> Run:
    """The run with these pairs among those to ask about."""
    asked = tuple(
        BatchedPair(
            request=_UNASSIGNED,
            place=n,
            older=one.older.id,
            newer=one.newer.id,
            revs=(one.older.rev, one.newer.rev),
            sim=one.sim,
            tries=one.tries,
        )
        for n, one in enumerate(pairs, 1)
    )
    return replace(run, asked=run.asked + asked)


def get_budget_day(run: Run) -> date:
    """The day (UTC) whose budget pays for what the run has asked."""
    return (run.handed or run.started_at).astimezone(UTC).date()


def get_reserved_charge(run: Run) -> Charge:
    """What is reserved for a run that waits."""
    return Charge(purpose="consolidate", model=run.model or "", input_tokens=run.input_tokens,
                  output_tokens=run.output_tokens, micros=run.micros)  # fmt: skip


def _make_drafts(
    run: Run, questions: Sequence[PairPrompt], offers: Sequence[tuple[BatchRequest, Charge]]
) -> list[BatchDraft]:
    """The run with one prompt more each time."""
    drafts: list[BatchDraft] = []
    for (request, charge), one in zip(offers, questions, strict=True):
        shown = tuple(
            replace(each, request=request.id) for each in defer_pairs(replace(run, asked=()), one.pairs).asked
        )
        total = cost.add_charges(get_reserved_charge(run), charge)
        run = replace(run, requests=len(drafts) + 1, input_tokens=total.input_tokens, output_tokens=total.output_tokens,
                     micros=total.micros, asked=run.asked + shown,
                     reason=OverBudget.__name__ if len(drafts) + 1 < len(offers) else None)  # fmt: skip
        drafts.append(BatchDraft(charge=charge, run=run))
    return drafts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchSubmission:
    """Questions about pairs that go to a batch endpoint: noted while a run goes on, handed over at its end."""

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
        """Whether the run's questions go to a batch endpoint."""
        return self.settings.consolidation.batch and self.batches is not None and not run.dry

    def get_lease(self, run: Run) -> timedelta:
        """How long a run is its space's own, unless it is heard of."""
        return self.get_batch_timeout() if run.status == "waiting" else self.get_process_lease()

    def get_batch_timeout(self) -> timedelta:
        """After how long nobody waits for an endpoint any more."""
        return timedelta(days=self.settings.consolidation.batch_days) + _GRACE_PERIOD

    def get_process_lease(self) -> timedelta:
        """Within how long a process that is alive is heard of."""
        return timedelta(minutes=self.settings.consolidation.lease_minutes)

    def get_waiting_time(self, run: Run) -> timedelta:
        """How long ago the run's questions were handed over. A clock that was far ahead then does not make them new for ever."""
        waited = self.clock.now() - (run.handed or run.started_at)
        return waited if waited > -_GRACE_PERIOD else self.get_batch_timeout()

    async def end_without_answers(
        self, run: Run, status: RunStatus, reason: str | None = None, *, keeps_charge: bool = False
    ) -> Run:
        """Note that a run waits no more and that nothing was answered: what it held is given back or, if it may have been `paid`,
        stays charged. Raises Conflict, StoreError."""
        over = replace(
            run, status=status, reason=reason or run.reason, unanswered=run.unanswered + len(run.asked), asked=()
        )
        if not keeps_charge:
            over = replace(over, requests=0, input_tokens=0, output_tokens=0, micros=0)
        settled = metering.make_settlements(
            get_budget_day(run), get_reserved_charge(run), [get_reserved_charge(run)] if keeps_charge else ()
        )
        return await self.runs.save_run(over, self.get_lease(over), settlements=settled)

    async def submit_run(self, run: Run) -> Run:
        """Hand over what the run has noted to ask: it is `waiting`, `over_budget`, or `failed`, or `running` with nothing left
        to ask; or it was called off meanwhile, and is over. As long as it waits its tokens and money are what is reserved.
        Raises Conflict, StoreError."""
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
            found = await self.runs.list_runs(run.scope, 1, run.id) if error.data.get("lost") else ()
            if not found:
                raise  # it is gone with its space
            return found[0]

    async def _reserve_budget(
        self, model: str, run: Run, pairs: Sequence[Pair]
    ) -> tuple[Run, tuple[BatchRequest, ...]]:
        """The run as it waits, with the money that it holds and the job that will collect, and the prompts that the day can
        pay for; `over_budget` when that is none. Written before anything is asked. Raises ModelUnavailable, Conflict, StoreError.

        Money is reserved without a budget, too: the answers may come when there is one."""
        questions = [make_prompt(some) for some in self.pair_prompts.split_prompts(pairs)]
        asked = [BatchRequest(id=f"{n}", messages=one.messages, form=one.form) for n, one in enumerate(questions)]
        offers = [self.usage_meter.estimate_request(model, "consolidate", one) for one in asked]
        tokens, micros = self.usage_meter.get_daily_limits(model)
        now = self.clock.now()
        first = replace(run, status="waiting", model=model, prompt=questions[0].prompt, handed=now, asked=())
        drafts = _make_drafts(first, questions, offers)
        await self.write_behind.flush_settlements(run.scope)  # what the tenant owes counts before there is more
        waiting = await self.batch_runs.reserve_submission(
            drafts, self.get_batch_timeout(), _FIRST_POLL, get_budget_day(first), tokens, micros
        )
        if waiting is None:
            return replace(run, status="over_budget", reason=OverBudget.__name__), ()
        return waiting, tuple(one for one, _ in offers[: waiting.requests])

    async def _submit_batch(self, batches: BatchModel, run: Run, requests: Sequence[BatchRequest]) -> Run:
        """The run with the name of its batch, or `failed`. Raises Conflict when it was called off meanwhile; so is its batch then."""
        try:
            name = await batches.submit_batch(str(run.id), requests)
        except ModelError as error:
            if not cost.is_unbilled(error):
                return run  # it may have arrived all the same: whoever collects looks for it
            return await self.end_without_answers(run, "failed", type(error).__name__)
        try:
            return await self.runs.save_run(replace(run, batch=name), self.get_lease(run), settlements=())
        except Conflict:
            with suppress(ModelError):  # the job does the same as long as it is there
                await batches.cancel_batch(name)
                await batches.delete_files(name)
            raise

    async def reload_pairs(self, run: Run) -> tuple[Run, list[Pair]]:
        """The pairs to ask about as their memories are by now; those of which one has given way meanwhile are outdated."""
        members = await self.browser.get_memories(
            run.scope, (id_ for one in run.asked for id_ in (one.older, one.newer))
        )
        pairs = []
        for one in run.asked:
            older, newer = members.get(one.older), members.get(one.newer)
            if older and newer and older.state == newer.state == "active":
                pairs.append(Pair(older=older, newer=newer, sim=one.sim, tries=one.tries))
        return replace(run, asked=(), outdated=run.outdated + len(run.asked) - len(pairs)), pairs
