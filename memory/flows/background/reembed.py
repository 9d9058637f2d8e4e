"""Switching from one embedder to another: embed beside the vectors in use, compare, activate, move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from muniment.memory.domain.embedding import DATABASE, SearchComparison, SwitchProgress, SwitchRange
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.ports.embedders import Embedder, EmbedderSwitchStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.store import Store
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.retrieval.overlap import compute_mean, compute_overlap

OnProgress = Callable[[int], None]
_BATCH = 64  # texts that are embedded at once
_ATTEMPTS = 20
_ACTIVATION_SECONDS = 3.0  # how long writers may have to wait for the activation
_RETRY_SECONDS = 0.2
_QUESTIONS = 100
_CLOSEST = 10
_CONCURRENCY = 4  # questions that are compared at once
_FIRST = MemoryId(UUID(int=0))


class EmbedderSwitch:
    """A switch of a range of spaces to the configured embedder, in the one process that holds its lock.

    Each step can be repeated, and returns at once where nothing is left to do: after a crash the switch begins anew.
    The former embedder is in use until `activate_embedder`."""

    def __init__(
        self, parts: Reembedding, within: SwitchRange, run: UUID | None, on_progress: OnProgress | None
    ) -> None:
        self._embedder, self._redactor, self._within, self._run = parts.embedder, parts.redactor, within, run
        self._reads, self._store = parts.reads, parts.embedder_switch
        self._on_progress = on_progress or (lambda _: None)

    @property
    def is_due(self) -> bool:
        """Whether the embedder is not in use yet."""
        return self._run is not None

    @property
    def model_name(self) -> str:
        """The embedder's name, as it is stored beside its vectors."""
        return self._embedder.name

    async def embed_missing(self) -> int:
        """Embed what has no vector of the next embedder, beside the vectors in use. Returns how many memories and
        versions.

        Repeats for what was written meanwhile, until that is little or gets no less. Raises ModelError, StoreError; the
        vectors that are written stay."""
        total = count = await self._run_pass()
        previous = 2 * count + 1
        while _BATCH < count < previous / 2:
            previous, count = count, await self._run_pass()
            total += count
        return total

    async def compare_answers(
        self, former: Embedder, queries: Sequence[tuple[Scope, str]] | None = None
    ) -> tuple[SearchComparison, ...]:
        """Compare what each query finds by its vector alone under the former embedder and the next; empty when no
        switch is due. Without queries, texts of memories are queries, and these memories no results. Raises
        ModelError."""
        if not self.is_due:
            return ()
        questions = (
            [(scope, text, None) for scope, text in queries]
            if queries is not None
            else await self._sample_questions(former.name)
        )
        semaphore = asyncio.Semaphore(_CONCURRENCY)

        async def compare(number: int, scope: Scope, text: str, excluded: MemoryId | None) -> SearchComparison:
            async with semaphore:
                question = self._redactor.sanitize_text(text)
                return await self._compare_question(former, number, scope, question, excluded)

        return tuple(await asyncio.gather(*(compare(n, *question) for n, question in enumerate(questions, 1))))

    @staticmethod
    def summarize_contrasts(contrasts: Sequence[SearchComparison]) -> dict[str, float]:
        """Return the number of questions, and the mean and the least of their overlaps in [0, 1]."""
        overlaps = [comparison.overlap for comparison in contrasts]
        return {
            "questions": len(contrasts),
            "mean": round(compute_mean(overlaps), 4),
            "worst": round(min(overlaps, default=1.0), 4),
        }

    async def activate_embedder(self) -> None:
        """Put the embedder into use for all processes: in one space after another, then for new ones. The writers of a
        space wait for at most a few seconds.

        Raises Conflict when too much is being written, ModelError, StoreError; a space that has the embedder keeps
        it."""
        if self._run is None:
            return
        for attempt in range(_ATTEMPTS):
            await self._run_pass()
            try:
                for scope, _ in await self._store.list_remaining_spaces(self._within):
                    await self._store.activate_in_space(scope, self._run, partial(self._embed_rest, [scope]))
                await self._store.finish_switch(self._run, self._within, self._embed_rest)
            except Conflict:
                await asyncio.sleep(_RETRY_SECONDS * attempt)
            else:
                self._run = None
                return
        raise Conflict("too much is being written for a cut-over; what is done is kept: try again when less is written")

    async def move_vectors(self) -> int:
        """Move the vectors in use into their own column. Returns how many rows. Searches are right all the time."""
        return sum([await self._store.clean_vectors(scope) async for scope in self._list_spaces()])

    async def _list_spaces(self) -> AsyncIterator[Scope]:
        async for scope in self._reads.list_spaces():
            if scope == (self._within.space or scope) and scope.tenant == (self._within.tenant or scope.tenant):
                yield scope

    async def _embed_rest(self, scopes: Sequence[Scope] | None = None) -> None:
        try:
            async with asyncio.timeout(_ACTIVATION_SECONDS):
                await self._run_pass(scopes)
        except TimeoutError:
            raise Conflict("the embedder is too slow for the writers to wait") from None

    async def _run_pass(self, scopes: Sequence[Scope] | None = None) -> int:
        """Embed what has changed in these spaces, else in those that have changed. Returns how many rows."""
        if self._run is None:
            return 0
        count = 0
        if scopes is None:
            scopes = [scope for scope, _ in await self._store.list_remaining_spaces(self._within, self._run)]
        for scope in scopes:
            since = await self._store.begin_space(scope, self._run)
            if since is not None:
                count += await self._embed_space(self._run, scope, since)
        return count

    async def _embed_space(self, run: UUID, scope: Scope, since: Revision) -> int:
        """Embed the rows up to the revision of the first page. What is written meanwhile is left to the next pass."""
        count, (rev, page) = 0, await self._store.list_unembedded(scope, since, None, _FIRST, _BATCH)
        while page:
            documents = list(dict.fromkeys(row.document for row in page))
            vectors = dict(zip(documents, await self._embedder.embed_documents(documents), strict=True))
            await self._store.write_vectors(scope, run, [(row, vectors[row.document]) for row in page])
            count += len(page)
            self._on_progress(len(page))
            _, page = await self._store.list_unembedded(scope, since, rev, page[-1].id, _BATCH)
        await self._store.mark_embedded(scope, run, rev)
        return count

    async def _sample_questions(self, former: str) -> list[tuple[Scope, str, MemoryId | None]]:
        """Return texts of active memories, about as many of each space that has the former embedder."""
        remaining = await self._store.list_remaining_spaces(self._within)
        spaces = [scope for scope, model in remaining if model == former]
        step, per_space = max(1, len(spaces) // _QUESTIONS), -(-_QUESTIONS // max(1, len(spaces)))
        questions: list[tuple[Scope, str, MemoryId | None]] = []
        for scope in spaces[::step]:
            memories = await self._store.sample_memories(scope, per_space)
            questions += [(scope, memory.text, memory.id) for memory in memories]
        return questions[:_QUESTIONS]

    async def _compare_question(
        self, former: Embedder, number: int, scope: Scope, text: str, excluded: MemoryId | None
    ) -> SearchComparison:
        used, following = [
            await self._store.find_closest(scope, model.name, await model.embed_query(text), _CLOSEST, excluded)
            for model in (former, self._embedder)
        ]
        ids, next_ids = [memory.id for memory in used], [memory.id for memory in following]
        return SearchComparison(
            scope=scope,
            number=number,
            question=text,
            overlap=compute_overlap(ids, next_ids),
            only_used=tuple(memory for memory in used if memory.id not in next_ids),
            only_next=tuple(memory for memory in following if memory.id not in ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reembedding:
    """Switches from one embedder to another while the database is in use."""

    embedder: Embedder
    embedder_switch: EmbedderSwitchStore
    reads: MemoryReads
    redactor: Redactor
    store: Store

    @asynccontextmanager
    async def open_switch(
        self, within: SwitchRange = DATABASE, on_progress: OnProgress | None = None
    ) -> AsyncIterator[EmbedderSwitch]:
        """Open a switch to the embedder; `on_progress` is called with numbers of memories. Raises Conflict while
        another process holds one, StoreError."""
        await self.store.open(any_model=True)
        async with self.embedder_switch.acquire_switch(within) as run:
            yield EmbedderSwitch(self, within, run, on_progress)

    async def read_embedders(self, within: SwitchRange = DATABASE) -> SwitchProgress:
        """Return the embedder in use, the next one, and how many vectors of it there are. Uses no embedder."""
        await self.store.open(any_model=True)
        return await self.embedder_switch.count_vectors(within)

    async def reembed_all(self, within: SwitchRange = DATABASE, on_progress: OnProgress | None = None) -> int:
        """Switch to the embedder without a comparison. Returns how many memories and versions were embedded."""
        async with self.open_switch(within, on_progress) as switch:
            count = await switch.embed_missing()
            await switch.activate_embedder()
            await switch.move_vectors()
        return count
