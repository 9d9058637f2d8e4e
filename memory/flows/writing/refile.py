"""Refiling the memories of a space by the kind of their facts, and taking it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.maintenance import RefilingResult
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.vectors import VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.statements.predicates import correct_category

_FROM = ("profile", "constraints", "preferences")  # where rules file a fact that belongs elsewhere
_TO = ("constraints", "history", "interests", "knowledge", "tasks")
_PAGE = 500
_MAX_ENTRIES = 1_000  # of a memory's history, in which its refiling is looked for
_REFILED, _RETURNED = "refiled", "returned"  # why a category was changed
FindCategory = Callable[[StoredMemory], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refiling:
    """Moves active memories to the category of their fact's kind. Each move is a revision that can be taken back.

    Nothing but the category changes, not even the time of the last change. A delta header does not tell of it."""

    clock: Clock
    committer: PlanCommitter
    reads: MemoryReads
    settings: Settings

    async def refile_space(self, scope: Scope, *, dry: bool) -> RefilingResult:
        """Move memories of a space to the category that their facts have now. `dry` counts and writes nothing.

        Raises BadConfig where the categories or allowlists are not the default ones: a memory would be moved to where
        an agent does not read, Conflict, StoreError."""
        self._check_categories()

        async def find_category(memory: StoredMemory) -> str:
            fact = memory.fact
            if fact is None or memory.kind != "semantic":
                return memory.category
            return correct_category(fact.kind, fact.predicate, memory.category)

        return await self._move_memories(scope, _FROM, find_category, _REFILED, dry=dry)

    async def undo_refiling(self, scope: Scope, *, dry: bool) -> RefilingResult:
        """Move refiled memories back to where they were, but for those that somebody has filed elsewhere since.

        What else has changed since stays as it is. Raises Conflict, StoreError."""

        async def find_category(memory: StoredMemory) -> str:
            entries = await self.reads.read_history(self.settings.make_owner_reader(scope), memory.id, _MAX_ENTRIES)
            moves = (entry.meta for entry in entries if entry.meta.get("why") in (_REFILED, _RETURNED))
            last = next(moves, {})
            moved_here = last.get("why") == _REFILED and last["category"][1] == memory.category
            return str(last["category"][0]) if moved_here else memory.category

        return await self._move_memories(scope, _TO, find_category, _RETURNED, dry=dry)

    def _check_categories(self) -> None:
        """Raises BadConfig."""
        default = load_settings({})
        if (self.settings.categories, self.settings.allowlists) != (default.categories, default.allowlists):
            raise BadConfig(
                "categories and allowlists: this configuration has its own, so nothing was refiled; where memories are "
                "filed is up to it"
            )

    async def _move_memories(
        self, scope: Scope, categories: tuple[str, ...], find_category: FindCategory, why: str, *, dry: bool
    ) -> RefilingResult:
        counts: Counter[tuple[str, str]] = Counter()
        pages = [page async for page in self._list_pages(scope, categories)]
        for page in pages:
            targets = {
                memory.id: target for memory in page if (target := await find_category(memory)) != memory.category
            }
            if dry:
                counts.update((memory.category, targets[memory.id]) for memory in page if memory.id in targets)
            elif targets:
                receipt = await self._commit_moves(
                    scope, [one for one in page if one.id in targets], find_category, why
                )
                counts.update(tuple(change.meta["category"]) for change in receipt.changes)
        return RefilingResult(scope=scope, counts=dict(sorted(counts.items())))

    async def _list_pages(self, scope: Scope, categories: tuple[str, ...]) -> AsyncIterator[Sequence[StoredMemory]]:
        """Yield all active memories of these categories."""
        reader, offset = self.settings.make_owner_reader(scope), 0
        while True:
            request = ListRequest(categories=categories, limit=_PAGE, offset=offset, everywhere=True)
            page = await self.reads.list_memories(reader, request)
            yield page.memories
            offset += _PAGE
            if offset >= page.total:
                return

    async def _commit_moves(
        self, scope: Scope, memories: Sequence[StoredMemory], find_category: FindCategory, why: str
    ) -> Receipt:
        ids = [memory.id for memory in memories]

        async def make_plan(_: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            graph = await self.reads.read_members(scope, ids)
            changes = []
            for memory in graph.memories.values():
                target = await find_category(memory)
                if memory.state == "active" and target != memory.category:
                    meta = {"why": why, "category": [memory.category, target], "stayed": True}
                    after = replace(memory, category=target)
                    changes.append(Change(action="UPDATE", before=memory, after=after, meta=meta))
            if not changes:
                return Receipt(rev=graph.rev)
            now = self.clock.now()
            plan = WritePlan(scope=scope, expected_rev=graph.rev, node="face", at=now, changes=tuple(changes))
            return plan, Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)
