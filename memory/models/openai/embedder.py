"""An embedder behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from muniment.memory.domain.ids import Vector
from muniment.memory.errors import BadModelAnswer, ModelError, ModelRateLimited, ModelTimeout, ModelUnavailable
from muniment.memory.models.sharing import CACHE_SIZE, EmbeddingQueue, TextBatch, VectorCache

if TYPE_CHECKING:
    import httpx2  # the openai client brings it, which is imported late

    from muniment.memory.models.openai.client import EndpointNames

# Of the best-known models: an answer with other dimensions comes from another model.
OPENAI_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
REQUEST_TEXTS = 256
REQUEST_CHARS = 200_000
REQUESTS = 4  # open at the same time, one of them never for bulk
GATHER_SECONDS = 0.002  # that a request waits for further texts while another is open


class _Embedding(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    index: int
    embedding: list[float] | str


class _Embeddings(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    data: list[_Embedding]


class OpenAIEmbedder:
    """Any endpoint that speaks OpenAI's `/embeddings`; `name` is the model's name there, unless it has one of its own.

    Without `dimensions` the first answer of a model that is not in `OPENAI_DIMENSIONS` sets the number of dimensions of
    all later answers. `options` are in the body of each request as they are. A `name` of its own tells an embedder from
    others with a model of the same name, at other endpoints.
    Small calls at the same time share a request, a part of a bulk call has its own, and at most `REQUESTS` are open.
    `timeout_seconds` is per attempt. Failures are ModelTimeout, ModelRateLimited, ModelUnavailable or
    BadModelAnswer (wrong count, wrong dimensions, not a number).
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: SecretStr,
        base_url: str | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 1,
        name: str | None = None,
        dimensions: int | None = None,
        options: Mapping[str, Any] | None = None,
        connections: httpx2.AsyncClient | None = None,
        cache_size: int = CACHE_SIZE,
        names: EndpointNames | None = None,
    ) -> None:
        # Most of a second to import, and not needed by the offline embedder.
        from muniment.memory.models.openai.client import SETTINGS, open_client  # noqa: PLC0415

        self._names = names or SETTINGS
        self._model, self._name, self._options = model, name or model, dict(options or {})
        self._dimensions = dimensions or OPENAI_DIMENSIONS.get(model)
        self._client = open_client(
            api_key=api_key,
            base_url=base_url,
            timeout_seconds=timeout_seconds,
            max_retries=max_retries,
            connections=connections,
        )
        self._sharing = EmbeddingQueue(self._gather_texts, cache_size=cache_size)
        self._sending: dict[asyncio.Task[None], TextBatch] = {}
        self._due = 0.0

    @property
    def name(self) -> str:
        """Return the name that is stored beside the vectors."""
        return self._name

    @property
    def cache(self) -> VectorCache:
        """Return the cache, which counts its `hits` and `misses`."""
        return self._sharing.cache

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text, in order."""
        return await self._sharing.embed_texts(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question."""
        return (await self._sharing.embed_texts([text], question=True))[0]

    async def close(self) -> None:
        """Cancel the open requests. Callers that still wait get ModelUnavailable."""
        self._sharing.close()
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self._client.close()

    def _gather_texts(self) -> None:
        """Send all texts of this turn of the loop when no request is open, else after `GATHER_SECONDS`."""
        loop = asyncio.get_running_loop()
        if not self._sending:
            loop.call_soon(self._start_requests)
        elif loop.time() >= self._due:
            self._due = loop.time() + GATHER_SECONDS
            loop.call_later(GATHER_SECONDS, self._start_requests)

    def _start_requests(self) -> None:
        while len(self._sending) < REQUESTS:
            bulk = sum(batch.bulk for batch in self._sending.values()) < REQUESTS - 1
            batch = self._sharing.take_batch(REQUEST_TEXTS, REQUEST_CHARS, bulk=bulk)
            if batch is None:
                return
            task = asyncio.get_running_loop().create_task(self._send_texts(batch.texts))
            self._sending[task] = batch
            task.add_done_callback(self._finish_request)

    def _finish_request(self, task: asyncio.Task[None]) -> None:
        """Pass any unexpected error on to the callers."""
        texts = self._sending.pop(task).texts
        if task.cancelled():
            self._sharing.fail_batch(texts, ModelUnavailable("The request was given up.", model=self._model))
        elif error := task.exception():
            self._sharing.fail_batch(texts, error)
        self._start_requests()

    async def _send_texts(self, texts: list[str]) -> None:
        try:
            vectors = await self._request_vectors(texts)
        except (ModelTimeout, ModelRateLimited, ModelUnavailable) as error:
            self._sharing.fail_batch(texts, error)
        except ModelError as error:
            parts = self._sharing.split_by_caller(texts)
            if len(parts) == 1:
                self._sharing.fail_batch(texts, error)
                return
            # The text of one caller may be the cause: the others are sent again without it.
            for part in parts:
                await self._send_texts(part)
        else:
            self._sharing.complete_batch(texts, vectors)

    async def _request_vectors(self, texts: Sequence[str]) -> list[Vector]:
        from muniment.memory.models.openai.client import translate_errors  # noqa: PLC0415 - as above

        with translate_errors(self._model, self._client, self._names):
            # An empty input is refused by the endpoint; a space is not.
            raw = await self._client.embeddings.with_raw_response.create(
                model=self._model,
                input=[text or " " for text in texts],
                encoding_format="base64",
                extra_body=self._options or None,
            )
        try:
            rows = sorted(_Embeddings.model_validate_json(raw.content).data, key=lambda row: row.index)
            vectors = [_decode_vector(row.embedding) for row in rows]
        except (ValidationError, binascii.Error, ValueError) as error:
            raise BadModelAnswer("The embeddings are not in the expected form.", model=self._model) from error
        self._check_vectors(rows, vectors, len(texts))
        return vectors

    def _check_vectors(self, rows: Sequence[_Embedding], vectors: Sequence[Vector], expected_count: int) -> None:
        if [row.index for row in rows] != list(range(expected_count)):
            raise BadModelAnswer(
                f"{expected_count} texts were sent and {len(rows)} embeddings came back, or not one for each.",
                model=self._model,
            )
        expected = self._dimensions or len(vectors[0])
        if wrong := [len(vector) for vector in vectors if len(vector) != expected]:
            raise BadModelAnswer(f"An embedding has {wrong[0]} dimensions instead of {expected}.", model=self._model)
        if not all(np.isfinite(vector).all() and vector.any() for vector in vectors):
            raise BadModelAnswer("An embedding is zero or holds something that is not a number.", model=self._model)
        self._dimensions = expected


def _decode_vector(embedding: list[float] | str) -> Vector:
    """Return the vector of an answer: base64 (float32, little-endian) as requested, or the numbers that some send."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    return np.array(embedding, dtype=np.float32)
