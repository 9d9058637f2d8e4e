"""A real `langgraph dev` with the plugin's switch, as its SDK sees it: commands in a thread of Studio."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from muniment.testing.openai_server import ScriptedOpenAI
from tests.graph.serving import served


@pytest.fixture
def model() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI("Noted.") as started:
        yield started


@pytest.fixture
def address(database_url: str, tmp_path: Path, model: ScriptedOpenAI) -> Iterator[str]:
    config = tmp_path / "muniment.yaml"
    config.write_text("plugin: {enabled: true}\n")
    environment = {
        "MUNIMENT_DEVELOPMENT": "1",
        "MUNIMENT_MODEL": "tiny-1",
        "OPENAI_BASE_URL": model.base_url,
        "MUNIMENT_CONFIG": str(config),
    }
    with served(database_url, tmp_path, **environment) as address:
        yield address


@pytest.mark.timeout(180)
async def test_commands_in_a_served_thread(address: str, model: ScriptedOpenAI) -> None:
    """List, off, on and why are answered without the model, and no later prompt has them."""
    async with get_client(url=address) as client:
        thread = (await client.threads.create())["thread_id"]

        async def say(text: str) -> str:
            said: Any = {"messages": [{"role": "user", "content": text}]}
            state: Any = await client.runs.wait(thread, "supervisor", input=said, context={"user": "ana"})
            return str(state["reply"])

        assert await say("I am allergic to walnuts.") == "Noted."
        assert "walnuts" in await say("/memory")
        assert await say("/memory off")
        assert await say("/memory why")
        await say("What am I allergic to?")
        assert await say("/memory on")
        prompts = [request.body["messages"] for request in model.requests]
        (off,) = [prompt for prompt in prompts if prompt[-1]["content"].startswith("What am I allergic to?")]
        assert "recalled-memory" not in json.dumps(off)
        assert "/memory" not in json.dumps([request.body for request in model.requests])
