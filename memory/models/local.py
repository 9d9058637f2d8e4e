"""What the embedders in this process share: worker threads with one text each, behind the queue of all callers."""

from __future__ import annotations

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from muniment.memory.domain.ids import Vector
from muniment.memory.models.sharing import EmbeddingQueue, VectorCache


class LocalEmbedder(ABC):
    """A model in this process.

    `workers` texts are embedded at the same time, each on one core; a question waits for at most those texts and for
    other questions. A text that several callers want at the same time is embedded once. `query_prefix` and
    `document_prefix` mark for the model what a text is.
    """

    query_prefix: str
    document_prefix = ""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or min(4, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="embedder")
        self._gate = threading.RLock()
        self._busy = 0
        self._closed = False
        self._sharing = EmbeddingQueue(self._start_workers, long_first=True)

    @property
    def cache(self) -> VectorCache:
        """Return the cache, in which a text has its prefix; it counts its `hits` and `misses`."""
        return self._sharing.cache

    @property
    def embedded_count(self) -> int:
        """Return the number of texts that the model has embedded."""
        return self._sharing.made

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text, in order. A text has the same vector in any company."""
        return await self._sharing.embed_texts(texts, prefix=self.document_prefix)

    async def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question, which the model marks by a prefix.

        The vector is zero, and near to nothing, if the model knows no word of it: all of these are the same question to
        the model, which has neighbours like any other."""
        return (await self._sharing.embed_texts([text], prefix=self.query_prefix, question=True))[0]

    async def close(self) -> None:
        """Let the running texts finish and free the memory. Callers that still wait get ModelUnavailable."""
        with self._gate:
            self._closed = True
            self._sharing.close()
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        self._unload_model()

    @abstractmethod
    def _embed_text(self, text: str) -> Vector:
        """Return the vector of a text with its prefix, of any length; called in a worker thread."""

    @abstractmethod
    def _unload_model(self) -> None:
        """Free the memory of the model, if it is loaded."""

    def _start_workers(self) -> None:
        """Give every idle worker one text. No worker has a second one, so that the next question is served next."""
        with self._gate:
            while not self._closed and self._busy < self._workers and (batch := self._sharing.take_batch(1, 0)):
                self._busy += 1
                self._pool.submit(self._embed_text, batch.texts[0]).add_done_callback(
                    partial(self._finish_texts, batch.texts)
                )

    def _finish_texts(self, texts: list[str], future: Future[Vector]) -> None:
        with self._gate:
            self._busy -= 1
        if not future.cancelled():
            if error := future.exception():
                self._sharing.fail_batch(texts, error)
            else:
                self._sharing.complete_batch(texts, [future.result()])
        self._start_workers()
