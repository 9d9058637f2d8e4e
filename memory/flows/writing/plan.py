"""Making the plan of a write, and committing it: when another writer was first, the plan is made again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import compress
from typing import TypeAlias, TypeVar
from uuid import uuid4

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import NO_VECTOR, MemoryId, Revision, Vector
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Node
from muniment.memory.domain.layers.host_items import HostItem
from muniment.memory.domain.layers.observation import TYPE_OF_KIND, NewObservation
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.memory import Neighbour, is_note, is_structured
from muniment.memory.domain.plan import ExtractionRecord, Receipt, WritePlan
from muniment.memory.domain.scope import Scope, normalize_key
from muniment.memory.domain.search import NeighbourProbe, Search
from muniment.memory.domain.turn import Candidate, ForgetRequest, Turn, find_place
from muniment.memory.domain.usage import OpsEvent, Status
from muniment.memory.errors import Conflict
from muniment.memory.flows.process_state import (
    AvailableEmbedder,
    NeighbourFinder,
    ProcessCache,
    SpaceLocks,
    WriteBehind,
)
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.forget import Forgetting
from muniment.memory.flows.writing.vectors import UnembeddedTexts, VectorCache, embed_changes
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import ChatModel
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language.tokens import is_legible
from muniment.memory.rules.merging.corrections import add_matches, list_turns, order_neighbours
from muniment.memory.rules.merging.merge import IncomingCandidate, MergeResult, merge_candidates
from muniment.memory.rules.policy.consent import build_proposals, make_expiry_jobs
from muniment.memory.rules.policy.quotas import cap_changes
from muniment.memory.rules.statements.parse import is_correcting

_JITTER_SECONDS = 0.005
_LIVE = timedelta(minutes=10)  # a turn that is no older is said now, and no part of a history
_MAX_ROUNDS = 100  # of one plan; each embeds texts that the plan before it lacked
_MAX_SPACES = 10_000  # spaces whose last count is cached
COUNTED_NODES: frozenset[Node] = frozenset({"hotpath", "worker"})
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """What a plan leaves out, for its receipt: reasons of refusal, and sentences for unmet wishes to forget."""

    refused: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


MakePlan: TypeAlias = Callable[[VectorCache], Awaitable[tuple[WritePlan, Rejections] | Receipt]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanCommitter:
    """Commits plans, and makes a plan again when another writer was first."""

    available_embedder: AvailableEmbedder
    consents: Consents
    locks: SpaceLocks
    neighbour_finder: NeighbourFinder
    settings: Settings

    async def commit_with_retry(self, scope: Scope, make_plan: MakePlan) -> Receipt:
        """Commit the plan that `make_plan` returns; a receipt in its place means that there is nothing to commit.

        `make_plan` may be called several times, and writes nothing. Raises Conflict when another writer was first at
        each of `write.attempts`."""

        async def commit_once(vectors: VectorCache) -> Receipt:
            outcome = await make_plan(vectors)
            if isinstance(outcome, Receipt):
                return outcome
            plan, rejections = outcome
            is_degraded = any(change.vector is NO_VECTOR for change in plan.changes)
            if is_degraded:
                plan = replace(plan, jobs=(*plan.jobs, Job(name="embed", scope=scope.owner_scope)))
            try:
                receipt = await self.consents.commit_plan(plan)
            except Conflict:
                self.neighbour_finder.drop_outdated(scope)
                raise
            self.neighbour_finder.apply_receipt(scope, receipt)
            return replace(
                receipt, refused=rejections.refused, unmatched_requests=rejections.unmet, degraded=is_degraded
            )

        return await self.run_with_vectors(scope, commit_once)

    async def run_with_vectors(self, scope: Scope, step: Callable[[VectorCache], Awaitable[_Result]]) -> _Result:
        """Return the result of `step`, which reads the space and changes it; repeat it when another writer came
        between, and when it needs vectors: texts are embedded while nothing is locked.

        Raises Conflict, ModelError."""
        vectors = VectorCache()
        for _ in range(_MAX_ROUNDS):
            try:
                async with self.locks.space_lock(scope.space):
                    return await self.retry_on_conflict(partial(step, vectors))
            except UnembeddedTexts as error:
                missing = error.texts
            vectors |= zip(missing, await self.available_embedder.embed_documents(missing), strict=True)
        raise Conflict

    async def retry_on_conflict(self, step: Callable[[], Awaitable[_Result]]) -> _Result:
        """Return the result of `step`, which reads the space and changes it; repeat it when another writer came
        between.

        Raises Conflict at the last of `write.attempts`, and at once when its data says that the object is `lost`."""
        for left in reversed(range(self.settings.write.attempts)):
            try:
                return await step()
            except Conflict as error:
                if not left or error.data.get("lost"):
                    raise
            # A longer wait each time would starve the loser: the winner of a round is done and does not compete again.
            await asyncio.sleep(random.random() * _JITTER_SECONDS)  # noqa: S311 - not a secret
        raise Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """A write before its quotas: the space at a revision, the extraction record, and the texts to keep by request."""

    scope: Scope
    node: Node
    rev: Revision
    at: datetime
    record: ExtractionRecord | None = None
    wanted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quotas:
    """Caps the changes of one turn, and of one space in a day."""

    cache: ProcessCache
    ledger: TurnLedger
    model: ChatModel | None
    settings: Settings

    async def apply_quotas(self, write: WriteContext, merged: MergeResult, pending: int = 0) -> MergeResult:
        """Return the changes within the caps. The others are refused with the reason, without their edges. So many
        `pending` changes of the day are not in the store yet.

        A turn has `write.per_turn` changes, by the rules and by the model; what the person asked to keep does not
        count. A space has `write.per_day` a day (UTC), without the changes that a person makes by hand."""
        most, record = self.settings.write.per_turn, write.record
        if record is not None and merged.changes:
            earlier: frozenset[MemoryId] = frozenset()
            if record.source == "model" or self.model is not None:  # else nothing else has read this turn
                earlier = await self.ledger.find_supported(write.scope, record.turn)
            requested = {change.after.id for change in merged.changes if change.after.text in write.wanted}
            if len(merged.changes) > most - len(earlier):
                merged = cap_changes(merged, most - len(earlier), earlier | requested, f"more than {most} a turn")
        most, count = self.settings.write.per_day, len(merged.changes)
        if write.node not in COUNTED_NODES or not count:
            return merged
        day = write.at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        # A change is a revision: the last count of today, and the revisions since, are an upper bound that needs no
        # query.
        counted_day, rev, counted = self.cache.daily_counts.get(write.scope.space, (None, 0, 0))
        bound = counted + write.rev - rev if counted_day == day else write.rev
        if bound + count <= most:
            return merged
        today = await self.ledger.count_changes(write.scope, day, sorted(COUNTED_NODES)) + pending
        if len(self.cache.daily_counts) >= _MAX_SPACES:
            self.cache.daily_counts.clear()
        self.cache.daily_counts[write.scope.space] = (day, write.rev, today)
        return cap_changes(merged, most - today, (), f"more than {most} a day")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An extraction that is validated and embedded, before it is compared with the space; without the embedder each of
    its vectors is NO_VECTOR.

    Each request to forget has the search for its memories, None where it has no words to search by. `file_rows` is the
    number of rows of a file that the candidates are, 0 for those of turns. `refusals` are the candidates that failed
    validation, with the reason."""

    candidates: tuple[Candidate, ...]
    vectors: tuple[Vector, ...]
    forget: tuple[tuple[ForgetRequest, Search | None], ...]
    turns: tuple[Turn, ...]
    node: Node
    record: ExtractionRecord | None
    requested_texts: frozenset[str]
    said_at: datetime | None
    file_rows: int
    found_by: str | None
    refusals: tuple[tuple[Candidate, str], ...]


