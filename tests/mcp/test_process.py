"""`muniment mcp` as a program: how it starts, what it makes of lines that are no messages, and how it ends."""

import json
import subprocess

import pytest

from tests.http.conftest import PROGRAM
from tests.mcp.conftest import SharedService

pytestmark = pytest.mark.xdist_group("mcp")  # one service for all
LINES = ("", "{", '"x"', "\x00", '{"jsonrpc": "2.0", "id": 1, "method": "ping"}', '{"jsonrpc": "2.0", "id": "\\ud800"}')


def test_lines_and_the_end(service: SharedService) -> None:
    """It answers what is a message, says nothing else on standard output, and ends with its input."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    greeting = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    with subprocess.Popen(
        [PROGRAM, "mcp"],
        env=service.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write("\n".join([greeting, *LINES, ""]))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        rest, said = process.stdout.read(), process.stderr.read()
    assert (process.returncode, rest, said) == (0, "", "")
    assert [answer["id"] for answer in answers] == [0, 1]
    assert answers[0]["result"]["serverInfo"]["name"] == "muniment"


def test_what_it_refuses(service: SharedService) -> None:
    """An agent that is none ends it at once, with one line."""
    done = subprocess.run(
        [PROGRAM, "mcp", "--agent", "nobody"],
        env=service.environment,
        check=False,
        capture_output=True,
        text=True,
        input="",
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("muniment: error: --agent: unknown agent 'nobody'")
