"""How-to memory: what was done in a thread until it succeeded, kept when a person asks or when failures came before."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from uuid import uuid4

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.memory import STATES, Memory, Neighbour
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.errors import ModelError
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.redactor import Redactor
from muniment.memory.flows.writing.quotas import Quotas, WriteContext
from muniment.memory.flows.writing.transaction import PlanCommitter, Rejections, VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage, ChatModel
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.extraction.validate import validate_candidate
from muniment.memory.rules.language.tokens import is_legible
from muniment.memory.rules.merging.merge import MergeResult, make_memory
from muniment.memory.rules.procedures import trace_answer
from muniment.memory.rules.procedures.goals import (
    has_same_steps,
    has_same_wording,
    is_distinct,
    is_rewording,
    reaches_goal,
    renew_goal,
    split_wordings,
)
from muniment.memory.rules.procedures.procedure import (
    Procedure,
    fit_procedure,
    merge_procedures,
    parse_procedure,
    render_procedure,
)
from muniment.memory.rules.procedures.traces import SolutionPath, find_paths, make_candidate

_log = logging.getLogger(__name__)
_TURNS = 300  # of a thread, that one look reads
_MAX_KNOWN = 500  # procedures that it is compared with
_MAX_SOURCE_TURNS = 200  # turns of a procedure, the latest
_FORM = AnswerForm(name="procedure", schema=trace_answer.PROCEDURE_SCHEMA, max_tokens=700)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PathDraft:
    """A path, and how it is to be told."""

    path: SolutionPath
    procedure: Procedure
    vector: Vector

    @property
    def probe(self) -> NeighbourProbe:
        """What its neighbours are looked for by."""
        return NeighbourProbe(vector=self.vector, kind="procedural")


def _covers_path(memory: Memory, path: SolutionPath) -> bool:
    """Whether a memory tells of this path already, or was forgotten after it: that is not learned from the same work again."""
    if not set(memory.turns) & {act.turn for act, _ in path.uses}:
        return False
    more = path.is_requested and memory.importance < make_candidate(path, path.procedure).importance
    done = memory.event_time is not None and memory.event_time >= path.at
    return memory.state != "active" or (done and not more)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Procedures:
    """How-to memory: what was done in a thread until it succeeded, kept when a person asks or when failures came before."""

    clock: Clock
    committer: PlanCommitter
    embedder: Embedder
    ledger: TurnLedger
    model: ChatModel | None
    profile: EmbedderProfile
    quotas: Quotas
    reads: MemoryReads
    redactor: Redactor
    settings: Settings
    usage_meter: UsageMeter

    async def learn_procedures(self, scope: Scope) -> Receipt:
        """See `Memory.learn_path`."""
        if scope.thread is None:
            return Receipt(rev=Revision(0), skipped="no thread")
        if refusal := self.redactor.find_denial_reason(scope):
            return Receipt(rev=Revision(0), skipped=refusal)
        turns = [
            one
            for one in await self.ledger.list_work_turns(scope, limit=_TURNS)
            if self.redactor.find_denial_reason(scope, one) is None
        ]
        found = find_paths(turns, failures=self.settings.procedures.failures)
        if not found:
            return Receipt(rev=Revision(0), skipped="no path that succeeded")
        known = await self._list_procedures(scope)
        new = [one for one in found if not any(_covers_path(memory, one) for memory in known)]
        told = [(one, await self._describe_path(scope, one)) for one in new]
        fitting = [(one, short) for one, full in told if (short := self._fit_procedure(full)) is not None]
        if not fitting:
            refused = ("longer than procedures.chars",) * len(told)
            return Receipt(rev=Revision(0), skipped=None if refused else "known", refused=refused)
        vectors = await self.embedder.embed_documents([render_procedure(short) for _, short in fitting])
        some = [
            _PathDraft(path=one, procedure=short, vector=vector)
            for (one, short), vector in zip(fitting, vectors, strict=True)
        ]
        return await self.committer.commit_with_retry(scope, partial(self._plan_or_skip, scope, some))

    async def perform_learning(self, scope: Scope, key: str) -> Receipt:
        """The job `learn_path`; its key says why, and the thread."""
        return await self.learn_procedures(replace(scope, thread=key.partition(" ")[2]))

    async def _list_procedures(self, scope: Scope) -> Sequence[Memory]:
        wanted = ListRequest(kinds=("procedural",), states=STATES, limit=_MAX_KNOWN)
        return (await self.reads.list_memories(self.settings.make_owner_reader(scope), wanted)).memories

    async def _describe_path(self, scope: Scope, path: SolutionPath) -> Procedure:
        """The path as a model tells it where there is one and its answer holds, else as the rules do."""
        if self.model is None:
            return path.procedure
        told = load_prompt("path")
        messages = [
            ChatMessage(role="system", content=told.text),
            ChatMessage(role="user", content=trace_answer.describe_path(path)),
        ]
        try:
            answer = await self.usage_meter.ask_model(scope, "path", messages, form=_FORM)
            return trace_answer.parse_procedure_answer(answer.message.content, path)
        except ModelError as error:
            # What succeeded is known without a model; it only says it better.
            _log.info("a path is told by the rules: %s", type(error).__name__)
            return path.procedure

    def _fit_procedure(self, procedure: Procedure) -> Procedure | None:
        """The procedure as it may be stored: cleaned, secrets taken out, within the limits."""
        safe = Procedure(
            goal=self.redactor.sanitize_text(procedure.goal),
            steps=tuple(self.redactor.sanitize_text(one) for one in procedure.steps),
            avoid=tuple(self.redactor.sanitize_text(one) for one in procedure.avoid),
            conditions=self.redactor.sanitize_text(procedure.conditions),
        )
        rules = self.settings.procedures
        return fit_procedure(safe, max_chars=rules.chars, max_steps=rules.steps)

    async def _plan_or_skip(
        self, scope: Scope, found: Sequence[_PathDraft], vectors: VectorCache
    ) -> tuple[WritePlan, Rejections] | Receipt:
        """The plan and what is refused of it, or the receipt where there is nothing to write."""
        # The revision first: what another writer adds between the looks makes the plan outdated.
        rev, near = await self.reads.find_neighbours(
            scope, [one.probe for one in found], self.settings.write.neighbours
        )
        # While a model told it a path may have been erased; one that is erased from here on is refused by the commit.
        there = await self.ledger.find_existing_turns(scope, [turn for one in found for turn in one.path.turns])
        left = [(one, close) for one, close in zip(found, near, strict=True) if there.issuperset(one.path.turns)]
        if not left:
            return Receipt(rev=rev, skipped="erased meanwhile")
        plan, refused = await self._build_plan(scope, rev, left, vectors)
        if plan.changes:
            return plan, Rejections(refused=refused)
        return Receipt(rev=rev, refused=refused, skipped=None if refused else "known")

    async def _build_plan(
        self,
        scope: Scope,
        rev: Revision,
        found: Sequence[tuple[_PathDraft, Sequence[Neighbour]]],
        vectors: VectorCache,
    ) -> tuple[WritePlan, tuple[str, ...]]:
        now = self.clock.now()
        known = {one.id: one for one in await self._list_procedures(scope)}
        changes: dict[MemoryId, Change] = {}
        write = WriteContext(scope=scope, node="worker", rev=rev, at=now)
        for one, close in found:
            if any(_covers_path(memory, one.path) for memory in known.values()):
                continue
            change = self._make_change(write, one, [*known.values()], close, vectors)
            if change is not None:
                earlier = changes.get(change.after.id)
                changes[change.after.id] = (
                    replace(change, action=earlier.action, before=earlier.before) if earlier else change
                )
                known[change.after.id] = change.after
        merged = await self.quotas.apply_quotas(write, MergeResult(changes=tuple(changes.values()), relations=()))
        rests_on = tuple(turn for one, _ in found for turn in one.path.turns)
        plan = WritePlan(
            scope=scope, expected_rev=rev, node="worker", at=now, changes=merged.changes, source_turns=rests_on
        )
        return plan, merged.refused

    def _make_change(
        self,
        write: WriteContext,
        one: _PathDraft,
        known: Sequence[Memory],
        near: Sequence[Neighbour],
        vectors: VectorCache,
    ) -> Change | None:
        """The new procedure, or the known one of the same goal with the newer path and the failures of both."""
        said = make_candidate(one.path, one.procedure)
        kept, _ = validate_candidate(
            said, categories=frozenset(self.settings.categories), max_chars=self.settings.procedures.chars
        )
        if kept is None:
            return None
        old = self._find_same_goal(one, known, near) or self._find_reworded(one, known, vectors)
        if old is None:
            # A how-to outlives the run that found it: what belongs to one is forgotten with it.
            where = replace(write.scope, agent=one.path.agent, session=one.path.session, run=None)
            return Change(
                action="ADD", after=make_memory(kept, MemoryId(uuid4()), where, write.at), vector=one.vector, band="new"
            )
        before = parse_procedure(old.text)
        if before is None or (old.event_time is not None and old.event_time > one.path.at):
            return None  # edited by hand, or a later success is known
        # Where no request is in sight, the beginning of the work may be out of sight, too.
        told = replace(
            one.procedure, goal=renew_goal(one.procedure.goal, before.goal) if one.path.request else before.goal
        )
        both = self._fit_procedure(merge_procedures(told, before)) or told
        text = render_procedure(both)
        after = replace(
            old,
            text=text,
            importance=max(old.importance, kept.importance),
            confidence=max(old.confidence, kept.confidence),
            event_time=one.path.at,
            turns=tuple(dict.fromkeys(old.turns + kept.turns))[-_MAX_SOURCE_TURNS:],
            tags=tuple(dict.fromkeys(old.tags + kept.tags)),
            updated_at=max(write.at, old.updated_at),
        )
        same = both.steps == before.steps
        [vector] = vectors.get_vectors([text])
        return Change(
            action="MERGE" if same else "UPDATE",
            after=after,
            before=old,
            vector=vector,
            meta={"why": "same", "notes": 2} if same else {"why": "supersedes"},
        )

    def _find_same_goal(self, one: _PathDraft, known: Sequence[Memory], near: Sequence[Neighbour]) -> Memory | None:
        """The active procedure of the same work or the same goal: by the turns it rests on, by its words, or by its vector where
        one goal only says more than the other.

        A vector alone does not tell a deployment to staging from one to production."""
        worked = {act.turn for act, _ in one.path.uses}
        active = [memory for memory in known if memory.state == "active"]
        said = [(memory, found) for memory in active if (found := parse_procedure(memory.text)) is not None]
        sure = {item.memory.id for item in near if item.sim >= self.profile.auto}
        reached = [(memory, found) for memory, found in said if reaches_goal(one.procedure, found)]
        looks = (
            (memory for memory, _ in said if worked & set(memory.turns)),
            (memory for memory, found in reached if has_same_wording(one.procedure.goal, found.goal)),
            (memory for memory, _ in reached),
            (
                memory
                for memory, found in said
                if memory.id in sure and reaches_goal(one.procedure, found, is_near=True)
            ),
        )
        return next(chain.from_iterable(looks), None)

    def _find_reworded(self, one: _PathDraft, known: Sequence[Memory], vectors: VectorCache) -> Memory | None:
        """The active procedure of the same steps whose goal says the same in another wording."""
        active = [
            (memory, found) for memory in known if memory.state == "active" and (found := parse_procedure(memory.text))
        ]
        for memory, found in active if one.path.request else ():
            wordings = [wording for wording in split_wordings(found.goal) if is_rewording(wording, one.procedure.goal)]
            if any(is_distinct(wording, one.procedure.goal) for wording in split_wordings(found.goal)):
                continue
            if (
                wordings
                and has_same_steps(found, one.procedure)
                and self._is_close(one.procedure.goal, wordings, vectors)
            ):
                return memory
        return None

    def _is_close(self, goal: str, wordings: Sequence[str], cache: VectorCache) -> bool:
        """Whether a goal is near one of its wordings, where the embedder knows the script."""
        if not is_legible(self.profile.scripts, goal, *wordings):
            return True
        asked, *vectors = cache.get_vectors([goal, *wordings])
        return max(float(asked @ vector) for vector in vectors) >= self.profile.check
