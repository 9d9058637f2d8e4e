"""Finds passwords beside a user whose password has no name: `bob@x.example:kR7!vqz`, `admin / P4ssw0rd`."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.redaction.secret_names import is_placeholder
from muniment.memory.rules.redaction.values import Shape, classify_value

PAIR = lazy_compile(
    r"(?<![\w.@/:+-])(?:[\w+-][\w.+-]{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|(?i:admin|administrator|root|guest|postgres))"
    r"(?:[ \t]?/[ \t]?|[:;|]|(?<=\d)[ \t]{1,3}\(?)"
    r"(?P<value>[^\s/|;,:@\"'`()<>]{6,64})(?![^\s,;|)<\"'`]|[ \t]?/[ \t]?\w)"
)
# Each text with such a pair has one of these in lower case.
PAIR_MARKS = ("@", "admin", "root", "guest", "postgres")


def find_pairs(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the passwords beside an address or a usual account. Linear in the length of the text.

    A password is known by its characters alone: a path, a name or an id of digits beside an account is none."""
    for match in PAIR.finditer(text):
        value = match["value"].rstrip(".!?")
        if classify_value(value) is Shape.STRONG and not is_placeholder(value):
            yield match.start("value"), match.start("value") + len(value)
