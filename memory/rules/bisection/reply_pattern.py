"""Patterns for replies: words with `*` for any text and `|` between alternatives, read in linear time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

from muniment.memory.errors import BadInput

_MAX_CHARS = 1_000
_TOKEN = re.compile(r"\\(.)|([*|])|([^\\*|]+)|(\\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReplyPattern:
    """Alternatives, each a sequence of texts that have to follow one another in a reply.

    A regular expression of a person could take exponential time; for this pattern each text is looked for once, from
    the end of the one before."""

    alternatives: tuple[tuple[str, ...], ...]

    def matches(self, reply: str) -> bool:
        """Return whether a reply has one of the alternatives somewhere, whatever its case and its blanks."""
        text = _flatten(reply)
        return any(_follows(text, parts) for parts in self.alternatives)


def parse_pattern(pattern: str) -> ReplyPattern:
    r"""Return a pattern such as `Lisbon|Porto` or `moved to * in May`; `\*`, `\|` and `\\` stand for the signs
    themselves. Raises BadInput for one that is empty, would match every reply, or has more than 1,000 characters."""
    if len(pattern) > _MAX_CHARS:
        raise BadInput(f"expect: has {len(pattern):,} characters; at most {_MAX_CHARS:,} are allowed")
    alternatives: list[list[str]] = [[""]]
    for escaped, sign, plain, lone in _TOKEN.findall(pattern):
        if sign == "|":
            alternatives.append([""])
        elif sign == "*":
            alternatives[-1].append("")
        else:
            alternatives[-1][-1] += escaped or plain or lone
    parsed = tuple(tuple(filter(None, map(_flatten, parts))) for parts in alternatives)
    if not all(parsed):
        raise BadInput("expect: a text is wanted, and one on each side of |; a pattern of * alone fits every reply")
    return ReplyPattern(parsed)


def _follows(text: str, parts: Sequence[str]) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def _flatten(text: str) -> str:
    """Return a text in one form of each character and case, with single blanks."""
    return " ".join(normalize("NFKC", text).casefold().split())
