"""The store port over `Memory`: items are memories of the user's own space."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from muniment.memory.config.plugin import PluginSettings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.layers.host_items import HostOutcome, KeptHostItem
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import LISTINGS, Hit, ListRequest, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput, NotFound, NotPermitted
from muniment.plugin.domain.item import (
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ListQuery,
    MemoryHit,
    MemoryItem,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.domain.operation import (
    UNKNOWN,
    ChangePage,
    ItemChange,
    Operation,
    OperationAnswer,
    OperationOutcome,
)
from muniment.plugin.item_codec import check_item
from muniment.plugin.item_mapping import list_fact_kinds, make_item, make_key, make_scope, map_item, parse_id
from muniment.plugin.ports import OperationStore
from muniment.plugin.stores.engine.ranking import HitScorer
from muniment.plugin.stores.scoring import choose_hits, make_weights

if TYPE_CHECKING:
    from uuid import UUID

    from muniment.memory.client import Memory

PROFILE = "plugin"  # of `recall.profiles`: cuts nothing, since the score of the plugin decides
_AGENT = "supervisor"  # who reads everything but how-to memory
_CANDIDATES = 32  # that the engine finds for each search
_MANY_TOKENS = 1_000_000  # of an answer: the budget of the plugin is its own
_PAGE = 500
_KINDS = ("semantic",)  # memories that are single statements, as items are
_MERGED: dict[HostOutcome, OperationOutcome] = {
    "added": "applied", "updated": "applied", "known": "applied", "merged": "merged", "forgotten": "forgotten",
    "refused": "refused",
}  # fmt: skip
_HEX = frozenset("0123456789abcdef")
_NO_PROJECT = "the token is not for this project"


class EngineStore(OperationStore):
    """Items in the engine. An item is written like anything that the engine keeps: redacted, validated and merged; its
    id leads to its memory for ever, also where the engine knew the same fact under another one.

    `projects` are those whose items may be read and written, beside what belongs to none; none given means all. The
    memory is given, and not closed here."""

    def __init__(self, memory: Memory, settings: PluginSettings, *, projects: Collection[str] = ()) -> None:
        self._memory, self._settings, self._projects = memory, settings, frozenset(projects)

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return the items that are found where the owner is, best first. Raises BadInput, StoreError."""
        if query.text.strip() in LISTINGS:
            return ()
        question = Query(text=query.text, top_k=_CANDIDATES, budget_tokens=_MANY_TOKENS, threshold=0.0, profile=PROFILE)
        answer = await self._memory.query(make_scope(query.owner), _AGENT, question)
        engine = self._memory.engine
        scorer = HitScorer(
            query=query,
            weights=make_weights(self._settings),
            semantic_weight=engine.settings.recall.choose_profile(_AGENT, PROFILE).semantic_weight,
            profile=None if answer.degraded else engine.settings.find_profile(engine.embedder.name),
        )
        hits = (scorer.score_hit(hit) for hit in answer.hits if self._is_open(hit, query))
        return choose_hits((hit for hit in hits if hit and (not query.types or hit.item.type in query.types)), query)

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        """Write items, each once for its id and content, and return what became of each, in order.

        Raises NotPermitted for one of a project that is not open, BadInput, StoreError, ModelError."""
        for item in items:
            check_item(item)
        return [await self._write_item(item) for item in items]

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        """Forget items, and return the ids of those that were there. Raises BadInput, StoreError."""
        return [id_ for id_ in ids if (await self._forget_item(make_scope(owner), parse_id(id_))).changes]

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Forget what has expired, and over the bound the least important and oldest, and return how many.

        Near-duplicates become one as they are written, and what was forgotten is purged by the engine's maintenance, by
        its own settings: neither is counted. Raises BadInput, StoreError."""
        scope = make_scope(owner)
        memories = [memory async for memory in self._read_all(scope)]
        expired = [memory for memory in memories if _has_expired(memory, policy.at) and not memory.pinned]
        gone = {memory.id for memory in expired}
        left = [memory for memory in memories if memory.id not in gone]
        dropped = _choose_least(left, policy)
        for memory in (*expired, *dropped):
            await self._memory.forget(scope, memory.id)
        return CompactReport(expired=len(expired), dropped=len(dropped), kept=len(left) - len(dropped))

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        """Return items, newest change first. Raises BadInput, StoreError."""
        if query.id_prefix is not None and not _HEX.issuperset(query.id_prefix.lower().replace("-", "")):
            return ()
        scope, found, offset = make_scope(query.owner), list[MemoryItem](), 0
        while len(found) < query.limit:
            listing = _make_listing(query, offset)
            page = await self._memory.list_page(scope, listing)
            found += self._select_items(page.memories, query)
            offset += len(page.memories)
            if len(page.memories) < listing.limit:
                break
        return found[: query.limit]

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        """Pin or unpin an item, and return whether it was there. Raises BadInput, StoreError."""
        return await self._pin_item(make_scope(owner), parse_id(item_id), pinned=pinned) is not None

    async def close(self) -> None:
        """Do nothing: the memory is not this store's own."""

    async def apply_operations(self, operations: Sequence[Operation]) -> Sequence[OperationAnswer]:
        """Carry out operations in order, each once for its id within a day, and return what became of each. One that
        cannot be carried out is refused, and the others go on. Raises StoreError, ModelError."""
        return [await self._apply_operation(operation) for operation in operations]

    async def read_changes(self, owner: ItemOwner, since: int, limit: int = _PAGE) -> ChangePage:
        """Return how items are after the changes of a revision, oldest first. Raises BadInput for a revision that is
        not reached."""
        page = await self._memory.changes(make_scope(owner), since, limit)
        changes = []
        for entry in page.entries:
            memory = entry.memory
            if memory is not None and not (self._sees(memory) and memory.kind in _KINDS):
                continue
            is_there = memory is not None and memory.state == "active"
            item = make_item(memory, tenant=owner.tenant, user=owner.user) if memory is not None and is_there else None
            changes.append(ItemChange(revision=entry.rev, item_id=str(entry.memory_id), item=item))
        return ChangePage(changes=tuple(changes), revision=page.next, is_last=page.next >= page.rev)

    async def _write_item(self, item: MemoryItem) -> StoredItem:
        scope, candidate = self._map_item(item)
        if item.deleted:
            await self._forget_item(scope, parse_id(item.id))
            return StoredItem(given_id=item.id, id=item.id, outcome="forgotten")
        kept = await self._keep(scope, candidate, parse_id(item.id))
        return StoredItem(given_id=item.id, id=str(kept.memory or kept.id), outcome=kept.outcome, reason=kept.reason)

    async def _keep(self, scope: Scope, candidate: Candidate, id_: UUID) -> KeptHostItem:
        """Keep an item. An id of a project that is not open is as one that was forgotten: nothing is made under it."""
        if self._projects:
            known = (await self._memory.host_items.find_memories(scope, [id_])).get(id_)
            if known is not None and not self._sees(known):
                return KeptHostItem(id=id_, outcome="forgotten")
        return await self._memory.host_items.keep(scope, candidate)

    def _map_item(self, item: MemoryItem) -> tuple[Scope, Candidate]:
        """Return what the engine is given of an item. Raises NotPermitted for one of a project that is not open."""
        if self._projects and item.project_id is not None and item.project_id not in self._projects:
            raise NotPermitted(f"{_NO_PROJECT}.")
        mapped = map_item(item, make_key(item))
        return mapped.scope, mapped.candidate

    async def _forget_item(self, scope: Scope, id_: UUID) -> Receipt:
        """Forget an item; one of a project that is not open is as one that is not there."""
        known = (await self._memory.host_items.find_memories(scope, [id_])).get(id_)
        if known is not None and not self._sees(known):
            return Receipt(rev=Revision(0))
        return await self._memory.host_items.forget(scope, id_)

    async def _pin_item(self, scope: Scope, id_: UUID, *, pinned: bool) -> Receipt | None:
        """Pin or unpin an item; None where it is not there, or not open."""
        known = (await self._memory.host_items.find_memories(scope, [id_])).get(id_)
        if known is None or not self._sees(known):
            return None
        try:
            return await self._memory.host_items.pin(scope, id_, pinned=pinned)
        except NotFound:
            return None

    async def _apply_operation(self, operation: Operation) -> OperationAnswer:
        try:
            return await self._apply_once(operation)
        except _NotDone as declined:
            return declined.answer
        except (BadInput, NotPermitted) as error:
            return _answer(operation, "refused", reason=str(error))

    async def _apply_once(self, operation: Operation) -> OperationAnswer:
        """Carry out an operation under its id as the key of the request: the same again is answered, and does nothing.

        Raises _NotDone for one that has changed nothing, so that its key stays free: when it comes again, because the
        answer was lost, it is declined for the same reason and not answered as if it had been done."""
        scope, id_ = make_scope(operation.owner), parse_id(operation.item_id)
        done: list[OperationAnswer] = []

        async def carry_out(keyed: Scope, verb: str, item_id: str) -> Receipt:
            del verb, item_id  # they are part of what the key stands for
            answer, receipt = await self._carry_out(keyed, operation, id_)
            if answer.outcome in ("forgotten", "refused"):
                raise _NotDone(answer)
            done.append(answer)
            return receipt

        key = str(parse_id(operation.id))
        receipt = await self._memory.write_once(scope, key, carry_out, operation.verb, operation.item_id)
        if done:
            return done[0]
        memory = (await self._memory.host_items.find_memories(scope, [id_])).get(id_)
        is_shown = memory is not None and self._sees(memory)
        return _answer(operation, "replayed", item_id=str(memory.id) if memory and is_shown else None, rev=receipt.rev)

    async def _carry_out(self, scope: Scope, operation: Operation, id_: UUID) -> tuple[OperationAnswer, Receipt]:
        if operation.verb == "upsert":
            return await self._carry_out_upsert(scope, operation)
        if operation.verb == "forget":
            receipt = await self._forget_item(scope, id_)
            return _answer(operation, "applied", rev=receipt.rev), receipt
        pinned = await self._pin_item(scope, id_, pinned=operation.verb == "pin")
        if pinned is None:
            return _answer(operation, "refused", reason=UNKNOWN), Receipt(rev=Revision(0))
        return _answer(operation, "applied", rev=pinned.rev), pinned

    async def _carry_out_upsert(self, scope: Scope, operation: Operation) -> tuple[OperationAnswer, Receipt]:
        item = operation.item
        if item is None or parse_id(item.id) != parse_id(operation.item_id):
            raise BadInput("item: is missing, or has another id than the operation")
        check_item(item)
        own, candidate = self._map_item(item)
        kept = await self._keep(replace(own, request=scope.request), candidate, parse_id(item.id))
        return _answer_kept(operation, kept), Receipt(rev=kept.rev)

    async def _read_all(self, scope: Scope) -> AsyncIterator[StoredMemory]:
        """Yield the memories of a space that may be read, whatever their place and end."""
        offset, total = 0, 1
        while offset < total:
            page = await self._memory.list_page(
                scope, ListRequest(kinds=_KINDS, everywhere=True, limit=_PAGE, offset=offset)
            )
            for memory in page.memories:
                if self._sees(memory):
                    yield memory
            offset, total = offset + _PAGE, page.total

    def _is_open(self, hit: Hit, query: SearchQuery) -> bool:
        """Whether a hit of the engine is an item of the user's own that may be read."""
        memory = hit.memory
        is_item = hit.shared_by is None and memory.kind in _KINDS
        return is_item and self._sees(memory) and not _has_expired(memory, query.at)

    def _select_items(self, memories: Sequence[StoredMemory], query: ListQuery) -> Iterator[MemoryItem]:
        for memory in memories:
            if not self._sees(memory) or _has_expired(memory, query.at):
                continue
            item = make_item(memory, tenant=query.owner.tenant, user=query.owner.user)
            if (not query.types or item.type in query.types) and (not query.scopes or item.scope in query.scopes):
                yield item

    def _sees(self, memory: StoredMemory) -> bool:
        """Whether a memory belongs to no project, or to one that is open."""
        return not self._projects or memory.project_id is None or memory.project_id in self._projects


