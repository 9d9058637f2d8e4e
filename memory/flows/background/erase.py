"""Removal for good, now: a memory with all that says it, or all of a space."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import UUID

from muniment.memory.domain.erasure import ErasureReceipt, MemoryStatement, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.flows.background.derived import echoes_any, find_affected_part, mentions_any, turn_states_any
from muniment.memory.flows.background.insights import Insights
from muniment.memory.flows.consolidation.cancel import Cancellation
from muniment.memory.flows.process_cache import ProcessCache
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.redactor import Redactor
from muniment.memory.flows.write_behind import WriteBehind
from muniment.memory.flows.writing.transaction import PlanCommitter
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.erasure import ErasureStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.provenance.fingerprints import hash_shingles, is_repetition

_PAGE = 100
_NIL = UUID(int=0)


@dataclass(frozen=True, slots=True)
class _RelatedStatements:
    """Other memories that go; former texts of those that stay; what is said only around a text that stays; and all texts
    that go with these."""

    removed: list[MemoryStatement] = field(default_factory=list)
    former: list[MemoryStatement] = field(default_factory=list)
    context: list[MemoryStatement] = field(default_factory=list)
    texts: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Erasures:
    """Removal for good, now: a memory with all that says it, or all of a space."""

    browser: MemoryBrowser
    cache: ProcessCache
    cancellation: Cancellation
    clock: Clock
    committer: PlanCommitter
    erasure: ErasureStore
    insights: Insights
    reads: MemoryReads
    redactor: Redactor
    write_behind: WriteBehind

    async def find_traces(self, scope: Scope, memory_id: MemoryId | None) -> Traces:
        """See `Memory.traces`."""
        rev, _ = await self.reads.find_neighbours(scope, (), 0)
        if memory_id is None:
            return Traces(rev=rev, threads=await self.erasure.find_threads(scope))
        await self.browser.get_memory(scope, memory_id)
        own = await self._read_statements(scope, memory_id)
        texts = tuple(dict.fromkeys(one.text for one in own))
        turns, threads = {turn: None for one in own for turn in one.turns}, set()
        fresh, derived = texts, dict[str, None]()
        while fresh:  # what goes with it was shown and repeated elsewhere, too
            async for turn in self._iterate_turns(scope):
                said = (
                    echoes_any(fresh, turn)
                    if derived
                    else mentions_any(fresh, turn.text) or turn_states_any(fresh, turn)
                )
                if said:
                    turns[turn.id] = None
                known = frozenset(turn.recalled)
                if turn.thread and any(is_repetition(text, known) for text in fresh):
                    threads.add(turn.thread)
            others = await self._find_related(scope, memory_id, texts, frozenset(turns))
            twins = dict.fromkeys(turn for one in others.removed if one.kind == "semantic" for turn in one.turns)
            if not twins.keys() <= turns.keys():  # of these, too, something may have been made
                turns |= twins
                others = await self._find_related(scope, memory_id, texts, frozenset(turns))
            fresh = tuple(text for text in others.texts if text not in derived and text not in texts)
            derived |= dict.fromkeys(fresh)
        ids = (memory_id, *(one.id for one in others.removed))
        return Traces(
            rev=rev,
            threads=await self.erasure.find_threads(scope, ids, tuple(turns)) | threads,
            turns=tuple(turns),
            built_on=tuple(others.removed),
            former=tuple(others.former),
            around=tuple(others.context),
            texts=texts,
            derived=tuple(derived),
            shingle_hashes=tuple({one for text in (*texts, *derived) for one in hash_shingles([text])}),
        )

    async def erase_memory(self, scope: Scope, memory_id: MemoryId) -> ErasureReceipt:
        """See `Memory.erase`."""

        async def remove() -> tuple[Traces, ErasureReceipt]:
            found = await self.find_traces(scope, memory_id)
            others = (one.id for one in (*found.built_on, *found.former, *found.around))
            await self.cancellation.withdraw_batches(scope, {memory_id, *others})
            return found, await self.erasure.erase_memory(scope, memory_id, found, self.clock.now())

        found, done = await self.committer.retry_on_conflict(remove)
        self.cache.drop_space(scope)
        self.write_behind.drop_space(scope)
        self.redactor.redact_cached.cache_clear()
        if any(one.kind == "insight" for one in found.built_on):
            await self.insights.schedule_reflection(scope)
        return done

    async def erase_space(self, scope: Scope) -> ErasureReceipt:
        """See `Memory.erase_space`."""
        await self.cancellation.withdraw_batches(scope)
        done = await self.erasure.erase_space(scope, self.clock.now())
        self.cache.drop_space(scope)
        self.write_behind.drop_space(scope)
        self.redactor.redact_cached.cache_clear()
        return done

    async def _read_statements(self, scope: Scope, memory_id: MemoryId) -> list[MemoryStatement]:
        own: list[MemoryStatement] = []
        async with aclosing(self._iterate_statements(scope, memory_id)) as told:
            async for one in told:
                if one.id != memory_id:
                    break
                own.append(one)
        return own

    async def _find_related(
        self, scope: Scope, memory_id: MemoryId, texts: tuple[str, ...], turns: frozenset[TurnId]
    ) -> _RelatedStatements:
        found = _RelatedStatements()
        async for one in self._iterate_statements(scope, MemoryId(_NIL)):
            part = None if one.id == memory_id else find_affected_part(texts, turns, one)
            of_gone = bool(found.removed) and found.removed[-1].id == one.id  # its former texts come after it
            if of_gone or part == "text":
                found.texts[one.text] = None
                if not of_gone:
                    (found.former if one.since else found.removed).append(one)
            elif part == "context":
                found.context.append(one)
        return found

    async def _iterate_statements(self, scope: Scope, start: MemoryId) -> AsyncGenerator[MemoryStatement, None]:
        """What the memories say and said, from one on."""
        after = (start, Revision(-1))
        while page := await self.erasure.list_memory_texts(scope, after, _PAGE):
            for one in page:
                yield one
            after = (page[-1].id, page[-1].since)
            await asyncio.sleep(0)

    async def _iterate_turns(self, scope: Scope) -> AsyncIterator[Turn]:
        after = TurnId(_NIL)
        while page := await self.erasure.list_turns(scope, after, _PAGE):
            for one in page:
                yield one
            after = page[-1].id
            await asyncio.sleep(0)
