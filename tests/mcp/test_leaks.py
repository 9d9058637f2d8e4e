"""No answer, no log and no number has a word of what was sent, found or raised, where it is an error."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.server.context import ServerRequestContext

from muniment.faces.mcp.failures import contain_defects, describe_failure, raise_failure
from muniment.memory.errors import ModelTimeout, NotFound, OverBudget, StoreDown, StoreError
from tests.http.test_endpoints import keep
from tests.mcp.conftest import Person, SharedService, connect_stdio
from tests.mcp.raw import RawClient
from tests.mcp.test_refusals import greet

pytestmark = pytest.mark.xdist_group("mcp")  # one service for all
CANARY = "canary-7f3a91"
BODIES = (
    f"{{{CANARY}",
    f'"{CANARY}"',
    f'[{{"jsonrpc": "2.0", "id": 1, "method": "{CANARY}"}}]',
    f'{{"jsonrpc": "{CANARY}", "id": 1, "method": "tools/list"}}',
    f'{{"jsonrpc": "2.0", "id": {{"{CANARY}": 1}}, "method": "tools/list"}}',
    f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": "{CANARY}"}}',
    f'{{"jsonrpc": "2.0", "id": 1, "method": "{CANARY}"}}',
    f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": 7, "arguments": "{CANARY}"}}}}',
    f'{{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {{"protocolVersion": ["{CANARY}"]}}}}',
    f'{{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {{"uri": {{"x": "{CANARY}"}}}}}}',
)
TRACED = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
trace.set_tracer_provider(provider)
from muniment.faces.cli import main
sys.exit(main())
"""
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {CANARY: 1},
    {"query": "x", "filters": {CANARY: 1}},
    {"query": {"x": CANARY}},
    {"query": "x", "return": CANARY},
    {"query": "x", "categories": [CANARY]},
    {"query": "x", "filters": {"category": CANARY}},
    {"query": "x", "as_of": CANARY},
    {"query": "x", "top_k": CANARY},
    {"query": f"{CANARY}\x00"},
    {"query": "x", "filters": CANARY},
)


def test_over_http(service: SharedService) -> None:
    """Bodies that are no messages, wrong arguments, unknown tools and addresses, and texts that are kept and found."""
    token = service.token()
    with service.client(token) as ana, service.connect(token) as older:
        keep(ana, f"I live in {CANARY}", category="profile")
        session = {"Mcp-Session-Id": greet(older).headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    with RawClient(service.url, token) as client:
        for body in BODIES:
            for headers in ({}, session, {"MCP-Protocol-Version": CANARY}):
                assert CANARY not in client.post(body, **headers).text, (body, headers)
        for arguments in ARGUMENTS:
            answer = client.call("memory.query", **arguments)
            assert answer["isError"]
            assert CANARY not in json.dumps(answer), arguments
        for answer in (
            client.call("memory.forget", id=CANARY),
            client.call(CANARY),
            client.send("resources/read", f"memory://memory/{CANARY}", uri=f"memory://memory/{CANARY}"),
            client.send("resources/read", f"memory://{CANARY}", uri=f"memory://{CANARY}"),
        ):
            assert CANARY not in json.dumps(answer)
        assert CANARY in json.dumps(client.call("memory.query", query="where do I live?"))
        assert CANARY in json.dumps(client.call("memory.remember", text=f"My dog is called {CANARY}"))
    with service.client() as anyone:
        assert CANARY not in anyone.get("/metrics").text
    assert CANARY not in service.log


async def test_over_stdio(service: SharedService, tmp_path: Path) -> None:
    """Traces have the methods and no word of what was sent, found or kept; nor has standard error."""
    with (tmp_path / "errors").open("w+") as errors:
        program = (sys.executable, "-c", TRACED)
        async with connect_stdio(
            service.environment, "--write", program=program, errors=errors, person=Person()
        ) as client:
            await client.call_tool("memory.remember", {"text": f"My dog is called {CANARY}"})
            assert CANARY in str(await client.call_tool("memory.query", {"query": f"Who is {CANARY}?"}))
            assert CANARY in str(await client.read_resource("memory://changes"))
            for arguments in ARGUMENTS:
                assert CANARY not in str(await client.call_tool("memory.query", arguments))
            for uri in (f"memory://memory/{CANARY}", f"memory://{CANARY}"):
                with pytest.raises(MCPError) as missing:
                    await client.read_resource(uri)
                assert CANARY not in str(missing.value)
        errors.seek(0)
        said = errors.read()
    assert '"name": "tools/call memory.query"' in said
    assert '"name": "resources/read"' in said
    assert CANARY not in said


def test_failures(caplog: pytest.LogCaptureFixture) -> None:
    """Of what the caller cannot mend nobody learns more than the class; of a missing memory not even whose it is."""
    memory: Any = None  # is asked for the redaction of what the caller can mend
    with caplog.at_level(logging.INFO):
        for error in (
            StoreDown(CANARY),
            StoreError(CANARY),
            ModelTimeout(CANARY),
            OverBudget(CANARY),
            NotFound(CANARY),
        ):
            assert CANARY not in describe_failure(memory, error)
            with pytest.raises(MCPError) as raised:
                raise_failure(memory, error)
            assert CANARY not in str(raised.value)
    assert "StoreDown at " in caplog.text
    assert CANARY not in caplog.text


async def test_a_defect(caplog: pytest.LogCaptureFixture) -> None:
    """Of an unexpected error the client learns that there was one, and the log its class and its place."""

    async def fail(_: ServerRequestContext[Any, Any]) -> None:
        raise ValueError(CANARY)

    context: Any = None
    with caplog.at_level(logging.INFO), pytest.raises(MCPError) as failed:
        await contain_defects(context, fail)
    assert CANARY not in str(failed.value)
    assert failed.value.__cause__ is None
    assert "ValueError at " in caplog.text
    assert "test_leaks.py" in caplog.text
    assert CANARY not in caplog.text
