"""Fields of records: texts, times and scalars, with errors that name the file, the record and the field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from muniment.memory import codec, query_codec
from muniment.memory.errors import BadInput

UNSTORABLE = "has a NUL or half a character, which cannot be stored"
EMPTY = "has no words"
_WORD = re.compile(r"\w")
OTHER_NAMES = "other fields"
_MAX_NAMES = 1_000  # of fields that are not kept
_MAX_TAG = 120  # characters of a tag; longer values are counted as not read
_LATEST = 253_370_764_800  # seconds: the year 9999
Fields = Mapping[str, Any]


@dataclass(slots=True)
class UnreadFields:
    """The names of fields that were there and are not kept, and how often."""

    counts: Counter[str] = field(default_factory=Counter)

    def note_names(self, names: Iterable[str]) -> None:
        """Count fields that are not kept. Of a file with very many names the first are counted by themselves."""
        for name in names:
            self.counts[name if name in self.counts or len(self.counts) < _MAX_NAMES else OTHER_NAMES] += 1


def check_object(value: Any, place: str) -> Fields:
    """Return a record that is an object. Raises BadInput."""
    if isinstance(value, dict):
        return value
    raise BadInput(f"{place}: {codec.describe_shape(value)} given, an object wanted")


def read_text(record: Fields, name: str, place: str) -> str:
    """Return a text that must be there. Raises BadInput."""
    value = record.get(name)
    if isinstance(value, str):
        return value
    shape = codec.describe_shape(value) if name in record else "nothing"
    raise BadInput(f"{place}: field {name!r}: {shape} given, text wanted", field=name)


def find_text(record: Fields, name: str, place: str) -> str | None:
    """Return a text that may be missing or null. Raises BadInput for another value."""
    return None if record.get(name) is None else read_text(record, name, place)


def read_list(record: Fields, name: str, place: str) -> list[Any]:
    """Return a list, empty where it is missing or null. Raises BadInput for another value."""
    value = record.get(name)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise BadInput(f"{place}: field {name!r}: {codec.describe_shape(value)} given, a list wanted", field=name)


def read_time(record: Fields, name: str, place: str) -> datetime | None:
    """Return a time: ISO text, or seconds since 1970. None where it is missing. Raises BadInput."""
    value = record.get(name)
    if value is None or value == "":
        return None
    where = f"{place}: field {name!r}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < _LATEST:
            raise BadInput(f"{where}: seconds since 1970 wanted", field=name)
        return datetime.fromtimestamp(value, UTC)
    try:
        return query_codec.parse_time(value, where)
    except BadInput as error:
        raise BadInput(str(error), field=name) from None


def find_problem(*texts: str) -> str | None:
    """Return why nothing can be kept of texts: they have no words, or cannot be stored."""
    if not codec.is_storable(list(texts)):
        return UNSTORABLE
    return None if any(_WORD.search(text) for text in texts) else EMPTY


def make_tags(values: Fields, unread: UnreadFields, skip: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the scalars of an object as tags `name: value`; lists of texts give one for each. The names of what does
    not fit are noted."""
    tags: list[str] = []
    left = set(skip)
    for name, value in values.items():
        if name in left or value is None or value in ("", [], {}):
            continue
        given = value if isinstance(value, list) else [value]
        made = [f"{name}: {each}" for each in given if isinstance(each, str | int | float)]
        if len(made) < len(given) or any(len(tag) > _MAX_TAG or not codec.is_storable(tag) for tag in made):
            unread.note_names([name])
        else:
            tags += made
    return tuple(dict.fromkeys(tags))
