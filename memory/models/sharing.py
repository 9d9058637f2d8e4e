"""A queue of texts to embed, shared by all callers of one embedder: a cache before it, worker threads behind it."""

from __future__ import annotations

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from muniment.memory.domain.ids import Vector
from muniment.memory.errors import ModelUnavailable

CACHE_SIZE = 1024
# 512 tokens of prose are about 2,500 characters. The tokenizer cuts what is longer, at a higher price.
MAX_CHARS = 8_000
SMALL_CALL = 8  # a call with more texts is bulk
# The event loop prepares one portion without a pause: about a millisecond of work.
PORTION_TEXTS = 64
PORTION_CHARS = 64_000
ROUND_TEXTS = 16  # of so many batches one starts with small calls and one with bulk, so that neither starves


class VectorCache:
    """The most recently used vectors by the hash of their text: bounded, thread-safe, holds no text."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self.hits = self.misses = 0
        self._size = size
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Vector | None:
        """Return the vector of a text, or None, and count a hit or a miss."""
        key = blake2b(text.encode(), digest_size=16).digest()
        with self._lock:
            vector = self._vectors.get(key)
            if vector is None:
                self.misses += 1
                return None
            self.hits += 1
            self._vectors.move_to_end(key)
            return vector

    def put(self, text: str, vector: Vector) -> None:
        """Keep the vector of a text, and drop the least recently used one when the cache is full."""
        key = blake2b(text.encode(), digest_size=16).digest()
        with self._lock:
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def __len__(self) -> int:
        """Return the number of vectors in the cache."""
        return len(self._vectors)


class TextBatch(NamedTuple):
    """Texts to embed now; `bulk` if they are part of a call with many texts."""

    texts: list[str]
    bulk: bool


@dataclass(slots=True, eq=False)
class _EmbedCall:
    """One caller: its texts, the vectors that it has, the texts that it lacks, and the future that wakes it."""

    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[None]
    texts: list[str] = field(default_factory=list)
    vectors: dict[str, Vector] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)  # in order, which a set is not
    waiting: deque[str] = field(default_factory=deque)
    entered: bool = False
    failed: bool = False

    def settle(self, error: BaseException | None) -> None:
        """Wake the caller, from any thread. Nothing happens if its event loop is closed."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(_settle_future, self.answer, error)


