"""The signs of dates: a text without them is not searched."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest

from muniment.memory.rules.dates import english
from muniment.memory.rules.language import tokens

AT = datetime(2023, 5, 8, tzinfo=UTC)
_NAMES = (
    "Sunday", "Sundays", "day", "days", "weekdays", "yesterdays", "week", "night", "summer", "May", "Easter", "2022",
    "Q2", "nineties", "14th", "İ",
)  # fmt: skip
_ENDS = ("", " ago", " from now", " week", " morning", "' time", " last year", " 2022")


@pytest.mark.parametrize(
    "before", ["", "on ", "in ", "last ", "the past ", "two ", "in 3 ", "since ", "early in ", "of the "]
)
def test_no_date_is_without_a_sign(before: str) -> None:
    """With all signs no other dates are found."""
    every = frozenset().union(*(rule[0] for rule in english._RULES))
    for name, after in product(_NAMES, _ENDS):
        text = f"I run {before}{name}{after}"
        searched = [set(english.match_dates(text, AT, signs)) for signs in (tokens.find_date_signs(text), every)]
        assert searched[0] == searched[1], text
