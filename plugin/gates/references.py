"""Whether a message refers to earlier work, and by which words it names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import extract_terms

ReferenceKind: TypeAlias = Literal["resumption", "memory", "time"]
_BARE = lazy_compile(r"(?i)\W*(?:continue|resume|继续)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference to earlier work. Without words it is to whatever was worked on last."""

    kind: ReferenceKind
    words: tuple[str, ...] = ()  # lexemes that name the work


def find_reference(text: str) -> Reference | None:
    """Return how a message refers to earlier work, or None."""
    match = _BARE.match(text)
    return Reference(kind="resumption", words=extract_terms(text[match.end() :])) if match else None
