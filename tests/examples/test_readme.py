"""The first program of README gives an agent memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muniment.testing import ScriptedOpenAI
from tests.examples.conftest import make_environment, run_python

MOST_LINES = 25  # of the program that gives an agent memory


@pytest.mark.timeout(120)
def test_an_agent_with_memory(programs: list[Path], database_url: str, tmp_path: Path) -> None:
    """The first program is short; what is said to it stands before the model when it is started again."""
    assert len(programs[0].read_text(encoding="utf-8").strip().splitlines()) <= MOST_LINES
    with ScriptedOpenAI("Fine.") as server:
        model = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        environment = make_environment(database_url, tmp_path) | model
        for text in ("I am allergic to peanuts", "What can I cook?"):
            said = run_python(str(programs[0]), environment=environment, typed=f"{text}\n\n")
            assert said == "you> Fine.\nyou> "
        first, second = (json.dumps(request.body["messages"]) for request in server.requests)
    assert "The user is allergic to peanuts" not in first
    assert "The user is allergic to peanuts" in second
