"""The files that are taken in as resources: what of a folder is read, by which URI, and their bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from muniment.memory.domain.layers.resources import DocumentKind, find_document_kind
from muniment.memory.errors import BadInput, TooLarge

_SCHEME = "resource:"
_READABLE = "/:@!$&'()*+,;=~"  # of a URI, as it is shown
_ASCII = 0x7F
_MAX_FILES = 100_000  # of a folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFile:
    """A file to take in: its place, its name as it is shown, its URI, and how it is read."""

    path: Path
    name: str
    uri: str
    kind: DocumentKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFolder:
    """The files of a folder in order, how many are of no kind that is read, the links that are not followed, and what
    the URIs of the files begin with."""

    files: tuple[ResourceFile, ...]
    unread: int = 0
    links: tuple[str, ...] = ()
    prefix: str = ""


def find_files(given: str, uri: str | None) -> ResourceFile | ResourceFolder:
    """Return the file, or what is read of the folder and the folders in it: neither hidden files nor links.

    Without a `uri` a file's is `resource:` and its name, in a folder with the folder's name before it: no address says
    where it lies on this machine. Raises BadInput for what is neither, and a file of no kind that is read."""
    path = Path(given)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise BadInput(f"{given}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if stat.S_ISDIR(mode):
        return _find_folder(path, uri)
    if not stat.S_ISREG(mode):
        raise BadInput(f"{given}: is neither a file nor a folder")
    try:
        kind = find_document_kind(path.name)
    except BadInput as error:
        raise BadInput(f"{given}: {error}") from None
    return ResourceFile(path=path, name=given, uri=uri or _SCHEME + _quote(path.name), kind=kind)


def _find_folder(folder: Path, uri: str | None) -> ResourceFolder:
    base = uri.rstrip("/") if uri else _SCHEME + _quote(folder.resolve().name or "root")
    files: list[ResourceFile] = []
    links: list[str] = []
    unread = 0
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            links.append(name)
            continue
        try:
            kind = find_document_kind(name)
        except BadInput:
            unread += 1
            continue
        files.append(ResourceFile(path=path, name=name, uri=f"{base}/{_quote(name)}", kind=kind))
        if len(files) > _MAX_FILES:
            raise TooLarge(f"{folder}: has more than {_MAX_FILES:,} files; take in its folders one by one")
    return ResourceFolder(files=tuple(files), unread=unread, links=tuple(links), prefix=f"{base}/")


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those in it in order, without hidden ones, and links to folders as files."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in sorted([*names, *linked]):
            if not name.startswith("."):
                yield Path(parent) / name


def read_content(file: ResourceFile, most: int) -> bytes:
    """Return the bytes of a file that has no more than `most`. Raises BadInput for a link or a device that has taken
    its place in a folder, and for a file that cannot be read; TooLarge."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if file.name != str(file.path):
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(file.path, flags), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise BadInput("is no file")
            content = opened.read(most + 1)
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})") from error
    if len(content) > most:
        raise TooLarge(f"has more than {most:,} bytes (resources.file_bytes)")
    return content


def _quote(name: str) -> str:
    """A relative name as part of a URI: letters of any writing stay, blanks and reserved characters are escaped."""
    return "".join(map(_quote_char, name))


def _quote_char(char: str) -> str:
    is_letter = ord(char) > _ASCII and char.isprintable()
    return char if is_letter else quote(char.encode("utf-8", "replace"), _READABLE)
