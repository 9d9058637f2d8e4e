"""What waits for a person, the answers, and taking them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from muniment.memory.codec import check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.console.inbox import INBOX_KINDS, DecidedItem, InboxCounts, InboxItem, InboxKind
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.layers.projections import Projection, ProjectionRequest
from muniment.memory.domain.memory import MAY_REPLACE, StoredMemory, list_replaced
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.flows.layers.projections import Projections
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.forget import make_deletion
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.requested_texts import HandEdits
from muniment.memory.flows.writing.vectors import VectorCache, complete_vectors
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.console.inbox import InboxReads
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.policy.edits import Edit
from muniment.memory.rules.policy.reversal import describe_decision, plan_reversal, select_latest_lines

_MAX_WAITING = 1_000  # of one kind that are looked at
_MAX_LISTED = 100
_MAX_LINES = 400  # of the journal; a decision has one for each memory that it changes
_TURNS = 2  # of an item that are shown, the latest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inbox:
    """Lists what waits for a person, settles it, and takes a settlement back. Each is one plan, with its journal."""

    clock: Clock
    committer: PlanCommitter
    consents: Consents
    hand_edits: HandEdits
    inbox_reads: InboxReads
    projections: Projections
    reads: MemoryReads
    settings: Settings

    async def count_waiting(self, scope: Scope, known: InboxCounts | None = None) -> InboxCounts:
        """Return how many things wait; the `known` counts where the space is as it was then."""
        return await self.inbox_reads.count_waiting(scope, self.clock.now(), known)

    async def list_items(
        self, scope: Scope, kinds: Sequence[InboxKind] = (), limit: int = 20, offset: int = 0
    ) -> list[InboxItem]:
        """Return a page of what waits, newest first, with the memories and the turns that it is about."""
        check_range("limit", limit, 1, _MAX_LISTED)
        check_range("offset", offset, 0, _MAX_WAITING * len(INBOX_KINDS))
        chosen = kinds or INBOX_KINDS
        found: list[InboxItem] = []
        if "consent" in chosen:
            requests = await self.consents.list_consents(scope)
            found += [InboxItem(kind="consent", id=each.id, at=each.asked_at, request=each) for each in requests]
        if "instruction" in chosen or "skill" in chosen:
            found += [each for each in await self._list_pending(scope) if each.kind in chosen]
        if "contradiction" in chosen:
            found += [
                InboxItem(kind="contradiction", id=each.id, at=each.updated_at, memories=(each,))
                for each in await self.inbox_reads.list_doubtful(scope, _MAX_WAITING)
            ]
        if "conflict" in chosen:
            found += await self._list_conflicts(scope)
        found.sort(key=lambda each: (each.at, each.id), reverse=True)
        return await self._complete_items(scope, found[offset : offset + limit])

    async def answer_item(
        self, scope: Scope, kind: InboxKind, id_: UUID, *, approve: bool, keep: MemoryId | None = None
    ) -> Receipt:
        """Say yes or no to what waits. A dispute is ended by the memory to `keep`, or by a no to all of them.

        Raises NotFound for what does not wait, BadInput for a yes to a dispute that names no memory."""
        if kind == "contradiction":
            return await self.settle_contradiction(scope, MemoryId(id_), replaces=approve)
        if kind == "conflict":
            if approve and keep is None:
                raise BadInput("keep: name the memory that holds")
            return await self.settle_conflict(scope, id_, keep if approve else None)
        return await self.consents.decide_consents(scope, [id_], approve=approve)

    async def settle_contradiction(self, scope: Scope, memory_id: MemoryId, *, replaces: bool) -> Receipt:
        """Let a memory take the place of those that it perhaps replaces, or let all of them stand. Raises NotFound for
        a memory about which nothing is in doubt."""

        async def make_plan(_: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, memories = await self._read_active(scope, [memory_id])
            newer = memories.get(memory_id)
            marks = () if newer is None else tuple(MemoryId(UUID(id_)) for id_ in list_replaced(newer))
            if newer is None or not marks:
                raise NotFound(f"nothing is in doubt about a memory {memory_id}", id=str(memory_id))
            older = (await self._read_active(scope, marks))[1].values() if replaces else ()
            meta = self._name_decision(scope, memory_id, "contradiction")
            why = "supersedes" if older else "different"
            settled = replace(newer, tags=tuple(tag for tag in newer.tags if not tag.startswith(MAY_REPLACE)))
            changes = [self._retire(each, newer, meta) for each in older]
            changes.append(self._change(newer, settled, meta | {"why": why}))
            return self._build_plan(scope, rev, changes), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)

    async def settle_conflict(self, scope: Scope, slot: UUID, keep: MemoryId | None) -> Receipt:
        """Let one memory of a disputed slot take the place of the others, or with None forget all of them: none is
        right. Raises NotFound for a slot in which nothing is disputed, and for a memory that is not in it."""

        async def make_plan(_: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rivals = {each.memory: each for each in await self._list_rivals(scope, str(slot))}
            rev, memories = await self._read_active(scope, list(rivals))
            if len({repr(rivals[id_].data) for id_ in memories}) < 2:
                raise NotFound(f"nothing is disputed in the slot of {slot}", id=str(slot))
            if keep is not None and keep not in memories:
                raise NotFound(f"no memory {keep} in the disputed slot", id=str(keep))
            meta, now = self._name_decision(scope, slot, "conflict"), self.clock.now()
            changes = []
            for each in memories.values():
                if keep is None:
                    deletion = make_deletion(each, now, self.settings)
                    changes.append(replace(deletion, meta=deletion.meta | meta))
                elif rivals[each.id].data != rivals[keep].data:
                    changes.append(self._retire(each, memories[keep], meta))
            return self._build_plan(scope, rev, changes), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)

    async def correct_item(self, scope: Scope, item: UUID, text: str) -> None:
        """Give what waits other words, and say yes to them: another value for the profile, or another text of a memory.

        Raises NotFound for what does not wait, BadInput for what cannot be kept."""
        requests = await self.consents.list_consents(scope)
        if any(each.id == item for each in requests):
            await self.consents.correct_request(scope, item, text)
            return
        if not any(each.id == item for each in await self._list_pending(scope)):
            raise NotFound(f"nothing waits under the id {item}", id=str(item))
        receipt = await self.hand_edits.edit_memory(scope, MemoryId(item), Edit(text=text))
        asked = [each.id for each in receipt.consent_requests]  # a person has written the value by hand
        await self.consents.decide_consents(scope, [item, *asked], approve=True)

    async def list_decided(self, scope: Scope, limit: int = 10) -> list[DecidedItem]:
        """Return the latest decisions that were not taken back, newest first. Raises BadInput."""
        check_range("limit", limit, 1, _MAX_LISTED)
        groups: dict[str, list[JournalEntry] | None] = {}
        for line in await self.inbox_reads.list_decisions(scope, None, _MAX_LINES):
            if "undone" in line.meta:
                groups.setdefault(line.meta["undone"], None)
            elif (lines := groups.setdefault(line.meta["decision"], [])) is not None and (
                not lines or lines[0].ts == line.ts
            ):
                lines.append(line)
        return [describe_decision(lines) for lines in groups.values() if lines][:limit]

    async def undo_decision(self, scope: Scope, decision: UUID) -> Receipt:
        """Take the last decision on a thing back: its memories become what they were, and a request waits again.

        Raises NotFound for a thing that nobody has decided on lately, or whose decision is taken back already, BadInput
        where what was decided has changed since."""

        async def make_plan(vectors: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _ = await self.reads.find_neighbours(scope, (), 0)
            lines = select_latest_lines(await self.inbox_reads.list_decisions(scope, str(decision), _MAX_LINES))
            if not lines:
                raise NotFound(f"no decision on {decision} is there to be taken back", id=str(decision))
            reopened = await self._reopen_request(scope, decision) if lines[0].meta["about"] == "consent" else ()
            before = await self._read_versions(scope, lines, -1)
            after = await self._read_versions(scope, lines, 0)
            now = await self._read_memories(scope, [line.memory_id for line in lines])
            by, at = scope.actor or scope.owner, self.clock.now()
            changes = complete_vectors(plan_reversal(lines, before, after, now, by=by, at=at), vectors)
            return replace(self._build_plan(scope, rev, changes), decisions=reopened), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)

    async def _reopen_request(self, scope: Scope, id_: UUID) -> tuple[Consent, ...]:
        """Return a decided request as one that waits. Raises BadInput where another value has taken its place."""
        known = await self.consents.list_consents(scope, include_decided=True)
        request = next((each for each in known if each.id == id_), None)
        if request is None or request.decision not in ("approved", "rejected"):
            raise BadInput("a later answer has taken the place of this one: take that back first", id=str(id_))
        until = self.clock.now() + timedelta(days=self.settings.consent.days)
        until = max(until, request.expires_at)
        return (replace(request, decision="pending", decided_at=None, decided_by=None, expires_at=until),)

    async def _list_pending(self, scope: Scope) -> list[InboxItem]:
        listing = ListRequest(states=("pending",), limit=_MAX_WAITING, everywhere=True)
        page = await self.reads.list_memories(self.settings.make_owner_reader(scope), listing)
        return [
            InboxItem(
                kind="skill" if each.kind == "procedural" else "instruction",
                id=each.id,
                at=each.updated_at,
                memories=(each,),
            )
            for each in page.memories
        ]

    async def _list_conflicts(self, scope: Scope) -> list[InboxItem]:
        """Return the disputed slots, without their memories."""
        request = ProjectionRequest(statuses=("conflict",), limit=_MAX_WAITING)
        disputed = await self.projections.list_projections(scope, request)
        slots = [list(rows) for _, rows in groupby(disputed, key=lambda each: (each.type, each.key))]
        return [
            InboxItem(kind="conflict", id=rows[0].id, at=max(each.at for each in rows), slot=_name_slot(rows[0]))
            for rows in slots
        ]

    async def _list_rivals(self, scope: Scope, given: str) -> list[Projection]:
        rows = await self.projections.list_slot(scope, given)
        return [each for each in rows if each.status in ("active", "conflict")]

    async def _complete_items(self, scope: Scope, items: Sequence[InboxItem]) -> list[InboxItem]:
        """Return the items with all memories that they are about, and the latest of the turns that say so."""
        ids: dict[UUID, list[MemoryId]] = {}
        for each in items:
            if each.kind == "conflict":
                rivals = await self._list_rivals(scope, str(each.id))
                ids[each.id] = [rival.memory for rival in rivals]
            elif each.request is not None:
                ids[each.id] = [each.request.memory]
            else:
                older = (MemoryId(UUID(id_)) for memory in each.memories for id_ in list_replaced(memory))
                ids[each.id] = [*(memory.id for memory in each.memories), *older]
        known = await self._read_memories(scope, [id_ for some in ids.values() for id_ in some])
        completed = []
        for each in items:
            memories = [known[id_] for id_ in ids[each.id] if id_ in known]
            if each.kind in ("contradiction", "conflict"):
                memories = [memory for memory in memories if memory.state == "active"]
            completed.append(replace(each, memories=tuple(memories)))
        sources = {each.id: _list_sources(each) for each in completed}
        turns = await self.inbox_reads.list_turns(scope, [turn for some in sources.values() for turn in some])
        return [replace(each, turns=tuple(turn for turn in turns if turn.id in sources[each.id])) for each in completed]

    async def _read_memories(self, scope: Scope, ids: Sequence[MemoryId]) -> dict[MemoryId, StoredMemory]:
        return dict((await self.reads.read_members(scope, list(dict.fromkeys(ids)))).memories) if ids else {}

    async def _read_versions(
        self, scope: Scope, lines: Sequence[JournalEntry], step: int
    ) -> dict[MemoryId, StoredMemory]:
        """Return the memories of lines of the journal as they were so many revisions after each line."""
        reader = self.settings.make_owner_reader(scope)
        found = [await self.reads.get_memory(reader, line.memory_id, as_of=Revision(line.rev + step)) for line in lines]
        return {each.id: each for each in found if each is not None}

    async def _read_active(
        self, scope: Scope, ids: Sequence[MemoryId]
    ) -> tuple[Revision, dict[MemoryId, StoredMemory]]:
        rev, _ = await self.reads.find_neighbours(scope, (), 0)
        memories = await self._read_memories(scope, ids)
        return rev, {id_: each for id_, each in memories.items() if each.state == "active"}

    def _name_decision(self, scope: Scope, id_: UUID, kind: InboxKind) -> dict[str, Any]:
        return {"decision": str(id_), "about": kind, "by": scope.actor or scope.owner}

    def _retire(self, older: StoredMemory, by: StoredMemory, meta: dict[str, Any]) -> Change:
        gone = replace(older, state="superseded", superseded_by=by.id, updated_at=self.clock.now())
        return Change(action="MERGE", before=older, after=gone, meta=meta | {"why": "supersedes", "into": str(by.id)})

    def _change(self, before: StoredMemory, after: StoredMemory, meta: dict[str, Any]) -> Change:
        return Change(action="UPDATE", before=before, after=replace(after, updated_at=self.clock.now()), meta=meta)

    def _build_plan(self, scope: Scope, rev: Revision, changes: Sequence[Change]) -> WritePlan:
        return WritePlan(scope=scope, expected_rev=rev, node="face", at=self.clock.now(), changes=tuple(changes))


def _list_sources(item: InboxItem) -> list[Any]:
    """Return the latest turns that an item comes from, of each of its memories, or of the request."""
    named = [item.request.turns] if item.request is not None else [memory.turns for memory in item.memories]
    return [turn for turns in named for turn in turns[-_TURNS:]]


def _name_slot(projection: Projection) -> str:
    return projection.key.split("|")[-1] or projection.title
