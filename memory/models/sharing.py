"""How the callers of one embedder share it: nobody's text is embedded twice, and nobody waits for all of another's."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple

from muniment.memory.domain.ids import Vector
from muniment.memory.errors import ModelUnavailable

CACHE_SIZE = 1024
# 512 tokens of prose are about 2,500 characters: what is cut here would be cut by the tokenizer, at a higher price.
MAX_CHARS = 8_000
SMALL_CALL = 8  # a call of more texts is bulk
# What the event loop does without a pause: about a millisecond's work.
PORTION_TEXTS = 64
PORTION_CHARS = 64_000
ROUND_TEXTS = 16  # of so many choices one begins at small calls and one at bulk, that nobody starves


class VectorCache:
    """The last vectors by the hash of their text: bounded, thread-safe, holds no text."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self.hits = self.misses = 0
        self._size = size
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Vector | None:
        key = _hash_text(text)
        with self._lock:
            vector = self._vectors.get(key)
            if vector is None:
                self.misses += 1
                return None
            self.hits += 1
            self._vectors.move_to_end(key)
            return vector

    def put(self, text: str, vector: Vector) -> None:
        key = _hash_text(text)
        with self._lock:
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def __len__(self) -> int:
        return len(self._vectors)


class TextBatch(NamedTuple):
    """Texts to embed now; `bulk` if they are a part of a call of many."""

    texts: list[str]
    bulk: bool


class _EmbedCall:
    """One caller: the texts it wants, those it has, and where its answer goes."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[None] = self.loop.create_future()
        self.texts: list[str] = []
        self.found: dict[str, Vector] = {}
        self.missing: dict[str, None] = {}  # in order, as the others are not
        self.waiting: deque[str] = deque()
        self.entered = self.failed = False

    def settle_from_thread(self, error: BaseException | None) -> None:
        """Wake the caller, from whichever thread; nobody is there any more if its event loop has been closed."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.settle_here, error)

    def settle_here(self, error: BaseException | None) -> None:
        """The same in the caller's own event loop."""
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(None)
        else:
            self.answer.set_exception(error)


