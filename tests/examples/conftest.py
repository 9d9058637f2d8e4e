"""Programs for readers, run as they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.logins import build_login_url


@pytest.fixture
def run_program(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a file, perhaps with what is typed, and return what it prints; its memory is in this test's database."""
    given = {"DATABASE_URL": build_login_url(database_url), "OWNER_URL": database_url, "EMBEDDER": "hash-256"}
    for name, value in (given | {"HOME": str(tmp_path)}).items():
        monkeypatch.setenv(f"MUNIMENT_{name}", value)

    def run_file(path: Path, typed: str = "") -> str:
        command = [sys.executable, str(path)]
        done = subprocess.run(command, input=typed, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_file
