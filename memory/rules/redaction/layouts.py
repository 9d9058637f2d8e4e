"""Reads the layouts in which secrets are pasted: marked-up text, percent-encoding, broken lines, tables and cookies.

A layout becomes a plain text, a `View`, that the other rules read; spans in it are mapped back to the text itself."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.redaction.random_tokens import is_random
from muniment.memory.rules.redaction.secret_names import is_secret_name
from muniment.memory.rules.redaction.values import Shape, classify_value
from muniment.memory.rules.redaction.vocabulary import is_secret_label

Span = tuple[int, int]
_TAG = lazy_compile(r"<[A-Za-z/!][^<>]{0,400}>")
_CELLS = lazy_compile(r"(?:\s{0,40}</?(?:td|th|dt|dd)(?:[ \t\n][^<>]{0,400})?>\s{0,40})+", re.IGNORECASE)
_BLOCK = lazy_compile(
    r"</?(?:tr|p|div|li|ul|ol|br|h[1-6]|table|thead|tbody|dl)(?:[\s/][^<>]{0,400})?/?>", re.IGNORECASE
)
_ENCODED = lazy_compile(r"%(?:25){0,3}([0-9A-Fa-f]{2})|&(?:[a-z]{2,8}|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_IS_ENCODED = lazy_compile(r"%(?:25){0,3}(?:3[dDaA]|22)|&(?:quot|apos|amp|#x?\d{2,4});")
# The end of a line within a token, whose next part stands alone in the next line.
_BREAK = lazy_compile(
    r"(?<=[A-Za-z0-9_+/=.-]{16})[\\=]?\n[ \t>|]{0,8}(?=[A-Za-z_+/=.-]{0,64}[0-9])"
    r"(?=[A-Za-z0-9_+/=.-]{4,200}[ \t]{0,8}(?:\n|\Z))"
)
_CONTINUED = lazy_compile(r"\\\n")
_COOKIE = lazy_compile(r"(?i)(?<![\w-])(?:set-)?cookie2?[ \t]{0,4}[:=][ \t]{0,4}(?=[\"']?[\w.-]{1,64}=)([^\n]{4,4000})")
_COOKIE_PAIR = lazy_compile(r"(?<![\w.-])([\w.-]{1,64})=([^;,\s\"']{3,2000})")
_SESSION = lazy_compile(r"(?i)sess|sid|auth|token|csrf|xsrf|jwt|remember|login|secret")
_LEAST_COOKIE, _LONG_COOKIE = 10, 16
_LABEL = lazy_compile(r"[ \t\"'*_`]*[^\W\d_](?:[^\W]|[ .'/()-]){0,40}[ \t\"'*_`:]*")
_LEAST_CELLS = 2
_GAP, _GAP_MARK = lazy_compile(r"(?<=\S) {2,}(?=\S)"), "  "  # between the columns of a console
_QUOTED_CELL = lazy_compile(r'(?<![^,;|\t])"[^"\n]{0,400}"(?![^,;|\t\r])')  # may hold a delimiter
_LONGEST_LINE = 400  # of a console
_DELIMITERS = ("|", "\t", ";", ",", _GAP_MARK)


@dataclass(frozen=True)
class View:
    """A text made from another by replacing parts of it, and where its parts stand in the other."""

    text: str
    _starts: tuple[int, ...]  # of each part, in the view
    _sources: tuple[int, ...]  # of each part, in the other text
    _ends: tuple[int, ...]

    def map_span(self, span: Span) -> Span:
        """Where a span of the view stands in the text."""
        return self._map(span[0]), self._map(span[1] - 1) + 1 if span[1] > span[0] else self._map(span[1])

    def _map(self, place: int) -> int:
        part = bisect_right(self._starts, place) - 1
        return min(self._sources[part] + place - self._starts[part], max(self._ends[part] - 1, self._sources[part]))


def list_views(text: str) -> Iterator[View]:
    """The plain texts of the layouts that a text has, none for most texts."""
    if "<" in text and _TAG.search(text):
        plain = _TAG.sub(_blank_tag, _BLOCK.sub(_break_line, _CELLS.sub(_mark_cell, text)))
        yield View(plain, (0,), (0,), (len(text) + 1,))
    if _IS_ENCODED.search(text):
        yield _replace_parts(text, _ENCODED, _decode)
    if "\\\n" in text:  # a line of a shell that goes on in the next
        yield _replace_parts(text, _CONTINUED, lambda _: "")
    if _BREAK.search(text):
        yield _replace_parts(text, _BREAK, lambda _: "")


def find_cells(text: str) -> Iterator[Span]:
    """The spans of the values below the head of a column that names a secret. Linear in the length of the text."""
    heads: dict[str, tuple[int, frozenset[int]]] = {}
    start = 0
    for line in text.split("\n"):
        for delimiter in _DELIMITERS:
            if delimiter not in line or (delimiter == _GAP_MARK and len(line) > _LONGEST_LINE):
                if line.strip() or delimiter != "|":  # rows of HTML may have blank lines between them
                    heads.pop(delimiter, None)
                continue
            is_wiki_head = delimiter == "|" and line.startswith("||")
            row = _GAP.sub(_mark_cell, line) if delimiter == _GAP_MARK else line
            if '"' in line and not is_wiki_head:
                row = _hide_delimiters(row, delimiter)
            cells = row.split("||" if is_wiki_head else "|" if delimiter == _GAP_MARK else delimiter)
            size, columns = heads.get(delimiter, (0, frozenset()))
            if len(cells) == size:
                yield from _read_row(cells, start, columns)
            elif found := _find_secret_columns(cells):
                heads[delimiter] = len(cells), found
        start += len(line) + 1


def _hide_delimiters(line: str, delimiter: str) -> str:
    """A line in which the delimiters within quoted cells are none."""
    return _QUOTED_CELL.sub(lambda match: match[0].replace(delimiter, "\0" * len(delimiter)), line)


def find_cookies(text: str) -> Iterator[Span]:
    """The spans of the values of cookies that keep a session; a cookie such as `theme` stays."""
    for header in _COOKIE.finditer(text):
        for pair in _COOKIE_PAIR.finditer(text, *header.span(1)):
            name, value = pair.groups()
            is_named = is_secret_name(name) or _SESSION.search(name) is not None
            if (is_named and (len(value) >= _LEAST_COOKIE or any(map(str.isdigit, value)))) or (
                len(value) >= _LONG_COOKIE and is_random(value)
            ):
                yield pair.span(2)


def _find_secret_columns(cells: list[str]) -> frozenset[int]:
    """The columns that are named after a secret, where all cells are labels."""
    labels = [cell for cell in cells if cell.strip()]
    if len(labels) < _LEAST_CELLS or not all(map(_LABEL.fullmatch, labels)):
        return frozenset()
    return frozenset(
        n for n, cell in enumerate(cells) if is_secret_label(cell) or is_secret_name(cell.strip(" \t\"'*`"))
    )


def _read_row(cells: list[str], start: int, columns: frozenset[int]) -> Iterator[Span]:
    place = start
    for n, cell in enumerate(cells):
        value = cell.strip(" \t`\"'*")
        if n in columns and " " not in value and classify_value(value) >= Shape.NUMBER:
            begin = place + cell.index(value)
            yield begin, begin + len(value)
        place += len(cell) + 1


def _replace_parts(text: str, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> View:
    pieces: list[str] = []
    starts, sources, ends = [], [], []
    size = done = 0
    for match in pattern.finditer(text):
        for piece, source, end in ((text[done : match.start()], done, match.start()), (replace(match), *match.span())):
            if piece:
                pieces.append(piece)
                starts.append(size)
                sources.append(source)
                ends.append(end)
                size += len(piece)
        done = match.end()
    return View("".join([*pieces, text[done:]]), (*starts, size), (*sources, done), (*ends, len(text) + 1))


def _decode(match: re.Match[str]) -> str:
    if match[1] is None:
        return unescape(match[0])
    char = chr(int(match[1], 16))
    return char if char.isascii() and char.isprintable() else match[0]


def _mark_cell(match: re.Match[str]) -> str:
    return "|".ljust(len(match[0]))


def _break_line(match: re.Match[str]) -> str:
    return "\n".rjust(len(match[0]))


def _blank_tag(match: re.Match[str]) -> str:
    return " " * len(match[0])
