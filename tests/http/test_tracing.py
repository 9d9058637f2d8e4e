"""Spans of OpenTelemetry, as a collector over HTTP gets them."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.http.conftest import Serving, run_service

CANARY = "canary-7f3a91"
CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"


@contextmanager
def collect_spans() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a collector, and what it has got."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
        server.shutdown()


@pytest.fixture
def traced(environment: dict[str, str], tmp_path: Path) -> Iterator[tuple[Serving, list[bytes]]]:
    """A service that sends spans, and what it has sent."""
    with collect_spans() as (url, bodies):
        (tmp_path / "settings.yaml").write_text(f"serve: {{traces_url: '{url}'}}\n")
        quick = {"MUNIMENT_CONFIG": str(tmp_path / "settings.yaml")}
        with run_service(environment | quick, tmp_path / "log") as service:
            yield service, bodies


def test_spans(traced: tuple[Serving, list[bytes]]) -> None:
    """A request is a span with the operation, within that of its caller, and its stages are spans in it; nothing that
    was sent is in them, nor in the log, the metrics and the errors."""
    service, bodies = traced
    token = service.token()
    with service.client(token, traceparent=f"00-{CALLER}-00f067aa0ba902b7-01") as ana:
        kept = ana.post("/memories", json={"text": f"My dog is called {CANARY}"}).json()["changes"][0]["id"]
        query = {"agent": "supervisor", "query": f"who is {CANARY}?"}
        assert CANARY in ana.post("/memory/query", json=query).text
        ana.get("/context", params={"agent": "supervisor", "text": CANARY})
        refusals = [
            ana.post("/memory/query", json={**query, "threshold": CANARY}),
            ana.post("/memory/query", json={**query, "as_of": CANARY}),
            ana.get("/memories", params={"category": CANARY}),
        ]
        assert {answer.status_code for answer in refusals} == {403, 422}
        ana.delete(f"/memories/{kept}")
        metrics = ana.get("/metrics").text
    assert service.stop() == 0
    spans = [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    found = {
        (span.name, each.value.string_value)
        for span in spans
        for each in span.attributes
        if each.key == "gen_ai.operation.name"
    }
    assert found == {
        ("POST /memory/query", "search_memory"),
        ("GET /context", "search_memory"),
        ("POST /memories", "upsert_memory"),
        ("DELETE /memories/{memory_id}", "delete_memory"),
        ("embeddings", "embeddings"),
    }
    (kept_span,) = [span for span in spans if span.name == "POST /memories"]
    assert kept_span.trace_id.hex() == CALLER
    stages = {span.name for span in spans if span.parent_span_id == kept_span.span_id}
    assert stages == {"authorize", "read the body", "answer"}
    texts = [*map(str, spans), metrics, service.log, *(answer.text for answer in refusals)]
    assert not [text for text in texts if CANARY in text or token in text]


def test_without_a_collector(environment: dict[str, str], tmp_path: Path) -> None:
    """A collector that is not there delays no answer, and the end by some seconds at most."""
    (tmp_path / "settings.yaml").write_text("serve: {traces_url: 'http://127.0.0.1:9/v1/traces'}\n")
    quick = {"MUNIMENT_CONFIG": str(tmp_path / "settings.yaml")}
    with run_service(environment | quick, tmp_path / "log") as service:
        with service.client(service.token()) as ana:
            assert ana.post("/memories", json={"text": f"My dog is called {CANARY}"}).status_code == 201
        assert service.stop() == 0
        assert CANARY not in service.log
