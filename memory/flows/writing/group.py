"""Writers of one space that wait: their drafts are planned and committed together, each with its own receipt."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import NO_VECTOR, Revision, SpaceId, TurnId
from muniment.memory.domain.memory import Neighbour
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.errors import Conflict, MunimentError, StoreDown
from muniment.memory.flows.writing.plan import (
    COUNTED_NODES,
    Draft,
    KnownState,
    PlanCommitter,
    Planner,
    Rejections,
    build_probes,
)
from muniment.memory.flows.writing.vectors import UnembeddedTexts, VectorCache
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.rules.language.tokens import compute_weights, is_legible
from muniment.memory.rules.merging.corrections import add_matches
from muniment.memory.rules.merging.earlier_changes import update_neighbours
from muniment.memory.rules.policy.consent import find_void_requests, is_support_lost
from muniment.memory.rules.retrieval.intents import index_text
from muniment.memory.rules.statements.parse import is_correcting

_MAX_MEMBERS = 16  # of one group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingDraft:
    """A draft that waits for its space, and what its writer awaits."""

    scope: Scope
    draft: Draft
    receipt: asyncio.Future[Receipt]


@dataclass(frozen=True, slots=True)
class GroupQueues:
    """The drafts of this process that wait, by space, and the tasks that commit them."""

    drafts: dict[SpaceId, deque[WaitingDraft]] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)


@dataclass(slots=True)
class _Group:
    """What the plans of a group come to, in order, before they are committed. `rev` is the revision after them."""

    rev: Revision
    turns: set[TurnId] = field(default_factory=set)
    counted: int = 0  # changes that count for the quota of the day
    plans: list[WritePlan] = field(default_factory=list)
    outcomes: list[tuple[WaitingDraft, Rejections | Receipt]] = field(default_factory=list)
    aside: list[WaitingDraft] = field(default_factory=list)  # to commit alone afterwards
    changes: list[Change] = field(default_factory=list)

    def add_plan(self, plan: WritePlan) -> None:
        """Add a plan. Its changes get the revisions that they will have."""
        changes = tuple(
            replace(change, after=replace(change.after, rev=Revision(number)))
            for number, change in enumerate(plan.changes, plan.expected_rev + 1)
        )
        self.changes += changes
        self.plans.append(replace(plan, changes=changes))
        self.rev = Revision(plan.expected_rev + len(plan.changes))
        self.counted += len(plan.changes) if plan.node in COUNTED_NODES else 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DraftGroups:
    """Commits drafts whose space another writer has, together with those that wait beside them.

    A group is one transaction. Each of its drafts is planned as if those before it were committed, so that the result
    is that of one after the other; a draft for which that cannot be known without the store is committed after it."""

    committer: PlanCommitter
    group_queues: GroupQueues
    planner: Planner
    writes: MemoryWrites

    def can_join(self, draft: Draft) -> bool:
        """Whether a draft can be planned in a group: its words are the embedder's, it makes no request, and what it
        says is found everywhere."""
        return (
            not (draft.forget or draft.file_rows)
            and (draft.record is None or draft.record.source == "rules")
            and all(vector is not NO_VECTOR for vector in draft.vectors)
            and all(
                each.state == "active" and each.reach == "user" and is_legible(self.planner.profile.scripts, each.text)
                for each in draft.candidates
            )
        )

    async def commit_draft(self, scope: Scope, draft: Draft) -> Receipt:
        """Commit the draft with those that wait for the space, too.

        A caller that is cancelled takes its draft along unless the group is under way. Raises what a write alone
        does."""
        waiting = WaitingDraft(scope=scope, draft=draft, receipt=asyncio.get_running_loop().create_future())
        queue = self.group_queues.drafts.get(scope.space)
        if queue is None:
            queue = self.group_queues.drafts[scope.space] = deque()
            task = asyncio.create_task(self._commit_queue(scope.space, queue))
            self.group_queues.tasks.add(task)
            task.add_done_callback(self.group_queues.tasks.discard)
        queue.append(waiting)
        return await waiting.receipt

    async def _commit_queue(self, space: SpaceId, queue: deque[WaitingDraft]) -> None:
        """Commit what waits for a space, group by group, until nothing does."""
        alone: Sequence[WaitingDraft] = ()
        try:
            while queue:
                async with self.committer.locks.space_lock(space):
                    alone = _take_members(queue)
                    if len(alone) > 1:
                        alone = await self._commit_group(alone)
                for member in alone:
                    await self._commit_alone(member)
                await asyncio.sleep(0)  # writers that have their receipts may come again: they form the next group
        finally:
            del self.group_queues.drafts[space]
            for member in (*alone, *queue):  # all have their receipts, unless the loop is ending
                member.receipt.cancel()

    async def _commit_alone(self, member: WaitingDraft) -> None:
        if not member.receipt.done():
            make_plan = partial(self.planner.make_plan, member.scope, member.draft)
            committing = self.committer.commit_with_retry(member.scope, make_plan)
            [outcome] = await asyncio.gather(committing, return_exceptions=True)
            _settle(member, outcome)

    async def _commit_group(self, members: Sequence[WaitingDraft]) -> Sequence[WaitingDraft]:
        """Commit members together, as many as can be. Returns those to commit alone: all of a group that failed."""
        writing = self.committer.retry_on_conflict(partial(self._write_group, members))
        [written] = await asyncio.gather(writing, return_exceptions=True)
        if isinstance(written, MunimentError) and not isinstance(written, StoreDown):
            return members  # each learns by itself whether it is the one that fails
        if isinstance(written, BaseException):  # without an answer it may be written: it is not written again
            for member in members:
                _settle(member, written)
            return []
        group, receipts = written
        remaining = iter(receipts)
        for member, outcome in group.outcomes:
            if isinstance(outcome, Rejections):
                _settle(member, replace(next(remaining), refused=outcome.refused, unmatched_requests=outcome.unmet))
            else:
                _settle(member, outcome)
        return group.aside

    async def _write_group(self, members: Sequence[WaitingDraft]) -> tuple[_Group, Sequence[Receipt]]:
        """Plan those members that can be planned without the store, and commit the plans in one transaction."""
        group = await self._plan_group(members)
        scope, finder = members[0].scope, self.planner.neighbour_finder
        if not group.plans:
            if group.outcomes:
                await finder.confirm_revision(scope)
            return group, ()
        try:
            receipts = await self.writes.commit_group(group.plans)
        except Conflict:
            finder.drop_outdated(scope)
            raise
        for receipt in receipts:
            finder.apply_receipt(scope, receipt)
        return group, receipts

    async def _plan_group(self, members: Sequence[WaitingDraft]) -> _Group:
        scope, finder, most = members[0].scope, self.planner.neighbour_finder, self.planner.settings.write.neighbours
        probes = [build_probes(member.draft, scope) for member in members]
        rev, neighbours = await finder.find_neighbours(scope, [probe for each in probes for probe in each], most)
        candidates = [candidate for member in members for candidate in member.draft.candidates]
        matches = await self.planner.find_by_words(scope, candidates, self.planner.profile.scripts)
        # After the revision was read: a write in between makes the plans a Conflict.
        group = _Group(rev)
        pending: Sequence[Consent] | None = None
        ends = list(accumulate(map(len, probes)))
        for member, own, end in zip(members, probes, ends, strict=True):
            part, said = slice(end - len(own), end), {turn.id for turn in member.draft.turns}
            near = self._update_all(own, neighbours[part], group)
            if near is None or group.turns & said or _shares_words(member.draft, group.changes):
                group.aside.append(member)
                continue
            known = KnownState(group.rev, add_matches(near, matches[part]), group.counted)
            try:
                outcome = await self.planner.make_plan(member.scope, member.draft, VectorCache(), known)
            except UnembeddedTexts:
                group.aside.append(member)
                continue
            if isinstance(outcome, Receipt):
                group.outcomes.append((member, outcome))
                continue
            plan, rejections = outcome
            if any(map(is_support_lost, plan.changes)):
                pending = await self.committer.consents.list_pending(scope) if pending is None else pending
                if any(each.proposals for each in group.plans) or find_void_requests(pending, plan):
                    group.aside.append(member)
                    continue
            group.add_plan(plan)
            group.outcomes.append((member, rejections))
            group.turns |= said
        return group

    def _update_all(
        self, probes: Sequence[NeighbourProbe], neighbours: Sequence[tuple[Neighbour, ...]], group: _Group
    ) -> list[tuple[Neighbour, ...]] | None:
        """Return the neighbours of each probe after the changes of the group; None where that cannot be known."""
        most = self.planner.settings.write.neighbours
        updated = [
            update_neighbours(probe, near, group.changes, most) for probe, near in zip(probes, neighbours, strict=True)
        ]
        known = [near for near in updated if near is not None]
        return known if len(known) == len(updated) else None


def _shares_words(draft: Draft, changes: Sequence[Change]) -> bool:
    """Whether a candidate that corrects something, and so is compared by words, too, has a word of changed memories."""
    words = {word for each in draft.candidates if is_correcting(each.text) for word in compute_weights(each.text)}
    return bool(words) and any(
        not words.isdisjoint(index_text(memory.text, memory.context, memory.aliases))
        for change in changes
        for memory in (change.before, change.after)
        if memory is not None
    )


def _take_members(queue: deque[WaitingDraft]) -> list[WaitingDraft]:
    """Take the first drafts of a queue whose writers still wait."""
    members: list[WaitingDraft] = []
    while queue and len(members) < _MAX_MEMBERS:
        member = queue.popleft()
        if not member.receipt.done():
            members.append(member)
    return members


def _settle(member: WaitingDraft, outcome: Receipt | BaseException) -> None:
    """Give a writer its receipt, or the error to raise, unless it was cancelled."""
    if member.receipt.done():
        return
    if isinstance(outcome, Receipt):
        member.receipt.set_result(outcome)
    else:
        member.receipt.set_exception(outcome)
