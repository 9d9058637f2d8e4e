"""A small text file that several processes and an editor change: read whole, changed whole under a lock, or not at all.

All of it blocks; call it in a thread."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from muniment.memory.errors import Busy, CuratedFileError, FileChanged

MAX_BYTES = 256_000
_TRIES = 5  # of a change, while an editor saves between reading and writing
_POLL_SECONDS = 0.01


class StoredFile:
    """A file by its path. Where that is a symbolic link, the file that it points to is read and written."""

    def __init__(self, path: Path, *, lock_seconds: float = 10.0) -> None:
        self.name = path.name
        self._path = path
        self._lock_seconds = lock_seconds

    def read_bytes(self) -> bytes:
        """Return what the file has; nothing where there is none. Raises CuratedFileError."""
        with self._translate_errors("read"):
            return _read(self._find_real()) or b""

    def change_bytes(self, change: Callable[[bytes], bytes | None]) -> None:
        """Write what `change` makes of the file's bytes; None leaves it. It is called under the lock, and again where
        the file was saved by somebody else meanwhile.

        Raises CuratedFileError, with the file as it was; FileChanged where it is saved again and again; Busy where
        another process has the lock for too long."""
        with self._translate_errors("written"):
            real = self._find_real()
            real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._lock(real):
                for _ in range(_TRIES):
                    former = _read(real)
                    data = change(former or b"")
                    if data is None or self._replace(real, former, data):
                        return
        raise FileChanged(f"{self.name}: is being saved by another program again and again; try again later")

    def _find_real(self) -> Path:
        return Path(os.path.realpath(self._path))

    @contextmanager
    def _translate_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise CuratedFileError(f"{self.name}: cannot be {verb} ({reason})", file=self.name) from None

    @contextmanager
    def _lock(self, real: Path) -> Iterator[None]:
        """The lock is on a file beside: the file itself is replaced by each change, and its lock would be gone."""
        descriptor = os.open(real.parent / f".{real.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + self._lock_seconds
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise Busy(f"{self.name}: another process writes it; try again later") from None
                    time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def _replace(self, real: Path, former: bytes | None, data: bytes) -> bool:
        """Replace the file under the lock. False, and nothing done, where it is not what was read."""
        for left in real.parent.glob(f".{_escape(real.name)}.*.tmp"):  # of a process that was killed
            left.unlink(missing_ok=True)
        draft = real.parent / f".{real.name}.{secrets.token_hex(4)}.tmp"
        try:
            with _open_former(real) as old:
                _write_draft(draft, data, old)
                if _read(real) != former:
                    return False
                draft.replace(real)
                _sync_folder(real.parent)
                self._keep_late_save(real, old, former)
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _keep_late_save(self, real: Path, old: int | None, former: bytes | None) -> None:
        """Keep what an editor has written into the file that was just replaced. Raises FileChanged that says where."""
        if old is None:
            return
        late = os.pread(old, MAX_BYTES + 1, 0)
        if late == former:
            return
        kept = real.parent / f"{real.name}.{secrets.token_hex(4)}.saved"
        _write_draft(kept, late, old)
        raise FileChanged(
            f"{self.name}: was saved while it was written; what was saved is in {kept.name}", kept=str(kept)
        )


def _read(path: Path) -> bytes | None:
    """The bytes of a file, None where there is none. Raises OSError."""
    try:
        # A pipe would make the opening wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CuratedFileError(f"{path.name}: is no file", file=path.name)
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CuratedFileError(f"{path.name}: has more than {MAX_BYTES:,} bytes; shorten it first", file=path.name)
    return data


@contextmanager
def _open_former(path: Path) -> Iterator[int | None]:
    """The file that is going to be replaced, open; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        if not os.fstat(descriptor).st_mode & 0o222:
            raise CuratedFileError(f"{path.name}: is read-only; `chmod u+w` lets it be written", file=path.name)
        yield descriptor
    finally:
        os.close(descriptor)


def _write_draft(draft: Path, data: bytes, old: int | None) -> None:
    """Write a new file to the disk, with the mode and, where this process may, the owner of the old one."""
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if old is not None:
            status = os.fstat(old)
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _escape(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
