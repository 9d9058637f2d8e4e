"""What may happen to a file while a host uses it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("begin immediate")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Another process is writing, for as long as the block lasts."""
    process = subprocess.Popen(
        [sys.executable, "-c", _LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    try:
        yield
    finally:
        process.communicate("")


@contextmanager
def fill_disk(path: Path) -> Iterator[None]:
    """No file becomes longer than the log of this one, for as long as the block lasts."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = path.with_name(f"{path.name}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def overwrite_file(path: Path) -> Iterator[None]:
    """Something else has written into the file and its log."""
    for each in (path, path.with_name(f"{path.name}-wal")):
        size = each.stat().st_size
        with each.open("r+b") as file:
            file.write(os.urandom(size))
    yield


@contextmanager
def replace_file(path: Path) -> Iterator[None]:
    """Another program has put a file of its own in the place, and thrown away what was beside it."""
    other = path.with_name("other")
    other.write_bytes(b"this is no database\n" * 500)
    other.replace(path)
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink()
    yield


@contextmanager
def remove_file(path: Path) -> Iterator[None]:
    """Somebody has removed the file, and what is beside it."""
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    yield
