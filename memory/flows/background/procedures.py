"""How-to memory: procedures that are learned from the work in a thread."""

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
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.memory import (
    REPLACES,
    STATES,
    Neighbour,
    State,
    StoredMemory,
    compose_document,
    find_replaced,
)
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import make_memory
from muniment.memory.errors import ModelError
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.writing.plan import PlanCommitter, Quotas, Rejections, WriteContext
from muniment.memory.flows.writing.vectors import VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage, ChatModel
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.extraction.gate import validate_candidate
from muniment.memory.rules.language.tokens import is_legible
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.merging.merge import MergeResult
from muniment.memory.rules.observations.paths import limit_paths, observe_path
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
from muniment.memory.rules.procedures.review import needs_review, publish_memory, retire_replaced
from muniment.memory.rules.procedures.traces import SolutionPath, find_paths, make_candidate
from muniment.memory.rules.redaction.redact import Redactor

_log = logging.getLogger(__name__)
_TURNS = 300  # of a thread, read at once
_MAX_KNOWN = 500  # procedures that a path is compared with
_MAX_SOURCE_TURNS = 200  # turns of a procedure, the latest
_KNOWN: tuple[State, ...] = ("pending", "active")  # the states of a procedure that a path of its goal changes
_FORM = AnswerForm(name="procedure", schema=trace_answer.PROCEDURE_SCHEMA, max_tokens=700)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PathDraft:
    """A path, its procedure as it is stored, and the vector of the procedure's text."""

    path: SolutionPath
    procedure: Procedure
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Procedures:
    """Learns how-to memory from what was done in a thread until it succeeded."""

    clock: Clock
    committer: PlanCommitter
    embedder: Embedder
    ledger: TurnLedger
    observations: ObservationStore
    model: ChatModel | None
    profile: EmbedderProfile
    quotas: Quotas
    reads: MemoryReads
    redactor: Redactor
    settings: Settings
    usage_meter: UsageMeter

    async def learn_procedures(self, scope: Scope) -> Receipt:
        """Learn from the paths in the scope's thread that a person wished to keep, or that succeeded after failures. A
        path that was learned before is skipped. Raises Conflict, ModelError of the embedder, StoreError."""
        if scope.thread is None:
            return Receipt(rev=Revision(0), skipped="no thread")
        if refusal := self.redactor.find_denial_reason(scope):
            return Receipt(rev=Revision(0), skipped=refusal)
        work_turns = await self.ledger.list_work_turns(scope, limit=_TURNS)
        turns = [turn for turn in work_turns if self.redactor.find_denial_reason(scope, turn) is None]
        paths = find_paths(turns, failures=self.settings.procedures.failures)
        if not paths:
            return Receipt(rev=Revision(0), skipped="no path that succeeded")
        memories = await self._list_procedures(scope)
        new = await self._limit_paths(
            scope, [path for path in paths if not any(_covers_path(memory, path) for memory in memories)]
        )
        described = [(path, self._fit_procedure(await self._describe_path(scope, path))) for path in new]
        fitting = [(path, procedure) for path, procedure in described if procedure is not None]
        if not fitting:
            refused = ("longer than procedures.chars",) * len(new)
            return Receipt(rev=Revision(0), skipped=None if refused else "known", refused=refused)
        vectors = await self.embedder.embed_documents([render_procedure(procedure) for _, procedure in fitting])
        drafts = [
            _PathDraft(path=path, procedure=procedure, vector=vector)
            for (path, procedure), vector in zip(fitting, vectors, strict=True)
        ]
        return await self.committer.commit_with_retry(scope, partial(self._plan_or_skip, scope, drafts))

    async def _limit_paths(self, scope: Scope, paths: Sequence[SolutionPath]) -> list[SolutionPath]:
        if self.settings.observations.types.get("skill_proposal_candidate") is None:
            return []
        reader, known = self.settings.make_owner_reader(scope), list[Observation]()
        for session in dict.fromkeys(path.session for path in paths if path.session):
            known += await self.observations.list_of_session(reader, session, _MAX_KNOWN)
        return limit_paths(paths, known, self.settings.observations.candidates)

    async def perform_learning(self, scope: Scope, key: str) -> Receipt:
        """Perform the job `learn_path`; its key is the reason and the thread."""
        return await self.learn_procedures(replace(scope, thread=key.partition(" ")[2]))

    async def _list_procedures(self, scope: Scope) -> Sequence[StoredMemory]:
        request = ListRequest(kinds=("procedural",), states=STATES, limit=_MAX_KNOWN, everywhere=True)
        return (await self.reads.list_memories(self.settings.make_owner_reader(scope), request)).memories

    async def _describe_path(self, scope: Scope, path: SolutionPath) -> Procedure:
        """Return the path in a model's words, or in those of the rules where no model gives a valid answer."""
        if self.model is None:
            return path.procedure
        messages = [
            ChatMessage(role="system", content=load_prompt("path", self.settings.model.prompt_folder).text),
            ChatMessage(role="user", content=trace_answer.describe_path(path)),
        ]
        try:
            answer = await self.usage_meter.ask_model(scope, "path", messages, form=_FORM)
            return trace_answer.parse_procedure_answer(answer.message.content, path)
        except ModelError as error:
            _log.info("a path is told by the rules: %s", type(error).__name__)
            return path.procedure

    def _fit_procedure(self, procedure: Procedure) -> Procedure | None:
        """Return the procedure without secrets and within the limits; None where it does not fit."""
        sanitize = self.redactor.sanitize_text
        safe = Procedure(
            goal=sanitize(procedure.goal),
            steps=tuple(map(sanitize, procedure.steps)),
            avoid=tuple(map(sanitize, procedure.avoid)),
            conditions=sanitize(procedure.conditions),
        )
        rules = self.settings.procedures
        return fit_procedure(safe, max_chars=rules.chars, max_steps=rules.steps)

    async def _plan_or_skip(
        self, scope: Scope, drafts: Sequence[_PathDraft], vectors: VectorCache
    ) -> tuple[WritePlan, Rejections] | Receipt:
        """Return the plan and what is refused, or the receipt where there is nothing to write."""
        # The revision first: what another writer adds between the reads makes the plan outdated.
        probes = [NeighbourProbe(vector=draft.vector, kind="procedural") for draft in drafts]
        rev, neighbours = await self.reads.find_neighbours(scope, probes, self.settings.write.neighbours)
        # A path may have been erased while the model described it. The commit refuses one that is erased from here on.
        sources = [turn for draft in drafts for turn in draft.path.turns]
        existing = await self.ledger.find_existing_turns(scope, sources)
        matches = [
            (draft, near)
            for draft, near in zip(drafts, neighbours, strict=True)
            if existing.issuperset(draft.path.turns)
        ]
        if not matches:
            return Receipt(rev=rev, skipped="erased meanwhile")
        plan, refused = await self._build_plan(scope, rev, matches, vectors)
        if plan.changes:
            return plan, Rejections(refused=refused)
        return Receipt(rev=rev, refused=refused, skipped=None if refused else "known")

    async def _build_plan(
        self,
        scope: Scope,
        rev: Revision,
        matches: Sequence[tuple[_PathDraft, Sequence[Neighbour]]],
        vectors: VectorCache,
    ) -> tuple[WritePlan, tuple[str, ...]]:
        now = self.clock.now()
        memories = {memory.id: memory for memory in await self._list_procedures(scope)}
        changes: dict[MemoryId, Change] = {}
        found: list[tuple[_PathDraft, MemoryId]] = []
        write = WriteContext(scope=scope, node="worker", rev=rev, at=now)
        for draft, near in matches:
            if any(_covers_path(memory, draft.path) for memory in memories.values()):
                continue
            change = self._make_change(write, draft, [*memories.values()], near, vectors)
            if change is None:
                continue
            found.append((draft, change.after.id))
            former = find_replaced(change.before) if change.before and change.after.state == "active" else None
            replaced, parts = memories.get(former) if former else None, [change]
            if replaced is not None and replaced.state == "active":
                parts.append(retire_replaced(replaced, change.after, {}))
            for part in parts:
                id_, earlier = part.after.id, changes.get(part.after.id)
                changes[id_] = replace(part, action=earlier.action, before=earlier.before) if earlier else part
                memories[id_] = part.after
        merged = await self.quotas.apply_quotas(write, MergeResult(changes=tuple(changes.values()), relations=()))
        sources = tuple(turn for draft, _ in matches for turn in draft.path.turns)
        kept = {change.after.id: change for change in merged.changes}
        by, reason = self._name_finder(), merged.refused[-1] if merged.refused else ""
        plan = WritePlan(
            scope=scope,
            expected_rev=rev,
            node="worker",
            at=now,
            changes=merged.changes,
            source_turns=sources,
            observations=tuple(
                observe_path(draft.path, draft.procedure, kept.get(id_), found_by=by, reason=reason)
                for draft, id_ in found
            ),
        )
        return plan, merged.refused

    def _name_finder(self) -> str:
        """Return who tells what a path is: the rules, or a model by a version of its prompt."""
        return "rules" if self.model is None else load_prompt("path", self.settings.model.prompt_folder).version

    def _make_change(
        self,
        write: WriteContext,
        draft: _PathDraft,
        memories: Sequence[StoredMemory],
        near: Sequence[Neighbour],
        vectors: VectorCache,
    ) -> Change | None:
        """Return the new procedure, or the known one of the same goal with the newer path and the failures of both.

        What waits for a review changes nothing that is published: it becomes a proposal of its own."""
        candidate, _ = validate_candidate(
            make_candidate(draft.path, draft.procedure),
            categories=frozenset(self.settings.categories),
            max_chars=self.settings.procedures.chars,
        )
        if candidate is None:
            return None
        old = self._find_same_goal(draft, memories, near) or self._find_reworded(draft, memories, vectors)
        waits = needs_review(self.settings.procedures.review, is_requested=draft.path.is_requested)
        candidate = replace(candidate, state="pending" if waits else "active")
        # A procedure outlives the run that it was learned in: a memory of a run is forgotten with it.
        scope = replace(write.scope, agent=draft.path.agent, session=draft.path.session, run=None)
        if old is None:
            memory = make_memory(candidate, MemoryId(uuid4()), scope, write.at)
            return Change(action="ADD", after=memory, vector=draft.vector, band="new")
        before = parse_procedure(old.text)
        if before is None or (old.event_time is not None and old.event_time > draft.path.at):
            return None  # edited by hand, or a later success is stored
        # Without a request in the turns, the beginning of the work may be missing too.
        goal = renew_goal(draft.procedure.goal, before.goal) if draft.path.request else before.goal
        procedure = replace(draft.procedure, goal=goal)
        procedure = self._fit_procedure(merge_procedures(procedure, before)) or procedure
        text = render_procedure(procedure)
        [vector] = vectors.get_vectors([compose_document(text, old.aliases)])
        if waits and old.state == "active" and text != old.text:
            tags = (*candidate.tags, f"{REPLACES}{old.id}")
            revised = replace(candidate, text=text, tags=tags, aliases=old.aliases)
            memory = make_memory(revised, MemoryId(uuid4()), scope, write.at)
            return Change(action="ADD", after=memory, vector=vector, band="new")
        after = replace(
            old,
            text=text,
            importance=max(old.importance, candidate.importance),
            confidence=max(old.confidence, candidate.confidence),
            event_time=draft.path.at,
            turns=tuple(dict.fromkeys(old.turns + candidate.turns))[-_MAX_SOURCE_TURNS:],
            tags=tuple(dict.fromkeys(old.tags + candidate.tags)),
            updated_at=max(write.at, old.updated_at),
        )
        after = after if waits or old.state == "active" else publish_memory(after, write.at)
        is_same = procedure.steps == before.steps
        return Change(
            action="MERGE" if is_same else "UPDATE",
            after=after,
            before=old,
            vector=vector,
            meta={"why": "same", "notes": 2} if is_same else {"why": "supersedes"},
        )

    def _find_same_goal(
        self, draft: _PathDraft, memories: Sequence[StoredMemory], near: Sequence[Neighbour]
    ) -> StoredMemory | None:
        """Return the known procedure of the same work or the same goal, a proposal before what is published: by its
        turns, by its words, or by its vector where one goal only says more than the other. A vector alone does not tell
        staging from production."""
        turns = {call.turn for call, _ in draft.path.uses}
        active = _parse_known(memories)
        goal = draft.procedure.goal
        similar = {
            neighbour.memory.id
            for neighbour in near
            if neighbour.sim >= choose_bands(self.profile, goal, neighbour.memory.text).auto
        }
        reached = [(memory, known) for memory, known in active if reaches_goal(draft.procedure, known)]
        searches = (
            (memory for memory, _ in active if turns & set(memory.turns)),
            (memory for memory, known in reached if has_same_wording(draft.procedure.goal, known.goal)),
            (memory for memory, _ in reached),
            (
                memory
                for memory, known in active
                if memory.id in similar and reaches_goal(draft.procedure, known, is_near=True)
            ),
        )
        return next(chain.from_iterable(searches), None)

    def _find_reworded(
        self, draft: _PathDraft, memories: Sequence[StoredMemory], vectors: VectorCache
    ) -> StoredMemory | None:
        """Return the known procedure of the same steps whose goal says the same in another wording."""
        goal = draft.procedure.goal
        for memory, known in _parse_known(memories) if draft.path.request else ():
            wordings = split_wordings(known.goal)
            if any(is_distinct(wording, goal) for wording in wordings):
                continue
            rewordings = [wording for wording in wordings if is_rewording(wording, goal)]
            if rewordings and has_same_steps(known, draft.procedure) and self._is_close(goal, rewordings, vectors):
                return memory
        return None

    def _is_close(self, goal: str, wordings: Sequence[str], cache: VectorCache) -> bool:
        """Return whether the vector of a goal is near that of a wording, or the embedder does not know the script."""
        if not is_legible(self.profile.scripts, goal, *wordings):
            return True
        goal_vector, *vectors = cache.get_vectors([goal, *wordings])
        return any(
            float(goal_vector @ vector) >= choose_bands(self.profile, goal, wording).check
            for wording, vector in zip(wordings, vectors, strict=True)
        )


def _covers_path(memory: StoredMemory, path: SolutionPath) -> bool:
    """Return whether a memory was learned from this path, also one that was forgotten since."""
    if not set(memory.turns) & {call.turn for call, _ in path.uses}:
        return False
    is_raised = path.is_requested and memory.importance < make_candidate(path, path.procedure).importance
    is_later = memory.event_time is not None and memory.event_time >= path.at
    return memory.state not in _KNOWN or (is_later and not is_raised)


def _parse_known(memories: Sequence[StoredMemory]) -> list[tuple[StoredMemory, Procedure]]:
    return [
        (memory, procedure)
        for state in _KNOWN
        for memory in memories
        if memory.state == state and (procedure := parse_procedure(memory.text)) is not None
    ]
