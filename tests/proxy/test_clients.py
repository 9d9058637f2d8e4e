"""The clients that people have: each tells a colour and an animal, talks on until the window has passed, and asks.

The clients of openai and langchain-openai are of this environment. Others are skipped unless a variable names where
they are: MUNIMENT_TEST_LITELLM and MUNIMENT_TEST_LLM a Python that has litellm or llm, MUNIMENT_TEST_OPENAI_NODE a
folder in which `npm install openai` was run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from muniment.testing import ScriptedOpenAI, tool_call
from tests.proxy.clients import langchain_client, openai_client
from tests.proxy.hosting import Host

CLIENTS = Path(__file__).parent / "clients"
WINDOW = 4
COLOUR, ANIMAL = "teal", "otter"
QUESTION = "Which colour and which animal do I like best?"
ROUNDS = [{"stream": stream, "tools": tools} for stream in (False, True) for tools in (False, True)]
SMALL_TALK = ("Count to three, please.", "What comes after Tuesday?", "Spell the word ship.", "Is it late?")
Converse = Callable[[dict[str, Any]], list[list[str]]]


def run_program(*command: str, folder: Path | None = None) -> Converse:
    """A client that is a program of its own."""

    def converse(given: dict[str, Any]) -> list[list[str]]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            command,
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=environment | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]

    return converse


def find_python(variable: str, program: str) -> Any:
    """The client of a Python that a variable names."""
    python = os.environ.get(variable, "")
    skip = pytest.mark.skipif(not python, reason=f"{variable} names no Python that has the client")
    return pytest.param(run_program(python, str(CLIENTS / program)), marks=skip, id=program)


NODE = os.environ.get("MUNIMENT_TEST_OPENAI_NODE", "")
PROGRAMS = [
    pytest.param(openai_client.converse, id="openai"),
    pytest.param(langchain_client.converse, id="langchain"),
    find_python("MUNIMENT_TEST_LITELLM", "litellm_client.py"),
    find_python("MUNIMENT_TEST_LLM", "llm_client.py"),
    pytest.param(
        run_program("node", str(CLIENTS / "openai_client.mjs"), folder=Path(NODE) if NODE else None),
        marks=pytest.mark.skipif(not NODE, reason="MUNIMENT_TEST_OPENAI_NODE names no folder with the client of Node"),
        id="node",
    ),
]


def join_shown(body: dict[str, Any]) -> str:
    """All that a model is shown."""
    return json.dumps(body["messages"], ensure_ascii=False)


def answer_chat(body: dict[str, Any]) -> Any:
    """A model that calls the tool it is given, and, where it is asked, says which of the two words it is shown."""
    if body.get("tools") and body["messages"][-1]["role"] == "user":
        return tool_call("look_up", {"what": "it"}, call_id=f"call_{uuid4().hex}")
    said = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    if QUESTION not in said:
        return f"All right: {len(said)} characters, {uuid4().hex}."
    return "Noted: " + " and ".join(word for word in (COLOUR, ANIMAL) if word in join_shown(body))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("converse", PROGRAMS)
async def test_a_colour_and_an_animal(host: Host, converse: Converse) -> None:
    """Streaming or not, with a tool or without: what was told is before the model when it is asked."""
    with ScriptedOpenAI(answer_chat) as upstream:
        own = host.register(upstream.base_url, session_window_size=WINDOW)
        other = host.register(upstream.base_url, session_window_size=WINDOW)

        async def say(secret: str, *texts: str, rounds: list[dict[str, Any]]) -> list[list[str]]:
            given = {
                "base_url": f"{host.url}/v1",
                "api_key": secret,
                "rounds": [one | {"texts": texts} for one in rounds],
            }
            return await asyncio.to_thread(converse, given)

        told = (f"My favourite colour is {COLOUR}.", f"My favourite animal is the {ANIMAL}.")
        for mode in ROUNDS:  # what is told again says nothing new
            before = len(host.read_messages(own))
            words = [f"{len(upstream.requests)}: {text}" for text in SMALL_TALK]
            await say(own.secret, *told, *words, rounds=[mode])
            host.wait_stored(own, before + WINDOW + 1)
        asked = len(upstream.requests)
        answers = await say(own.secret, QUESTION, rounds=ROUNDS)
        shown = [join_shown(request.body) for request in upstream.requests[asked:]]
        foreign = await say(other.secret, QUESTION, rounds=ROUNDS)
        unknown = [join_shown(request.body) for request in upstream.requests[asked + len(shown) :]]
    assert len(shown) == len(unknown) == 6  # a round with a tool asks twice
    assert all(COLOUR in each and ANIMAL in each for each in shown), shown
    assert [each for [each] in answers] == [f"Noted: {COLOUR} and {ANIMAL}"] * 4
    assert not any(COLOUR in each or ANIMAL in each for each in unknown)
    assert [each for [each] in foreign] == ["Noted: "] * 4
