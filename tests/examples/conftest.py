"""Programs for readers, run as they are."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.logins import build_login_url


@pytest.fixture
def own_database(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of programs is in this test's database."""
    given = {"DATABASE_URL": build_login_url(database_url), "OWNER_URL": database_url, "EMBEDDER": "hash-256"}
    for name, value in (given | {"HOME": str(tmp_path)}).items():
        monkeypatch.setenv(f"MUNIMENT_{name}", value)


@pytest.fixture
def run_program(own_database: None, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], Awaitable[str]]:
    """Run a file and return what it prints."""

    async def run_file(path: Path) -> str:
        await asyncio.to_thread(runpy.run_path, str(path), run_name="__main__")
        return capsys.readouterr().out

    return run_file
