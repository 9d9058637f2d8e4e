"""Muniment as it takes part: with statements as given, and with what its rules keep of the same words in a talk."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from uuid import UUID

from benchmarks.peers.peer import Found, Item, Timed
from muniment.memory.client import Memory
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput

AGENT = "supervisor"
CATEGORY = "activity"
_UNLIMITED = 10**9  # tokens: it is about finding, not about packing
_RECENT = 6  # turns before a message that say what a short answer answers
_TAG = "key:"


class AsGiven:
    """Statements are kept word for word: many by `ingest`; one by `remember`, which merges, and may refuse."""

    name = "Muniment, as given"

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def load(self, user: str, items: Sequence[Item]) -> Timed[int]:
        """`Memory.ingest`."""
        started = perf_counter()
        count = await self._memory.ingest(Scope(owner=user), [_make_candidate(item) for item in items])
        return Timed(count, perf_counter() - started)

    async def add(self, user: str, item: Item) -> Timed[str]:
        """`Memory.remember`; no id where the statement is refused."""
        started = perf_counter()
        try:
            receipt = await self._memory.remember(Scope(owner=user), item.text)
        except BadInput:
            return Timed("", perf_counter() - started)
        seconds = perf_counter() - started
        return Timed(next((str(one.after.id) for one in receipt.changes if one.after), ""), seconds)

    async def search(self, user: str, text: str, k: int) -> Timed[list[Found]]:
        """`Memory.query`, without a threshold, as the peers search."""
        started = perf_counter()
        query = Query(text=text, top_k=k, threshold=0.0, budget_tokens=_UNLIMITED)
        answer = await self._memory.query(Scope(owner=user), AGENT, query)
        seconds = perf_counter() - started
        hits = [hit.memory for hit in answer.hits]
        return Timed([Found(str(one.id), self._find_key(one), one.text) for one in hits], seconds)

    async def change(self, user: str, id_: str, text: str) -> None:
        """`edits.change_memory`."""
        await self._memory.edits.change_memory(Scope(owner=user), id_, text=text)

    async def history(self, user: str, id_: str) -> list[str]:
        """`Memory.history`, and the words as of each of its revisions."""
        scope = Scope(owner=user)
        lines = await self._memory.history(scope, id_)
        return [(await self._memory.get(scope, id_, as_of=line.rev)).text for line in reversed(lines)]

    async def delete(self, user: str, id_: str) -> None:
        """`Memory.forget`: soft, until it is purged."""
        await self._memory.forget(Scope(owner=user), id_)

    async def erase(self, user: str, id_: str) -> None:
        """`admin.erase`."""
        await self._memory.admin.erase(Scope(owner=user), id_)

    def _find_key(self, memory: StoredMemory) -> str:
        return next((tag.removeprefix(_TAG) for tag in memory.tags if tag.startswith(_TAG)), "")


class ByRules(AsGiven):
    """The same words as messages of the user: what the rules find in them is kept, and nothing else."""

    name = "Muniment, by rules"

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._keys: dict[UUID, str] = {}
        self._recent: dict[str, list[Turn]] = {}

    async def load(self, user: str, items: Sequence[Item]) -> Timed[int]:
        """`Memory.learn` of each message, in their order; returns how many statements there are then."""
        started = perf_counter()
        for item in items:
            await self.add(user, item)
        seconds = perf_counter() - started
        page = await self._memory.list_page(Scope(owner=user), ListRequest(limit=1))
        return Timed(page.total, seconds)

    async def add(self, user: str, item: Item) -> Timed[str]:
        """`Memory.learn`; the id is that of the first statement that it kept."""
        turn = Turn.make(session=user, key=item.key, role="user", text=item.text, at=self._memory.now())
        self._keys[turn.id] = item.key
        recent = self._recent.setdefault(user, [])
        started = perf_counter()
        receipt = await self._memory.learn(Scope(owner=user, session=user), turn, previous=tuple(recent))
        seconds = perf_counter() - started
        recent[:] = [*recent, turn][-_RECENT:]
        return Timed(next((str(one.after.id) for one in receipt.changes if one.after), ""), seconds)

    def _find_key(self, memory: StoredMemory) -> str:
        return next((self._keys[one] for one in memory.turns if one in self._keys), "")


def _make_candidate(item: Item) -> Candidate:
    return Candidate(text=item.text, category=CATEGORY, kind="episodic", confidence=1.0, tags=(f"{_TAG}{item.key}",))
