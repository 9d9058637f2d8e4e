"""A file that is imported: its rows, and what is told when it cannot be, or not to the end."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from muniment.faces.cli.output import screen
from muniment.memory import codec as wire
from muniment.memory.errors import BadInput, MunimentError

FIELDS = (
    "text",
    "category",
    "kind",
    "importance",
    "event_time",
    "tags",
    "pinned",
    "actor_id",
    "fact",
)  # of a plain row
_ROW = re.compile(r"row (\d+)")
_SHOWN = 10
_NAME = 40  # characters of a field's name that are shown
_LINES = "each line is one object: `jq -c '.[]'` makes lines of a list, and conversations want --format locomo"
_NOTHING = "nothing was imported: mend the file and give the same command again"
_KINDS = {
    b"\x1f\x8b": "compressed: unpack it first, as in `gunzip -c FILE | muniment … -`",
    b"\x28\xb5\x2f\xfd": "compressed: unpack it first, as in `zstd -dc FILE | muniment … -`",
    b"PK\x03\x04": "a ZIP archive: unpack it first",
    b"\xff\xfe": "UTF-16: convert it with `iconv -f UTF-16 -t UTF-8 FILE`",
    b"\xfe\xff": "UTF-16: convert it with `iconv -f UTF-16 -t UTF-8 FILE`",
}


class Source:
    """Where the rows of a file stand, and how far its import is."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.name = "standard input" if file == "-" else file
        self.unread: Counter[str] = Counter()  # fields that no row has
        self._lines: list[int] = []  # of each row
        self._whole = False  # an export: all of it is written at the end, or nothing
        self._written = 0

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
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

    def content(self) -> Any:
        """All of the file as one JSON value. Raises BadInput."""
        with self.opened() as source:
            raw = source.read()
        try:
            return json.loads(self.text(raw))
        except (ValueError, RecursionError) as error:
            way = "; for a file of lines give --format jsonl" if "Extra data" in str(error) else ""
            raise BadInput(f"{self.name}: is no JSON ({_why(error)}){way}") from None

    def text(self, raw: bytes) -> str:
        """All of the file as text. Raises BadInput."""
        return _decoded(raw, self.name, first=True)

    def rows(self, source: IO[bytes]) -> Iterator[Mapping[str, Any]]:
        """The objects of a file of lines, one by one. Raises BadInput after the last."""
        flaws: list[BadInput] = []
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            try:
                row = self._row(line, number)
            except BadInput as error:
                flaws.append(error)
                if number == 1 or len(flaws) > _SHOWN:  # this is no file of lines, and may be of any length
                    break
                continue
            self._note(row, number)
            yield row
        if flaws:
            flaws[0].data["lines"] = [error.data["line"] for error in flaws]
            raise flaws[0]

    def _row(self, line: bytes, number: int) -> Mapping[str, Any]:
        place, way = f"{self.name}, line {number}", f"; {_LINES}" if number == 1 else ""
        try:
            row = json.loads(_decoded(line, place, first=number == 1))
        except BadInput as error:
            raise BadInput(str(error), line=number) from None
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{place}: is no JSON ({_why(error)}){way}", line=number) from None
        if not isinstance(row, dict):
            raise BadInput(f'{place}: {wire.shape(row)} given, an object like {{"text": …}} wanted{way}', line=number)
        return row

    def _note(self, row: Mapping[str, Any], number: int) -> None:
        if not self._lines:
            self._whole = row.get("type") == "space"
        self._lines.append(number)
        if not self._whole:
            self.unread.update(name for name in row if name not in FIELDS and name != "type")

    def moving(self, move: Callable[[int], None]) -> Callable[[int], None]:
        """`move`, with what is written noted here."""

        def tell(count: int) -> None:
            self._written += 0 if self._whole else count
            move(count)

        return tell

    def idle(self, count: int) -> str:
        """That fewer memories came of the lines than there are, in one line; else nothing."""
        lines = 0 if self._whole else len(self._lines)
        if count >= lines:
            return ""
        some = f"{lines - count:,} of {lines:,} lines" if lines > 1 else "the line"
        return f"{some} added nothing: memory knows already what is said, or something later about it"

    def not_read(self) -> str:
        """What the rows had and no memory has, in one line."""
        names = ", ".join(f"{screen.one_line(name)[:_NAME]!r}" for name in list(self.unread)[:_SHOWN])
        more = " …" if len(self.unread) > _SHOWN else ""
        return f"not read: {names}{more}; the fields of a line are {', '.join(FIELDS)}"

    def told(self, error: MunimentError) -> MunimentError:
        """The error, by lines: the engine counts rows."""
        error.data["written"] = self._written
        if not isinstance(error, BadInput):
            return error
        said, data = str(error), dict(error.data)
        if match := _ROW.match(said):
            data.pop("row", None)
            data["lines"] = [self._lines[row - 1] for row in data.pop("rows", [])]
            data["line"] = self._lines[int(match[1]) - 1]
            said = f"{self.name}, line {data['line']}{said[match.end() :]}"
        nothing = f"; {_NOTHING}" if "line" in data else ""
        return type(error)(f"{said}{_besides(data.get('lines', ()))}{nothing}", **data)

    def malformed(self, error: BadInput) -> BadInput:
        """What is wrong with the content, as something wrong with the file."""
        return BadInput(f"{self.name}, {error}; {_NOTHING}", **error.data)

    def state(self) -> str:
        """What is in memory after an end in the middle, and how to go on."""
        if self._whole:
            return "of an export all is imported or nothing; give the same command again"
        if self._written:
            some = f"at least {self._written:,} of its memories are"
            return f"{some} written and stay; give the same command again to go on from there"
        return "it was only just begun; give the same command again, which adds nothing twice"


def _besides(lines: list[int]) -> str:
    """What else is to be mended before the next try."""
    others = lines[1:]
    if not others:
        return ""
    named = ", ".join(map(str, others[:_SHOWN])) + (" …" if len(others) > _SHOWN else "")
    return f"; line {named} is not right either" if len(others) == 1 else f"; lines {named} are not right either"


def _decoded(raw: bytes, place: str, *, first: bool) -> str:
    """The text of what was read. Raises BadInput with the way out."""
    if first and (kind := next((said for start, said in _KINDS.items() if raw.startswith(start)), None)):
        raise BadInput(f"{place}: is {kind}")
    try:
        return raw.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{place}: is not UTF-8; convert it, for example with `iconv -f LATIN1 -t UTF-8 FILE`") from None


def _why(error: Exception) -> str:
    """What is wrong with the JSON, without a word of it."""
    if isinstance(error, json.JSONDecodeError):
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return screen.one_line(f"{error.msg}, {line}column {error.colno}")
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
