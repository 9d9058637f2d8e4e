"""From one embedder to another beside the live index: sweep, compare, cut over, tidy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from muniment.memory.domain.embedding import SearchComparison, SwitchProgress
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.flows.redactor import Redactor
from muniment.memory.ports.embedders import Embedder, EmbedderSwitchStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.store import Store
from muniment.memory.rules.retrieval.overlap import compute_mean, compute_overlap

OnProgress = Callable[[int], None]
_TOGETHER = 64  # texts that are embedded at once
_ATTEMPTS = 20
_PAUSE_SECONDS = 3.0  # how long writers may have to wait for the cut-over
_BREATH_SECONDS = 0.2
_QUESTIONS = 100
_CLOSEST = 10
_ABREAST = 4  # questions that are asked at once
_FIRST = MemoryId(UUID(int=0))


class EmbedderSwitch:
    """A switch to the house's embedder, by the one process that holds it.

    Each step can be repeated and is over at once where nothing is left of it, so that whoever was interrupted begins
    anew. Until the cut-over the embedder in use stays in use; from then on only the next one is."""

    def __init__(self, parts: Reembedding, run: UUID | None, on_progress: OnProgress | None) -> None:
        self._embedder, self._redactor, self._run = parts.embedder, parts.redactor, run
        self._reads, self._store = parts.reads, parts.embedder_switch
        self._on_progress = on_progress or (lambda _: None)

    @property
    def is_due(self) -> bool:
        """Whether the embedder is not in use yet."""
        return self._run is not None

    @property
    def model_name(self) -> str:
        """The embedder's name beside its vectors."""
        return self._embedder.name

    async def embed_missing(self) -> int:
        """Give what has none a vector of the next model, beside the one in use; how many memories and versions.

        Goes over what was written meanwhile until that is little, or gets no less. Raises ModelError, StoreError; what is
        done is kept."""
        done = found = await self._run_pass()
        before = 2 * found + 1
        while _TOGETHER < found < before / 2:
            before, found = found, await self._run_pass()
            done += found
        return done

    async def compare_answers(
        self, former: Embedder, queries: Sequence[tuple[Scope, str]] | None = None
    ) -> tuple[SearchComparison, ...]:
        """What each question finds by its vector alone, under the former embedder and the next; nothing when none is due.

        Without questions so many texts of memories are asked, and what is asked for is no result. Raises ModelError."""
        if not self.is_due:
            return ()
        questions = (
            [(scope, text, None) for scope, text in queries] if queries is not None else await self._sample_questions()
        )
        free = asyncio.Semaphore(_ABREAST)

        async def one(number: int, scope: Scope, text: str, but: MemoryId | None) -> SearchComparison:
            async with free:
                return await self._compare_question(former, number, scope, self._redactor.sanitize_text(text), but)

        return tuple(await asyncio.gather(*(one(n, *question) for n, question in enumerate(questions, 1))))

    @staticmethod
    def summarize_contrasts(contrasts: Sequence[SearchComparison]) -> dict[str, float]:
        """How many questions were asked, the mean of their overlaps, and the least."""
        overlaps = [one.overlap for one in contrasts]
        return {
            "questions": len(contrasts),
            "mean": round(compute_mean(overlaps), 4),
            "worst": round(min(overlaps, default=1.0), 4),
        }

    async def activate_embedder(self) -> None:
        """Put the embedder into use, for every process at once; the writers wait for a moment, at most some seconds.

        Raises Conflict when so much is being written that there is no such moment."""
        if self._run is None:
            return
        for attempt in range(_ATTEMPTS):
            await self._run_pass()
            try:
                await self._store.activate_embedder(self._run, self._embed_rest)
            except Conflict:
                await asyncio.sleep(_BREATH_SECONDS * attempt)
            else:
                self._run = None
                return
        raise Conflict("too much is being written for a cut-over; what is done is kept: try again when less is written")

    async def move_vectors(self) -> int:
        """Move the vectors in use into their own column; how many rows. Queries are right before, meanwhile and after."""
        done = 0
        async for scope in self._reads.list_spaces():
            done += await self._store.clean_vectors(scope)
        return done

    async def _embed_rest(self) -> None:
        try:
            async with asyncio.timeout(_PAUSE_SECONDS):
                await self._run_pass()
        except TimeoutError:
            raise Conflict("the embedder is too slow for the writers to wait") from None

    async def _run_pass(self) -> int:
        if self._run is None:
            return 0
        done = 0
        for scope in await self._store.list_pending_spaces(self._run):
            since = await self._store.begin_space(scope, self._run)
            if since is not None:
                done += await self._embed_space(self._run, scope, since)
        return done

    async def _embed_space(self, run: UUID, scope: Scope, since: Revision) -> int:
        """What is written while the space is swept is of a later revision than the one that was first seen: for later."""
        done, (rev, found) = 0, await self._store.list_unembedded(scope, since, None, _FIRST, _TOGETHER)
        while found:
            texts = list(dict.fromkeys(one.text for one in found))
            made = dict(zip(texts, await self._embedder.embed_documents(texts), strict=True))
            await self._store.write_vectors(scope, run, found, [made[one.text] for one in found])
            done += len(found)
            self._on_progress(len(found))
            _, found = await self._store.list_unembedded(scope, since, rev, found[-1].id, _TOGETHER)
        await self._store.mark_embedded(scope, run, rev)
        return done

    async def _sample_questions(self) -> list[tuple[Scope, str, MemoryId | None]]:
        """Texts of active memories, as many of each space as there is room for."""
        spaces = [scope async for scope in self._reads.list_spaces()]
        step, each = max(1, len(spaces) // _QUESTIONS), -(-_QUESTIONS // max(1, len(spaces)))
        found: list[tuple[Scope, str, MemoryId | None]] = []
        for scope in spaces[::step]:
            found += [(scope, one.text, one.id) for one in await self._store.sample_memories(scope, each)]
        return found[:_QUESTIONS]

    async def _compare_question(
        self, former: Embedder, number: int, scope: Scope, text: str, excluded: MemoryId | None
    ) -> SearchComparison:
        used, following = [
            await self._store.find_closest(scope, model.name, await model.embed_query(text), _CLOSEST, excluded)
            for model in (former, self._embedder)
        ]
        ids, next_ids = [one.id for one in used], [one.id for one in following]
        return SearchComparison(
            scope=scope,
            number=number,
            question=text,
            overlap=compute_overlap(ids, next_ids),
            only_used=tuple(one for one in used if one.id not in next_ids),
            only_next=tuple(one for one in following if one.id not in ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reembedding:
    """From one embedder to another beside the live index: sweep, compare, cut over, tidy."""

    embedder: Embedder
    embedder_switch: EmbedderSwitchStore
    reads: MemoryReads
    redactor: Redactor
    store: Store

    @asynccontextmanager
    async def open_switch(self, on_progress: OnProgress | None) -> AsyncIterator[EmbedderSwitch]:
        """See `Memory.switch`."""
        await self.store.open(any_model=True)
        async with self.embedder_switch.acquire_switch() as run:
            yield EmbedderSwitch(self, run, on_progress)

    async def read_embedders(self) -> SwitchProgress:
        """See `Memory.embedders`."""
        await self.store.open(any_model=True)
        return await self.embedder_switch.count_vectors()

    async def reembed_all(self, on_progress: OnProgress | None) -> int:
        """See `Memory.reembed`."""
        async with self.open_switch(on_progress) as switch:
            done = await switch.embed_missing()
            await switch.activate_embedder()
            await switch.move_vectors()
        return done
