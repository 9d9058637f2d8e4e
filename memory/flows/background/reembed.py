"""From one embedder to another beside the live index: sweep, compare, cut over, tidy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from muniment.memory.domain.embedding import Contrast, Tally
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.flows.house import House, safe_text
from muniment.memory.ports.embedders import Embedder
from muniment.memory.rules.retrieval.overlap import mean, overlap

Progress = Callable[[int], None]
_TOGETHER = 64  # texts that are embedded at once
_ATTEMPTS = 20
_PAUSE_SECONDS = 3.0  # how long writers may have to wait for the cut-over
_BREATH_SECONDS = 0.2
_QUESTIONS = 100
_CLOSEST = 10
_ABREAST = 4  # questions that are asked at once
_FIRST = MemoryId(UUID(int=0))


@asynccontextmanager
async def switching(house: House, progress: Progress | None) -> AsyncIterator[Switch]:
    """See `Memory.switch`."""
    await house.store.open(any_model=True)
    async with house.store.switching() as run:
        yield Switch(house, run, progress)


async def tally(house: House) -> Tally:
    """See `Memory.embedders`."""
    await house.store.open(any_model=True)
    return await house.store.tally()


async def reembed(house: House, progress: Progress | None) -> int:
    """See `Memory.reembed`."""
    async with switching(house, progress) as switch:
        done = await switch.sweep()
        await switch.cut_over()
        await switch.tidy()
    return done


class Switch:
    """A switch to the house's embedder, by the one process that holds it.

    Each step can be repeated and is over at once where nothing is left of it, so that whoever was interrupted begins
    anew. Until the cut-over the embedder in use stays in use; from then on only the next one is."""

    def __init__(self, house: House, run: UUID | None, progress: Progress | None) -> None:
        self._house, self._store, self._run = house, house.store, run
        self._progress = progress or (lambda _: None)

    @property
    def due(self) -> bool:
        """Whether the embedder is not in use yet."""
        return self._run is not None

    @property
    def model(self) -> str:
        """The embedder's name beside its vectors."""
        return self._house.embedder.name

    async def sweep(self) -> int:
        """Give what has none a vector of the next model, beside the one in use; how many memories and versions.

        Goes over what was written meanwhile until that is little, or gets no less. Raises ModelError, StoreError; what is
        done is kept."""
        done = found = await self._pass()
        before = 2 * found + 1
        while _TOGETHER < found < before / 2:
            before, found = found, await self._pass()
            done += found
        return done

    async def compare(self, former: Embedder, asked: Sequence[tuple[Scope, str]] | None = None) -> tuple[Contrast, ...]:
        """What each question finds by its vector alone, under the former embedder and the next; nothing when none is due.

        Without questions so many texts of memories are asked, and what is asked for is no result. Raises ModelError."""
        if not self.due:
            return ()
        questions = [(scope, text, None) for scope, text in asked] if asked is not None else await self._sampled()
        free = asyncio.Semaphore(_ABREAST)

        async def one(number: int, scope: Scope, text: str, but: MemoryId | None) -> Contrast:
            async with free:
                return await self._contrast(former, number, scope, safe_text(self._house, text), but)

        return tuple(await asyncio.gather(*(one(n, *question) for n, question in enumerate(questions, 1))))

    @staticmethod
    def summary(found: Sequence[Contrast]) -> dict[str, float]:
        """How many questions were asked, the mean of their overlaps, and the least."""
        overlaps = [one.overlap for one in found]
        return {
            "questions": len(found),
            "mean": round(mean(overlaps), 4),
            "worst": round(min(overlaps, default=1.0), 4),
        }

    async def cut_over(self) -> None:
        """Put the embedder into use, for every process at once; the writers wait for a moment, at most some seconds.

        Raises Conflict when so much is being written that there is no such moment."""
        if self._run is None:
            return
        for attempt in range(_ATTEMPTS):
            await self._pass()
            try:
                await self._store.cut_over(self._run, self._last)
            except Conflict:
                await asyncio.sleep(_BREATH_SECONDS * attempt)
            else:
                self._run = None
                return
        raise Conflict("too much is being written for a cut-over; what is done is kept: try again when less is written")

    async def tidy(self) -> int:
        """Move the vectors in use into their own column; how many rows. Queries are right before, meanwhile and after."""
        done = 0
        async for scope in self._store.spaces():
            done += await self._store.tidy(scope)
        return done

    async def _last(self) -> None:
        try:
            async with asyncio.timeout(_PAUSE_SECONDS):
                await self._pass()
        except TimeoutError:
            raise Conflict("the embedder is too slow for the writers to wait") from None

    async def _pass(self) -> int:
        if self._run is None:
            return 0
        done = 0
        for scope in await self._store.unswept(self._run):
            since = await self._store.sweep(scope, self._run)
            if since is not None:
                done += await self._swept(self._run, scope, since)
        return done

    async def _swept(self, run: UUID, scope: Scope, since: Revision) -> int:
        """What is written while the space is swept is of a later revision than the one that was first seen: for later."""
        done, (rev, found) = 0, await self._store.strangers(scope, since, None, _FIRST, _TOGETHER)
        while found:
            texts = list(dict.fromkeys(one.text for one in found))
            made = dict(zip(texts, await self._house.embedder.documents(texts), strict=True))
            await self._store.revector(scope, run, found, [made[one.text] for one in found])
            done += len(found)
            self._progress(len(found))
            _, found = await self._store.strangers(scope, since, rev, found[-1].id, _TOGETHER)
        await self._store.swept(scope, run, rev)
        return done

    async def _sampled(self) -> list[tuple[Scope, str, MemoryId | None]]:
        """Texts of active memories, as many of each space as there is room for."""
        spaces = [scope async for scope in self._store.spaces()]
        step, each = max(1, len(spaces) // _QUESTIONS), -(-_QUESTIONS // max(1, len(spaces)))
        found: list[tuple[Scope, str, MemoryId | None]] = []
        for scope in spaces[::step]:
            found += [(scope, one.text, one.id) for one in await self._store.sample(scope, each)]
        return found[:_QUESTIONS]

    async def _contrast(self, former: Embedder, number: int, scope: Scope, text: str, but: MemoryId | None) -> Contrast:
        used, following = [
            await self._store.closest(scope, model.name, await model.query(text), _CLOSEST, but)
            for model in (former, self._house.embedder)
        ]
        ids, next_ids = [one.id for one in used], [one.id for one in following]
        return Contrast(
            scope=scope,
            number=number,
            question=text,
            overlap=overlap(ids, next_ids),
            only_used=tuple(one for one in used if one.id not in next_ids),
            only_next=tuple(one for one in following if one.id not in ids),
        )
