"""Keeping what hosts give under ids of their own: each id leads to one memory, for ever."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import HostItemKey, MemoryId, Revision, TurnId
from muniment.memory.domain.layers.host_items import HostItem, KeptHostItem
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn, find_place
from muniment.memory.errors import BadInput, DuplicateMemory, NotFound, StoreError
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.writing.lifecycle import Lifecycle
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.vectors import VectorCache, complete_vectors
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.installation import InstallationKey
from muniment.memory.ports.layers.host_items import HostItemStore
from muniment.memory.ports.operation.erasure import ErasureStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.merging.placement import sanitize_candidate
from muniment.memory.rules.provenance.quoted import hold_instruction
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.statements.parse import normalize_sentence

_SESSION = "plugin"  # of the turns that the items are
_PURPOSE = b"muniment: items of hosts"  # of the key that its digests are made with
_FORGOTTEN = "MU006"  # the SQL state of a plan with an item that was forgotten meanwhile
_BY_ID = "memories_pk"
_ATTEMPTS = 3  # of which each but the last has lost against another write of the same item
_WAITS = "waits for the consent of a person"
_NOTHING_NEW = "says nothing new"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostItemKeeper:
    """Keeps, finds, pins and forgets items of hosts, by the ordinary ways of the engine."""

    browser: MemoryBrowser
    clock: Clock
    installation_key: InstallationKey
    committer: PlanCommitter
    erasure: ErasureStore
    host_items: HostItemStore
    lifecycle: Lifecycle
    reads: MemoryReads
    redactor: Redactor
    settings: Settings
    writer: Writer

    async def keep_item(self, scope: Scope, candidate: Candidate) -> KeptHostItem:
        """Keep a candidate under its key. Raises BadInput, BadConfig for a key that cannot be read,
        StoreError, ModelError."""
        if candidate.item is None:
            raise BadInput("item: is missing; the id under which a host keeps the statement is wanted")
        words = sanitize_candidate(candidate, self.redactor).text
        digest = await self._digest(scope, candidate.item.digest)
        key = replace(candidate.item, digest=digest, said=await self._digest_words(scope, words))
        candidate = replace(candidate, item=key)
        for left in reversed(range(_ATTEMPTS)):
            try:
                return await self._keep_once(scope, candidate, key)
            except StoreError as error:
                is_lost = error.data.get("sqlstate") == _FORGOTTEN or error.data.get("constraint") == _BY_ID
                if not left or not is_lost:
                    raise
        raise BadInput("item: is written by several at once")

    async def find_memories(self, scope: Scope, ids: Sequence[UUID]) -> Mapping[UUID, StoredMemory]:
        """Return the memories to which ids lead that are known and not forgotten."""
        items = await self.host_items.find_items(scope, ids)
        led = {id_: item.memory for id_, item in items.items() if item.memory is not None and not item.is_forgotten}
        memories = await self.browser.get_memories(scope, led.values()) if led else {}
        return {id_: memories[memory] for id_, memory in led.items() if memory in memories}

    async def forget_item(self, scope: Scope, item_id: UUID) -> Receipt:
        """Forget an item and its memory. What comes later under this id is refused, also the first of it. Raises
        BadConfig for a key that cannot be read."""
        item = (await self.host_items.find_items(scope, [item_id])).get(item_id)
        memory = None if item is None else await self._find_memory(scope, item)
        said = None if memory is None else await self._digest_words(scope, memory.text)
        # First the id: what is given under it from now on makes nothing, whatever becomes of this call.
        await self.host_items.mark_forgotten(scope, item_id, self.clock.now(), said)
        if item is None or item.memory is None:
            return Receipt(rev=Revision(0))
        try:
            return await self.lifecycle.forget_memory(scope, item.memory)
        except NotFound:
            return Receipt(rev=Revision(0))

    async def pin_item(self, scope: Scope, item_id: UUID, *, pinned: bool) -> Receipt:
        """Pin or unpin the memory of an item. Raises NotFound."""
        memory = (await self.find_memories(scope, [item_id])).get(item_id)
        if memory is None or not _is_there(memory):
            raise NotFound
        return await self.lifecycle.pin_memory(scope, memory.id, pinned)

    async def _digest_words(self, scope: Scope, text: str) -> bytes:
        """Return a digest of what a text says, whatever its case, spaces and full stop."""
        return await self._digest(scope, normalize_sentence(text).encode())

    async def _digest(self, scope: Scope, value: bytes) -> bytes:
        """Return the HMAC-SHA256 of a value under the key of the installation, another one in each space: who reads the
        table alone cannot guess a short text by it."""
        key = await self.installation_key.derive_key(_PURPOSE)
        return hmac.digest(key.get_secret_value(), scope.space.bytes + value, hashlib.sha256)

    async def _keep_once(self, scope: Scope, candidate: Candidate, key: HostItemKey) -> KeptHostItem:
        if await self.host_items.was_forgotten(scope, key.said):
            return KeptHostItem(id=key.id, outcome="forgotten")
        known = (await self.host_items.find_items(scope, [key.id])).get(key.id)
        if known is None:
            return await self._write(scope, replace(candidate, item=replace(key, names_memory=True)), key)
        memory = await self._find_memory(scope, known)
        if memory is None:
            return await self._keep_again(scope, candidate, key, known)
        if known.digest == key.digest:
            outcome = _describe_known(memory, key)
            return replace(outcome, is_replayed=True)
        if memory.id != key.id:  # it stands for others, too
            return await self._write(scope, candidate, key)
        return await self._change(scope, candidate, key)

    async def _keep_again(self, scope: Scope, candidate: Candidate, key: HostItemKey, known: HostItem) -> KeptHostItem:
        """Keep an item whose memory is gone: as a new one where nobody has forgotten it, and else not at all."""
        if known.is_forgotten or known.memory is None or not await self._was_dropped(scope, known.memory):
            return KeptHostItem(id=key.id, outcome="forgotten")
        if known.memory == key.id:  # what is left of it holds the id
            await self.erasure.purge_memories(scope, [known.memory], self.clock.now(), is_early=True)
        is_free = not await self.browser.get_memories(scope, [MemoryId(key.id)])
        return await self._write(scope, replace(candidate, item=replace(key, names_memory=is_free)), key)

    async def _was_dropped(self, scope: Scope, memory_id: MemoryId) -> bool:
        """Whether a memory that is gone has expired or had no room, and was not forgotten."""
        entries = await self.browser.read_history(scope, memory_id, 1)
        return bool(entries) and entries[0].action == "TTL"

    async def _find_memory(self, scope: Scope, item: HostItem) -> StoredMemory | None:
        """Return the memory of an item; None where it is forgotten, or replaced by nothing."""
        if item.is_forgotten or item.memory is None:
            return None
        memory = (await self.browser.get_memories(scope, [item.memory])).get(item.memory)
        return memory if memory is not None and _is_there(memory) else None

    async def _write(self, scope: Scope, candidate: Candidate, key: HostItemKey) -> KeptHostItem:
        """Keep a candidate as the engine keeps any: as a new memory, or as one that it knows."""
        turn = Turn.make(
            session=_SESSION,
            key=f"{key.id} {uuid4()}",
            role=candidate.role or "user",
            text=candidate.text,
            at=self.clock.now(),
            actor=scope.actor,
            kind="audit",
            visible=False,
        )
        supported = replace(candidate, turns=(turn.id,))
        receipt = await self.writer.keep_candidates(scope, (supported,), (turn,), node="face")
        item = (await self.host_items.find_items(scope, [key.id])).get(key.id)
        if item is None or item.digest != key.digest:
            reason = next(filter(None, (receipt.skipped, *receipt.refused)), _NOTHING_NEW)
            return KeptHostItem(id=key.id, outcome="refused", reason=reason, rev=receipt.rev)
        memory = await self._find_memory(scope, item)
        if memory is None:
            return KeptHostItem(id=key.id, outcome="forgotten", rev=receipt.rev)
        kept = replace(_describe_known(memory, key), rev=receipt.rev)
        if kept.outcome == "known" and memory.id != key.id and receipt.changes:
            return replace(kept, outcome="merged")
        is_new = any(change.action == "ADD" and change.after.id == key.id for change in receipt.changes)
        return replace(kept, outcome="added") if is_new and kept.outcome == "known" else kept

    async def _change(self, scope: Scope, candidate: Candidate, key: HostItemKey) -> KeptHostItem:
        """Let the memory that has the id of the item say what the item says, unless another one says it already."""
        if refusal := self.redactor.find_denial_reason(scope):
            return KeptHostItem(id=key.id, outcome="refused", reason=refusal)
        safe = hold_instruction(sanitize_candidate(candidate, self.redactor))
        memory = await self.browser.get_memory(scope, MemoryId(key.id))
        valid, reason = self.writer.check_candidate(replace(safe, turns=memory.turns or (TurnId(uuid4()),)))
        if valid is None or valid.state != "active":
            return KeptHostItem(id=key.id, outcome="refused", reason=reason or _WAITS, memory=memory.id)
        find_place(valid, scope)

        async def make_plan(vectors: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _neighbours = await self.reads.find_neighbours(scope, (), 0)
            before, now = await self.browser.get_memory(scope, MemoryId(key.id)), self.clock.now()
            after = replace(_apply_candidate(before, valid, scope), updated_at=now)
            changes = complete_vectors([Change(action="UPDATE", before=before, after=after)], vectors)
            led = HostItem(id=key.id, memory=before.id, digest=key.digest, said=key.said)
            plan = WritePlan(scope=scope, expected_rev=rev, node="face", at=now, changes=changes, host_items=(led,))
            return plan, Rejections()

        try:
            receipt = await self.committer.commit_with_retry(scope, make_plan)
        except DuplicateMemory as duplicate:
            return KeptHostItem(id=key.id, outcome="refused", reason=str(duplicate), memory=memory.id)
        return KeptHostItem(id=key.id, outcome="updated", memory=memory.id, rev=receipt.rev)


def _is_there(memory: StoredMemory) -> bool:
    """Whether a memory is to be found, or waits for a person."""
    return memory.state in ("active", "pending")


def _describe_known(memory: StoredMemory, key: HostItemKey) -> KeptHostItem:
    """Return what is to be said of an item whose memory is there."""
    if memory.state == "pending":
        return KeptHostItem(id=key.id, outcome="refused", reason=_WAITS, memory=memory.id, rev=memory.rev)
    return KeptHostItem(id=key.id, outcome="known", memory=memory.id, rev=memory.rev)


def _apply_candidate(memory: StoredMemory, candidate: Candidate, scope: Scope) -> StoredMemory:
    """Return a memory that says what a candidate says, as old and as often seen as it is."""
    fact = candidate.fact
    return replace(
        memory,
        text=candidate.text,
        category=candidate.category,
        fact=fact,
        stable_key=fact.key if fact else None,
        importance=candidate.importance,
        confidence=candidate.confidence,
        trust=candidate.trust,
        role=candidate.role,
        pinned=candidate.pinned,
        tags=candidate.tags,
        aliases=candidate.aliases,
        reach=candidate.reach,
        source=candidate.source,
        expires_at=candidate.expires_at,
        project_id=candidate.project or scope.project,
        session_id=scope.session,
    )
