"""Embedders: the offline model in this process, and any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError
from tokenizers import Tokenizer

from muniment.memory.errors import BadConfig, BadModelAnswer, ModelUnavailable
from muniment.memory.models.fetch import MODEL_FILE, TOKENIZER_FILE, fetch
from muniment.memory.models.openai_client import open_client, translated
from muniment.memory.records import Vector

ONNX_NAME = "bge-small-en-v1.5-int8"
ONNX_DIMENSIONS = 384
ONNX_TOKENS = 512
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
BATCH = 8  # texts a worker does before others get their turn
CACHED = 1024
# 512 tokens of prose are about 2,500 characters: what is cut here would be cut by the tokenizer, at a higher price.
MAX_CHARS = 8_000

# So that the models most often named need no first answer to open a database.
OPENAI_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
REQUEST_TEXTS = 256
REQUEST_CHARS = 200_000


class VectorCache:
    """The last vectors by the hash of their text: bounded, thread-safe, holds no text."""

    def __init__(self, size: int = CACHED) -> None:
        self._size = size
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Vector | None:
        key = _key(text)
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
            return self._vectors.get(key)

    def put(self, text: str, vector: Vector) -> None:
        with self._lock:
            self._vectors[_key(text)] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def __len__(self) -> int:
        return len(self._vectors)


class _Session(Protocol):
    def run(self, names: list[str] | None, feed: dict[str, npt.NDArray[np.int64]]) -> list[npt.NDArray[np.float32]]: ...


class OnnxEmbedder:
    """bge-small-en-v1.5, int8, in this process: 384 dimensions, 512 tokens, no network once its files are there.

    `folder` holds the files; missing ones are fetched at the first use, from `source` first if it is given.
    `workers` texts are embedded at the same time, each on one core. Raises `BadConfig` if the files cannot be had.
    """

    def __init__(self, folder: Path, *, source: Path | None = None, workers: int | None = None) -> None:
        self._folder, self._source = folder, source
        self._workers = workers or min(4, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="embedder")
        self._loading = threading.Lock()
        self._loaded: tuple[_Session, Tokenizer] | None = None
        self._closed = False
        self._cache = VectorCache()

    @property
    def name(self) -> str:
        return ONNX_NAME

    @property
    def dimensions(self) -> int:
        return ONNX_DIMENSIONS

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        """One unit vector per text, in order. The same text has the same vector, whatever it comes with."""
        return await self._embed([_tidy(text) for text in texts])

    async def query(self, text: str) -> Vector:
        """The unit vector of a question; the model wants questions marked by a prefix."""
        return (await self._embed([QUERY_PREFIX + _tidy(text)]))[0]

    async def close(self) -> None:
        """Let the running texts finish and give the memory back."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        self._loaded = None

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        if self._closed:
            raise ModelUnavailable("The embedder has been closed.")
        known = {text: vector for text in texts if (vector := self._cache.get(text)) is not None}
        # By length: the workers then end at about the same time.
        waiting = _split(sorted(set(texts) - known.keys(), key=len, reverse=True))
        await asyncio.gather(*(self._work(waiting, known) for _ in range(self._workers)))
        return [known[text] for text in texts]

    async def _work(self, waiting: Iterator[list[str]], done: dict[str, Vector]) -> None:
        """One batch after the other, not all at once: a question that comes in between gets its turn."""
        loop = asyncio.get_running_loop()
        for batch in waiting:
            for text, vector in zip(batch, await loop.run_in_executor(self._pool, self._run, batch), strict=True):
                done[text] = vector
                self._cache.put(text, vector)

    def _run(self, texts: Sequence[str]) -> list[Vector]:
        """One text at a time: the int8 model scales by the whole tensor, so neighbours in a batch would change it."""
        session, tokenizer = self._load()
        vectors = []
        for text in texts:
            ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            vectors.append(_unit(session.run(None, feed)[0][0, 0]))
        return vectors

    def _load(self) -> tuple[_Session, Tokenizer]:
        with self._loading:
            if self._loaded is None:
                folder = fetch(self._folder, source=self._source)
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                options.log_severity_level = 3
                tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
                tokenizer.no_padding()
                tokenizer.enable_truncation(ONNX_TOKENS)
                session = onnxruntime.InferenceSession(
                    str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
                )
                self._loaded = (session, tokenizer)
            return self._loaded


