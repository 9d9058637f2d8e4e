"""JSON from outside: strict, and of so few values that to read it holds up nobody; and JSON of answers."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from muniment.faces.serving.receiver import BodyTooLarge
from muniment.memory import codec
from muniment.memory.errors import BadInput

MAX_MARKS = 10_000  # commas, colons and brackets that are in no text: more than any request needs
FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")  # a name that may be repeated: it looks like one of a field
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # also one without an end: each byte is looked at once


def parse_json(raw: bytes) -> Any:
    """Return a JSON value: no NaN, no half characters, no NUL, no deep nesting. Raises BadInput."""
    try:
        value = orjson.loads(raw)  # refuses half a character, and what is nested deeply
    except orjson.JSONDecodeError:
        raise BadInput("is no JSON") from None
    if b"\\u0000" in raw and not codec.is_storable(value):
        raise BadInput(f"{_find_unstorable(value)}a text has a NUL or half a character")
    return value


def _find_unstorable(value: Any) -> str:
    """Return where the first text is that cannot be stored, as in `messages.0.content: `; empty where a name on the way
    cannot be shown."""
    place = list[str]()
    while isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        name, value = next((key, each) for key, each in members if not codec.is_storable([key, each]))
        if isinstance(name, str) and not FIELD.fullmatch(name):
            return ""
        place.append(str(name))
    return f"{'.'.join(place)}: " if place else ""


def encode_json(value: Any) -> bytes:
    """Return a value as JSON. A whole number of any length stays one."""
    try:
        return orjson.dumps(value, default=str)
    except TypeError:  # orjson takes 64 bits, and Postgres returns 1e30 as a whole number
        return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":")).encode()


def check_values(raw: bytes) -> None:
    """Raise BodyTooLarge for JSON of so many values that to read it would hold up others; it is not read for that."""
    if not has_few_values(raw):
        raise BodyTooLarge(f"the body has more than {MAX_MARKS:,} values")


def has_few_values(raw: bytes) -> bool:
    """Whether JSON has so few values that to read it holds up nobody; it is not read for that."""
    if _count_marks(raw) <= MAX_MARKS:
        return True
    # Each text of the others has two quotation marks that no backslash precedes, or one after an escaped backslash.
    if raw.count(b'"') - raw.count(b'\\"') > 2 * MAX_MARKS:
        return False
    return _count_marks(_TEXT.sub(b"", raw)) <= MAX_MARKS


def _count_marks(raw: bytes) -> int:
    return sum(map(raw.count, (b",", b":", b"[", b"{")))