class EmbeddingQueue:
    """A fair queue of texts with a cache before it; thread-safe, for callers of any event loop.

    Callers `await vectors(…)`. Whoever embeds does `take`, and then `done` or `fail` for what was taken; `wake` is
    called, in the caller's event loop, when there is something to take. A text that several callers want is taken once,
    its vector or its failure is for all of them, and one that stops waiting changes nothing for the others.
    Questions are taken first, then calls of a few texts, then bulk; within each of these the callers take turns.
    """

    def __init__(self, wake: Callable[[], None], *, long_first: bool = False) -> None:
        self.cache = VectorCache()
        self.made = 0  # texts that were embedded
        self._wake, self._long_first = wake, long_first
        self._lock = threading.RLock()  # a caller that is garbage leaves in whichever thread collects it
        self._lanes: tuple[deque[_EmbedCall], ...] = (deque(), deque(), deque())
        self._wanted: dict[str, list[_EmbedCall]] = {}
        self._running: set[str] = set()
        self._choices = 0
        self._closed = False

    async def embed_texts(self, texts: Sequence[str], *, prefix: str = "", question: bool = False) -> list[Vector]:
        """One vector per text, in order. Raises what `fail` was told, `ModelUnavailable` after `close`."""
        self.check_open()
        call = _EmbedCall()
        try:
            for portion in _split_portions(texts):
                if call.texts:
                    await asyncio.sleep(0)
                self._join_call(call, [prefix + normalize_text(text) for text in portion])
            if self._enqueue_call(call, question=question):
                self._wake()
            await call.answer
        finally:
            with self._lock:
                self._remove_call(call)
            if not call.answer.cancel() and not call.answer.cancelled():
                call.answer.exception()  # seen: a caller that was cancelled meanwhile does not look at it
        return [call.found[text] for text in call.texts]

    def take_batch(self, texts: int, chars: int, *, bulk: bool = True) -> TextBatch | None:
        """At most so many texts and characters, at least one text; no bulk unless it is allowed."""
        with self._lock:
            questions, small, many = self._lanes
            self._choices = (self._choices + 1) % ROUND_TEXTS
            orders = {0: (many, questions, small), ROUND_TEXTS // 2: (small, questions, many)}
            found: list[str] = []
            for lane in orders.get(self._choices, self._lanes):
                if lane is not many:
                    self._fill_from_lane(lane, found, texts, chars)
                elif bulk and not found and self._fill_from_lane(lane, found, texts, chars):
                    return TextBatch(found, bulk=True)
            return TextBatch(found, bulk=False) if found else None

    def complete_batch(self, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """What was taken has been embedded."""
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                self.made += 1
                self.cache.put(text, vector)
                self._running.discard(text)
                for call in self._wanted.pop(text, ()):
                    call.found[text] = vector
                    del call.missing[text]
                    if call.entered and not call.missing:
                        call.settle_from_thread(None)

    def fail_batch(self, texts: Sequence[str], error: BaseException) -> None:
        """What was taken cannot be embedded: the error of every caller that wants any of it."""
        with self._lock:
            self._running.difference_update(texts)
            self._fail_calls(texts, error)

    def split_by_caller(self, texts: Sequence[str]) -> list[list[str]]:
        """What was taken, apart by caller: what several want is apart from what only one of them does."""
        parts: dict[frozenset[_EmbedCall], list[str]] = {}
        with self._lock:
            for text in texts:
                parts.setdefault(frozenset(self._wanted.get(text, ())), []).append(text)
        return list(parts.values())

    def check_open(self) -> None:
        if self._closed:
            raise ModelUnavailable("The embedder has been closed.")

    def close(self) -> None:
        """Nothing is taken any more; whoever waits gets `ModelUnavailable`."""
        with self._lock:
            self._closed = True
            self._fail_calls(list(self._wanted), ModelUnavailable("The embedder has been closed."))

    def _join_call(self, call: _EmbedCall, texts: Sequence[str]) -> None:
        """From the cache, with those who want it already, or as a new wish: one look under one lock."""
        with self._lock:
            self.check_open()
            call.texts += texts
            for text in texts:
                if text in call.found or text in call.missing:
                    continue
                if (vector := self.cache.get(text)) is not None:
                    call.found[text] = vector
                else:
                    call.missing[text] = None
                    self._wanted.setdefault(text, []).append(call)

    def _enqueue_call(self, call: _EmbedCall, *, question: bool) -> bool:
        """Stand in line for what is still missing; whether anything is."""
        with self._lock:
            call.entered = True
            if not call.missing:
                if not call.failed:
                    call.settle_here(None)
                return False
            # The longest first: those who work side by side then end at about the same time.
            call.waiting.extend(sorted(call.missing, key=len, reverse=True) if self._long_first else call.missing)
            self._lanes[0 if question else 1 if len(call.waiting) <= SMALL_CALL else 2].append(call)
            return True

    def _fail_calls(self, texts: Sequence[str], error: BaseException) -> None:
        for call in {call for text in texts for call in self._wanted.get(text, ())}:
            self._remove_call(call)
            call.failed = True
            call.settle_from_thread(error)

    def _remove_call(self, call: _EmbedCall) -> None:
        for text in call.missing:
            others = self._wanted[text]
            others.remove(call)
            if not others:
                del self._wanted[text]
        call.missing.clear()
        call.waiting.clear()

    def _fill_from_lane(self, lane: deque[_EmbedCall], found: list[str], texts: int, chars: int) -> bool:
        """Fill up from one lane: of small calls one text each in turn, of bulk as much as goes from the first."""
        bulk, size = lane is self._lanes[2], sum(map(len, found))
        while lane and len(found) < texts:
            waiting, missing = lane[0].waiting, lane[0].missing
            while waiting and (waiting[0] in self._running or waiting[0] not in missing):
                waiting.popleft()
            if not waiting:
                lane.popleft()
                continue
            size += len(waiting[0])
            if found and size > chars:
                break
            self._running.add(waiting[0])
            found.append(waiting.popleft())
            if not bulk:
                lane.rotate(-1)
        if bulk:
            lane.rotate(-1)
        return bool(found)


def normalize_text(text: str) -> str:
    """Valid Unicode, single spaces, no longer than a model can read."""
    valid = text[: 4 * MAX_CHARS].encode("utf-8", "replace").decode()
    return " ".join(valid.split())[:MAX_CHARS]


def _split_portions(texts: Sequence[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    size = 0
    for text in texts:
        portion.append(text)
        size += min(len(text), 4 * MAX_CHARS)
        if len(portion) == PORTION_TEXTS or size >= PORTION_CHARS:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _hash_text(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
