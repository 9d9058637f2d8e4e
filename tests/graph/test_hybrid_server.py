"""The graph `hybrid` on a real `langgraph dev`, as Studio sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from muniment.agent.gateway_reference import LABEL
from muniment.testing import ScriptedOpenAI
from tests.agent.talk import KEY, gateway_section, read_messages
from tests.gateways import ADD, FLUSH, SEARCH, RecordingGateway
from tests.graph.serving import LOG, served

RECALLED = "CANARY_RECALLED: the deploy region is eu-west-3."


@dataclass
class Served:
    """A server with the graph, its gateway and its model."""

    address: str
    gateway: RecordingGateway
    model: ScriptedOpenAI


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "curated").mkdir()
    (tmp_path / "curated" / "MEMORY.md").write_text("Deploys go out on Tuesdays.\n")
    with RecordingGateway([{"text": RECALLED}]) as gateway, ScriptedOpenAI(reply="Fine.") as model:
        config = tmp_path / "agent.json"
        config.write_text(
            json.dumps({"memory": gateway_section(gateway.base_url), "curatedFolder": "curated", "user": "ana"})
        )
        environment = {
            "MUNIMENT_DEVELOPMENT": "1",
            "MUNIMENT_MODEL": "tiny-1",
            "OPENAI_BASE_URL": model.base_url,
            "MUNIMENT_AGENT_CONFIG": str(config),
        }
        with served(database_url, tmp_path, **environment) as address:
            yield Served(address, gateway, model)


@pytest.mark.timeout(180)
async def test_a_run_on_the_server(server: Served, tmp_path: Path) -> None:
    """Reference, rule and curated blocks reach the model; thread, stream and log have neither key nor reference."""
    async with get_client(url=server.address) as client:
        thread = (await client.threads.create())["thread_id"]
        modes: Any = ["values", "messages-tuple"]
        parts = []
        for text in ("Which region?", "Sure?"):
            given: Any = {"messages": [{"role": "user", "content": text}]}
            run = client.runs.stream(thread, "hybrid", input=given, context={"user": "ana"}, stream_mode=modes)
            parts += [(part.event, part.data) async for part in run]
        state = await client.threads.get_state(thread)
        history = await client.threads.get_history(thread, limit=50)
    values: list[Any] = [data for event, data in parts if event == "values"]
    assert values[-1]["reply"] == "Fine."
    messages: Any = state["values"]
    assert [message["content"] for message in messages["messages"]] == ["Which region?", "Fine.", "Sure?", "Fine."]
    gateway = server.gateway
    assert gateway.paths == [SEARCH, ADD, FLUSH] * 2
    assert gateway.complaints == []
    assert {request.body.get("conversation_id") for request in gateway.requests if request.path == SEARCH} == {thread}
    first, second = (read_messages(server.model, n) for n in range(2))
    assert "Deploys go out on Tuesdays." in first[0]["content"]
    assert first[0] == second[0]
    assert first[1]["content"].startswith(LABEL)
    assert [message["content"] for message in second[2:]] == ["Which region?", "Fine.", "Sure?"]
    seen = json.dumps([parts, state, history], default=str) + (tmp_path / LOG).read_text()
    assert KEY not in seen
    assert RECALLED not in seen