class _NotDone(Exception):
    """An operation has changed nothing, and its request is to leave no key. `answer` says why."""

    def __init__(self, answer: OperationAnswer) -> None:
        super().__init__(answer.outcome)
        self.answer = answer


def _make_listing(query: ListQuery, offset: int) -> ListRequest:
    """Return a page of what a query lists, as the engine takes it."""
    return ListRequest(
        kinds=_KINDS,
        fact_kinds=list_fact_kinds(query.types),
        states=("active", "soft_deleted") if query.with_deleted else ("active",),
        pinned=query.pinned,
        beginning=query.id_prefix.lower().replace("-", "") if query.id_prefix else None,
        everywhere=query.everywhere,
        limit=min(_PAGE, query.limit),
        offset=offset,
        counted=False,
    )


def _choose_least(memories: Sequence[StoredMemory], policy: CompactPolicy) -> list[StoredMemory]:
    """Return what is over the bound of a policy: the least important and oldest, and nothing pinned."""
    count, size = len(memories), sum(len(memory.text.encode()) for memory in memories)
    chosen = []
    loose = (memory for memory in memories if not memory.pinned)
    for memory in sorted(loose, key=lambda each: (each.importance, each.updated_at, each.id)):
        is_over = policy.max_items is not None and count > policy.max_items
        if not is_over and (policy.max_bytes is None or size <= policy.max_bytes):
            break
        chosen.append(memory)
        count, size = count - 1, size - len(memory.text.encode())
    return chosen


def _has_expired(memory: StoredMemory, at: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= at


def _answer_kept(operation: Operation, kept: KeptHostItem) -> OperationAnswer:
    """Return the answer to an upsert."""
    outcome = "replayed" if kept.is_replayed and kept.outcome == "known" else _MERGED[kept.outcome]
    if outcome == "applied" and kept.memory not in (None, kept.id):
        outcome = "merged"
    return _answer(operation, outcome, item_id=str(kept.memory or kept.id), rev=kept.rev, reason=kept.reason)


def _answer(
    operation: Operation,
    outcome: OperationOutcome,
    *,
    item_id: str | None = None,
    rev: int = 0,
    reason: str | None = None,
) -> OperationAnswer:
    return OperationAnswer(
        operation_id=operation.id,
        outcome=outcome,
        item_id=item_id or operation.item_id,
        revision=rev,
        reason=reason,
    )
