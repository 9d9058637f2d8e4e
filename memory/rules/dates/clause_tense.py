"""The direction in which a date without a year is searched, by the tense of the clause that it stands in."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TenseWords:
    """How a language ends clauses and sentences, and tells past from future."""

    clause_end: re.Pattern[str]
    sentence_end: re.Pattern[str]
    booked: re.Pattern[str]  # an arrangement: its date without a year is that of what is arranged
    find_direction: Callable[[str], int]  # of a text: -1 for the past, 1 for the future, 0 where no word tells it


@dataclass(frozen=True, slots=True, eq=False)
class ClauseTenses:
    """The directions of the clauses of a text. Each clause is searched once, however many dates it has."""

    text: str
    words: TenseWords
    _known: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    _bounds: dict[re.Pattern[str], list[int]] = field(default_factory=dict)

    def infer_direction(self, start: int, end: int, *, is_booked: bool) -> int:
        """-1 or 1 for a date at that place, by its clause, else by its sentence, else by the text. 1 where no word
        tells it. `is_booked`: the date may be that of a booking, which is still to come."""
        for mark in (self.words.clause_end, self.words.sentence_end):
            bounds = self._find_bounds(mark)
            part = bounds[bisect_right(bounds, start) - 1], bounds[bisect_left(bounds, end)]
            if direction := self._find_direction(*part, is_booked=is_booked):
                return direction
        return self._find_direction(0, len(self.text), is_booked=False) or 1

    def _find_direction(self, start: int, end: int, *, is_booked: bool) -> int:
        key = (start, end, is_booked)
        if key not in self._known:
            part = self.text[start:end]
            has_booking = is_booked and self.words.booked.search(part)
            self._known[key] = 1 if has_booking else self.words.find_direction(part)
        return self._known[key]

    def _find_bounds(self, end: re.Pattern[str]) -> list[int]:
        if end not in self._bounds:
            inner = (match.end() for match in end.finditer(self.text))
            size = len(self.text)
            self._bounds[end] = [0, *(place for place in inner if 0 < place < size), size]
        return self._bounds[end]
