"""A file that is imported: its rows, its errors by line, and how far the import came."""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.domain.plan import ImportReport
from muniment.memory.errors import BadInput, MunimentError

# The fields of a plain row.
FIELDS = ("text", "category", "kind", "importance", "event_time", "tags", "aliases", "pinned", "actor_id", "fact")
_ROW_NUMBER = re.compile(r"row (\d+)")
_MAX_LISTED = 10
_MAX_NAME_CHARS = 40  # characters of a field's name that are shown
_LINES_HINT = "each line is one object: `jq -c '.[]'` makes lines of a list, and conversations want --format locomo"
_RETRY_HINT = "nothing was imported: mend the file and give the same command again"
_FILE_SIGNATURES = {
    b"\x1f\x8b": "compressed: unpack it first, as in `gunzip -c FILE | muniment … -`",
    b"\x28\xb5\x2f\xfd": "compressed: unpack it first, as in `zstd -dc FILE | muniment … -`",
    b"PK\x03\x04": "a ZIP archive: unpack it first",
    b"\xff\xfe": "UTF-16: convert it with `iconv -f UTF-16 -t UTF-8 FILE`",
    b"\xfe\xff": "UTF-16: convert it with `iconv -f UTF-16 -t UTF-8 FILE`",
}


class ImportSource:
    """The rows of a file with their lines, and how far its import came."""

    def __init__(self, file: str, fields: Sequence[str] = FIELDS) -> None:
        self.file = file
        self.fields = fields  # of a row
        self.name = "standard input" if file == "-" else file
        self.unknown_fields: Counter[str] = Counter()  # fields that no row has
        self.left_files: dict[str, int] = {}  # files of an archive whose rows no import brings back, with their number
        self._line_numbers = array("Q")  # of each row
        self._is_export = False  # an export: all of it is written at the end, or nothing
        self._written = 0

    @contextmanager
    def open_file(self) -> Iterator[IO[bytes]]:
        """The file. Raises BadInput when it cannot be read."""
        if self.file == "-":
            yield sys.stdin.buffer
            return
        try:
            source = Path(self.file).open("rb")  # noqa: SIM115 - closed below; an error while it is used is not this one
        except (OSError, ValueError) as error:
            raise BadInput(f"{self.name}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
        with source:
            if Path(self.file).is_dir():
                raise BadInput(f"{self.name}: is a directory; a file is wanted")
            yield source

    def read_json(self) -> Any:
        """All of the file as one JSON value. Raises BadInput."""
        with self.open_file() as source:
            raw = source.read()
        try:
            return json.loads(self.decode_text(raw))
        except (ValueError, RecursionError) as error:
            way = "; for a file of lines give --format jsonl" if "Extra data" in str(error) else ""
            raise BadInput(f"{self.name}: is no JSON ({_explain_json_error(error)}){way}") from None

    def decode_text(self, raw: bytes) -> str:
        """All of the file as text. Raises BadInput."""
        return _decode_bytes(raw, self.name, first=True)

    def read_rows(self, source: IO[bytes]) -> Iterator[Mapping[str, Any]]:
        """The objects of a file of lines, one by one. Raises BadInput after the last."""
        errors: list[BadInput] = []
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            try:
                row = self._parse_row(line, number)
            except BadInput as error:
                errors.append(error)
                if number == 1 or len(errors) > _MAX_LISTED:  # no file of lines, which may be of any length
                    break
                continue
            self._note_row(row, number)
            yield row
        if errors:
            errors[0].data["lines"] = [error.data["line"] for error in errors]
            raise errors[0]

    def _parse_row(self, line: bytes, number: int) -> Mapping[str, Any]:
        place, way = f"{self.name}, line {number}", f"; {_LINES_HINT}" if number == 1 else ""
        try:
            row = json.loads(_decode_bytes(line, place, first=number == 1))
        except BadInput as error:
            raise BadInput(str(error), line=number) from None
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{place}: is no JSON ({_explain_json_error(error)}){way}", line=number) from None
        if not isinstance(row, dict):
            raise BadInput(
                f'{place}: {codec.describe_shape(row)} given, an object like {{"text": …}} wanted{way}', line=number
            )
        return row

    def _note_row(self, row: Mapping[str, Any], number: int) -> None:
        if not self._line_numbers:
            self._is_export = row.get("type") == "space"
        self._line_numbers.append(number)
        if not self._is_export:
            self.unknown_fields.update(name for name in row if name not in self.fields and name != "type")

    def count_written(self, on_progress: Callable[[int], None]) -> Callable[[int], None]:
        """`on_progress`, which also counts here what is written."""

        def advance(count: int) -> None:
            self._written += 0 if self._is_export else count
            on_progress(count)

        return advance

    def describe_report(self, report: ImportReport) -> list[str]:
        """Which lines were merged and which added nothing, a text each; none where every line is a new memory."""
        outcomes = (
            (report.merged, "changed a memory that there was already"),
            (report.unused, "added nothing: memory knows already what is said, or something later about it"),
        )
        return [self._describe_lines(rows, outcome) for rows, outcome in outcomes if rows]

    def _describe_lines(self, rows: Sequence[int], outcome: str) -> str:
        count, lines = len(self._line_numbers), self.find_lines(rows)
        if count == 1:
            return f"the line {outcome}"
        subject = f"{len(lines):,} of {count:,} lines"
        return f"{subject} {outcome} ({_list_lines(lines)})"

    def find_lines(self, rows: Sequence[int]) -> list[int]:
        """Return the numbers of the file's lines of these rows."""
        return [self._line_numbers[row - 1] for row in rows]

    def describe_unknown_fields(self) -> str:
        """The fields of the rows that were not read, in one line."""
        names = ", ".join(
            f"{screen.join_lines(name)[:_MAX_NAME_CHARS]!r}" for name in list(self.unknown_fields)[:_MAX_LISTED]
        )
        more = " …" if len(self.unknown_fields) > _MAX_LISTED else ""
        return f"not read: {names}{more}; the fields of a line are {', '.join(self.fields)}"

    def add_line_numbers(self, error: MunimentError) -> MunimentError:
        """The error with the file's line numbers in place of the engine's row numbers."""
        error.data["written"] = self._written
        if not isinstance(error, BadInput):
            return error
        text, data = str(error), dict(error.data)
        if match := _ROW_NUMBER.match(text):
            data.pop("row", None)
            data["lines"] = self.find_lines(data.pop("rows", []))
            data["line"] = self._line_numbers[int(match[1]) - 1]
            text = f"{self.name}, line {data['line']}{text[match.end() :]}"
        hint = f"; {_RETRY_HINT}" if "line" in data else ""
        return type(error)(f"{text}{_list_other_lines(data.get('lines', ()))}{hint}", **data)

    def add_file_name(self, error: BadInput) -> BadInput:
        """An error of the content with the name of the file."""
        return BadInput(f"{self.name}, {error}; {_RETRY_HINT}", **error.data)

    def describe_progress(self) -> str:
        """What an interrupted import has written, and how to go on."""
        if self._is_export:
            return "of an export all is imported or nothing; give the same command again"
        if self._written:
            count = f"at least {self._written:,} of its memories"
            return f"{count} are written and stay; give the same command again to go on from there"
        return "it was only just begun; give the same command again, which adds nothing twice"


def _list_other_lines(lines: list[int]) -> str:
    """The other lines with errors, as the end of a sentence."""
    others = lines[1:]
    if not others:
        return ""
    return f"; {_list_lines(others)} {'is' if len(others) == 1 else 'are'} not right either"


def _list_lines(lines: Sequence[int]) -> str:
    numbers = ", ".join(map(str, lines[:_MAX_LISTED])) + (" …" if len(lines) > _MAX_LISTED else "")
    return f"line{'s' * (len(lines) > 1)} {numbers}"


def _decode_bytes(raw: bytes, place: str, *, first: bool) -> str:
    """The bytes as text. Raises BadInput with the way out."""
    if first and (
        kind := next((description for start, description in _FILE_SIGNATURES.items() if raw.startswith(start)), None)
    ):
        raise BadInput(f"{place}: is {kind}")
    try:
        return raw.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{place}: is not UTF-8; convert it, for example with `iconv -f LATIN1 -t UTF-8 FILE`") from None


def _explain_json_error(error: Exception) -> str:
    """The error of the JSON, without a part of its text."""
    if isinstance(error, json.JSONDecodeError):
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return screen.join_lines(f"{error.msg}, {line}column {error.colno}")
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
