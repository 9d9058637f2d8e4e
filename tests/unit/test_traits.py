"""The quick look before a date is looked for misses none."""

from __future__ import annotations

from calendar import day_name, month_abbr, month_name
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.retrieval.intents import DATED, index_text

NAMES = [*day_name, *month_name[1:], *month_abbr[1:], "Sept", "marked", "maybe", "fridge", "sundry"]
WORDS = [
    *NAMES,
    "on",
    "last",
    "next",
    "this",
    "early",
    "mid-",
    "3rd",
    "14",
    "2nd",
    "of",
    "night",
    "dec.",
    "12/3",
    "summer",
    "ago",
    "5月",
    "去年",
]
FEASTS = [
    "Xmas",
    "Boxing Day",
    "New Year",
    "Valentine's Day",
    "St Patrick's Day",
    "Good Friday",
    "Halloween",
    "Thanksgiving",
    "Independence Day",
    "the Fourth of July",
]
THINGS = [
    *FEASTS,
    "went",
    "the",
    "2023",
    "15/3/2023",
    "25.3.2023",
    "Q2",
    "second quarter",
    "before last",
    "in",
    "fortnight",
    "a",
    "ago",
    "1990s",
    "the '90s",
    "sixties",
    "forties",
    "on",
    "fourteenth",
    "twenty-first",
    "second",
    "thirtieth",
    "met",
]
ZH = [
    "我",
    "在",
    "去了",
    "圣诞节",
    "平安夜",
    "元旦",
    "情人节",
    "复活节",
    "万圣节",
    "感恩节",
    "劳动节",
    "五一",
    "国庆",
    "十一假期",
    "除夕",
    "春节",
    "中秋",
]


def _says_when(text: str) -> bool:
    return not all(one.is_vague for one in mentions.find_mentions(text, datetime(2020, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_a_date_is_seen(name: str) -> None:
    """Alone after a word that makes it a date, large and small."""
    for text in (f"{before} {form}" for before in ("on", "in", "last", "since", "3") for form in (name, name.lower())):
        assert (DATED in index_text(text)) == _says_when(text)


@given(
    st.one_of(
        st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join),
        st.lists(st.sampled_from(THINGS), max_size=6).map(" ".join),
        st.lists(st.sampled_from(ZH), max_size=5).map("".join),
    )
)
def test_what_has_a_date_is_dated(text: str) -> None:
    """Whatever the rules of dates find, the quick look before them lets pass."""
    assert (DATED in index_text(text)) == _says_when(text)


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("The audit is due in Q2", True),
        ("We went skiing at Christmas", False),
        ("We moved in the summer", False),
        ("We moved in the summer of 2022", True),
        ("We went skiing at Christmas 2022", True),
        ("We met on Halloween", True),
        ("We all have to be out by the end of August", True),
        ("They met at the beginning of March", True),
    ],
)
def test_a_time_of_the_year_does_not_say_when(text: str, *, dated: bool) -> None:
    """A season, or a feast of some days, says little of when without a year; a day does."""
    assert (DATED in index_text(text)) is dated


ONCE = ["on Christmas Eve", "on Xmas Eve", "on Boxing Day", "on Valentine's", "on St Patrick's Day", "on Good Friday",
    "on Halloween", "on Hallowe’en",
        "on Thanksgiving", "on Independence Day", "on the Fourth of July", "Easter Monday", "in the sixties",
        "in the forties", "in the 90's",
        "on the fourth", "on the fourteenth", "on the twenty-first", "on the thirtieth"]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [*(f"we went {one}" for one in ONCE), "we will go in a fortnight", *(f"我在{one}吃了火锅" for one in ZH[3:])],
)
def test_each_feast_is_seen(text: str) -> None:
    """A word that no other date has is looked for, too."""
    assert DATED in index_text(text)