@dataclass(frozen=True, slots=True)
class KnownState:
    """What a draft of a group is planned against: the revision before it, the neighbours of its candidates then, and
    how many `pending` changes of the day the store does not have yet."""

    rev: Revision
    neighbours: list[tuple[Neighbour, ...]]
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planner:
    """Makes the plan of a draft: neighbours, merging, quotas, requests to forget, and proposals for the profile."""

    clock: Clock
    forgetting: Forgetting
    ledger: TurnLedger
    neighbour_finder: NeighbourFinder
    profile: EmbedderProfile
    quotas: Quotas
    reads: MemoryReads
    retention: RetentionTerms
    settings: Settings
    write_behind: WriteBehind

    async def make_plan(
        self, scope: Scope, draft: Draft, vectors: VectorCache, known: KnownState | None = None
    ) -> tuple[WritePlan, Rejections] | Receipt:
        """Return the plan and what it leaves out, or the receipt where there is nothing to write.

        A draft of a group is planned against a state that is `known`; the caller confirms its revision."""
        at, record = self.clock.now(), draft.record
        profile = self.profile.drop_scripts() if any(each is NO_VECTOR for each in draft.vectors) else self.profile
        said_at = min(at, draft.said_at or at)
        rev, incoming = await self._add_neighbours(scope, draft, profile.scripts, said_at, known)
        merged = merge_candidates(
            incoming,
            scope=scope,
            at=said_at,
            profile=profile,
            writing=self.settings.write,
            file_rows=draft.file_rows,
            is_live=draft.node != "worker" and (draft.said_at is None or at - draft.said_at < _LIVE),
            is_by_model=record is not None and record.source == "model",
        )
        write = WriteContext(scope=scope, node=draft.node, rev=rev, at=at, record=record, wanted=draft.requested_texts)
        merged = await self.quotas.apply_quotas(write, merged, known.pending if known else 0)
        changes = embed_changes(merged.changes, draft.candidates, vectors)
        if said_at < at:  # retention counts from now
            dates = ((each, at if each.action == "ADD" else each.after.created_at) for each in changes)
            changes = tuple(replace(each, after=replace(each.after, created_at=date)) for each, date in dates)
        if incoming:
            await self._track_search(scope, draft.node, incoming, at)
        resolve = self.forgetting.resolve_requests
        deletions, unmet = await resolve(scope, draft.forget, draft.turns, changes) if draft.forget else ((), ())
        proposals = build_proposals(
            incoming,
            changes,
            expires_at=at + timedelta(days=self.settings.consent.days),
            quiet=timedelta(days=self.settings.consent.again_days),
            turn_id=record.turn if record else None,
        )
        plan = WritePlan(
            scope=scope,
            expected_rev=rev,
            node=draft.node,
            at=at,
            changes=changes + deletions,
            relations=merged.relations,
            turns=draft.turns,
            extracted=replace(record, refused=record.refused + merged.refused) if record else None,
            proposals=proposals,
            jobs=make_expiry_jobs(scope, [proposal.expires_at for proposal in proposals]),
            observations=build_observations(draft, merged.fates),
            host_items=build_host_items(draft, merged.fates),
        )
        is_recorded = record is not None and (record.source != "rules" or draft.node == "worker")
        if plan.changes or proposals or plan.host_items or is_recorded:
            return plan, Rejections(refused=merged.refused, unmet=unmet)
        if known is None:
            await self.neighbour_finder.confirm_revision(scope)
        if merged.refused:  # the ledger keeps the words of what is refused
            await self.ledger.record_turns(scope, draft.turns, retention=self.retention.turns, now=at)
        return Receipt(rev=rev, refused=merged.refused, unmatched_requests=unmet)

    async def _track_search(
        self, scope: Scope, node: Node, incoming: Sequence[IncomingCandidate], at: datetime
    ) -> None:
        sim = max((round(near.sim, 4) for each in incoming for near in each.neighbours), default=None)
        status: Status = "skipped" if sim is None else "ok"
        event = OpsEvent(node=node, op="search", status=status, sim=sim, ts=at, thread_id=scope.thread)
        await self.write_behind.track_event(scope, event)

    async def _add_neighbours(
        self, scope: Scope, draft: Draft, scripts: Collection[str], at: datetime, known: KnownState | None
    ) -> tuple[Revision, list[IncomingCandidate]]:
        """Return the space's revision, and each candidate with the memories near it: by vector, and by words where the
        embedder is away or does not know the script, or the candidate corrects something. What a model read in a turn
        that was said `at` has them in order by the store's clock."""
        most = self.settings.write.neighbours
        if known is not None:
            rev, neighbours = known.rev, known.neighbours
        else:
            rev, neighbours = await self.neighbour_finder.find_neighbours(scope, build_probes(draft, scope), most)
            # After the revision was read: a write in between makes the plan a Conflict.
            matches = await self.find_by_words(scope, draft.candidates, scripts)
            neighbours = add_matches(neighbours, matches) if any(matches) else neighbours
        record = draft.record
        if record is not None and record.source == "model" and (turns := list_turns(neighbours)):
            said = await self.ledger.read_said_times(scope, [record.turn, *turns])
            neighbours = [order_neighbours(near, record.turn, said, at) for near in neighbours]
        return rev, [
            IncomingCandidate(
                candidate=each,
                vector=vector,
                neighbours=near,
                id=MemoryId(each.item.id if each.item and each.item.names_memory else uuid4()),
            )
            for each, vector, near in zip(draft.candidates, draft.vectors, neighbours, strict=True)
        ]

    async def find_by_words(
        self, scope: Scope, candidates: Sequence[Candidate], scripts: Collection[str]
    ) -> list[tuple[Neighbour, ...]]:
        """Return the memories that share words with each candidate whose vector does not say enough."""
        # What a statement ends or corrects it may name in few of its words, so that its vector is elsewhere.
        is_elsewhere = [not is_legible(scripts, each.text) or is_correcting(each.text) for each in candidates]
        if not any(is_elsewhere):
            return [()] * len(candidates)
        texts = [(each.kind, find_place(each, scope), each.text) for each in compress(candidates, is_elsewhere)]
        found = iter(await self.reads.find_neighbours_by_words(scope, texts, self.settings.write.neighbours))
        return [next(found) if is_away else () for is_away in is_elsewhere]


