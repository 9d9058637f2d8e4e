"""Consolidation of a space: begin -> survey -> (check -> apply) for each portion -> end.

A step that decides something is one transaction with the run's record. A crash between two steps loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID, uuid4

from muniment.memory.codec import check_range
from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Finding, Judgement, Pair, Run, RunStatus
from muniment.memory.domain.erasure import SurveyBounds
from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Settlement
from muniment.memory.errors import BadModelAnswer, ModelError, NotFound, OverBudget, StoreError
from muniment.memory.flows.consolidation.batch_submit import BatchSubmission, add_charge, make_batched_pairs
from muniment.memory.flows.consolidation.prompt import PairPrompt, PairPrompts, make_prompt, split_pairs
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.process_state import SpaceLocks
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.plan import PlanCommitter
from muniment.memory.flows.writing.vectors import VectorCache, complete_vectors
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.consolidation import ConsolidationRuns
from muniment.memory.ports.llm import ChatAnswer, ChatModel
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.merging import consolidate
from muniment.memory.rules.merging.classes import Protection, classify_pair
from muniment.memory.rules.policy import cost
from muniment.memory.rules.policy.retry import is_rejected_request

OnFindings = Callable[[Sequence[Finding]], None]
_MAX_PARTNERS = 20_000  # memories that each memory of the pool is compared with
_CLOSEST = 12  # partners of one memory in a survey
_MIN_WORD_COSINE = 0.25  # cosine of two texts' words, where the embedder does not know their script
_PORTION = 50  # pairs that the rules alone decide, in one transaction
_MAX_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consolidation:
    """Finds memories of a space that say the same, or are no longer so, and merges or supersedes them."""

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
        """Consolidate the space and return the run's record; None while another run is under way.

        `dry` writes nothing; `limit` pairs are checked in place of `consolidation.per_day`; `on_findings` is called
        with the findings of each portion. A model that fails ends the run. Raises BadInput, Conflict, StoreError."""
        run = await self.begin_run(scope, dry=dry, limit=limit)
        if run is None:
            return None
        try:
            run, pairs = await self.survey_pairs(run)
            for portion in self.split_portions(pairs):
                run, findings = await self.check_pairs(run, portion)
                if on_findings:
                    on_findings(findings)
                run = await self.apply_findings(run, findings)
                if run.status != "running":
                    break
            return await self.end_run(run)
        except BaseException:
            # Without this the next run would wait until the lease is over. A batch that was submitted goes on.
            await self._abandon_safely(run)
            raise

    async def begin_run(self, scope: Scope, *, dry: bool = False, limit: int | None = None) -> Run | None:
        """Return a new run of the space; None while another one is under way. The run of an empty space is `done`.

        Raises BadInput for a limit out of range, StoreError."""
        if limit is not None:
            check_range("limit", limit, 1, _MAX_LIMIT)
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
            await self._abandon_safely(run)  # its record may have been written all the same
            raise

    async def survey_pairs(self, run: Run) -> tuple[Run, tuple[Pair, ...]]:
        """Return the run, and the pairs that it may check: those that the rules would merge, those that the rules
        doubt, and those that the rules surely keep apart; the closest first. Raises Conflict, StoreError."""
        if run.status != "running":
            return run, ()
        near, upto = await self._find_near_pairs(run)
        unchecked = [pair for pair in near if not pair.checked]
        run = replace(run, seen=len(unchecked), duplicates_before=self._count_duplicates(near), upto=upto)
        if not run.dry:
            run = await self.runs.save_run(run, self.batch_submission.get_lease(run))

        def rank(pair: Pair) -> tuple[bool, bool, int, float]:
            judgement, is_sure = self._judge_pair(pair)
            is_different = judgement == "different"
            return is_different and is_sure, is_different or not is_sure, pair.tries, -pair.sim

        return run, tuple(sorted(unchecked, key=rank)[: await self._count_remaining(run)])

    async def survey_portions(self, run: Run) -> tuple[Run, tuple[tuple[Pair, ...], ...]]:
        """Return the run and the pairs of `survey_pairs` in portions. Raises Conflict, StoreError."""
        surveyed, pairs = await self.survey_pairs(run)
        return surveyed, self.split_portions(pairs)

    def split_portions(self, pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], ...]:
        """Return the pairs as they are checked together; those that need a model, a prompt at a time."""
        by_rules = [pair for pair in pairs if not self._needs_model(pair)]
        by_model = [pair for pair in pairs if self._needs_model(pair)]
        return (*split_pairs(by_rules, _PORTION), *self.pair_prompts.split_prompts(by_model))

    async def check_pairs(self, run: Run, pairs: Sequence[Pair]) -> tuple[Run, tuple[Finding, ...]]:
        """Return the run and the findings: of the rules where they are sure or there is no model, else of the model. A
        run that ends as `over_budget` or `failed` has the findings before that. Raises StoreError.

        With a batch endpoint the pairs for the model are collected in the run until its end. Else the model is asked
        about the memories as they are by then: the run may have superseded some, and some may have been erased."""
        findings = [self._judge_by_rules(pair) for pair in pairs if not self._needs_model(pair)]
        for portion in self.pair_prompts.split_prompts([pair for pair in pairs if self._needs_model(pair)]):
            if run.status != "running":
                break
            run = replace(run, asked=run.asked + make_batched_pairs(portion))
            if self.batch_submission.uses_batch(run):
                continue
            run, current = await self.batch_submission.reload_pairs(run)
            if current:
                run, answers = await self._ask_model(run, make_prompt(current, self.settings.model.prompt_folder))
                findings += answers
        named = (replace(each, pair_class=classify_pair(each.pair, each.judgement)) for each in findings)
        return run, tuple(named)

    async def apply_findings(
        self, run: Run, findings: Sequence[Finding], *, settlements: Sequence[Settlement] | None = None
    ) -> Run:
        """Apply the findings in one transaction with the run's record. A pair that changed meanwhile is left as it is
        and counted `outdated`. `settlements`: see `ConsolidationRuns.save_run`. Raises Conflict when another run has
        taken this one's place, StoreError, ModelError."""
        ids = list({memory.id: None for finding in findings for memory in (finding.pair.older, finding.pair.newer)})

        async def apply(vectors: VectorCache) -> Run:
            decided, plan, applied = await self._decide_findings(run, findings, ids)
            if run.dry:
                return decided
            plan = replace(plan, changes=complete_vectors(plan.changes, vectors))
            plan = await self.consents.add_withdrawals(plan)
            lease = self.batch_submission.get_lease(decided)
            return await self.runs.save_run(decided, lease, plan, applied, settlements=settlements)

        return await self.committer.run_with_vectors(run.scope, apply)

    async def end_run(self, run: Run) -> Run:
        """Close the run's record, as `done` unless it has another status, with the number of duplicates that are left.

        A run with pairs for a batch endpoint is submitted instead, and waits. Raises Conflict, StoreError."""
        if run.ended_at is not None or run.status == "waiting":
            return run
        if run.asked and run.status == "running":
            run = await self.batch_submission.submit_run(run)
            if run.status == "waiting" or run.ended_at is not None:
                return run
        status: RunStatus = "done" if run.status == "running" else run.status
        if run.dry:
            return replace(run, status=status, ended_at=self.clock.now())
        rev, _ = await self.reads.find_neighbours(run.scope, (), 0)
        duplicates = run.duplicates_before
        if run.same or run.superseded:
            duplicates = self._count_duplicates((await self._find_near_pairs(run))[0])
        is_answered = run.unanswered == run.shelved and run.checked + run.outdated + run.shelved >= run.seen
        run = replace(
            run,
            status=status,
            ended_at=self.clock.now(),
            to_rev=rev,
            surveyed=max(run.surveyed, run.upto) if status == "done" and is_answered else run.surveyed,
            duplicates_after=duplicates,
            limit=None,
            upto=Revision(0),
            asked=(),
        )
        return await self.runs.save_run(run, self.batch_submission.get_lease(run))

    async def abandon_run(self, run: Run) -> None:
        """Close the record of a run as `interrupted`. What it has applied stays. Raises StoreError."""
        if not run.dry and run.ended_at is None:
            await self.runs.interrupt_run(run, self.clock.now())

    async def _abandon_safely(self, run: Run) -> None:
        with contextlib.suppress(StoreError):
            await asyncio.create_task(self.abandon_run(run))  # a task of its own: this one may be cancelled

    async def list_runs(self, scope: Scope, limit: int, run: UUID | None) -> list[Run]:
        """Return the space's runs: the one under way, then the newest first; or only `run`. Raises BadInput."""
        check_range("limit", limit, 1, _MAX_LIMIT)
        return await self.runs.list_runs(scope.owner_scope, limit, None if run is None else RunId(run))

    async def get_run(self, scope: Scope, run: UUID) -> Run:
        """Return the record of one run. Raises NotFound."""
        records = await self.runs.list_runs(scope.owner_scope, 1, RunId(run))
        if not records:
            raise NotFound(f"no consolidation {run} in the space of {scope.owner!r}", id=str(run))
        return records[0]

    async def find_last_run(self, scope: Scope) -> Run | None:
        """Return the run of the space that is under way, else its last one."""
        return next(iter(await self.runs.list_runs(scope.owner_scope, 1)), None)

    async def find_waiting_run(self, scope: Scope) -> Run | None:
        """Return the run of the space that waits for a batch endpoint, if there is one."""
        last = await self.find_last_run(scope)
        return last if last is not None and last.status == "waiting" else None

    async def _decide_findings(
        self, run: Run, findings: Sequence[Finding], ids: Sequence[MemoryId]
    ) -> tuple[Run, WritePlan, list[Finding]]:
        """Return the run with the findings counted, the plan, and the findings that are not outdated."""
        state = consolidate.ConsolidationState(
            members=await self.reads.read_members(run.scope, ids),
            run_id=run.id,
            context_categories=self.pair_prompts.get_lasting_categories(),
            protection=Protection(
                importance_from=self.settings.consolidation.protect_from,
                approved=await self.consents.list_approved(run.scope),
            ),
        )
        rev = state.members.rev
        counts: Counter[consolidate.FindingOutcome] = Counter()
        applied = []
        for finding in findings:
            outcome, result = state.apply_finding(finding)
            counts[outcome] += 1
            if outcome != "outdated":
                applied.append(result)
        decided = replace(
            run,
            checked=run.checked + counts["same"] + counts["superseded"] + counts["distinct"],
            same=run.same + counts["same"],
            superseded=run.superseded + counts["superseded"],
            distinct=run.distinct + counts["distinct"],
            outdated=run.outdated + counts["outdated"],
            unanswered=run.unanswered + counts["unanswered"],
            classes=Counter(run.classes) + Counter(each.pair_class for each in applied if each.pair_class),
        )
        plan = WritePlan(
            scope=run.scope,
            expected_rev=rev,
            node="worker",
            at=self.clock.now(),
            changes=tuple(state.changes),
            relations=tuple(state.relations.values()),
        )
        return decided, plan, applied

    async def _ask_model(self, run: Run, prompt: PairPrompt) -> tuple[Run, tuple[Finding, ...]]:
        """Return the findings of one prompt, and the run; its status says whether it may go on."""
        run = replace(run, prompt=prompt.version, model=run.model or (self.model.name if self.model else None))
        requests = run.requests + 1
        unanswered = tuple(Finding(pair=pair, judgement=None, source="model") for pair in prompt.pairs)
        try:
            answer = await self.usage_meter.ask_model(run.scope, "consolidate", prompt.messages, form=prompt.form)
            run = self._add_answer(run, answer)
            return run, self.pair_prompts.parse_answer(prompt.pairs, answer.message.content)
        except BadModelAnswer as error:
            charge = self.usage_meter.charge_failed_answer("consolidate", run.model or "", error)
            return replace(add_charge(run, charge) if charge else run, requests=requests), unanswered
        except OverBudget as error:
            return replace(run, status="over_budget", reason=type(error).__name__), ()
        except ModelError as error:
            if is_rejected_request(error):  # this prompt alone; the model may answer the others
                return replace(run, requests=requests), unanswered
            return replace(run, status="failed", reason=type(error).__name__), ()

    def _add_answer(self, run: Run, answer: ChatAnswer) -> Run:
        prices = self.settings.spend.prices
        charge = cost.calculate_charge("consolidate", answer.model, answer.input_tokens, answer.output_tokens, prices)
        return add_charge(replace(run, model=answer.model, requests=run.requests + 1), charge)

    def _judge_pair(self, pair: Pair) -> tuple[Judgement, bool]:
        return consolidate.judge_pair(pair, self.profile, self.pair_prompts.get_lasting_categories())

    def _judge_by_rules(self, pair: Pair) -> Finding:
        judgement, is_sure = self._judge_pair(pair)
        return Finding(pair=pair, judgement=judgement, source="rules", sure=is_sure or judgement != "different")

    def _needs_model(self, pair: Pair) -> bool:
        return self.model is not None and not self._judge_pair(pair)[1]

    def _count_duplicates(self, pairs: Sequence[Pair]) -> int:
        return consolidate.count_duplicates(pairs, self.profile, self.pair_prompts.get_lasting_categories())

    async def _find_near_pairs(self, run: Run) -> tuple[tuple[Pair, ...], Revision]:
        """Return the near pairs, and up to which revision the space is compared once they are checked."""
        limit = self.settings.consolidation.pairs
        survey = await self.runs.survey_space(run.scope, self._make_bounds(), limit, since=run.surveyed)
        near = tuple(pair for pair in survey.pairs if consolidate.is_near(pair, self.profile))
        return near, survey.upto if _is_complete(survey.pairs, near, limit) else run.surveyed

    def _make_bounds(self) -> SurveyBounds:
        now, rules, profile = self.clock.now(), self.settings.consolidation, self.profile
        return SurveyBounds(
            pool=rules.pool,
            recent=now - timedelta(hours=rules.recent_hours),
            importance=rules.importance_from,
            retrieved=rules.retrieved_share,
            partners=now - timedelta(days=rules.partner_days),
            most=_MAX_PARTNERS,
            checked=now - timedelta(days=rules.fingerprint_days),
            tries=consolidate.MAX_TRIES,
            asks=self.model is not None,
            closest=_CLOSEST,
            fallback=profile.fallback,
            worded=_MIN_WORD_COSINE,
            foreign="cjk" not in profile.scripts,
        )

    async def _count_remaining(self, run: Run) -> int:
        """Return how many pairs the run may check: its `limit`, else what the day (UTC) has left."""
        if run.limit is not None:
            return run.limit
        midnight = datetime.combine(self.clock.now().astimezone(UTC).date(), time(), UTC)
        checked = await self.runs.count_checked_pairs(run.scope, midnight)
        return max(0, self.settings.consolidation.per_day - checked)


def _is_complete(pairs: Sequence[Pair], near: Sequence[Pair], limit: int) -> bool:
    """Return whether the survey has left out no pair that is near. Others are never checked, and always open."""
    unchecked = [pair for pair in near if not pair.checked]
    counts = Counter(memory.id for pair in unchecked for memory in (pair.older, pair.newer))
    has_room = sum(not pair.checked for pair in pairs) < limit or not unchecked
    return has_room and max(counts.values(), default=0) < _CLOSEST
