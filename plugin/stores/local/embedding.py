"""An embedder that may be away: what it cannot answer in time is compared by words alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from muniment.memory.errors import MunimentError

if TYPE_CHECKING:
    from muniment.memory.domain.ids import Vector
    from muniment.memory.ports.embedders import Embedder

T = TypeVar("T")
_PAUSE_SECONDS = 30.0  # in which an embedder that has failed is not asked
_DOCUMENT_SECONDS = 20.0  # for the vectors of a write, which nobody waits for
_QUERY_CHARS = 4_000  # of a query that count
_log = logging.getLogger(__name__)


class TextEmbedder:
    """Asks an embedder within a time, and leaves it alone for a while after it has failed (P-91)."""

    def __init__(self, embedder: Embedder, *, query_seconds: float) -> None:
        self._embedder = embedder
        self._query_seconds = query_seconds
        self._resumes_at = 0.0
        self._late: set[asyncio.Future[Any]] = set()

    @property
    def model(self) -> str:
        """Return the name of the model."""
        return self._embedder.name

    async def embed_query(self, text: str) -> Vector | None:
        """Return the vector of a query; None where the embedder gives none in time or can read nothing of it."""
        vector = await self._ask(self._embedder.embed_query(text[:_QUERY_CHARS]), self._query_seconds)
        return vector if vector is not None and vector.any() else None

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text; None for all where the embedder fails."""
        if not texts:
            return []
        vectors = await self._ask(self._embedder.embed_documents(texts), _DOCUMENT_SECONDS)
        if vectors is None:
            return [None] * len(texts)
        return [vector if vector.any() else None for vector in vectors]

    async def close(self) -> None:
        """End what is still asked. The embedder itself belongs to whoever has made it."""
        for call in self._late:
            call.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)

    async def _ask(self, answer: Coroutine[Any, Any, T], seconds: float) -> T | None:
        """Await an answer for so long. A late one is not cancelled: a model that is still loading is ready for the next
        call."""
        if monotonic() < self._resumes_at:
            answer.close()
            return None
        call = asyncio.ensure_future(answer)
        done, _ = await asyncio.wait({call}, timeout=seconds)
        if not done:
            self._late.add(call)
            call.add_done_callback(self._drop_late)
            return None
        try:
            return call.result()
        except (MunimentError, OSError) as error:
            self._resumes_at = monotonic() + _PAUSE_SECONDS
            _log.warning("the embedder failed (%s): words alone are compared for a while", type(error).__name__)
            return None

    def _drop_late(self, call: asyncio.Future[Any]) -> None:
        self._late.discard(call)
        if not call.cancelled() and call.exception() is not None:
            self._resumes_at = monotonic() + _PAUSE_SECONDS
