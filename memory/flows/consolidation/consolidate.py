"""Consolidation of a space, step by step: begin -> survey -> (check -> apply) for each portion -> end.

Each step that decides something is one transaction with the run's record: a process that dies between two steps has lost
nothing, and what it decided is not decided again."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import get_args
from uuid import UUID, uuid4

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Finding, Judgement, Pair, Run, RunStatus
from muniment.memory.domain.erasure import SurveyBounds
from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Charge, Settlement
from muniment.memory.errors import BadInput, BadModelAnswer, ModelError, NotFound, OverBudget, StoreError
from muniment.memory.flows.consolidation import batch_submit
from muniment.memory.flows.consolidation.batch_submit import BatchSubmission
from muniment.memory.flows.consolidation.prompt import (
    PairPrompt,
    PairPrompts,
    make_prompt,
    mark_unanswered,
    split_pairs,
)
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.space_locks import SpaceLocks
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.transaction import PlanCommitter
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.consolidation import ConsolidationRuns
from muniment.memory.ports.llm import ChatAnswer, ChatModel
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.merging import consolidate
from muniment.memory.rules.policy import cost
from muniment.memory.rules.policy.retry import is_rejected_request

OnFindings = Callable[[Sequence[Finding]], None]
_PARTNERS = 20_000  # that each memory of the pool is compared with
_CLOSEST = 12  # partners of one memory in a survey
_MIN_WORD_COSINE = 0.25  # cosine of two texts' words, where the embedder does not know their script
_AT_ONCE = 50  # pairs that the rules alone decide, in one transaction
_MAX_LIMIT = 1_000_000


def _sort_key(judgement: Judgement, sure: bool) -> tuple[bool, bool]:
    apart = judgement == "different"
    return apart and sure, apart or not sure


def _add_charge(run: Run, charge: Charge) -> Run:
    return replace(
        run,
        input_tokens=run.input_tokens + charge.input_tokens,
        output_tokens=run.output_tokens + charge.output_tokens,
        micros=run.micros + charge.micros,
    )


def _is_complete(found: Sequence[Pair], near: Sequence[Pair], limit: int) -> bool:
    """Whether no pair that is near was left out. Those that are not are never checked, and would be open for ever."""
    waiting = [one for one in near if not one.checked]
    counts = Counter(memory.id for one in waiting for memory in (one.older, one.newer))
    room = sum(not one.checked for one in found) < limit or not waiting
    return room and max(counts.values(), default=0) < _CLOSEST


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consolidation:
    """Consolidation of a space, step by step: begin -> survey -> (check -> apply) for each portion -> end."""

    batch_submission: BatchSubmission
    clock: Clock
    committer: PlanCommitter
    consents: Consents
    locks: SpaceLocks
    model: ChatModel | None
    pair_prompts: PairPrompts
    profile: EmbedderProfile
    reads: MemoryReads
    runs: ConsolidationRuns
    settings: Settings
    usage_meter: UsageMeter

    async def consolidate_space(
        self, scope: Scope, *, dry: bool = False, limit: int | None = None, on_findings: OnFindings | None = None
    ) -> Run | None:
        """See `Memory.consolidate`."""
        run = await self.begin_run(scope, dry=dry, limit=limit)
        if run is None:
            return None
        ended = False
        try:
            run, pairs = await self.survey_pairs(run)
            for portion in self.split_portions(pairs):
                run, findings = await self.check_pairs(run, portion)
                if on_findings:
                    on_findings(findings)
                run = await self.apply_findings(run, findings)
                if run.status != "running":
                    break
            run = await self.end_run(run)
            ended = True
        finally:
            # Given up in the open: the next one need not wait until the lease is over. What was handed over goes on.
            if not ended:
                await self._abandon_safely(run)
        return run

    async def begin_run(self, scope: Scope, *, dry: bool = False, limit: int | None = None) -> Run | None:
        """A new run of the space; None while another one is under way. One of a space without memories has ended already.

        Raises BadInput for a limit that cannot be."""
        if limit is not None and not 1 <= limit <= _MAX_LIMIT:
            raise BadInput(f"limit: 1 to {_MAX_LIMIT:,} wanted")
        now = self.clock.now()
        rev, _ = await self.reads.find_neighbours(scope, (), 0)
        owner = scope.owner_scope
        run = Run(id=RunId(uuid4()), scope=owner, status="running", started_at=now, from_rev=rev, dry=dry, limit=limit)
        if not rev:
            return replace(run, status="done", ended_at=now)
        if dry:
            return replace(run, surveyed=(await self.runs.read_compared_revision(owner))[0])
        try:
            return await self.runs.begin_run(run, self.batch_submission.get_lease(run))
        except asyncio.CancelledError:
            await self._abandon_safely(run)  # it may be there all the same, and nobody else knows of it
            raise

    async def survey_pairs(self, run: Run) -> tuple[Run, tuple[Pair, ...]]:
        """The pairs that this run may check: those that the rules would make one, then those that they doubt, the closest first;
        what they hold apart for sure is noted when the day has room for it."""
        if run.status != "running":
            return run, ()
        near, upto = await self._find_near_pairs(run)
        fresh = [one for one in near if not one.checked]
        before = consolidate.count_duplicates(near, self.profile, self.pair_prompts.get_lasting_categories())
        run = await self._keep_run(replace(run, seen=len(fresh), duplicates_before=before, upto=upto))
        verdicts = {
            id(one): consolidate.judge_pair(one, self.profile, self.pair_prompts.get_lasting_categories())
            for one in fresh
        }
        fresh.sort(key=lambda one: (_sort_key(*verdicts[id(one)]), one.tries, -one.sim))
        return run, tuple(fresh[: await self._count_remaining(run)])

    def split_portions(self, pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], ...]:
        """The pairs as they are checked together: what goes to a model a prompt's worth at a time."""
        asked = [one for one in pairs if self._needs_model(one)]
        sure = [one for one in pairs if not self._needs_model(one)]
        return (*split_pairs(sure, _AT_ONCE), *self.pair_prompts.split_prompts(asked))

    async def check_pairs(self, run: Run, pairs: Sequence[Pair]) -> tuple[Run, tuple[Finding, ...]]:
        """What each pair is found to be, by the rules where they are sure or there is no model, else by the model.
        `over_budget` and `failed` runs have what was found before that.

        Where prompts go to a batch endpoint nobody waits: what the model has to be asked is noted in the run, until its end.
        Else it is asked about what is there by then: others of the run may have given way, and some may be erased meanwhile."""
        findings = [self._judge_by_rules(one) for one in pairs if not self._needs_model(one)]
        for some in self.pair_prompts.split_prompts([one for one in pairs if self._needs_model(one)]):
            if run.status != "running":
                break
            run = batch_submit.defer_pairs(run, some)
            if self.batch_submission.uses_batch(run):
                continue
            run, left = await self.batch_submission.reload_pairs(run)
            if left:
                run, found = await self._ask_model(run, make_prompt(left))
                findings += found
        return run, tuple(findings)

    async def apply_findings(
        self, run: Run, findings: Sequence[Finding], *, settlements: Sequence[Settlement] | None = None
    ) -> Run:
        """Do what was found, in one transaction with the run's record: what changed meanwhile is left alone and counted
        `outdated`. `settled`: see `Consolidating.keep_run`. Raises Conflict when another run has taken this one's place."""
        ids = list({memory.id: None for one in findings for memory in (one.pair.older, one.pair.newer)})

        async def keep_findings() -> Run:
            done, plan, kept = await self._decide_findings(run, findings, ids)
            if run.dry:
                return done
            whole = await self.consents.add_withdrawals(plan)
            return await self.runs.save_run(
                done, self.batch_submission.get_lease(done), whole, kept, settlements=settlements
            )

        async with self.locks.space_lock(run.scope.space):
            return await self.committer.retry_on_conflict(keep_findings)

    async def end_run(self, run: Run) -> Run:
        """Close the run's record: `done`, unless it says otherwise. Counts the duplicates that are left.

        With questions for a batch endpoint this hands them over instead, and the run waits (`flows.collect`)."""
        if run.ended_at is not None or run.status == "waiting":
            return run
        if run.asked and run.status == "running":
            run = await self.batch_submission.submit_run(run)
            if run.status == "waiting" or run.ended_at is not None:
                return run
        closing: RunStatus = "done" if run.status == "running" else run.status
        if run.dry:
            return replace(run, status=closing, ended_at=self.clock.now())
        rev, _ = await self.reads.find_neighbours(run.scope, (), 0)
        left = run.duplicates_before
        if run.same or run.superseded:
            left = consolidate.count_duplicates(
                (await self._find_near_pairs(run))[0], self.profile, self.pair_prompts.get_lasting_categories()
            )
        open_ = run.unanswered - run.shelved
        whole = closing == "done" and not open_ and run.checked + run.outdated + run.shelved >= run.seen
        run = replace(
            run,
            status=closing,
            ended_at=self.clock.now(),
            to_rev=rev,
            surveyed=max(run.surveyed, run.upto) if whole else run.surveyed,
            duplicates_after=left,
            limit=None,
            upto=Revision(0),
            asked=(),
        )
        return await self.runs.save_run(run, self.batch_submission.get_lease(run))

    async def abandon_run(self, run: Run) -> None:
        """Close the record of a run that cannot go on; what it decided stays."""
        if not run.dry and run.ended_at is None:
            await self.runs.interrupt_run(run, self.clock.now())

    async def _abandon_safely(self, run: Run) -> None:
        with contextlib.suppress(StoreError):
            await asyncio.create_task(self.abandon_run(run))  # by itself: this task may be cancelled

    async def list_runs(self, scope: Scope, limit: int, run: UUID | None) -> list[Run]:
        """See `Memory.consolidations`."""
        if not 1 <= limit <= _MAX_LIMIT:
            raise BadInput(f"limit: 1 to {_MAX_LIMIT:,} wanted")
        return await self.runs.list_runs(scope.owner_scope, limit, None if run is None else RunId(run))

    async def get_run(self, scope: Scope, run: UUID) -> Run:
        """The record of one run. Raises NotFound."""
        found = await self.runs.list_runs(scope.owner_scope, 1, RunId(run))
        if not found:
            raise NotFound(f"no consolidation {run} in the space of {scope.owner!r}", id=str(run))
        return found[0]

    async def find_waiting_run(self, scope: Scope) -> Run | None:
        """The run of the space that waits for a batch endpoint, if there is one."""
        last = next(
            iter(await self.runs.list_runs(scope.owner_scope, 1)), None
        )  # the one that is not over, if there is one
        return last if last is not None and last.status == "waiting" else None

    async def _decide_findings(
        self, run: Run, findings: Sequence[Finding], ids: Sequence[MemoryId]
    ) -> tuple[Run, WritePlan, list[Finding]]:
        """The run as the findings leave it, the plan, and the findings that are kept."""
        board = consolidate.ConsolidationState(
            members=await self.reads.read_members(run.scope, ids),
            run_id=run.id,
            context_categories=self.pair_prompts.get_lasting_categories(),
        )
        rev = board.members.rev
        counts: dict[consolidate.FindingOutcome, int] = dict.fromkeys(get_args(consolidate.FindingOutcome), 0)
        kept = []
        for one in findings:
            fate, held = board.apply_finding(one)
            counts[fate] += 1
            if fate != "outdated":
                kept.append(held)
        done = replace(
            run,
            checked=run.checked + counts["same"] + counts["superseded"] + counts["distinct"],
            same=run.same + counts["same"],
            superseded=run.superseded + counts["superseded"],
            distinct=run.distinct + counts["distinct"],
            outdated=run.outdated + counts["outdated"],
            unanswered=run.unanswered + counts["unanswered"],
        )
        plan = WritePlan(
            scope=run.scope,
            expected_rev=rev,
            node="worker",
            at=self.clock.now(),
            changes=tuple(board.changes),
            relations=tuple(board.relations.values()),
        )
        return done, plan, kept

    async def _ask_model(self, run: Run, question: PairPrompt) -> tuple[Run, tuple[Finding, ...]]:
        """A prompt's worth of findings; a run that may not or cannot ask any more says so by its status."""
        run = replace(run, prompt=question.prompt, model=run.model or (self.model.name if self.model else None))
        before, nothing = run.requests, mark_unanswered(question.pairs)
        try:
            answer = await self.usage_meter.ask_model(run.scope, "consolidate", question.messages, form=question.form)
            run = self.add_answer_cost(run, answer)
            found = self.pair_prompts.parse_answer(question.pairs, answer.message.content)
        except BadModelAnswer as error:
            lost = self.usage_meter.charge_failed_answer("consolidate", run.model or "", error)
            return replace(_add_charge(run, lost) if lost else run, requests=before + 1), nothing
        except OverBudget as error:
            return replace(run, status="over_budget", reason=type(error).__name__), ()
        except ModelError as error:
            if is_rejected_request(error):  # one page; the others may be read
                return replace(run, requests=before + 1), nothing
            return replace(run, status="failed", reason=type(error).__name__), ()
        return run, found

    def add_answer_cost(self, run: Run, answer: ChatAnswer) -> Run:
        """The run with what an answer has cost."""
        prices = self.settings.spend.prices
        charge = cost.calculate_charge("consolidate", answer.model, answer.input_tokens, answer.output_tokens, prices)
        return _add_charge(replace(run, model=answer.model, requests=run.requests + 1), charge)

    def _judge_by_rules(self, pair: Pair) -> Finding:
        judgement, sure = consolidate.judge_pair(pair, self.profile, self.pair_prompts.get_lasting_categories())
        return Finding(pair=pair, judgement=judgement, source="rules", sure=sure or judgement != "different")

    def _needs_model(self, pair: Pair) -> bool:
        return (
            self.model is not None
            and not consolidate.judge_pair(pair, self.profile, self.pair_prompts.get_lasting_categories())[1]
        )

    async def _find_near_pairs(self, run: Run) -> tuple[tuple[Pair, ...], Revision]:
        """The pairs that are near, and up to which revision the space is compared once all of them are checked."""
        limit = self.settings.consolidation.pairs
        found = await self.runs.survey_space(run.scope, self._make_bounds(), limit, since=run.surveyed)
        near = tuple(one for one in found.pairs if consolidate.is_near(one, self.profile))
        return near, found.upto if _is_complete(found.pairs, near, limit) else run.surveyed

    def _make_bounds(self) -> SurveyBounds:
        now, told, profile = self.clock.now(), self.settings.consolidation, self.profile
        return SurveyBounds(
            pool=told.pool,
            recent=now - timedelta(hours=told.recent_hours),
            importance=told.importance_from,
            retrieved=told.retrieved_share,
            partners=now - timedelta(days=told.partner_days),
            most=_PARTNERS,
            checked=now - timedelta(days=told.fingerprint_days),
            tries=consolidate.MAX_TRIES,
            asks=self.model is not None,
            closest=_CLOSEST,
            fallback=profile.fallback,
            worded=_MIN_WORD_COSINE,
            foreign="cjk" not in profile.scripts,
        )

    async def _count_remaining(self, run: Run) -> int:
        """How many pairs the run may check: what the day (UTC) has left, or what a person has asked for."""
        if run.limit is not None:
            return run.limit
        midnight = datetime.combine(self.clock.now().astimezone(UTC).date(), time(), UTC)
        done = await self.runs.count_checked_pairs(run.scope, midnight)
        return max(0, self.settings.consolidation.per_day - done)

    async def _keep_run(self, run: Run) -> Run:
        return run if run.dry else await self.runs.save_run(run, self.batch_submission.get_lease(run))