def build_probes(draft: Draft, scope: Scope) -> list[NeighbourProbe]:
    """Return what the store needs to find the neighbours of each candidate.

    The attribute of a text without structure is that of all such texts: it shares only the key. Where no candidate has
    an attribute, no key is searched. That of an item of a host is its key, so that it is found without a vector."""
    facts = [candidate.fact for candidate in draft.candidates]
    keyed = [each.fact if each.item or not is_note(each.fact) else None for each in draft.candidates]
    attributes = [None if fact is None else fact.attribute if is_structured(fact) else fact.key for fact in keyed]
    keys = [fact.key if fact and any(attributes) else None for fact in facts]
    places = [None if each.reach == "user" else find_place(each, scope) for each in draft.candidates]
    found = zip(draft.candidates, draft.vectors, keys, attributes, places, strict=True)
    return [
        NeighbourProbe(vector=vector, kind=each.kind, stable_key=key, attribute=attribute, place=place)
        for each, vector, key, attribute, place in found
    ]


def build_observations(draft: Draft, fates: Sequence[tuple[MemoryId | None, str]]) -> tuple[NewObservation, ...]:
    """Return what was found in turns, each find once, with what came of it; without what corrects nothing."""
    if draft.found_by is None:
        return ()
    refused = ((candidate, (None, reason)) for candidate, reason in draft.refusals)
    found: dict[str, NewObservation] = {}
    for candidate, (memory, outcome) in (*zip(draft.candidates, fates, strict=True), *refused):
        if candidate.is_correction and memory is None:
            continue
        fact, key = candidate.fact, f"{candidate.kind}|{normalize_key(candidate.text)}"
        if fact is not None:
            key = f"{fact.attribute}{normalize_key(fact.object)}{'|not' if fact.negated else ''}"
        found[key] = NewObservation(
            type=TYPE_OF_KIND.get(fact.kind, "user_fact") if fact else "user_fact",
            stable_key=key,
            statement=candidate.text,
            category=candidate.category,
            fact=fact,
            confidence=candidate.confidence,
            importance=candidate.importance,
            trust=candidate.trust,
            turns=candidate.turns,
            found_by=draft.found_by,
            memory=memory,
            outcome=outcome,
        )
    return tuple(found.values())


def build_host_items(draft: Draft, fates: Sequence[tuple[MemoryId | None, str]]) -> tuple[HostItem, ...]:
    """Return where the ids of the hosts' items lead that became a memory or are known."""
    found = zip(draft.candidates, fates, strict=True)
    return tuple(
        HostItem(id=each.item.id, memory=memory, digest=each.item.digest, said=each.item.said)
        for each, (memory, _) in found
        if each.item is not None and memory is not None
    )
