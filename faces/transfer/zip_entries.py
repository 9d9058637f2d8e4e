"""The entries of a ZIP archive that somebody gives: those that are harmless to read."""

from __future__ import annotations

import zipfile
from pathlib import PurePosixPath

from muniment.memory.errors import BadInput, TooLarge

_MAX_FILES = 100_000
_MAX_UNPACKED = 16 * 2**30  # bytes of all files of an archive together
_MAX_RATIO = 200  # unpacked to packed size of a file that is large
_LARGE = 64 * 2**20  # bytes from which the ratio counts


def list_entries(path: str, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of an archive. Raises BadInput for a name that leads out of it and for a file that is encrypted,
    TooLarge for more files or bytes than an export has, and for a file that is packed more than any text."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > _MAX_FILES:
        raise TooLarge(f"{path}: has more than {_MAX_FILES:,} files")
    if sum(entry.file_size for entry in entries) > _MAX_UNPACKED:
        raise TooLarge(f"{path}: is larger than {_MAX_UNPACKED // 2**30} GiB unpacked")
    for number, entry in enumerate(entries, 1):
        parts = PurePosixPath(entry.filename.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0]:
            raise BadInput(f"{path}, file {number}: its name leads out of the archive")
        if entry.flag_bits & 1:
            raise BadInput(f"{path}, file {number}: is encrypted; unpack the archive first")
        if entry.file_size > _LARGE and entry.file_size > _MAX_RATIO * max(1, entry.compress_size):
            raise TooLarge(f"{path}, file {number}: is packed more than {_MAX_RATIO} times, as no export is")
    return entries
