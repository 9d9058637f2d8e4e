"""Values of the first page of the console."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class CountChange:
    """How many memories of a category got into a state on a day (UTC), and how many got out of it."""

    day: date
    category: str
    state: str
    gained: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayActivity:
    """What went on in a space on a day (UTC): turns of the user, those that something is remembered of, and searches
    that found something, that found nothing, and that failed."""

    day: date
    turns: int = 0
    remembered: int = 0
    answered: int = 0
    unanswered: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceFigures:
    """The jobs of a space that are due, that are for later, that run, and that failed at their last attempt; and the
    bytes of its words, vectors and turns as they are stored."""

    due: int
    later: int
    running: int
    failing: int
    bytes: int
