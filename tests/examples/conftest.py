"""Programs for readers, run as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.logins import build_login_url

ROOT = Path(__file__).parents[2]


def make_environment(database_url: str, home: Path) -> dict[str, str]:
    """What a program sees: this database, and an embedder that needs no model."""
    own = {"DATABASE_URL": build_login_url(database_url), "OWNER_URL": database_url, "EMBEDDER": "hash-256"}
    return dict(os.environ) | {f"MUNIMENT_{name}": value for name, value in (own | {"HOME": str(home)}).items()}


def run_python(*arguments: str, environment: Mapping[str, str], typed: str = "") -> str:
    """What Python prints; its complaint, if it fails, is the test's."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, input=typed, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def programs(tmp_path: Path) -> list[Path]:
    """The programs of README in their order, each in a file."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    files = [tmp_path / f"readme_{number}.py" for number, _ in enumerate(blocks)]
    for file, block in zip(files, blocks, strict=True):
        file.write_text(block, encoding="utf-8")
    return files
