"""The quick look before a date is looked for misses none."""

from __future__ import annotations

from calendar import day_name, month_abbr, month_name
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules import dates
from muniment.memory.rules.traits import DATED, traits

NAMES = [*day_name, *month_name[1:], *month_abbr[1:], "Sept", "marked", "maybe", "fridge", "sundry"]
WORDS = [*NAMES, "on", "last", "next", "this", "early", "mid-", "3rd", "14", "2nd", "of", "night", "dec.", "12/3", "summer", "ago", "5月", "去年"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_a_date_is_seen(name: str) -> None:
    """Alone after a word that makes it a date, large and small."""
    for text in (f"{before} {form}" for before in ("on", "in", "last", "since", "3") for form in (name, name.lower())):
        assert (DATED in traits(text)) == bool(dates.mentions(text, datetime(2000, 1, 1, tzinfo=UTC)))


@given(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join))
def test_what_has_a_date_is_dated(text: str) -> None:
    """Whatever the rules of dates find, the quick look before them lets pass."""
    assert (DATED in traits(text)) == bool(dates.mentions(text, datetime(2000, 1, 1, tzinfo=UTC)))
