"""The lock by which one process alone sends for a file. The system releases it when a process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muniment.memory.errors import StoreDown


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Give whether the lock of a file's sender was free; it is held until the block ends. Raises StoreDown where no
    file can be made."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path.with_name(f"{path.name}.sender"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise StoreDown(f"{path.name}: its sender's lock cannot be opened ({error.strerror})") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
