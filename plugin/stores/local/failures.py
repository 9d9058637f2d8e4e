"""The errors of SQLite as those of a store."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muniment.memory.errors import Busy, StoreDown, StoreError, StoreFull

_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_UNREACHABLE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_IOERR})
# What a write is answered with by a disk or a quota that is full; the first is told by its primary code.
_FULL = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE})


class BrokenFile(sqlite3.DatabaseError):
    """A check has found the file damaged."""


def is_broken(error: sqlite3.Error) -> bool:
    """Whether the file is no database, or a damaged one. A text that is no UTF-8 has no code of SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, BrokenFile | sqlite3.OperationalError)
    return bool(code & 0xFF in _BROKEN)


def is_read_only(error: Exception) -> bool:
    """Whether the file, or its folder, cannot be written, while it may be that it can be read."""
    if isinstance(error, OSError):
        return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


@contextmanager
def translate_failures(path: Path) -> Iterator[None]:
    """Raise what SQLite and the file system raise as errors of a store, whose message names the file and no value."""
    try:
        yield
    except OSError as error:
        raise StoreDown(f"{path.name}: cannot be opened ({error.strerror or type(error).__name__})") from error
    except sqlite3.Error as error:
        raise _translate_failure(path, error) from error


def _translate_failure(path: Path, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return StoreDown(f"{path.name}: is broken") if is_broken(error) else StoreError(f"{path.name}: failed")
    primary = code & 0xFF
    if primary in _BUSY:
        return Busy(f"{path.name}: another process is writing; try again later")
    if primary == sqlite3.SQLITE_FULL or code in _FULL:
        return StoreFull(f"{path.name}: there is no space left to write")
    if primary == sqlite3.SQLITE_READONLY:
        return StoreDown(f"{path.name}: can only be read")
    if primary in _BROKEN:
        return StoreDown(f"{path.name}: is broken")
    if primary in _UNREACHABLE:
        return StoreDown(f"{path.name}: cannot be read or written")
    return StoreError(f"{path.name}: failed ({error.sqlite_errorname})")
