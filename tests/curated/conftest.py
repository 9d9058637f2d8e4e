"""`muniment` in this process, without a database."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muniment.faces.cli.app import run_command


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value of standard output."""
        return json.loads(self.out)


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: a process that is killed leaves there what it leaves on a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="muniment-curated-test-", dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def muniment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run a command line with this home; further names are environment variables."""

    def call(*arguments: str, **env: str) -> Outcome:
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith(("MUNIMENT_", "OPENAI_"))]:
                patch.delenv(name)
            for name, value in ({"MUNIMENT_HOME": str(tmp_path / "home")} | env).items():
                patch.setenv(name, value)
            capsys.readouterr()
            code = run_command(arguments)
        return Outcome(code, *capsys.readouterr())

    return call
