"""Assertions on what a space keeps, and what they find instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from muniment.faces.check.file_format import (
    AsksConsent,
    Expectation,
    Forgets,
    Ignores,
    Quarantines,
    Remembers,
    Supersedes,
)
from muniment.faces.check.words import MemoryWords, Words
from muniment.memory.client import Memory
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import SpaceChange
from muniment.memory.domain.memory import STATES, StoredMemory, find_replaced
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

_PAGE = 1_000
_MAX_CHAIN = 1_000  # memories of which each has taken the place of the one before


class KeptState:
    """What a space holds, now or at a revision or a time. Each part is read when it is first asked for."""

    def __init__(self, memory: Memory, scope: Scope, as_of: Revision | datetime | None = None) -> None:
        self._memory, self._scope, self._as_of = memory, scope, as_of
        self._memories: list[StoredMemory] | None = None
        self._changes: list[SpaceChange] | None = None
        self._requests: Sequence[Consent] | None = None

    @property
    def is_past(self) -> bool:
        """Whether the space is seen as it was."""
        return self._as_of is not None

    async def read_memories(self) -> Sequence[StoredMemory]:
        """Return all memories, whatever their state and place. Raises BadInput, StoreError."""
        if self._memories is None:
            found: list[StoredMemory] = []
            while True:
                last = (found[-1].rev, found[-1].id) if found else None
                request = ListRequest(states=STATES, everywhere=True, limit=_PAGE, after=last, counted=False)
                page = await self._memory.list_page(self._scope, request, as_of=self._as_of)
                found += page.memories
                if len(page.memories) < _PAGE:
                    break
            self._memories = found
        return self._memories

    async def read_active(self) -> Sequence[StoredMemory]:
        """Return the memories that an answer may have."""
        now = self._as_of if isinstance(self._as_of, datetime) else self._memory.now()
        return [
            memory
            for memory in await self.read_memories()
            if memory.state == "active" and (memory.expires_at is None or memory.expires_at > now)
        ]

    async def read_changes(self) -> Sequence[SpaceChange]:
        """Return all changes, oldest first, each with the memory as it was then."""
        if self._changes is None:
            found: list[SpaceChange] = []
            since = 0
            while True:
                page = await self._memory.changes(self._scope, since, _PAGE)
                found += page.entries
                if page.next >= page.rev or page.next <= since:
                    break
                since = page.next
            self._changes = [change for change in found if _is_until(change, self._as_of)]
        return self._changes

    async def read_requests(self) -> Sequence[Consent]:
        """Return the requests for consent that wait. Raises BadInput for a space in the past, of which nobody knows."""
        if self.is_past:
            raise BadInput("what waited for consent in the past is not known: leave as_of out")
        if self._requests is None:
            self._requests = await self._memory.list_consents(self._scope)
        return self._requests


async def check_kept(kept: KeptState, expectation: Expectation) -> str:
    """Return what is kept instead of what an expectation says; nothing where it holds. Raises BadInput, StoreError."""
    match expectation:
        case Remembers():
            return await _check_remembered(kept, expectation)
        case Forgets():
            return await _check_forgotten(kept, expectation.forgets)
        case Ignores():
            return await _check_ignored(kept, expectation.ignores)
        case Supersedes():
            return await _check_superseded(kept, expectation.supersedes.was, expectation.supersedes.by)
        case AsksConsent():
            return await _check_asked(kept, expectation.asks_consent)
        case Quarantines():
            return await _check_quarantined(kept, expectation.quarantines)
        case _:
            raise TypeError(type(expectation).__name__)


def describe_memory(memory: StoredMemory) -> str:
    """Return a memory on one line, as a failure shows it."""
    state = "" if memory.state == "active" else f" ({memory.state})"
    return f"[{memory.category}] {' '.join(memory.text.split())}{state}"


async def _check_remembered(kept: KeptState, expectation: Remembers) -> str:
    words, times = expectation.remembers, expectation.times
    found = [memory for memory in await kept.read_active() if words.matches_memory(memory)]
    if times is None and found:
        return ""
    if times is not None and len(found) == times:
        return ""
    if found:
        return f"{len(found)} have it: {_join(map(describe_memory, found))}"
    return f"no active memory has it; {await _describe_nearest(kept, words)}"


async def _check_forgotten(kept: KeptState, words: MemoryWords) -> str:
    active = [memory for memory in await kept.read_active() if words.matches_memory(memory)]
    if active:
        return f"still remembered: {_join(map(describe_memory, active))}"
    if any(words.matches_memory(memory) for memory in await kept.read_memories()):
        return ""
    changes = await kept.read_changes()
    if any(change.memory is not None and words.matches_memory(change.memory) for change in changes):
        return ""
    return f"it was never remembered; {await _describe_nearest(kept, words)}"


async def _check_ignored(kept: KeptState, words: Words) -> str:
    memories = [memory for memory in await kept.read_memories() if words.matches(memory.text)]
    if memories:
        return f"kept: {_join(map(describe_memory, memories))}"
    former = [change.memory for change in await kept.read_changes() if change.memory is not None]
    if versions := [memory for memory in former if words.matches(memory.text)]:
        return f"kept in a former version: {_join(map(describe_memory, versions))}"
    requests = [] if kept.is_past else [text for text in await _list_requests(kept) if words.matches(text)]
    return f"a request for consent has it: {_join(requests)}" if requests else ""


async def _check_superseded(kept: KeptState, was: Words, by: Words) -> str:
    active = await kept.read_active()
    if stale := [memory for memory in active if was.matches(memory.text) and not by.matches(memory.text)]:
        return f"still remembered: {_join(map(describe_memory, stale))}"
    heirs = {memory.id: memory for memory in active if by.matches(memory.text)}
    if not heirs:
        return f"no active memory says {by.describe()}; {await _describe_nearest(kept, by)}"
    memories = {memory.id: memory for memory in await kept.read_memories()}
    former = {id_ for id_, memory in memories.items() if was.matches(memory.text)} | {
        change.memory_id
        for change in await kept.read_changes()
        if change.memory is not None and was.matches(change.memory.text)
    }
    if former & heirs.keys():  # a memory that is superseded by words changes in its place
        return ""
    if {_find_heir(memories, id_) for id_ in former} & heirs.keys():
        return ""
    known = _join(map(describe_memory, heirs.values()))
    if former:
        return f"no memory that said {was.describe()} became what says {by.describe()}: {known}"
    return f"no memory said {was.describe()} before; there is {known}"


async def _check_asked(kept: KeptState, words: Words) -> str:
    requests = await _list_requests(kept)
    if any(words.matches(text) for text in requests):
        return ""
    return f"no request waits that has it; {f'waiting: {_join(requests)}' if requests else 'nothing waits'}"


async def _check_quarantined(kept: KeptState, words: MemoryWords) -> str:
    memories = await kept.read_memories()
    found = [memory for memory in memories if words.matches_memory(memory)]
    if any(memory.state == "pending" for memory in found):
        return ""
    if found:
        return f"it is not held back: {_join(map(describe_memory, found))}"
    return f"nothing that has it was kept; {await _describe_nearest(kept, words)}"


def _find_heir(memories: dict[MemoryId, StoredMemory], id_: MemoryId) -> MemoryId:
    """The memory that has taken the place of another one, by as many steps as there are."""
    for _ in range(_MAX_CHAIN):
        memory = memories.get(id_)
        heir = None if memory is None else memory.superseded_by
        if heir is None:
            return id_
        id_ = heir
    return id_


async def _list_requests(kept: KeptState) -> list[str]:
    """What waits for consent, as `field: value`; a memory that waits to replace another one waits, too."""
    replacing = [
        memory.text
        for memory in await kept.read_memories()
        if memory.state == "pending" and find_replaced(memory) is not None
    ]
    return [f"{request.field}: {request.value}" for request in await kept.read_requests()] + replacing


async def _describe_nearest(kept: KeptState, words: Words) -> str:
    """The memories nearest to some words, with their states."""
    shown: dict[str, str] = {}
    for memory in await kept.read_memories():
        shown.setdefault(memory.text, describe_memory(memory))
    nearest = words.sort_nearest(shown)
    return f"nearest: {_join(shown[text] for text in nearest)}" if nearest else "nothing is kept"


def _is_until(change: SpaceChange, as_of: Revision | datetime | None) -> bool:
    if as_of is None:
        return True
    return change.ts <= as_of if isinstance(as_of, datetime) else change.rev <= as_of


def _join(texts: Iterable[str]) -> str:
    return "; ".join(texts)
