"""kill -9 of the chat in the middle of a turn, then of the database server: what was acknowledged is there, once."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from muniment.memory.stores.postgres.embedded import server
from muniment.testing.openai_server import ScriptedOpenAI
from tests.faces.conftest import PROGRAM

FIRST, SECOND = "I live in Porto.", "I like sailing, and I work as a carpenter."


def chat(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [PROGRAM, "chat", "--json", "--user", "ana", "--thread", "A"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def say(talk: subprocess.Popen[bytes], text: str) -> None:
    assert talk.stdin is not None
    talk.stdin.write(text.encode() + b"\n")
    talk.stdin.flush()


def lines(environment: dict[str, str], *arguments: str) -> Any:
    command = [PROGRAM, *arguments, "--user", "ana", "--json"]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, timeout=50).stdout)


@pytest.mark.parametrize("durability", ["exit", "sync"])
def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(home: Path, tmp_path: Path, durability: str) -> None:
    """The killed turn is finished at the next start where its steps were saved, the repeated one adds nothing, and
    revisions have no gap."""
    config = tmp_path / "muniment.yaml"
    config.write_text(f"checkpoints: {{durability: {durability}}}\n")
    asked, go_on = Event(), Event()

    def reply(body: dict[str, Any]) -> str:
        if "carpenter" in body["messages"][-1]["content"] + body["messages"][-2]["content"]:
            asked.set()
            go_on.wait(30)
        return "Understood."

    with ScriptedOpenAI(reply) as model:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")} | {
            "MUNIMENT_HOME": str(home),
            "MUNIMENT_CONFIG": str(config),
            "MUNIMENT_EMBEDDER": "hash-256",
            "MUNIMENT_MODEL": "scripted",
            "OPENAI_API_KEY": "key",
            "OPENAI_BASE_URL": model.base_url,
        }
        talk = chat(environment)
        say(talk, FIRST)
        assert talk.stdout is not None
        told = json.loads(talk.stdout.readline())
        say(talk, SECOND)
        assert asked.wait(30)
        talk.kill()
        talk.communicate()
        running = asyncio.run(server.find_server(home))
        assert running is not None
        os.kill(running["pid"], signal.SIGKILL)
        go_on.set()

        again = chat(environment)
        out, _ = again.communicate(SECOND.encode() + b"\n", timeout=50)
        assert again.returncode == 0
        assert [json.loads(line)["reply"] for line in out.splitlines()][-1] == "Understood."

        memories = lines(environment, "list")["memories"]
        assert sorted(one["text"] for one in memories) == [
            "The user likes sailing",
            "The user lives in Porto",
            "The user works as a carpenter",
        ]
        assert told["writes"][0]["id"] in {one["id"] for one in memories}
        assert [line["rev"] for line in lines(environment, "history")["history"]] == [3, 2, 1]
