"""The offline embedder: bge-small-en-v1.5 as an int8 ONNX model in this process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from muniment.memory.domain.ids import Vector
from muniment.memory.models.onnx.fetch import MODEL_FILE, TOKENIZER_FILE, fetch_model
from muniment.memory.models.sharing import EmbeddingQueue, VectorCache

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ONNX_NAME = "bge-small-en-v1.5-int8"
ONNX_DIMENSIONS = 384
ONNX_TOKENS = 512
_UNKNOWN = "[UNK]"
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "


class _Session(Protocol):
    def run(self, names: list[str] | None, feed: dict[str, npt.NDArray[np.int64]]) -> list[npt.NDArray[np.float32]]: ...


class _LoadedModel(NamedTuple):
    """The model, its tokens without content (marks and the unknown token), and the tokens of the question prefix."""

    session: _Session
    tokenizer: Tokenizer
    ignored_tokens: frozenset[int]
    prefix_length: int


class OnnxEmbedder:
    """bge-small-en-v1.5, int8, in this process: 384 dimensions, 512 tokens, no network once its files are there.

    `folder` holds the files; missing files are fetched at the first use.
    `workers` texts are embedded at the same time, each on one core; a question waits for at most those texts and for
    other questions. A text that several callers want at the same time is embedded once. Raises BadConfig if the files
    cannot be fetched.
    """

    name = ONNX_NAME

    def __init__(self, folder: Path, *, workers: int | None = None) -> None:
        self._folder = folder
        self._workers = workers or min(4, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="embedder")
        self._loading = threading.Lock()
        self._loaded: _LoadedModel | None = None
        self._gate = threading.RLock()
        self._busy = 0
        self._closed = False
        self._sharing = EmbeddingQueue(self._start_workers, long_first=True)

    @property
    def cache(self) -> VectorCache:
        """Return the cache, in which a question has its prefix; it counts its `hits` and `misses`."""
        return self._sharing.cache

    @property
    def embedded_count(self) -> int:
        """Return the number of texts that the model has embedded."""
        return self._sharing.made

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text, in order. A text has the same vector in any company."""
        return await self._sharing.embed_texts(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question, which the model marks by a prefix.

        The vector is zero, and near to nothing, if the model knows no word of it: all of these are the same question to
        the model, which has neighbours like any other."""
        return (await self._sharing.embed_texts([text], prefix=QUERY_PREFIX, question=True))[0]

    async def close(self) -> None:
        """Let the running texts finish and free the memory. Callers that still wait get ModelUnavailable."""
        with self._gate:
            self._closed = True
            self._sharing.close()
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        self._loaded = None

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

    def _embed_text(self, text: str) -> Vector:
        """Embed one text alone: the int8 model scales by the whole tensor, so neighbours in a batch would change it."""
        model = self._loaded or self._load_model()
        tokens: list[int] = model.tokenizer.encode(text).ids
        if text.startswith(QUERY_PREFIX.rstrip()) and model.ignored_tokens.issuperset(tokens[model.prefix_length : -1]):
            return np.zeros(ONNX_DIMENSIONS, dtype=np.float32)
        ids = np.array([tokens], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vector: Vector = model.session.run(None, feed)[0][0, 0]
        return vector

    def _load_model(self) -> _LoadedModel:
        with self._loading:
            if self._loaded is None:
                # Slow to import: not in the event loop, and not where another embedder is used.
                import onnxruntime  # type: ignore[import-untyped] # noqa: PLC0415 - nor has it types
                from tokenizers import Tokenizer  # noqa: PLC0415

                folder = fetch_model(self._folder)
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                options.log_severity_level = 3
                tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
                tokenizer.no_padding()
                tokenizer.enable_truncation(ONNX_TOKENS)
                session = onnxruntime.InferenceSession(
                    str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
                )
                prefix_length = len(tokenizer.encode(QUERY_PREFIX).ids) - 1
                self._loaded = _LoadedModel(session, tokenizer, _find_ignored_tokens(tokenizer), prefix_length)
            return self._loaded


def _find_ignored_tokens(tokenizer: Tokenizer) -> frozenset[int]:
    vocabulary = tokenizer.get_vocab().items()
    return frozenset(id_ for token, id_ in vocabulary if token == _UNKNOWN or not any(map(str.isalnum, token)))
