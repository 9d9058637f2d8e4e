"""JSON by its raw text: where the values of an object or a list stand, so that one is replaced and all others stay byte
for byte."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined] # typeshed does not know it
from typing import Any, NoReturn

Span = tuple[int, int]
_WHITE = re.compile(r"[ \t\n\r]*+")
_CHECK_BYTES = 1 << 20
_LONG_NUMBER = 19


class BadJson(Exception):
    """A text is no JSON, or no object or list where one is wanted."""


def _refuse_constant(_: str) -> NoReturn:
    raise BadJson


def _parse_number(text: str) -> int | float:
    return int(text) if len(text) < _LONG_NUMBER else float(text)  # the one of many digits takes long


_DECODER = json.JSONDecoder(parse_int=_parse_number, parse_constant=_refuse_constant)


def read_latin(raw: bytes) -> str:
    """Return bytes as a text whose positions are theirs. Raises BadJson for what is no UTF-8."""
    decoder, view = codecs.getincrementaldecoder("utf-8")(), memoryview(raw)
    try:
        for begin in range(0, len(raw), _CHECK_BYTES):
            decoder.decode(view[begin : begin + _CHECK_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise BadJson from None
    return raw.decode("latin-1")


def parse_value(raw: bytes) -> Any:
    """Return the value of a raw text. Raises BadJson."""
    try:
        value, end = _DECODER.raw_decode(text := raw.decode())
    except (ValueError, RecursionError):
        raise BadJson from None
    if _skip_white(text, end) != len(text):
        raise BadJson
    return value


def find_members(latin: str) -> Mapping[str, Sequence[Span]]:
    """Return for each key of an object the places of its values. Raises BadJson for what is not one object."""
    spans: dict[str, list[Span]] = {}
    position = _skip_white(latin, _pass_mark(latin, _skip_white(latin, 0), "{"))
    if latin[position : position + 1] != "}":
        position = _read_members(latin, position, spans)
    if _skip_white(latin, position + 1) != len(latin):
        raise BadJson
    return spans


def find_elements(latin: str, span: Span) -> list[Span]:
    """Return the places of the elements of the list that stands there. Raises BadJson where there is none."""
    position = span[0]
    if latin[position : position + 1] != "[":
        raise BadJson
    position = _skip_white(latin, position + 1)
    found: list[Span] = []
    if latin[position : position + 1] == "]":
        return found
    while True:
        end = _skip_value(latin, position)
        found.append((position, end))
        position = _skip_white(latin, end)
        if latin[position : position + 1] == "]":
            return found
        position = _skip_white(latin, _pass_mark(latin, position, ","))


def replace_spans(raw: bytes, spans: Mapping[Span, bytes]) -> bytes:
    """Return the raw text with other bytes in these places, which do not overlap."""
    parts: list[bytes | memoryview] = []
    view, position = memoryview(raw), 0
    for (begin, end), value in sorted(spans.items()):
        parts += [view[position:begin], value]
        position = end
    return b"".join([*parts, view[position:]])


def _read_members(latin: str, position: int, spans: dict[str, list[Span]]) -> int:
    """Put the places of the values of an object's members into `spans`, and return that of its end."""
    while True:
        begin = _pass_mark(latin, position, '"')
        try:
            key, position = scanstring(latin, begin, True)
        except ValueError:
            raise BadJson from None
        position = _skip_white(latin, _pass_mark(latin, _skip_white(latin, position), ":"))
        end = _skip_value(latin, position)
        spans.setdefault(key, []).append((position, end))
        position = _skip_white(latin, end)
        if latin[position : position + 1] == "}":
            return position
        position = _skip_white(latin, _pass_mark(latin, position, ","))


def _skip_value(latin: str, position: int) -> int:
    try:  # to look at it is to read it; the value, of which each byte is a character, is not used
        return _DECODER.raw_decode(latin, position)[1]
    except (ValueError, RecursionError, StopIteration):
        raise BadJson from None


def _skip_white(latin: str, position: int) -> int:
    white = _WHITE.match(latin, position)
    return white.end() if white else position


def _pass_mark(latin: str, position: int, mark: str) -> int:
    if latin[position : position + 1] != mark:
        raise BadJson
    return position + 1
