"""`muniment gateway` as a process, and beside `muniment serve`."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from muniment.memory.bootstrap.gateways import open_gateway
from muniment.memory.domain.gateway.config import GatewayConfig
from muniment.memory.domain.gateway.user_key import UserKey
from muniment.memory.domain.gateway.wire import GatewayMessage
from muniment.memory.errors import GatewayError
from tests.http.conftest import PROGRAM, Serving

SAID = {"role": "user", "timestamp": 1_777_896_000_000, "content": "My deploy region is eu-west-3."}


def make_user(environment: dict[str, str], *command: str) -> str:
    made = subprocess.run(
        [PROGRAM, "gateway", "user", *(command or ("create", "ana"))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return made.stdout.strip()


def converse(base: str, key: str) -> list[Any]:
    """Add, flush and search as a client does."""
    identity = {"user_id": "ana", "user_key": key, "app_id": "default", "project_id": "default"}
    chat, message = {"session_id": "chat:c1"}, SAID | {"sender_id": "ana"}
    with httpx.Client(base_url=base, timeout=30) as client:
        added = client.post("/memories/add", json=identity | chat | {"messages": [message]})
        flushed = client.post("/memories/flush", json=identity | chat)
        wanted = {"conversation_id": "c2", "query": "Which deploy region?", "scope": ["all_user_memory"], "top_k": 8}
        found = client.post("/memories/search", json=identity | wanted)
    assert (added.status_code, flushed.status_code, found.status_code) == (200, 200, 200), (added.text, found.text)
    return [added.json()["status"], flushed.json()["status"], [one["text"] for one in found.json()["results"]]]


def test_from_the_first_command_to_the_end(gateway_process: Serving) -> None:
    """A user is made, the service starts, remembers and ends with 0; the key is in no log and no process list."""
    key = make_user(gateway_process.environment)
    gateway_process.start()
    assert httpx.get(f"{gateway_process.url}/health").json()["status"] == "ok"
    added, flushed, texts = converse(gateway_process.url, key)
    assert (added, flushed) == ("added", "extracted")
    assert any("eu-west-3" in text for text in texts)
    assert converse(gateway_process.url, key)[:2] == ["unchanged", "no_extraction"]
    metrics = httpx.get(f"{gateway_process.url}/metrics").text
    assert 'operation="/memories/search"' in metrics
    arguments = Path(f"/proc/{gateway_process.process.pid}/cmdline").read_bytes().decode()
    assert gateway_process.stop() == 0
    for text in (gateway_process.log, metrics, arguments):
        assert key not in text
        assert "eu-west-3" not in text


async def test_the_client_of_agents(gateway_process: Serving) -> None:
    """The client of `muniment agent` speaks with the service as it is."""
    key = await asyncio.to_thread(make_user, gateway_process.environment)
    await asyncio.to_thread(gateway_process.start)
    config = GatewayConfig(
        base_url=gateway_process.url, user_id="ana", user_key=UserKey(key), scope=("current_chat", "all_user_memory")
    )
    said = GatewayMessage(
        sender_id="ana", role="user", timestamp=1_777_896_000_000, content="My deploy region is eu-west-3."
    )
    answered = GatewayMessage(sender_id="beaver", role="assistant", timestamp=1_777_896_000_001, content="Noted.")
    async with open_gateway(config) as client:
        assert await client.check_reachable()
        await client.add("chat:c1", [said, answered])
        await client.flush("chat:c1")
        [found] = await client.search("c2", "Which deploy region?")
        assert (found.source_scope, found.session_id, found.resource_uri) == ("all_user_memory", "chat:c1", None)
        assert found.text is not None
        assert "eu-west-3" in found.text
        [there] = await client.search("c1", "Which deploy region?")
        assert (there.id, there.source_scope) == (found.id, "current_chat")
    with pytest.raises(GatewayError) as refused:
        async with open_gateway(replace(config, user_id="ben")) as client:
            await client.flush("chat:c1")
    assert key not in str(refused.value)


def test_a_port_in_use(gateway_process: Serving) -> None:
    """A port that is taken is one line and the exit code of usage."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [PROGRAM, "gateway", "--port", port],
            env=gateway_process.environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1


def test_beside_serve(gateway_process: Serving, tmp_path: Path) -> None:
    """By a setting `muniment serve` answers the routes below /gateway, with the same keys; its own stay closed."""
    (tmp_path / "settings.yaml").write_text("gateway: {beside_serve: true}\n")
    gateway_process.environment["MUNIMENT_CONFIG"] = str(tmp_path / "settings.yaml")
    gateway_process.command = "serve"
    key = make_user(gateway_process.environment)
    gateway_process.start()
    assert converse(f"{gateway_process.url}/gateway", key)[:2] == ["added", "extracted"]
    assert httpx.get(f"{gateway_process.url}/gateway/health").status_code == 200
    assert "/memories/search" in httpx.get(f"{gateway_process.url}/gateway/openapi.json").json()["paths"]
    assert httpx.post(f"{gateway_process.url}/memories/search", json={}).status_code == 401
    assert httpx.get(f"{gateway_process.url}/gateway/memories").status_code == 404
    head = {"Authorization": f"Bearer {key}"}
    there = httpx.get(f"{gateway_process.url}/memories", headers=head).json()["memories"]
    assert any("eu-west-3" in one["text"] for one in there)  # the default application is the user's own memory
    assert gateway_process.stop() == 0


def test_without_the_setting(gateway_process: Serving) -> None:
    """`muniment serve` has no gateway unless it is told to."""
    gateway_process.command = "serve"
    gateway_process.start()
    assert httpx.get(f"{gateway_process.url}/gateway/health").status_code in (401, 404)
