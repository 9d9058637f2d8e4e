"""Pinning, forgetting and restoring one memory, and what a person answers about one that perhaps replaces others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from uuid import UUID

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.host_items import DropReason
from muniment.memory.domain.memory import MAY_REPLACE, StoredMemory, list_replaced
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.writing.forget import make_deletion
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.vectors import VectorCache, complete_vectors
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.merging.aliases import sanitize_aliases
from muniment.memory.rules.policy.answers import parse_choice
from muniment.memory.rules.policy.retention import has_expired
from muniment.memory.rules.redaction.redact import Redactor

_SHORT_ID = 8
MakeChange = Callable[[StoredMemory], Awaitable[Change | None]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lifecycle:
    """Pins, names, forgets and restores one memory. A memory that is so already is not changed."""

    browser: MemoryBrowser
    clock: Clock
    committer: PlanCommitter
    reads: MemoryReads
    redactor: Redactor
    settings: Settings

    async def pin_memory(self, scope: Scope, memory_id: MemoryId, pinned: bool) -> Receipt:
        """Pin or unpin a memory. Raises NotFound, BadInput for a pin on a forgotten memory."""

        async def make_change(memory: StoredMemory) -> Change | None:
            if pinned:
                _refuse_forgotten(memory, scope, "is pinned")
            if memory.pinned == pinned:
                return None
            after = replace(memory, pinned=pinned, updated_at=self.clock.now())
            return Change(action="UPDATE", before=memory, after=after, meta={"why": "pinned" if pinned else "unpinned"})

        return await self._commit_change(scope, memory_id, make_change)

    async def set_aliases(self, scope: Scope, memory_id: MemoryId, aliases: Sequence[str]) -> Receipt:
        """Give a memory these other names of what it is about, in the place of those that it has.

        Raises NotFound, BadInput for a name that cannot be kept and for a forgotten memory, ModelError."""
        if refusal := self.redactor.find_denial_reason(scope):
            return Receipt(rev=Revision(0), skipped=refusal)
        names = sanitize_aliases(aliases, self.redactor)

        async def make_change(memory: StoredMemory) -> Change | None:
            _refuse_forgotten(memory, scope, "gets other names")
            if memory.aliases == names:
                return None
            after = replace(memory, aliases=names, updated_at=self.clock.now())
            return Change(action="UPDATE", before=memory, after=after, meta={"why": "aliases"})

        return await self._commit_change(scope, memory_id, make_change)

    async def forget_memory(self, scope: Scope, memory_id: MemoryId) -> Receipt:
        """Soft-delete a memory: it can be restored until it is purged. Raises NotFound."""

        async def make_change(memory: StoredMemory) -> Change | None:
            return None if memory.state == "soft_deleted" else make_deletion(memory, self.clock.now(), self.settings)

        return await self._commit_change(scope, memory_id, make_change)

    async def drop_memory(self, scope: Scope, memory_id: MemoryId, reason: DropReason) -> Receipt:
        """Soft-delete a memory that nobody asked to be forgotten: what says it later may be written again. Raises
        NotFound."""

        async def make_change(memory: StoredMemory) -> Change | None:
            if memory.state == "soft_deleted":
                return None
            deletion = make_deletion(memory, self.clock.now(), self.settings)
            return replace(deletion, action="TTL", meta={"why": reason})

        return await self._commit_change(scope, memory_id, make_change)

    async def restore_memory(self, scope: Scope, memory_id: MemoryId) -> Receipt:
        """Bring a forgotten memory back in its former state, and a superseded one, as an active memory. Raises
        NotFound, BadInput when another says the same by now."""

        async def make_change(memory: StoredMemory) -> Change | None:
            if memory.state == "superseded" and memory.superseded_by is not None:
                after = replace(memory, state="active", superseded_by=None, updated_at=self.clock.now())
                return Change(action="RESTORE", before=memory, after=after)
            if memory.state != "soft_deleted":
                return None
            # A memory that waited for consent, or was rejected, is not approved by having been forgotten.
            former: StoredMemory | None = memory
            while former is not None and former.state == "soft_deleted":
                former = await self.reads.get_memory(
                    self.settings.make_owner_reader(scope), memory.id, as_of=Revision(former.rev - 1)
                )
            state = "active" if former is None else former.state
            now = self.clock.now()
            # What has expired would be gone again at once.
            end = None if has_expired(memory, now) else memory.expires_at
            after = replace(memory, state=state, purge_at=None, expires_at=end, updated_at=now)
            # The journal names the memory that superseded this one: it is what the user sees.
            meta = {"into": str(memory.superseded_by)} if state == "superseded" else {}
            return Change(action="RESTORE", before=memory, after=after, meta=meta)

        return await self._commit_change(scope, memory_id, make_change)

    async def answer_replacement(self, scope: Scope, memory_id: MemoryId, text: str) -> Receipt | None:
        """Settle by a person's message which memories a memory replaces, where that was not certain: those are
        superseded, and the others no longer marked. None for a message that is no answer, no change for one that does
        not say which. Raises NotFound."""
        memory = await self.browser.get_memory(scope, memory_id)
        reader = self.settings.make_owner_reader(scope)
        found = [await self.reads.get_memory(reader, MemoryId(UUID(id_))) for id_ in list_replaced(memory)]
        known = [older for older in found if older is not None and older.state == "active"]
        choice = parse_choice(text, [older.text for older in known]) if known and memory.state == "active" else None
        if choice is None:
            return None

        async def make_plan(_: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _neighbours = await self.reads.find_neighbours(scope, (), 0)
            newer = await self.browser.get_memory(scope, memory_id)
            changes = await self._replace_memories(scope, newer, [older.id for older in known], choice)
            if not changes:
                return Receipt(rev=rev)
            now = self.clock.now()
            return WritePlan(scope=scope, expected_rev=rev, node="hotpath", at=now, changes=changes), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)

    async def _replace_memories(
        self, scope: Scope, newer: StoredMemory, ids: Sequence[MemoryId], choice: Sequence[bool | None]
    ) -> tuple[Change, ...]:
        """The changes of the memories that are superseded, and of the one that was marked with them."""
        now, changes = self.clock.now(), []
        for id_, is_replaced in zip(ids, choice, strict=True):
            older = await self.reads.get_memory(self.settings.make_owner_reader(scope), id_)
            if is_replaced and older is not None and older.state == "active":
                gone = replace(older, state="superseded", superseded_by=newer.id, updated_at=now)
                meta = {"why": "supersedes", "into": str(newer.id), "by": scope.actor or scope.owner}
                changes.append(Change(action="MERGE", before=older, after=gone, meta=meta))
        settled = {
            f"{MAY_REPLACE}{id_}" for id_, is_replaced in zip(ids, choice, strict=True) if is_replaced is not None
        }
        if not settled.intersection(newer.tags):
            return ()
        after = replace(newer, tags=tuple(tag for tag in newer.tags if tag not in settled), updated_at=now)
        meta = {"why": "supersedes" if changes else "different", "by": scope.actor or scope.owner}
        return (*changes, Change(action="UPDATE", before=newer, after=after, meta=meta))

    async def _commit_change(self, scope: Scope, memory_id: MemoryId, make_change: MakeChange) -> Receipt:
        async def make_plan(vectors: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _neighbours = await self.reads.find_neighbours(scope, (), 0)
            change = await make_change(await self.browser.get_memory(scope, memory_id))
            if change is None:
                return Receipt(rev=rev)
            changes = complete_vectors([change], vectors)
            now = self.clock.now()
            return WritePlan(scope=scope, expected_rev=rev, node="face", at=now, changes=changes), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)


def _refuse_forgotten(memory: StoredMemory, scope: Scope, before: str) -> None:
    """Raise BadInput for a forgotten memory, which has to be restored first."""
    if memory.state == "soft_deleted":
        way = f"muniment restore {str(memory.id)[:_SHORT_ID]} --user {quote(scope.owner)}"
        raise BadInput(f"this memory is forgotten; to bring it back before it {before}: `{way}`", id=str(memory.id))
