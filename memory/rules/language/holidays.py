"""Feasts: their names in English and Chinese, and their day in a year."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_THURSDAY = 3


def _fix_date(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _compute_easter(year: int, days: int = 0) -> date:
    """The day that many days after Easter Sunday of the Gregorian calendar (Meeus, Jones and Butcher)."""
    century, of_century = divmod(year, 100)
    moon = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - moon - of_century % 4) % 7
    late = (year % 19 + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * late + 114, 31)
    return date(year, month, day + 1) + timedelta(days=days)


def _compute_thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(_THURSDAY - first.weekday()) % 7 + 21)


def _read_lunar_date(feast: str, year: int, days: int = 0) -> date:
    on = _load_lunar_dates(feast).get(year)
    if on is None:
        raise ValueError(year)
    month, day = divmod(int(on), 100)
    return date(year, month, day) + timedelta(days=days)


@cache
def _load_lunar_dates(feast: str) -> dict[int, str]:
    """The month and day of a feast by year."""
    rows = load_lexicon("holidays.zh").get_table(feast)
    return {year: on for first, dates in rows.items() for year, on in enumerate(dates, int(first))}


# English pattern, Chinese pattern, day of a year. A longer name stands before a shorter one that it begins with.
_HOLIDAYS: tuple[tuple[str, str, Callable[[int], date]], ...] = (
    (r"(?:christmas|xmas)\s+eve", "平安夜|圣诞夜", _fix_date(12, 24)),
    (r"(?:christmas|xmas)(?:\s+day)?", "圣诞节?", _fix_date(12, 25)),
    (r"boxing\s+day", "", _fix_date(12, 26)),
    (
        r"(?:chinese|lunar)\s+new\s+year['’]?s?\s+eve",
        "除夕",
        lambda year: _read_lunar_date("spring_festival", year, -1),
    ),
    (r"(?:chinese|lunar)\s+new\s+year", "春节", lambda year: _read_lunar_date("spring_festival", year)),
    (r"new\s+year['’]?s?\s+eve", "", _fix_date(12, 31)),
    (r"new\s+year(?:['’]?s)?(?:\s+day)?", "元旦", _fix_date(1, 1)),
    (r"(?:(?:st\.?|saint)\s+)?valentine(?:['’]?s?\s+day|['’]s)", "情人节", _fix_date(2, 14)),
    (r"(?:st\.?|saint)\s+(?:patrick|paddy)['’]?s?\s+day", "", _fix_date(3, 17)),
    (r"good\s+friday", "", lambda year: _compute_easter(year, -2)),
    (r"easter\s+monday", "", lambda year: _compute_easter(year, 1)),
    (r"easter(?:\s+(?:sunday|day))?", "复活节", _compute_easter),
    (r"independence\s+day|(?:the\s+)?fourth\s+of\s+july", "", _fix_date(7, 4)),
    (r"hallowe['’]?en", "万圣节", _fix_date(10, 31)),
    (r"thanksgiving(?:\s+day)?", "感恩节", _compute_thanksgiving),
    ("", "五一(?:劳动)?节?|劳动节", _fix_date(5, 1)),
    ("", "中秋节?", lambda year: _read_lunar_date("mid_autumn", year)),
    ("", "(?:国庆节?|十一(?=假|长|黄|期))(?:假期|长假|黄金周|期间)?", _fix_date(10, 1)),
)
ENGLISH_NAMES = "|".join(english for english, _, _ in _HOLIDAYS if english)
CHINESE_NAMES = "|".join(chinese for _, chinese, _ in _HOLIDAYS if chinese)
_PATTERNS = tuple(
    (lazy_compile(f"{english or chinese}|{chinese or english}", re.IGNORECASE), on)
    for english, chinese, on in _HOLIDAYS
)


def get_holiday_date(name: str, year: int) -> date:
    """The day of a feast in a year. Raises ValueError where the table of a lunar feast does not have that year."""
    return next(on(year) for pattern, on in _PATTERNS if pattern.fullmatch(name))
