"""The agent against the real gateway process: what one session told is known in the next, by its scopes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.agent.gateway_reference import LABEL, REFERENCE_RULE
from muniment.testing import ScriptedOpenAI
from tests.agent.talk import open_agent, read_messages
from tests.gateway.test_process import make_user
from tests.http.conftest import Serving, make_environment

TOLD = "My deploy region is eu-west-3."
ASKED = "Which deploy region is mine?"


@pytest.fixture
def gateway(database_url: str, tmp_path: Path) -> Iterator[Serving]:
    """`muniment gateway` without a worker."""
    environment = make_environment(database_url, tmp_path / "gateway")
    serving = Serving(environment, tmp_path / "log", ("--no-worker",), command="gateway")
    serving.tenant = "default"
    try:
        yield serving
    finally:
        if hasattr(serving, "process") and serving.process.poll() is None:
            serving.process.kill()
            serving.process.wait()


def find_references(model: ScriptedOpenAI) -> list[str]:
    """The reference messages of the last request, all of which stand before the history."""
    messages = read_messages(model)
    assert LABEL not in "".join(str(message["content"]) for message in messages[2:])
    return [message["content"] for message in messages[1:2] if message["content"].startswith(LABEL)]


@pytest.mark.timeout(180)
async def test_from_one_session_to_the_next(gateway: Serving, database_url: str, tmp_path: Path) -> None:
    """With all of the user's memory another session knows it; with the default scopes the same chat alone does."""
    key = make_user(gateway.environment)
    gateway.start()
    block: dict[str, Any] = {"baseUrl": gateway.url, "userId": "ana", "userKey": key, "timeoutSeconds": 30}
    wide = {"mode": "hybrid", "gateway": block | {"scope": ["all_user_memory"]}}
    usual = {"mode": "hybrid", "gateway": block}
    with ScriptedOpenAI(reply="Noted.") as model:
        async with open_agent(database_url, tmp_path, model, wide, user="ana") as agent:
            await agent.say("Hello.", session="monday")
            await agent.say(TOLD, session="monday")
            await agent.say(ASKED, session="tuesday")
        (reference,) = find_references(model)
        assert "eu-west-3" in reference
        system = read_messages(model)[0]["content"]
        async with open_agent(database_url, tmp_path, model, usual, user="ana") as agent:
            await agent.say(ASKED, session="wednesday")
            assert find_references(model) == []
            await agent.say(ASKED, session="monday")
            assert "eu-west-3" in find_references(model)[0]
            assert read_messages(model)[0]["content"] == system
        async with open_agent(database_url, tmp_path, model, {"mode": "curated"}, user="ana") as agent:
            await agent.say(ASKED, session="thursday")
    assert f"{read_messages(model)[0]['content']}\n\n{REFERENCE_RULE}" == system
    assert json.dumps(read_messages(model)).count("eu-west-3") == 0
    assert gateway.stop() == 0
    assert key not in gateway.log
