"""`muniment agent`: a conversation with an agent that has two memories, and what its status says."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muniment.testing import ScriptedOpenAI, tool_call
from tests.agent.talk import KEY, gateway_section, read_messages
from tests.faces.conftest import PROGRAM, Muniment
from tests.gateways import ADD, FLUSH, SEARCH, RecordingGateway, find_closed_port

REGION = {"text": "The deploy region is eu-west-3.", "score": 0.9}


def write_config(folder: Path, memory: dict[str, Any] | None = None, **more: Any) -> str:
    path = folder / "agent.json"
    section = {} if memory is None else {"memory": memory}
    path.write_text(json.dumps({"curatedFolder": "curated", **section, **more}))
    return str(path)


def test_a_session_goes_on(muniment: Muniment, tmp_path: Path) -> None:
    """Each line is a message; another start of the same session has its history, another session has none."""
    with RecordingGateway([REGION]) as gateway, ScriptedOpenAI(reply="Noted.") as model:
        config = write_config(
            tmp_path, gateway_section(gateway.base_url), model={"name": "m", "baseUrl": model.base_url}
        )
        first = muniment("agent", "--config", config, "--session", "work", "--json", said="One.\nTwo.\n")
        muniment("agent", "--config", config, "--session", "work", said="Three.\n")
        fresh = muniment("agent", said="Four.\n", MUNIMENT_AGENT_CONFIG=config)
    assert first.lines == [{"session": "work", "reply": "Noted."}] * 2
    assert (fresh.code, fresh.out, fresh.err) == (0, "Noted.\n", "")
    assert [message["content"] for message in read_messages(model, 2)[2:]] == [
        "One.",
        "Noted.",
        "Two.",
        "Noted.",
        "Three.",
    ]
    assert [message["content"] for message in read_messages(model, 3)[2:]] == ["Four."]
    assert gateway.paths == [SEARCH, ADD, FLUSH] * 4
    assert [gateway.requests[n].body["conversation_id"] for n in (0, 6)] == ["work", "work"]
    shown = muniment("sessions", "show", "agent:work")
    assert "One." in shown.out
    assert "memory_gateway" not in shown.out
    audited = muniment("sessions", "show", "agent:work", "--audit", "--json").json["turns"]
    assert [turn["text"] for turn in audited if turn["kind"] == "audit"][:3] == [
        "memory_gateway_recall_succeeded",
        "memory_gateway_add_succeeded",
        "memory_gateway_flush_succeeded",
    ]
    assert "memory_gateway_flush_succeeded" in muniment("sessions", "show", "agent:work", "--audit").out


def test_without_a_model_it_says_what_was_recalled(muniment: Muniment, tmp_path: Path) -> None:
    """The way for a stranger who has no key: the reply has the hint and the recalled text."""
    with RecordingGateway([REGION]) as gateway:
        done = muniment(
            "agent", "--config", write_config(tmp_path, gateway_section(gateway.base_url)), said="Which region?"
        )
    assert done.code == 0
    assert "MUNIMENT_MODEL" in done.out
    assert "eu-west-3" in done.out


def test_a_degraded_agent_warns_once_and_works(muniment: Muniment) -> None:
    """No configuration at all: one warning, the curated files, an answer."""
    done = muniment("agent", said="Hello.\nAgain.\n")
    assert done.code == 0
    assert done.err.count("warning") == 1
    assert "section memory is missing" in done.err


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"mode": "hybrid"}, "memory.gateway.baseUrl"),
        ({"mode": "both"}, "memory.mode"),
        ({"mode": "hybrid", "gateway": {"userKey": KEY, "baseUrl": "http://x", "userId": "a", "topK": 0}}, "topK"),
    ],
)
def test_b106_an_invalid_section_does_not_start(
    muniment: Muniment, tmp_path: Path, changed: dict[str, Any], named: str
) -> None:
    """The error names the file and the key, and no value; the database is not opened."""
    config = write_config(tmp_path, changed)
    for command in (("agent", "--config", config), ("agent", "status", "--config", config)):
        refused = muniment(*command, said="Hello.")
        assert refused.code == 5
        assert named in refused.err
        assert "agent.json" in refused.err
        assert KEY not in refused.err + refused.out


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"toolLimit": 0}, "toolLimit"),
        ({"toolLimit": True}, "toolLimit"),
        ({"user": ""}, "user"),
        ({"model": 3}, "model"),
        ({"model": {"url": "x"}}, "model.url"),
        ({"model": {"baseUrl": "ftp://x"}}, "model.baseUrl"),
        ({"skillsFolder": "none"}, "skills"),
        ({"instructions": 3}, "instructions"),
        ({"more": 1}, "more"),
    ],
)
def test_what_else_is_wrong_in_the_file(muniment: Muniment, tmp_path: Path, changed: Any, named: str) -> None:
    """Each key is checked, and the error names it."""
    refused = muniment("agent", "status", "--config", write_config(tmp_path, {"mode": "curated"}, **changed))
    assert (refused.code, named in refused.err) == (5, True)


def test_b162_the_status_has_no_key(muniment: Muniment, tmp_path: Path) -> None:
    """It says mode, why, what is degraded and whether the gateway answers, which is asked for its health alone."""
    with RecordingGateway() as gateway:
        config = write_config(tmp_path, gateway_section(gateway.base_url))
        status = muniment("agent", "status", "--config", config, "--json")
        plain = muniment("agent", "status", "--config", config)
    assert [(seen.method, seen.path, seen.raw) for seen in gateway.requests] == [("GET", "/health", b"")] * 2
    assert all(KEY not in str(seen.headers) for seen in gateway.requests)
    assert KEY not in status.out + status.err + plain.out + plain.err
    told = status.json
    assert (told["mode"], told["chosen"], told["gateway"], told["reachable"]) == ("hybrid", "explicit", "on", "yes")
    away = write_config(tmp_path, gateway_section(f"http://127.0.0.1:{find_closed_port()}"))
    assert muniment("agent", "status", "--config", away, "--json").json["reachable"] == "no"
    degraded = muniment("agent", "status", "--json").json
    assert (degraded["chosen"], degraded["gateway"], degraded["degraded"]) == (
        "implicit",
        "degraded",
        "the section memory is missing",
    )
    off = muniment("agent", "status", "--config", write_config(tmp_path, {"mode": "curated"}), "--json").json
    assert (off["mode"], off["gateway"], off["degraded"]) == ("curated", "off", None)


def test_a_model_that_fails_decides_the_exit_code(muniment: Muniment, tmp_path: Path) -> None:
    """The error is told, the next line is read, and the gateway gets nothing of the run that failed."""
    with RecordingGateway() as gateway, ScriptedOpenAI(reply="Good.", fail=["unauthorized"]) as model:
        config = write_config(
            tmp_path, gateway_section(gateway.base_url), model={"name": "m", "baseUrl": model.base_url}
        )
        done = muniment("agent", "--config", config, said="One.\nTwo.\n")
    assert (done.code, done.out) == (1, "Good.\n")
    assert gateway.paths == [SEARCH, SEARCH, ADD, FLUSH]


def test_on_a_terminal_the_answer_comes_as_it_is_written(environment: dict[str, str], tmp_path: Path) -> None:
    """The answer is there once, word by word, and what a tool was called with is not."""
    entry = {"target": "memory", "action": "add", "content": "Releases are signed."}
    with ScriptedOpenAI(reply=[tool_call("memory", entry), "It is kept in the file."], pace=0.01) as model:
        config = write_config(tmp_path, {"mode": "curated"}, model={"name": "m", "baseUrl": model.base_url})
        here, there = pty.openpty()
        with subprocess.Popen(
            [PROGRAM, "agent", "--config", config, "--session", "t"],
            stdin=there,
            stdout=there,
            stderr=there,
            env=environment | {"TERM": "dumb"},
            close_fds=True,
        ) as done:
            os.close(there)
            os.write(here, b"Note it.\nexit\n")
            output = b""
            while True:
                try:
                    part = os.read(here, 65_536)
                except OSError:  # the other side is closed
                    break
                output += part
        os.close(here)
    text = output.decode()
    assert done.returncode == 0
    assert text.count("It is kept in the file.") == 1
    assert "signed" not in text
    assert all(request.body.get("stream") for request in model.requests)
