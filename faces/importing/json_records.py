"""Records of a JSON file, one by one: of a list, of a list below a field, of lines, or the one object that it is."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import ijson
from ijson.common import ObjectBuilder

from muniment.faces.importing.sources import SourceFiles
from muniment.memory.errors import BadInput, TooLarge

MAX_RECORD_BYTES = 64 * 2**20  # of one record, such as a conversation
_MAX_DEPTH = 256  # values within values: the time to read deeper ones grows with their square
_BUFFER = 2**13  # bytes whose values are taken apart together, before their depth is known
_PROBE_BYTES = 2**18  # of a file whose layout is looked at
_STARTS = ("start_map", "start_array")
_ENDS = ("end_map", "end_array")
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the beginning of a JSON file shows: whether it is a list, an object or lines, the fields of the object, and
    for each list (`""` for the file itself) the fields of its first object."""

    kind: str  # list, object or other
    fields: frozenset[str] = frozenset()
    items: Mapping[str, frozenset[str]] | None = None

    def find_fields(self, name: str = "") -> frozenset[str]:
        """Return the fields of the first object of a list: that of a field, or of the file."""
        return (self.items or {}).get(name, frozenset())


def probe_layout(files: SourceFiles, name: str) -> Layout:
    """Return the layout of a file by its first bytes, `other` for what is no JSON."""
    with files.open_file(name) as file:
        head = file.read(_PROBE_BYTES).removeprefix(_BOM)
    fields: set[str] = set()
    items: dict[str, set[str]] = {}
    kind = "other"
    try:
        for prefix, event, value in _parse_events(io.BytesIO(head)):
            if kind == "other":
                kind = {"start_array": "list", "start_map": "object"}.get(event, "other")
                if kind == "other":
                    break
            if event != "map_key":
                continue
            if prefix == "":
                fields.add(value)
            elif prefix == "item":
                items.setdefault("", set()).add(value)
            elif prefix.endswith(".item") and prefix.count(".") == 1:
                items.setdefault(prefix.removesuffix(".item"), set()).add(value)
    except (ijson.JSONError, _WrongShapeError):
        pass  # the beginning ends within a value; what is wrong with it is said when it is read
    return Layout(kind=kind, fields=frozenset(fields), items={key: frozenset(value) for key, value in items.items()})


def read_records(files: SourceFiles, name: str, field: str | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file with their numbers from 1: the items of its list, or of the list in a `field`; else
    each value of the file, which may be of lines.

    Raises BadInput naming the file and the record, TooLarge for a record of more than 64 MiB."""
    with _open_metered(files, name) as metered:
        path = f"{field}.item" if field else "item" if metered.peek_first() == b"[" else ""
        yield from enumerate((value for _, value in _read_values(metered, path)), 1)


def read_parts(files: SourceFiles, name: str, path: str, holder: str) -> Iterator[tuple[int, Any]]:
    """Yield the values at a path, such as `agents.item.messages.item`, each with the number from 1 of the object at the
    path `holder`, such as `agents.item`, that it is part of. So a holder may be of any size.

    Raises BadInput naming the file, TooLarge for a value of more than 64 MiB."""
    with _open_metered(files, name) as metered:
        yield from _read_values(metered, path, holder)


@contextmanager
def _open_metered(files: SourceFiles, name: str) -> Iterator[_MeteredFile]:
    """Open a file, and name it and the record in what is raised while it is read."""
    with files.open_file(name) as raw:
        metered = _MeteredFile(raw)
        if metered.starts_as_utf16():
            raise BadInput(f"{name}: is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8 FILE`")
        try:
            yield metered
        except _TooMuchError:
            raise TooLarge(
                f"{name}, record {metered.records + 1}: is larger than {MAX_RECORD_BYTES // 2**20} MiB"
            ) from None
        except _WrongShapeError as error:
            raise BadInput(f"{name}, record {metered.records + 1}: {error}", record=metered.records + 1) from None
        except (ijson.JSONError, OverflowError, UnicodeError) as error:
            # Its message quotes the file, which may be a person's text.
            raise BadInput(
                f"{name}, record {metered.records + 1}: is no JSON, or the file ends before it does "
                f"(at about byte {metered.read_bytes:,})",
                record=metered.records + 1,
            ) from error


def _read_values(metered: _MeteredFile, path: str, holder: str | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the values at a path, each with the number of its holder. What lies beside them is not kept."""
    builder: ObjectBuilder | None = None
    open_values = number = 0
    for prefix, event, value in _parse_events(metered):
        if builder is None:
            metered.begin_record()
            number += prefix == holder and event == "start_map"
            if prefix != path or event == "map_key" or event in _ENDS:
                _check_shape(prefix, event, path, holder)
                continue
            builder = ObjectBuilder()
        builder.event(event, value)
        open_values += (event in _STARTS) - (event in _ENDS)
        if open_values == 0:
            yield number, builder.value
            metered.records += 1
            builder = None


def _check_shape(prefix: str, event: str, path: str, holder: str | None) -> None:
    """Raise _WrongShapeError where a list of the path is none, or what holds it is no object."""
    if f"{prefix}.item" == path and event not in ("start_array", "end_array", "null"):
        raise _WrongShapeError(f"field {prefix.rpartition('.')[2]!r}: a list wanted")
    if prefix == holder and event not in ("start_map", "end_map", "map_key"):
        raise _WrongShapeError("an object wanted")


def _parse_events(file: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the events of JSON. Raises _WrongShapeError for what is nested very deeply."""
    depth = 0
    for each in ijson.parse(file, buf_size=_BUFFER, use_float=True, multiple_values=True):
        depth += (each[1] in _STARTS) - (each[1] in _ENDS)
        if depth > _MAX_DEPTH:
            raise _WrongShapeError(f"is nested more than {_MAX_DEPTH} deep")
        yield each


class _WrongShapeError(Exception):
    """A value has another shape than its place wants; the message says which, and quotes nothing."""


class _TooMuchError(Exception):
    """A record is larger than the limit."""


class _MeteredFile:
    """A file that is read in pieces, without the mark of its encoding, and how much of it one record took."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._head = file.read(4096)
        if not self.starts_as_utf16():
            self._head = self._head.removeprefix(_BOM)
        self.read_bytes = 0
        self.records = 0  # that were read whole
        self._since = 0

    def starts_as_utf16(self) -> bool:
        """Whether the file begins with the mark of UTF-16."""
        return self._head.startswith(_UTF16)

    def peek_first(self) -> bytes:
        """Return the first byte that is no blank."""
        return self._head.lstrip()[:1]

    def begin_record(self) -> None:
        """Count from here for the next record."""
        self._since = self.read_bytes

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises _TooMuchError."""
        if self.read_bytes - self._since > MAX_RECORD_BYTES:
            raise _TooMuchError
        piece, self._head = (self._head, b"") if self._head and size != 0 else (b"", self._head)
        piece = piece or self._file.read(min(size, 65_536) if size >= 0 else 65_536)
        self.read_bytes += len(piece)
        return piece
