"""Spans for OpenTelemetry, where they are configured: one of each request, and one of each stage.

They follow the conventions for generative AI. No attribute has a text, a name of a user or an id of a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from muniment import __version__
from muniment.memory.domain.ids import Vector
from muniment.memory.ports.embedders import Embedder

_EXPORT_SECONDS = 5.0
_OPERATION = "gen_ai.operation.name"
_FIRST_FAILURE = 500  # of statuses: those before are the client's
# The method and the endpoint -> the operation of the conventions for memories.
_OPERATIONS: Mapping[tuple[str, str], str] = {
    ("POST", "/memory/query"): "search_memory",
    ("GET", "/context"): "search_memory",
    ("POST", "/memories"): "upsert_memory",
    ("POST", "/turns"): "upsert_memory",
    ("POST", "/import"): "upsert_memory",
    ("PATCH", "/memories/{memory_id}"): "update_memory",
    ("PUT", "/memories/{memory_id}/pin"): "update_memory",
    ("DELETE", "/memories/{memory_id}/pin"): "update_memory",
    ("POST", "/memories/{memory_id}/restore"): "update_memory",
    ("POST", "/consents/decisions"): "update_memory",
    ("DELETE", "/memories/{memory_id}"): "delete_memory",
    ("DELETE", "/memories"): "delete_memory",
}


class RequestSpan:
    """The span of a request, which is named when its endpoint is known."""

    def __init__(self, span: Span, method: str) -> None:
        self._span, self._method = span, method

    def end_request(self, endpoint: str, status: int) -> None:
        """Say what the request was for, and how it was answered."""
        span, method = self._span, self._method
        span.update_name(f"{method} {endpoint}")
        span.set_attribute("http.route", endpoint)
        span.set_attribute("http.response.status_code", status)
        if (operation := _OPERATIONS.get((method, endpoint))) is not None:
            span.set_attribute(_OPERATION, operation)
        if status >= _FIRST_FAILURE:
            span.set_status(Status(StatusCode.ERROR))


class Tracing:
    """Makes spans, and sends them by OTLP over HTTP."""

    def __init__(self, url: str) -> None:
        resource = Resource.create({SERVICE_NAME: "muniment", SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=_EXPORT_SECONDS)))
        self._tracer = self._provider.get_tracer("muniment.http", __version__)

    @contextmanager
    def trace_request(self, method: str, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
        """Open the span of a request, within that of its caller where the headers name one."""
        attributes = {"http.request.method": method}
        with self._tracer.start_as_current_span(
            method,
            extract(headers),
            SpanKind.SERVER,
            attributes,
            record_exception=False,  # it has the text of the error
            set_status_on_exception=False,
        ) as span:
            yield RequestSpan(span, method)

    @contextmanager
    def trace_stage(self, stage: str, **attributes: str | int) -> Iterator[None]:
        """Open the span of a stage within that of its request."""
        with self._tracer.start_as_current_span(
            stage, attributes=attributes, record_exception=False, set_status_on_exception=False
        ):
            yield

    def trace_embedder(self, embedder: Embedder) -> TracedEmbedder:
        """Return an embedder whose calls are stages."""
        return TracedEmbedder(embedder, self)

    def close(self) -> None:
        """Send what was not sent. It waits for the collector, some seconds at most: call it from a thread."""
        self._provider.force_flush(int(_EXPORT_SECONDS * 1000))
        self._provider.shutdown()


class TracedEmbedder:
    """An embedder whose calls are stages."""

    def __init__(self, embedder: Embedder, tracing: Tracing) -> None:
        self._embedder, self._tracing = embedder, tracing
        self._attributes = {_OPERATION: "embeddings", "gen_ai.request.model": embedder.name}

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._embedder.name

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector for each text. Raises ModelError."""
        with self._tracing.trace_stage("embeddings", **self._attributes):
            return await self._embedder.embed_documents(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question. Raises ModelError."""
        with self._tracing.trace_stage("embeddings", **self._attributes):
            return await self._embedder.embed_query(text)

    async def close(self) -> None:
        """Release the model."""
        await self._embedder.close()
