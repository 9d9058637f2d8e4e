"""Records of a JSON file, one by one: of a list, of a list below a field, of lines, or the one object that it is."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import ijson

from muniment.faces.importing.sources import SourceFiles
from muniment.memory.errors import BadInput, TooLarge

MAX_RECORD_BYTES = 64 * 2**20  # of one record, such as a conversation
_PROBE_BYTES = 2**18  # of a file whose layout is looked at
_SCALARS = ("string", "number", "boolean", "null")
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
        for prefix, event, value in ijson.parse(io.BytesIO(head), use_float=True, multiple_values=True):
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
    except ijson.JSONError:
        pass  # the beginning ends within a value; what is wrong with it is said when it is read
    return Layout(kind=kind, fields=frozenset(fields), items={key: frozenset(value) for key, value in items.items()})


def read_records(files: SourceFiles, name: str, field: str | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file with their numbers from 1: the items of its list, or of the list in a `field`; else
    each value of the file, which may be of lines.

    Raises BadInput naming the file and the record, TooLarge for a record of more than 64 MiB."""
    with files.open_file(name) as raw:
        metered = _MeteredFile(raw)
        if metered.starts_as_utf16():
            raise BadInput(f"{name}: is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8 FILE`")
        number = 0
        prefix = _choose_prefix(metered, field)
        values = ijson.items(metered, prefix, use_float=True, multiple_values=True)
        while True:
            metered.begin_record()
            try:
                value = next(values)
            except StopIteration:
                return
            except _TooMuchError:
                raise TooLarge(f"{name}, record {number + 1}: is larger than {MAX_RECORD_BYTES // 2**20} MiB") from None
            except (ijson.JSONError, OverflowError, ValueError) as error:
                # Its message quotes the file, which may be a person's text.
                raise BadInput(
                    f"{name}, record {number + 1}: is no JSON, or the file ends before it does "
                    f"(at about byte {metered.read_bytes:,})",
                    record=number + 1,
                ) from error
            number += 1
            yield number, value


def _choose_prefix(metered: _MeteredFile, field: str | None) -> str:
    if field:
        return f"{field}.item"
    return "item" if metered.peek_first() == b"[" else ""


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
