"""An embedder that may be away: what it cannot answer in time is compared by words alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from muniment.memory.errors import ModelError
from muniment.plugin.problems import Problem, ProblemLog

if TYPE_CHECKING:
    from muniment.memory.domain.ids import Vector
    from muniment.memory.ports.embedders import Embedder

T = TypeVar("T")
_PAUSE_SECONDS = 30.0  # in which an embedder that has failed is not asked
_DOCUMENT_SECONDS = 20.0  # for the vectors of a write, which nobody waits for
_LATE_SECONDS = 120.0  # after which a call that is late is given up
_QUERY_CHARS = 4_000  # of a query that count
_FIRST_TEXT = "hello"


class TextEmbedder:
    """Asks an embedder within a time. One that fails, in whatever way, is left alone for a while, and one that is late
    until its answer has come: then there is no vector, and words do (P-91).

    The store and the plugin of a host share one, so that they learn of a failure together."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._problems = ProblemLog()
        self._resumes_at = 0.0
        self._late: dict[asyncio.Task[object], float] = {}  # with the times at which they are given up

    @property
    def name(self) -> str:
        """Return the name of the model."""
        return self._embedder.name

    def list_problems(self) -> tuple[Problem, ...]:
        """Return why there are no vectors; nothing where there are."""
        return self._problems.list_problems()

    async def embed_query(self, text: str, seconds: float) -> Vector | None:
        """Return the vector of a query; None where the embedder gives none in time or can read nothing of it."""

        async def call() -> Vector:
            return _check_vector(await self._embedder.embed_query(text[:_QUERY_CHARS]))

        vector = await self._ask(call, seconds)
        return vector if vector is not None and vector.any() else None

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text; None for all where the embedder fails."""
        if not texts:
            return []

        async def call() -> list[Vector]:
            vectors = await self._embedder.embed_documents(texts)
            if len(vectors) != len(texts):
                raise ModelError
            return [_check_vector(vector) for vector in vectors]

        vectors = await self._ask(call, _DOCUMENT_SECONDS)
        if vectors is None:
            return [None] * len(texts)
        return [vector if vector.any() else None for vector in vectors]

    async def load_model(self, seconds: float) -> None:
        """Ask the embedder once, so that its model is there when a text comes, and wait for it so long."""
        await self.embed_query(_FIRST_TEXT, seconds)

    async def close(self) -> None:
        """End what is still asked. The embedder itself belongs to whoever has made it."""
        for call in list(self._late):
            call.cancel()
        if self._late:
            await asyncio.wait(set(self._late), timeout=1.0)

    async def _ask(self, call: Callable[[], Awaitable[T]], seconds: float) -> T | None:
        """Await an answer for so long. A late one is not cancelled: a model that is still loading is ready for a later
        call.

        The call has a task of its own, so that no class of error leaves it."""
        if not self._is_ready():
            return None
        task = asyncio.create_task(_await_call(call))
        task.add_done_callback(self._note_end)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            if not task.done():
                self._late[task] = monotonic() + _LATE_SECONDS
                self._problems.note_problem("embedder", TimeoutError())
        return None if not task.done() or task.cancelled() or task.exception() else task.result()

    def _is_ready(self) -> bool:
        """Whether the embedder may be asked. A call that has not ended for long is given up."""
        now = monotonic()
        for call in [call for call, ends_at in self._late.items() if now >= ends_at]:
            del self._late[call]
            call.cancel()
        return not self._late and now >= self._resumes_at

    def _note_end(self, call: asyncio.Task[T]) -> None:
        """Note how a call has ended. An error that nobody asks for would be logged with its text."""
        self._late.pop(call, None)
        if call.cancelled():
            return
        error = call.exception()
        if error is None:
            self._problems.note_success("embedder")
        else:
            self._resumes_at = monotonic() + _PAUSE_SECONDS
            self._problems.note_problem("embedder", error)


def guard_embedder(embedder: Embedder | TextEmbedder) -> TextEmbedder:
    """Return an embedder that may be away; one that is that already as it is."""
    return embedder if isinstance(embedder, TextEmbedder) else TextEmbedder(embedder)


async def _await_call(call: Callable[[], Awaitable[T]]) -> T:
    return await call()


def _check_vector(vector: Vector) -> Vector:
    """Return a vector of finite numbers. Raises ModelError for one with others, and whatever for what is no vector."""
    if not isfinite(float(vector @ vector)):
        raise ModelError
    return vector
