"""Where the files of an import are: one file, a folder or a ZIP archive, each read as a stream."""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from muniment.faces.transfer.zip_entries import list_entries
from muniment.memory.errors import BadInput, TooLarge

STDIN_NAME = "standard input"
_MAX_FILES = 100_000
_ZIP_START = b"PK\x03\x04"
_HIDDEN = re.compile(r"(?:^|/)(?:\.|__MACOSX/)")  # what a system or an editor keeps for itself
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files of an import by their names, `/` between folders; `open_file` opens one of them as bytes."""

    title: str  # what the user named
    names: tuple[str, ...]
    open_file: Callable[[str], AbstractContextManager[IO[bytes]]]

    def is_empty(self) -> bool:
        """Return whether there is no file, or one alone that has nothing in it. Raises BadInput."""
        if len(self.names) > 1:
            return False
        for name in self.names:
            with self.open_file(name) as file:
                return not file.read(1)
        return True


@contextmanager
def open_source(path: str) -> Iterator[SourceFiles]:
    """Open a file, a folder, an archive, or `-` for standard input. Raises BadInput, TooLarge."""
    try:
        with _open_path(path) as files:
            yield files
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or type(error).__name__})") from error


@contextmanager
def _open_path(path: str) -> Iterator[SourceFiles]:
    if path == "-":
        # It is read more than once; the file has no name and ends with the process.
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield _describe_stream(copy)
        return
    try:
        place = Path(path)
        is_folder = place.is_dir()
    except ValueError as error:
        raise BadInput(f"{path!r}: is no path") from error
    if is_folder:
        yield _list_folder(place)
        return
    with place.open("rb") as file:
        is_archive = file.read(4) == _ZIP_START
    if not is_archive:
        yield SourceFiles(title=path, names=(place.name,), open_file=lambda _: place.open("rb"))
        return
    try:
        with zipfile.ZipFile(place) as archive:
            yield _list_archive(path, archive)
    except zipfile.BadZipFile as error:
        raise BadInput(f"{path}: is no ZIP archive that can be read") from error


def _describe_stream(copy: IO[bytes]) -> SourceFiles:
    @contextmanager
    def open_file(_: str) -> Iterator[IO[bytes]]:
        copy.seek(0)
        yield copy

    return SourceFiles(title=STDIN_NAME, names=(STDIN_NAME,), open_file=open_file)


def _list_folder(folder: Path) -> SourceFiles:
    """Return the files of a folder. A link is not followed: it may lead out of the folder."""
    names: list[str] = []
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith(".") or (Path(here) / name).is_symlink():
                continue
            names.append((Path(here) / name).relative_to(folder).as_posix())
            if len(names) > _MAX_FILES:
                raise TooLarge(f"{folder}: has more than {_MAX_FILES:,} files")
    return SourceFiles(title=str(folder), names=tuple(names), open_file=lambda name: (folder / name).open("rb"))


def _list_archive(path: str, archive: zipfile.ZipFile) -> SourceFiles:
    """Return the files of an archive; nothing is unpacked to disk. Raises BadInput, TooLarge for what is no harmless
    archive."""
    kept = {
        entry.filename: entry
        for entry in list_entries(path, archive)
        if not _HIDDEN.search(entry.filename) and not stat.S_ISLNK(entry.external_attr >> 16)
    }

    @contextmanager
    def open_file(name: str) -> Iterator[IO[bytes]]:
        try:
            with archive.open(kept[name]) as file:
                yield file
        except _ZIP_ERRORS as error:
            raise BadInput(f"{path}, {name}: is damaged ({type(error).__name__})") from error

    return SourceFiles(title=path, names=tuple(sorted(kept)), open_file=open_file)


def read_lines(files: SourceFiles, name: str, most: int) -> Iterator[str]:
    """Yield the lines of a file of text with their ends. Raises TooLarge for one of more than `most` characters,
    BadInput for what is no UTF-8."""
    with files.open_file(name) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        try:
            while line := text.readline(most + 1):
                if len(line) > most:
                    raise TooLarge(f"{name}: has a line of more than {most:,} characters")
                yield line
        except UnicodeDecodeError:
            raise BadInput(f"{name}: is no text in UTF-8") from None
        finally:
            text.detach()  # whoever opened the file closes it
