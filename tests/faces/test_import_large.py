"""`import` of a large file through the database: bounded, interrupted by a person and by the system, and resumed.

MUNIMENT_TEST_IMPORT_MB is how large the files are, such as 100 for the long run of all formats; without it two formats
are read, in files of 2 MB."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faces.conftest import PROGRAM
from tests.importing.large import MB, write_export, write_large

IS_LONG = "MUNIMENT_TEST_IMPORT_MB" in os.environ
SIZE_MB = int(os.environ.get("MUNIMENT_TEST_IMPORT_MB", "2"))
# A format: the ending of its file, the table that its records fill, and the characters of a long text.
FORMATS = {
    "chatgpt": ("json", "turns", 19_000),
    "graphiti": ("json", "memories", 3_000),
    "claude": ("json", "turns", 19_000),
    "letta": ("af", "turns", 19_000),
    "mem0": ("json", "memories", 20_000),
    "langgraph-store": ("jsonl", "memories", 20_000),
    "langmem": ("json", "memories", 20_000),
    "markdown": ("zip", "memories", 5_000),
}
MOST_GROWTH_MB = 60


class Run:
    """A process that imports, its exit code and the most memory that it had."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        command = [PROGRAM, "import", *arguments]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait(self) -> tuple[int, str, str, int]:
        """Return the exit code, what it wrote, and the MB of its peak."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        out, err = self.process.stdout.read().decode(), self.process.stderr.read().decode()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.process.communicate()
        return self.process.returncode, out, err, usage.ru_maxrss // 1024

    def interrupt_after(self, admin: psycopg.Connection, table: str, count: int, number: signal.Signals) -> None:
        """Send a signal when the table has so many rows more than before."""
        goal = count_rows(admin, table) + count
        while self.process.poll() is None and count_rows(admin, table) < goal:
            time.sleep(0.01)
        self.process.send_signal(number)

    def interrupt_in(self, admin: psycopg.Connection, statement: str, number: signal.Signals) -> None:
        """Send a signal while a statement that begins so runs, or has run in a transaction that is open."""
        running = "select from pg_stat_activity where xact_start is not null and query like %s"
        while self.process.poll() is None and admin.execute(running, [f"{statement}%"]).fetchone() is None:
            time.sleep(0.001)
        self.process.send_signal(number)


def count_rows(admin: psycopg.Connection, table: str) -> int:
    if admin.execute("select to_regclass(%s)", [f"muniment.{table}"]).fetchone() == (None,):
        return 0
    (count,) = admin.execute(f"select count(*) from muniment.{table}").fetchone() or (0,)
    return int(count)


@pytest.mark.timeout(300 + 60 * SIZE_MB)
@pytest.mark.parametrize("kind", list(FORMATS)[: None if IS_LONG else 2])
def test_a_large_file_is_interrupted_and_resumed(environment: dict[str, str], tmp_path: Path, kind: str) -> None:
    """A large file through the database: interrupted by Ctrl-C and by kill -9 and resumed, counts in equal counts out,
    the same file again changes nothing, and memory does not grow with the file."""
    ending, table, chars = FORMATS[kind]
    small, large = tmp_path / f"small.{ending}", tmp_path / f"large.{ending}"
    write_large(small, kind, MB // 2, chars=chars)
    total = write_large(large, kind, SIZE_MB * MB, chars=chars)
    *_, small_mb = Run(environment, str(small), "--user", "ben").wait()
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"], autocommit=True) as admin:
        stopped = Run(environment, str(large), "--user", "ana")
        stopped.interrupt_after(admin, table, total // 3, signal.SIGINT)
        code, out, err, _ = stopped.wait()
        assert (code, out) == (130, "")
        assert "of its records are done and stay; give the same command again to go on from there" in err
        killed = Run(environment, str(large), "--user", "ana")
        killed.interrupt_after(admin, table, total // 3, signal.SIGKILL)
        assert killed.wait()[0] == -signal.SIGKILL
        first = finish(environment, large, total)
        assert total > first["known"] >= 2 * (total // 3)
        rows = count_rows(admin, table)
        again = finish(environment, large, total)
        assert again["known"] == total
        assert count_rows(admin, table) == rows
    assert max(first["peak_mb"], again["peak_mb"]) < small_mb + MOST_GROWTH_MB


@pytest.mark.skipif(not IS_LONG, reason="MUNIMENT_TEST_IMPORT_MB names no size")
@pytest.mark.timeout(300 + 60 * SIZE_MB)
def test_a_large_export_is_restored(environment: dict[str, str], tmp_path: Path) -> None:
    """A large export: Ctrl-C leaves nothing of it, the same command restores all of it, once more it changes nothing,
    and memory does not grow with the file."""
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    write_export(small, MB // 2)
    total = write_export(large, SIZE_MB * MB)
    *_, small_mb = Run(environment, str(small), "--format", "jsonl", "--user", "ben").wait()
    arguments = (str(large), "--format", "jsonl", "--user", "ana")
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"], autocommit=True) as admin:
        before = count_rows(admin, "memories")
        stopped = Run(environment, *arguments)
        stopped.interrupt_in(admin, "insert into muniment.memories", signal.SIGINT)
        code, _, err, _ = stopped.wait()
        assert (code, count_rows(admin, "memories")) == (130, before)
        assert "of an export all is imported or nothing" in err
        peaks = []
        for imported in (total, 0):
            code, out, err, peak_mb = Run(environment, *arguments, "--json").wait()
            assert (code, err, json.loads(out).get("imported")) == (0, "", imported)
            assert count_rows(admin, "memories") == before + total
            peaks.append(peak_mb)
            # What is restored is an export as this program writes it.
            subprocess.run([PROGRAM, "export", "--user", "ana", str(large)], env=environment, check=True)
    assert max(peaks) < small_mb + MOST_GROWTH_MB


def finish(environment: dict[str, str], file: Path, total: int) -> dict[str, Any]:
    """Import all of the rest, and return the outcome with the peak of memory."""
    code, out, err, peak_mb = Run(environment, str(file), "--user", "ana", "--json").wait()
    assert (code, err) == (0, "")
    outcome: dict[str, Any] = json.loads(out)
    assert outcome["records"] == total
    assert sum(outcome[fate] for fate in ("kept", "known", "recorded")) == total
    return {**outcome, "peak_mb": peak_mb}
