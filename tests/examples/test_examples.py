"""Each program in `examples/` does what it says, run as a reader runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ELSEWHERE = {"http_client": "tests/http/test_clients.py"}  # examples that need a service, and the tests that run them
KNOWN = "[constraints] The user is allergic to peanuts"


@pytest.fixture
def run(run_program: Callable[[Path], Awaitable[str]]) -> Callable[[str], Awaitable[str]]:
    """Run an example and return what it prints."""
    return lambda name: run_program(EXAMPLES / f"{name}.py")


async def test_a_graph_of_its_own(run: Callable[[str], Awaitable[str]]) -> None:
    """What is said in one conversation is found by the tool in another; a second run does not learn it again."""
    for _ in range(2):
        told, asked = (await run("own_graph")).split("> ")[1:]
        assert "Good to know." in told
        assert asked.count(KNOWN) == 1


async def test_create_agent_with_the_middleware(run: Callable[[str], Awaitable[str]]) -> None:
    """What is said in one thread stands before the model in another."""
    told, asked = (await run("create_agent_middleware")).split("> ")[1:]
    assert KNOWN not in told
    assert KNOWN in asked


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LangMem imports what LangGraph has moved
async def test_langmem_on_the_store(run: Callable[[str], Awaitable[str]]) -> None:
    """LangMem's tool finds what its other tool has kept, and its manager keeps what a model finds."""
    found, managed = (await run("langmem_store")).splitlines()
    assert "Ana likes green tea" in found
    assert managed == "[{'content': 'The user lives in Porto.'}]"


def test_every_example_is_run() -> None:
    """An example that no test runs is named here."""
    here = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        other = ELSEWHERE.get(path.stem)
        text = here if other is None else (EXAMPLES.parent / other).read_text(encoding="utf-8")
        assert f'("{path.stem}")' in text or f'"{path.name}"' in text, path.name