class _Embedding(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    index: int
    embedding: list[float] | str


class _Embeddings(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    data: list[_Embedding]


class OpenAIEmbedder:
    """Any endpoint that speaks OpenAI's `/embeddings`; `name` is the model's name there.

    `dimensions` is what the endpoint must answer with; if it is neither given nor well known,
    the first answer says it.
    `timeout_seconds` is per attempt. Failures are `ModelTimeout`, `ModelRateLimited`, `ModelUnavailable` or
    `BadModelAnswer` (wrong count, wrong dimensions, not a number).
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: SecretStr,
        base_url: str | None = None,
        dimensions: int | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 1,
    ) -> None:
        self._model = model
        self._dimensions = dimensions or OPENAI_DIMENSIONS.get(model)
        self._client = open_client(
            api_key=api_key, base_url=base_url, timeout_seconds=timeout_seconds, max_retries=max_retries
        )
        self._cache = VectorCache()

    @property
    def name(self) -> str:
        return self._model

    @property
    def dimensions(self) -> int:
        """Raises `BadConfig` as long as neither the settings nor an answer has said it."""
        if self._dimensions is None:
            raise BadConfig(
                f"The dimensions of {self._model} are not known before its first answer: give them in the settings."
            )
        return self._dimensions

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        """One unit vector per text, in order."""
        tidy = [_tidy(text) for text in texts]
        known = {text: vector for text in tidy if (vector := self._cache.get(text)) is not None}
        for batch in _batches([text for text in dict.fromkeys(tidy) if text not in known]):
            for text, vector in zip(batch, await self._request(batch), strict=True):
                known[text] = vector
                self._cache.put(text, vector)
        return [known[text] for text in tidy]

    async def query(self, text: str) -> Vector:
        return (await self.documents([text]))[0]

    async def close(self) -> None:
        await self._client.close()

    async def _request(self, texts: Sequence[str]) -> list[Vector]:
        with translated(self._model):
            # An empty input is refused by the endpoint; a space is not.
            raw = await self._client.embeddings.with_raw_response.create(
                model=self._model, input=[text or " " for text in texts], encoding_format="base64"
            )
        try:
            rows = sorted(_Embeddings.model_validate_json(raw.content).data, key=lambda row: row.index)
            vectors = [_decode(row.embedding) for row in rows]
        except (ValidationError, binascii.Error, ValueError) as error:
            raise BadModelAnswer("The embeddings are not in the expected form.", model=self._model) from error
        self._check(rows, vectors, len(texts))
        return [_unit(vector) for vector in vectors]

    def _check(self, rows: Sequence[_Embedding], vectors: Sequence[Vector], wanted: int) -> None:
        if [row.index for row in rows] != list(range(wanted)):
            raise BadModelAnswer(
                f"{wanted} texts were sent and {len(rows)} embeddings came back, or not one for each.",
                model=self._model,
            )
        expected = self._dimensions or len(vectors[0])
        if wrong := [len(vector) for vector in vectors if len(vector) != expected]:
            raise BadModelAnswer(f"An embedding has {wrong[0]} dimensions instead of {expected}.", model=self._model)
        if not all(np.isfinite(vector).all() and vector.any() for vector in vectors):
            raise BadModelAnswer("An embedding is zero or holds something that is not a number.", model=self._model)
        self._dimensions = expected


def _split(texts: Sequence[str]) -> Iterator[list[str]]:
    yield from (list(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH))


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Requests within what an endpoint takes at once, by count and by characters."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == REQUEST_TEXTS or size + len(text) > REQUEST_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _tidy(text: str) -> str:
    """Valid Unicode, single spaces, no longer than a model can read."""
    valid = text[: 4 * MAX_CHARS].encode("utf-8", "replace").decode()
    return " ".join(valid.split())[:MAX_CHARS]


def _key(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _decode(embedding: list[float] | str) -> Vector:
    """Endpoints are asked for base64 (float32, little-endian); some answer with numbers all the same."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    return np.array(embedding, dtype=np.float32)


def _unit(vector: npt.NDArray[np.float32]) -> Vector:
    """Length 1 and read-only: it is shared with the cache."""
    unit = (vector / np.linalg.norm(vector.astype(np.float64))).astype(np.float32)
    unit.setflags(write=False)
    return unit
