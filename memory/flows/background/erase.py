"""Erasure: the removal of a memory with its traces, or of a space, for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from uuid import UUID

from muniment.memory.domain.erasure import ErasureReceipt, MemoryStatement, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.layers.observation import ObservationId
from muniment.memory.domain.layers.session import SessionRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.flows.background.derived import (
    drop_beside,
    echoes_any,
    find_affected_part,
    join_texts,
    mentions_any,
    turn_states_any,
)
from muniment.memory.flows.consolidation.batch_collect import BatchCollection
from muniment.memory.flows.process_state import ProcessCache, WriteBehind
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.writing.plan import PlanCommitter
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.ports.layers.sessions import SessionStore
from muniment.memory.ports.operation.erasure import ErasureStore
from muniment.memory.ports.readers import TextReader
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language.tokens import clear_text_caches
from muniment.memory.rules.provenance.quoted import hash_shingles, is_repetition
from muniment.memory.rules.redaction.redact import Redactor

_PAGE = 100
_NIL = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Erasures:
    """Finds the traces of a memory, and removes a memory with its traces, or a space, for good."""

    batch_collection: BatchCollection
    browser: MemoryBrowser
    cache: ProcessCache
    clock: Clock
    committer: PlanCommitter
    erasure: ErasureStore
    reads: MemoryReads
    redactor: Redactor
    observations: ObservationStore
    sessions: SessionStore
    text_reader: TextReader
    write_behind: WriteBehind
    writer: Writer

    async def find_traces(self, scope: Scope, memory_id: MemoryId | None) -> Traces:
        """Return where a memory left traces: what else says it, what was derived from it, and the threads that hold it.
        For None, all threads of the space. Reads the whole space. Raises NotFound."""
        rev, _ = await self.reads.find_neighbours(scope, (), 0)
        if memory_id is None:
            return Traces(rev=rev, threads=await self.erasure.find_threads(scope))
        await self.browser.get_memory(scope, memory_id)
        statements = await self._read_statements(scope, memory_id)
        texts = tuple(dict.fromkeys(statement.text for statement in statements))
        turns, threads = {turn: None for statement in statements for turn in statement.turns}, set()
        fresh, derived = texts, dict[str, None]()
        while fresh:  # what goes with it may have been recalled and repeated elsewhere, too
            async for page in self._iterate_turns(scope):
                said, recalled = await asyncio.to_thread(_find_in_turns, page, fresh, is_derived=bool(derived))
                turns |= dict.fromkeys(said)
                threads |= recalled
            others = await self._find_related(scope, memory_id, texts, frozenset(turns))
            sources = dict.fromkeys(
                turn for statement in others.removed if statement.kind == "semantic" for turn in statement.turns
            )
            if not sources.keys() <= turns.keys():  # other memories may have been derived from these turns
                turns |= sources
                others = await self._find_related(scope, memory_id, texts, frozenset(turns))
            fresh = tuple(text for text in others.texts if text not in derived and text not in texts)
            derived |= dict.fromkeys(fresh)
        ids = (memory_id, *(statement.id for statement in others.removed))
        return Traces(
            rev=rev,
            threads=await self.erasure.find_threads(scope, ids, tuple(turns)) | threads,
            turns=tuple(turns),
            built_on=tuple(others.removed),
            former=tuple(others.former),
            around=tuple(others.around),
            sessions=await self._find_sessions(scope, (*texts, *derived)),
            observations=await self._find_observations(scope, (*texts, *derived)),
            texts=texts,
            derived=tuple(derived),
            shingle_hashes=tuple({value for text in (*texts, *derived) for value in hash_shingles([text])}),
        )

    async def erase_memory(self, scope: Scope, memory_id: MemoryId) -> ErasureReceipt:
        """Remove a memory and its traces, except the checkpoints, which the caller removes first. May be repeated.

        Raises NotFound, Conflict while too much is being written, StoreError."""

        async def erase() -> tuple[Traces, ErasureReceipt]:
            traces = await self.find_traces(scope, memory_id)
            others = (statement.id for statement in (*traces.built_on, *traces.former, *traces.around))
            await self.batch_collection.withdraw_batches(scope, {memory_id, *others})
            return traces, await self.erasure.erase_memory(scope, memory_id, traces, self.clock.now())

        traces, receipt = await self.committer.retry_on_conflict(erase)
        await self._drop_cached(scope)
        if any(statement.kind == "insight" for statement in traces.built_on):
            await self.writer.schedule_reflection(scope)
        return receipt

    async def erase_space(self, scope: Scope) -> ErasureReceipt:
        """Remove a space. The receipt of one that does not exist counts nothing. Raises Conflict, StoreError."""
        await self.batch_collection.withdraw_batches(scope)
        receipt = await self.erasure.erase_space(scope, self.clock.now())
        await self._drop_cached(scope)
        return receipt

    async def _find_observations(self, scope: Scope, texts: tuple[str, ...]) -> tuple[ObservationId, ...]:
        """Return the observations that say one of these texts; those of its turns and memories go with these."""
        found: list[ObservationId] = []
        after = ObservationId(_NIL)
        while page := await self.observations.list_statements(scope, after, _PAGE):
            found += [id_ for id_, statement in page if mentions_any(texts, statement)]
            after = page[-1][0]
        return tuple(found)

    async def _drop_cached(self, scope: Scope) -> None:
        self.cache.drop_space(scope)
        self.write_behind.drop_space(scope)
        self.redactor.clear_cache()
        clear_text_caches()
        await asyncio.to_thread(self.text_reader.forget_texts)

    async def _read_statements(self, scope: Scope, memory_id: MemoryId) -> list[MemoryStatement]:
        """Return what one memory says and has said."""
        own: list[MemoryStatement] = []
        async with aclosing(self._iterate_statements(scope, memory_id)) as statements:
            async for statement in statements:
                if statement.id != memory_id:
                    break
                own.append(statement)
        return own

    async def _find_related(
        self, scope: Scope, memory_id: MemoryId, texts: tuple[str, ...], turns: frozenset[TurnId]
    ) -> _RelatedStatements:
        related = _RelatedStatements()
        async for statement in self._iterate_statements(scope, MemoryId(_NIL)):
            part = None if statement.id == memory_id else find_affected_part(texts, turns, statement)
            # The former texts of a memory come after its text.
            is_former_of_removed = bool(related.removed) and related.removed[-1].id == statement.id
            if is_former_of_removed or part == "text":
                related.texts[statement.text] = None
                if not is_former_of_removed:
                    (related.former if statement.since else related.removed).append(statement)
            elif part == "beside":
                related.around.append(drop_beside(texts, statement))
        return related

    async def _find_sessions(self, scope: Scope, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the sessions whose metadata, or the reason of whose end, say one of the texts."""
        found: list[str] = []
        request = SessionRequest(limit=_PAGE)
        while page := (await self.sessions.list_sessions(scope, request)).sessions:
            found += [each.id for each in page if mentions_any(texts, join_texts(each.metadata, each.ended_why))]
            request = replace(request, offset=request.offset + _PAGE)
        return tuple(found)

    async def _iterate_statements(self, scope: Scope, start: MemoryId) -> AsyncGenerator[MemoryStatement, None]:
        """Yield what the memories say and have said, from the memory `start` on, in the order of their ids."""
        after = (start, Revision(-1))
        while page := await self.erasure.list_memory_texts(scope, after, _PAGE):
            for statement in page:
                yield statement
            after = (page[-1].id, page[-1].since)
            await asyncio.sleep(0)

    async def _iterate_turns(self, scope: Scope) -> AsyncIterator[Sequence[Turn]]:
        after = TurnId(_NIL)
        while page := await self.erasure.list_turns(scope, after, _PAGE):
            yield page
            after = page[-1].id


def _find_in_turns(turns: Sequence[Turn], texts: Sequence[str], *, is_derived: bool) -> tuple[list[TurnId], set[str]]:
    """Return the turns that say one of the texts, and the threads of those into which one was recalled. A derived text
    is looked for in replies alone."""
    said, threads = list[TurnId](), set[str]()
    for turn in turns:
        if is_derived:
            is_trace = echoes_any(texts, turn)
        else:
            told = join_texts(turn.text, turn.payload, turn.path, turn.tags)
            is_trace = mentions_any(texts, told) or turn_states_any(texts, turn)
        if is_trace:
            said.append(turn.id)
        recalled = frozenset(turn.recalled)
        if turn.thread and any(is_repetition(text, recalled) for text in texts):
            threads.add(turn.thread)
    return said, threads


@dataclass(frozen=True, slots=True)
class _RelatedStatements:
    """Memories to remove, former texts of memories that stay, what stays of those that say it beside their text, and
    all texts that go with these."""

    removed: list[MemoryStatement] = field(default_factory=list)
    former: list[MemoryStatement] = field(default_factory=list)
    around: list[MemoryStatement] = field(default_factory=list)
    texts: dict[str, None] = field(default_factory=dict)