class EmbeddingQueue:
    """A fair queue of texts with a cache before it; thread-safe, for callers of any event loop.

    Callers await `embed_texts`. An embedder calls `take_batch`, then `complete_batch` or `fail_batch` for that batch.
    `wake` is called in the caller's event loop when there is something to take. A text that several callers want is
    taken once, and its vector or its error goes to all of them; a caller that stops waiting does not affect the others.
    Questions are taken first, then calls with few texts, then bulk; within each of these the callers take turns.
    """

    def __init__(self, wake: Callable[[], None], *, long_first: bool = False, cache_size: int = CACHE_SIZE) -> None:
        self.cache = VectorCache(cache_size)
        self.made = 0  # texts that were embedded
        self._wake, self._long_first = wake, long_first
        self._lock = threading.RLock()  # a caller that is garbage is removed in the thread that collects it
        self._lanes: tuple[deque[_EmbedCall], ...] = (deque(), deque(), deque())
        self._callers: dict[str, list[_EmbedCall]] = {}
        self._running: set[str] = set()
        self._choices = 0
        self._closed = False

    async def embed_texts(self, texts: Sequence[str], *, prefix: str = "", question: bool = False) -> list[Vector]:
        """Return one vector per text, in order. Raises the error of `fail_batch`; ModelUnavailable after `close`."""
        loop = asyncio.get_running_loop()
        call = _EmbedCall(loop, loop.create_future())
        try:
            for portion in _split_portions(texts):
                if call.texts:
                    await asyncio.sleep(0)
                self._join_call(call, [prefix + normalize_text(text) for text in portion])
            with self._lock:
                call.entered = True
                # The longest first: workers side by side then finish at about the same time.
                call.waiting.extend(sorted(call.missing, key=len, reverse=True) if self._long_first else call.missing)
                if call.missing:
                    self._lanes[0 if question else 1 if len(call.missing) <= SMALL_CALL else 2].append(call)
                elif not call.failed and not call.answer.done():
                    call.answer.set_result(None)
            if call.missing:
                self._wake()
            await call.answer
        finally:
            if call.missing:
                self._remove_call(call)
            if not call.answer.cancel() and not call.answer.cancelled():
                call.answer.exception()  # marks it as retrieved: a cancelled caller does not look at it
        return [call.vectors[text] for text in call.texts]

    def take_batch(self, texts: int, chars: int, *, bulk: bool = True) -> TextBatch | None:
        """Take at most so many texts and characters, at least one text; None if nothing waits. `bulk` allows bulk."""
        with self._lock:
            questions, small, many = self._lanes
            self._choices = (self._choices + 1) % ROUND_TEXTS
            orders = {0: (many, questions, small), ROUND_TEXTS // 2: (small, questions, many)}
            batch: list[str] = []
            for lane in orders.get(self._choices, self._lanes):
                if lane is not many:
                    self._fill_from_lane(lane, batch, texts, chars)
                elif bulk and not batch and self._fill_from_lane(lane, batch, texts, chars):
                    return TextBatch(batch, bulk=True)
            return TextBatch(batch, bulk=False) if batch else None

    def complete_batch(self, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """Scale the vectors of a batch to length 1, and give them to every caller that wants them, and to the cache.

        A vector of zeros stays as it is. They are read-only, because the cache and the callers share them."""
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                norm = np.linalg.norm(vector.astype(np.float64))
                unit: Vector = (vector / norm if norm else vector).astype(np.float32)
                unit.setflags(write=False)
                self.made += 1
                self.cache.put(text, unit)
                self._running.discard(text)
                for call in self._callers.pop(text, ()):
                    call.vectors[text] = unit
                    del call.missing[text]
                    if call.entered and not call.missing:
                        call.settle(None)

    def fail_batch(self, texts: Sequence[str], error: BaseException) -> None:
        """Raise an error in every caller that wants any text of a batch."""
        with self._lock:
            self._running.difference_update(texts)
            self._fail_calls(texts, error)

    def split_by_caller(self, texts: Sequence[str]) -> list[list[str]]:
        """Split a batch by its callers: texts with the same set of callers stay together."""
        parts: dict[frozenset[_EmbedCall], list[str]] = {}
        with self._lock:
            for text in texts:
                parts.setdefault(frozenset(self._callers.get(text, ())), []).append(text)
        return list(parts.values())

    def close(self) -> None:
        """Refuse further texts and raise ModelUnavailable in all callers that wait."""
        with self._lock:
            self._closed = True
            self._fail_calls(list(self._callers), ModelUnavailable("The embedder has been closed."))

    def _join_call(self, call: _EmbedCall, texts: Sequence[str]) -> None:
        """Take vectors from the cache and register the caller for the other texts. Raises ModelUnavailable."""
        with self._lock:
            if self._closed:
                raise ModelUnavailable("The embedder has been closed.")
            call.texts += texts
            for text in texts:
                if text in call.vectors or text in call.missing:
                    continue
                if (vector := self.cache.get(text)) is not None:
                    call.vectors[text] = vector
                else:
                    call.missing[text] = None
                    self._callers.setdefault(text, []).append(call)

    def _fail_calls(self, texts: Sequence[str], error: BaseException) -> None:
        for call in {call for text in texts for call in self._callers.get(text, ())}:
            self._remove_call(call)
            call.failed = True
            call.settle(error)

    def _remove_call(self, call: _EmbedCall) -> None:
        with self._lock:
            for text in call.missing:
                callers = self._callers[text]
                callers.remove(call)
                if not callers:
                    del self._callers[text]
            call.missing.clear()
            call.waiting.clear()

    def _fill_from_lane(self, lane: deque[_EmbedCall], batch: list[str], texts: int, chars: int) -> bool:
        """Fill a batch from one lane: one text of each small call in turn, or as many as fit of the first bulk call."""
        bulk, size = lane is self._lanes[2], sum(map(len, batch))
        while lane and len(batch) < texts:
            waiting, missing = lane[0].waiting, lane[0].missing
            while waiting and (waiting[0] in self._running or waiting[0] not in missing):
                waiting.popleft()
            if not waiting:
                lane.popleft()
                continue
            size += len(waiting[0])
            if batch and size > chars:
                break
            self._running.add(waiting[0])
            batch.append(waiting.popleft())
            if not bulk:
                lane.rotate(-1)
        if bulk:
            lane.rotate(-1)
        return bool(batch)


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


def normalize_text(text: str) -> str:
    """Return the text as valid Unicode with single spaces, at most `MAX_CHARS` characters."""
    valid = text[: 4 * MAX_CHARS].encode("utf-8", "replace").decode()
    return " ".join(valid.split())[:MAX_CHARS]


def _settle_future(answer: asyncio.Future[None], error: BaseException | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(None)
    else:
        answer.set_exception(error)


def _split_portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in portions that the event loop prepares without a pause; one empty portion for no texts."""
    portion: list[str] = []
    size = 0
    for text in texts:
        portion.append(text)
        size += min(len(text), 4 * MAX_CHARS)
        if len(portion) == PORTION_TEXTS or size >= PORTION_CHARS:
            yield portion
            portion, size = [], 0
    if portion or not texts:
        yield portion
