"""The plugin for pytest: a test for each case of a `*.memory.yaml`, and no cost where there is none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.timeout(300)  # each starts pytest as a program, twice at most

CASES = """
muniment_check: 1
cases:
  - name: it holds
    given:
      turns: [{user: I live in Porto.}]
    expect: [{remembers: Porto}, {query: Where does the user live?, has: Porto}]
  - name: it does not
    given:
      turns: [{user: I live in Porto.}]
    expect:
      - remembers: Porto
      - remembers: Lisbon
"""
WRONG = "muniment_check: 1\ncases:\n  - name: a\n    expect:\n      - rememberz: x\n"


@pytest.fixture
def session(
    pytester: pytest.Pytester, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """A folder in which pytest runs as a program, over the test's database."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return pytester


def run(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return session.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:randomly", *arguments, timeout=120)


def test_cases_are_tests(session: pytest.Pytester) -> None:
    """Each case is a test: it is selected by its name, and its failure says what was there instead, with its line."""
    session.path.joinpath("a.memory.yaml").write_text(CASES, encoding="utf-8")
    result = run(session)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ['*a.memory.yaml:13: remembers "Lisbon"*', "*no active memory has it; nearest: *Porto*"]
    )
    assert "Traceback" not in result.stdout.str()
    run(session, "-k", "holds").assert_outcomes(passed=1, deselected=1)


def test_a_wrong_file_is_an_error_of_collection(session: pytest.Pytester) -> None:
    """What is wrong with a file is said with its line, and other tests are none of its business."""
    session.path.joinpath("a.memory.yaml").write_text(WRONG, encoding="utf-8")
    session.path.joinpath("plain.yaml").write_text(WRONG, encoding="utf-8")
    result = run(session)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a.memory.yaml, line 5: cases.0.expect.0: *did you mean remembers?"])


def test_a_database_that_is_away(session: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is away is a failure on one line."""
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    session.path.joinpath("a.memory.yaml").write_text(CASES, encoding="utf-8")
    result = run(session, "-k", "holds")
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["StoreDown: *"])


def test_without_a_check_file_nothing_is_loaded(session: pytest.Pytester) -> None:
    """A session without a check file imports the plugin's module, and of the engine nothing."""
    session.makepyfile(
        """
        import sys

        def test_engine():
            loaded = {name for name in sys.modules if name.startswith("muniment")}
            check = "muniment.faces.check"
            assert loaded == {"muniment", "muniment.faces", check, f"{check}.pytest_plugin"}
        """
    )
    run(session).assert_outcomes(passed=1)


def test_the_plugin_takes_no_time_to_import() -> None:
    """Beside pytest itself the plugin's module takes a few milliseconds."""
    program = (
        "import pytest, asyncio, time; began = time.process_time(); import muniment.faces.check.pytest_plugin; "
        "print(time.process_time() - began)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.05
