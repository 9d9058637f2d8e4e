"""`muniment` on a database of the test's own: in this process, because that is quick, or as the installed program."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muniment.faces.cli.app import run_command
from tests.logins import build_login_url

PROGRAM = str(Path(sys.executable).with_name("muniment"))


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value of standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """A JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Muniment = Callable[..., Outcome]


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """What the process sees: this database as the engine's login and as its owner, an embedder that needs no model, a
    home that is nobody's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OPENAI_"))}
    return kept | {
        "MUNIMENT_DATABASE_URL": build_login_url(database_url),
        "MUNIMENT_OWNER_URL": database_url,
        "MUNIMENT_EMBEDDER": "hash-256",
        "MUNIMENT_HOME": str(tmp_path / "home"),
    }


@pytest.fixture
def muniment(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Muniment:
    """Run a command line here; `said` is its standard input, further names are environment variables."""

    def call(*arguments: str | bytes, said: str | bytes = b"", **env: str) -> Outcome:
        source = said.encode() if isinstance(said, str) else said
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source), encoding="utf-8"))
            for name in [name for name in os.environ if name.startswith("MUNIMENT_")]:
                patch.delenv(name)
            for name, value in (environment | env).items():
                patch.setenv(name, value)
            capsys.readouterr()
            code = run_command([os.fsdecode(one) for one in arguments])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def process(environment: dict[str, str]) -> Muniment:
    """Run the installed program; the arguments are those of `muniment`."""

    def call(*arguments: str | bytes, said: str | bytes = b"", **env: str) -> Outcome:
        source = said.encode() if isinstance(said, str) else said
        done = subprocess.run(
            [PROGRAM, *arguments], input=source, capture_output=True, env=environment | env, timeout=50, check=False
        )
        outcome = Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in outcome.err, outcome.err
        return outcome

    return call
