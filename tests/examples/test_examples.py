"""Each program in `examples/` does what it says, run as a reader runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
ELSEWHERE = {"http_client.py": "tests/http/test_clients.py"}  # those that need a service, and the tests that run them
KNOWN = "[constraints] The user is allergic to peanuts"


def test_a_graph_of_its_own(run_program: Callable[..., str]) -> None:
    """What is said in one conversation is found by the tool in another."""
    told, asked = run_program(EXAMPLES / "own_graph.py").split("> ")[1:]
    assert "Good to know." in told
    assert asked.count(KNOWN) == 1


def test_the_supervisor_graph(run_program: Callable[..., str]) -> None:
    """Its subagent looks into its part of memory and uses its tool; tokens, results and events come as they happen."""
    told, asked = run_program(EXAMPLES / "supervisor_graph.py").split("> What shall I bake?")
    assert "  memory.written\n" in told
    for line in ("memory_query -> ", "list_shops -> Two in Porto", "baker: 'Rye'", "transfer_to_baker -> Rye bread"):
        assert f"  {line}" in asked
    assert KNOWN in asked
    assert asked.index("transfer_to_baker -> ") < asked.index("supervisor: 'I'")


def test_create_agent_with_the_middleware(run_program: Callable[..., str]) -> None:
    """What is said in one thread stands before the model in another."""
    told, asked = run_program(EXAMPLES / "create_agent_middleware.py").split("> ")[1:]
    assert KNOWN not in told
    assert KNOWN in asked


def test_langmem_on_the_store(run_program: Callable[..., str]) -> None:
    """LangMem's tool finds what its other tool has kept, and its manager keeps what a model finds."""
    found, managed = run_program(EXAMPLES / "langmem_store.py").splitlines()
    assert "Ana likes green tea" in found
    assert managed == "[{'content': 'The user lives in Porto.'}]"


def test_a_client_of_mcp(run_program: Callable[..., str]) -> None:
    """It sees the tools, keeps a text after the question, and finds it."""
    tools, question, found = run_program(EXAMPLES / "mcp_client.py").splitlines()
    assert tools == "tools: memory.query, memory.remember, memory.forget"
    assert question.startswith("? ")
    assert found == KNOWN


def test_every_example_is_run() -> None:
    """An example that no test runs is named here."""
    for path in EXAMPLES.glob("*.py"):
        test = EXAMPLES.parent / ELSEWHERE[path.name] if path.name in ELSEWHERE else Path(__file__)
        assert f'"{path.name}")' in test.read_text(encoding="utf-8"), path.name
