"""Standard input, output and error that are closed, full, or read by nobody."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.faces.conftest import PROGRAM

FULL = Path("/dev/full")
CLOSED = '"$0" "$@" >&- 2>&- <&-'


def shell(environment: dict[str, str], script: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The program in a shell, whose last word is the program's exit code."""
    command = ["bash", "-c", script, PROGRAM, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, timeout=50, check=False)


@pytest.mark.parametrize(
    ("arguments", "script", "code"),
    [
        (("list",), CLOSED, 0),
        (("show", "zzzz"), CLOSED, 2),
        (("show", "zzzz"), '"$0" "$@" 2>&1 | true; exit ${PIPESTATUS[0]}', 2),
        (("show", "zzzz", "--json"), '"$0" "$@" | true; exit ${PIPESTATUS[0]}', 2),
        (("--help",), '"$0" "$@" | head -n 1; exit ${PIPESTATUS[0]}', 0),
    ],
)
def test_who_is_not_heard(environment: dict[str, str], arguments: tuple[str, ...], script: str, code: int) -> None:
    """The exit code says what became of the command all the same, and nothing else is said."""
    done = shell(environment, script, *arguments)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.skipif(not FULL.exists(), reason="a device that is always full is Linux's")
def test_an_output_that_is_full(environment: dict[str, str]) -> None:
    """It is said in one line; a full standard error changes nothing."""
    done = shell(environment, '"$0" "$@" > /dev/full', "--help")
    told = b"muniment: error: standard output: cannot be written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert shell(environment, '"$0" "$@" 2> /dev/full', "show", "zzzz").returncode == 2
