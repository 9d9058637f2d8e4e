"""The programs of README do what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.testing import ScriptedOpenAI

README = Path(__file__).parents[2] / "README.md"
MOST_LINES = 25  # of the program that gives an agent memory


@pytest.fixture
def programs(tmp_path: Path) -> list[Path]:
    """The programs in their order, each in a file."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    files = [tmp_path / f"program_{number}.py" for number, _ in enumerate(blocks)]
    for file, block in zip(files, blocks, strict=True):
        file.write_text(block, encoding="utf-8")
    return files


def test_an_agent_with_memory(
    programs: list[Path], run_program: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first program is short; what is said to it stands before the model when it is started again."""
    assert len(programs[0].read_text(encoding="utf-8").strip().splitlines()) <= MOST_LINES
    with ScriptedOpenAI("Fine.") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for text in ("I am allergic to peanuts", "What can I cook?"):
            assert run_program(programs[0], f"{text}\n\n") == "you> Fine.\nyou> "
        first, second = (json.dumps(request.body["messages"]) for request in server.requests)
    assert "The user is allergic to peanuts" not in first
    assert "The user is allergic to peanuts" in second


def test_a_statement_and_a_query(programs: list[Path], run_program: Callable[..., str]) -> None:
    """The second program prints what README says."""
    assert run_program(programs[1]) == "constraints The user is allergic to peanuts\n"


def test_the_supervisor_graph(programs: list[Path], run_program: Callable[..., str]) -> None:
    """The third program answers from what it has learned."""
    assert "peanuts" in run_program(programs[2]).splitlines()[-1]
