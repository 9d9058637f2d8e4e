"""All of a user in one ZIP file, with a list of what is in it: names, media types, sizes and checksums.

`export.jsonl` restores the memory. `records/` has a file of lines for each other table, `threads/` the last state of
each thread, `memories.md` what is known for a person to read. `manifest.json` is the list, and the last member."""

from __future__ import annotations

import asyncio
import hashlib
import json
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from muniment import __version__
from muniment.faces.transfer.files import OnProgress
from muniment.faces.transfer.formats import MEDIA_TYPES, ExportFormat, encode_line, load_schema, stream_format
from muniment.faces.transfer.zip_entries import list_entries
from muniment.memory.client import Memory
from muniment.memory.domain.layers.person import PersonRow
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, MunimentError

ARCHIVE_FORMAT = "muniment-archive/1"
MANIFEST = "manifest.json"
EXPORT = "export.jsonl"
SCHEMA = "muniment-export-1.schema.json"
_TELLING = 2  # of these names that say what an archive is
_LINES = MEDIA_TYPES[ExportFormat.jsonl]
_CHUNK = 2**20  # bytes that are read or compressed at once
_MAX_MANIFEST = 2**24  # bytes
_HELD_ROWS = 200  # that are compressed at once


@dataclass(slots=True)
class ArchiveFile:
    """A file of an archive: its name, media type, bytes, the number of its rows where it has rows, and its checksum."""

    name: str
    media_type: str
    size: int = 0
    rows: int | None = None
    digest: Any = field(default_factory=hashlib.sha256, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return it as a line of the manifest."""
        told = {"name": self.name, "media_type": self.media_type, "bytes": self.size, "sha256": self.digest.hexdigest()}
        return told if self.rows is None else told | {"rows": self.rows}


class ArchiveWriter:
    """Writes the files of an archive one after another, in memory that does not grow with them."""

    def __init__(self, file: IO[bytes], at: datetime, on_progress: OnProgress | None = None) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._at, self._on_progress = at, on_progress
        self._files: list[ArchiveFile] = []

    async def add_rows(self, rows: AsyncIterator[PersonRow]) -> None:
        """Add the files of a stream of rows: one for each part, which come one after another."""
        part: str | None = None
        held: list[bytes] = []
        target: IO[bytes] | None = None
        try:
            async for each in rows:
                if each.part != part:
                    await self._close_member(target, held)
                    part = each.part
                    name = EXPORT if part == "export" else f"records/{part}.jsonl"
                    target = self._open_member(ArchiveFile(name, _LINES, rows=0))
                held.append(encode_line(each.row))
                if len(held) >= _HELD_ROWS and target is not None:
                    await asyncio.to_thread(self._write_held, target, held)
        finally:
            await self._close_member(target, held)

    async def add_stream(self, name: str, media_type: str, pieces: AsyncIterator[bytes]) -> None:
        """Add a file of pieces of bytes; of a file of lines each is a row."""
        target = self._open_member(ArchiveFile(name, media_type, rows=0 if media_type == _LINES else None))
        held: list[bytes] = []
        try:
            async for piece in pieces:
                held.append(piece)
                if len(held) >= _HELD_ROWS:
                    await asyncio.to_thread(self._write_held, target, held)
        finally:
            await self._close_member(target, held)

    def add_file(self, name: str, media_type: str, content: bytes) -> None:
        """Add a small file."""
        target = self._open_member(ArchiveFile(name, media_type))
        self._write_held(target, [content])
        target.close()

    def finish(self, about: Mapping[str, Any]) -> list[ArchiveFile]:
        """Add the manifest, end the archive, and return its files."""
        files = list(self._files)
        manifest = {
            "format": ARCHIVE_FORMAT,
            "muniment": __version__,
            "created_at": self._at.isoformat(),
            **about,
            "files": [each.to_json() for each in files],
        }
        self.add_file(MANIFEST, "application/json", json.dumps(manifest, ensure_ascii=False, indent=2).encode())
        self._zip.close()
        return files

    def _open_member(self, file: ArchiveFile) -> IO[bytes]:
        self._files.append(file)
        info = zipfile.ZipInfo(file.name, self._at.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return self._zip.open(info, "w", force_zip64=True)

    async def _close_member(self, target: IO[bytes] | None, held: list[bytes]) -> None:
        if target is not None:
            await asyncio.to_thread(self._write_held, target, held)
            target.close()

    def _write_held(self, target: IO[bytes], held: list[bytes]) -> None:
        file, content = self._files[-1], b"".join(held)
        target.write(content)
        file.digest.update(content)
        file.size += len(content)
        if file.rows is not None:
            file.rows += len(held)
        if self._on_progress:
            self._on_progress(len(held))
        held.clear()


async def write_archive(
    memory: Memory,
    scope: Scope,
    file: IO[bytes],
    threads: AsyncIterator[bytes],
    on_progress: OnProgress | None = None,
) -> list[ArchiveFile]:
    """Write all of a user as an archive and return its files. `threads` are the last states of the threads, a line
    each; `on_progress` gets numbers of rows. Raises StoreError."""
    writer = ArchiveWriter(file, memory.now(), on_progress)
    await writer.add_rows(memory.personal_data.stream_archive(scope))
    await writer.add_stream("threads.jsonl", _LINES, threads)
    markdown = ExportFormat.markdown
    await writer.add_stream("memories.md", MEDIA_TYPES[markdown], stream_format(memory, scope, markdown))
    writer.add_file(SCHEMA, "application/schema+json", load_schema())
    return writer.finish({"user": scope.owner, "tenant": scope.tenant})


def is_archive(path: Path) -> bool:
    """Return whether a file looks like an archive of this program, by the names in it, also where one is missing."""
    try:
        with zipfile.ZipFile(path) as archive:
            return len({MANIFEST, EXPORT, SCHEMA}.intersection(archive.namelist())) >= _TELLING
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False


def check_archive(path: Path) -> list[dict[str, Any]]:
    """Return the files of an archive as its manifest has them, after each was read and compared with its checksum.

    Raises BadInput for what is no archive, and for a file that is missing, was added or is another one, by its name;
    BadInput and TooLarge for an archive that is harmful to read."""
    with _open_zip(path) as archive:
        return _check_files(archive, path)


def _check_files(archive: zipfile.ZipFile, path: Path) -> list[dict[str, Any]]:
    entries = list_entries(str(path), archive)
    files = _read_manifest(archive, path)
    listed = [str(each["name"]) for each in files]
    present = [entry.filename for entry in entries if entry.filename != MANIFEST]
    for name in sorted({*listed, *present}):
        if listed.count(name) != 1 or present.count(name) != 1:
            problem = "is missing" if name not in present else "is not in its list" if name not in listed else "twice"
            raise BadInput(f"{path}: {name}: {problem}; take an archive as it was written", file=name)
    for each in files:
        _check_file(archive, path, each)
    return files


@contextmanager
def open_export(path: Path) -> Iterator[tuple[IO[bytes], list[dict[str, Any]]]]:
    """Check an archive, and open the export in it for reading its lines, with the files of its manifest. Raises what
    `check_archive` raises."""
    with _open_zip(path) as archive:
        files = _check_files(archive, path)
        if EXPORT not in archive.namelist():
            raise BadInput(f"{path}: {EXPORT}: is missing; take an archive as it was written", file=EXPORT)
        with archive.open(EXPORT) as export:
            yield export, files


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except MunimentError:
        raise
    except (OSError, zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is no whole ZIP archive"
        raise BadInput(f"{path}: cannot be read as an archive ({reason})") from error


def _read_manifest(archive: zipfile.ZipFile, path: Path) -> list[dict[str, Any]]:
    names = archive.namelist()
    if MANIFEST not in names or archive.getinfo(MANIFEST).file_size > _MAX_MANIFEST:
        raise BadInput(f"{path}: has no {MANIFEST} that could be read: it is no archive of `muniment export --archive`")
    try:
        manifest = json.loads(archive.read(MANIFEST))
        files: list[dict[str, Any]] = manifest["files"]
        layout, complete = manifest["format"], all(map(_is_complete, files))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        layout, complete, files = None, False, []
    if layout != ARCHIVE_FORMAT or not complete:
        raise BadInput(f"{path}: {MANIFEST}: format: {ARCHIVE_FORMAT!r} wanted, with the list of the files")
    return files


def _is_complete(told: Mapping[str, Any]) -> bool:
    """Whether a file of a manifest has its name, its size and its checksum, and no wrong number of rows."""
    rows = told.get("rows")
    return (
        isinstance(told["name"], str)
        and isinstance(told["sha256"], str)
        and isinstance(told["bytes"], int)
        and (rows is None or isinstance(rows, int))
    )


def _check_file(archive: zipfile.ZipFile, path: Path, told: Mapping[str, Any]) -> None:
    digest, size = hashlib.sha256(), 0
    with archive.open(told["name"]) as member:
        # No more than was told: a small archive may hold very much.
        while size <= told["bytes"] and (chunk := member.read(_CHUNK)):
            digest.update(chunk)
            size += len(chunk)
    if size != told["bytes"] or digest.hexdigest() != told["sha256"]:
        raise BadInput(f"{path}: {told['name']}: is not what was written; its checksum differs", file=told["name"])
