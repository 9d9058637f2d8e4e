"""Each program in `examples/` and in README does what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.examples.conftest import ROOT, make_environment, run_python

NEED_A_SERVICE = {"http_client.py", "proxy_client.py", "two_machines.py"}  # the tests of the services run them
KNOWN = "[constraints] The user is allergic to peanuts"
# Runs each file as a program, as a tenant of its own: what it imports is imported once for all of them.
ONE_AFTER_THE_OTHER = """
import os, runpy, sys
from pathlib import Path
for path in sys.argv[1:]:
    os.environ["MUNIMENT_TENANT"] = Path(path).stem
    print(f"=== {Path(path).name}")
    runpy.run_path(path, run_name="__main__")
"""


def check_statement(printed: str) -> None:
    """The second program of README prints what README says."""
    assert printed == "constraints The user is allergic to peanuts\n"


def check_graph_of_readme(printed: str) -> None:
    """The third program of README answers from what it has learned."""
    assert "peanuts" in printed.splitlines()[-1]


def check_own_graph(printed: str) -> None:
    """What is said in one conversation is found by the tool in another."""
    told, asked = printed.split("> ")[1:]
    assert "Good to know." in told
    assert asked.count(KNOWN) == 1


def check_supervisor_graph(printed: str) -> None:
    """Its subagent looks into its part of memory and uses its tool; tokens, results and events come as they happen."""
    told, asked = printed.split("> What shall I bake?")
    assert "  memory.written\n" in told
    for line in ("memory_query -> ", "list_shops -> Two in Porto", "baker: 'Rye'", "transfer_to_baker -> Rye bread"):
        assert f"  {line}" in asked
    assert KNOWN in asked
    assert asked.index("transfer_to_baker -> ") < asked.index("supervisor: 'I'")


def check_middleware(printed: str) -> None:
    """What is said in one thread stands before the model in another."""
    told, asked = printed.split("> ")[1:]
    assert KNOWN not in told
    assert KNOWN in asked


def check_plain_loop(printed: str) -> None:
    """What is said in one session stands before the model in another, with its source, also behind a call of a tool."""
    told, asked = printed.split("> ")[1:]
    assert "[rule" not in told
    assert "pnpm" in asked
    assert asked.index("pnpm") < asked.index("  tool: billing: 12 passed")


def check_langmem(printed: str) -> None:
    """LangMem's tool finds what its other tool has kept, and its manager keeps what a model finds."""
    found, managed = printed.splitlines()
    assert "Ana likes green tea" in found
    assert managed == "[{'content': 'The user lives in Porto.'}]"


def check_mcp(printed: str) -> None:
    """The client sees the tools, keeps a text after the question, and finds it."""
    tools, question, found = printed.splitlines()
    assert tools == "tools: memory.query, memory.remember, memory.forget"
    assert question.startswith("? ")
    assert found == KNOWN


def check_plugin_agent(printed: str) -> None:
    """The second thread is shown what was said in the first, and the command is answered without the model."""
    _, asked, listed = printed.split("> ")[1:]
    assert "pnpm" in asked
    assert "pnpm" in listed
    assert "user:" not in listed


CHECKS: Mapping[str, Callable[[str], None]] = {
    "readme_1.py": check_statement,
    "readme_2.py": check_graph_of_readme,
    "own_graph.py": check_own_graph,
    "supervisor_graph.py": check_supervisor_graph,
    "create_agent_middleware.py": check_middleware,
    "create_agent_plugin.py": check_plugin_agent,
    "langmem_store.py": check_langmem,
    "plain_loop.py": check_plain_loop,
    "mcp_client.py": check_mcp,
}


@pytest.mark.timeout(180)
def test_each_program(programs: list[Path], database_url: str, tmp_path: Path) -> None:
    """Run in one process, each prints what its check wants; none is without a check."""
    examples = [path for path in (ROOT / "examples").glob("*.py") if path.name not in NEED_A_SERVICE]
    paths = map(str, [*programs[1:], *examples])
    whole = run_python("-c", ONE_AFTER_THE_OTHER, *paths, environment=make_environment(database_url, tmp_path))
    printed = dict(part.split("\n", 1) for part in re.split(r"^=== ", whole, flags=re.MULTILINE)[1:])
    assert printed.keys() == CHECKS.keys()
    for name, check in CHECKS.items():
        check(printed[name])
