"""The files of a local store: made, told apart, locked while they are made or replaced, and put aside."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from muniment.memory.errors import Busy

_MOUNTS = Path("/proc/self/mounts")
_NETWORK = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_LOOK_SECONDS = 0.02  # between two looks at a lock that is held
_BESIDE = ("", "-wal", "-shm")  # the file, and those that SQLite keeps beside it


def create_file(path: Path) -> None:
    """Make an empty file, and its folder, which only their owner reads, unless there is one. Raises OSError."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):  # by another process, meanwhile
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def get_identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one that has its name later; None where there is none. Raises OSError."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def hold_lock(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock under which a file is made, migrated or replaced: one process at a time. Raises OSError, and Busy
    where another process holds it for so long.

    It is a file of its own: to close a second handle of a database would take SQLite's own locks away."""
    handle = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        _wait_for_lock(handle, path.name, seconds)
        yield
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, name: str, seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends_at:
                raise Busy(f"{name}: another process is opening it; try again later") from None
            time.sleep(_LOOK_SECONDS)
        else:
            return


def move_aside(path: Path, at: datetime) -> Path:
    """Rename a broken file and those beside it, and return its new name. Raises OSError."""
    stamp = f"{at:%Y%m%dT%H%M%S}"
    aside = path.with_name(f"{path.name}.broken-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.broken-{stamp}-{number}")
    # The log goes first: a new file must not find the log of the broken one.
    for ending in reversed(_BESIDE):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
    return aside


def find_network_mount(path: Path) -> str | None:
    """Return the kind of the network file system that a file is on; None where it is on none, or it cannot be told."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    folder = f"{path.parent.resolve()}/"
    best, found = -1, ""
    for line in lines:
        _, mount, kind, *_ = line.split(" ")
        point = mount.replace("\\040", " ").rstrip("/") + "/"
        if folder.startswith(point) and len(point) >= best:
            best, found = len(point), kind
    return found if found in _NETWORK else None
