"""What a start loads: the help and the package's import do without the heavy libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from muniment.faces.cli.lazy_commands import COMMANDS, load_command

HEAVY = ("numpy", "psycopg", "openai", "langgraph", "langchain_core", "onnxruntime", "pydantic", "rich")
_WIDE = 500  # characters: no summary is cut

LOADED = f"import sys; print(*(name for name in {HEAVY} if name in sys.modules))"
HELP = f"from muniment.faces.cli.app import run_command; run_command(['--help']); {LOADED}"


@pytest.mark.parametrize("program", [HELP, f"import muniment; {LOADED}"], ids=["help", "import"])
def test_a_start_loads_no_heavy_library(program: str) -> None:
    """Neither `muniment --help` nor `import muniment` loads one."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_the_check_sees_a_library_that_is_loaded() -> None:
    """An attribute of the package that needs numpy loads it, and the same check says so."""
    program = f"import muniment; muniment.Memory; {LOADED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"numpy", "pydantic"} <= set(done.stdout.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_is_the_first_sentence_of_the_commands_help(name: str) -> None:
    """`muniment --help` shows of each command what the command says of itself."""
    assert COMMANDS[name][1] == load_command(name).get_short_help_str(_WIDE)
