"""Feasts: how people call them, and on what day of a year they fall."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from muniment.memory.rules.language.lazy_regex import lazy_compile

# The first day of the lunar year and the fifteenth of its eighth month, month and day, in the years from `_FIRST` on: the
# Chinese calendar is reckoned from moon and sun, by no short rule. As lunardate 0.3.0 and holidays 0.109 both have them.
_FIRST_YEAR = 2005
_SPRING = (
    "0209 0129 0218 0207 0126 0214 0203 0123 0210 0131 0219 0208 0128 0216 0205 0125 0212 0201 0122 0210 0129"
    " 0217 0206 0126 0213 0203 0123 0211 0131 0219 0208 0128 0215 0204 0124 0212 0201 0122 0210 0130 0217"
)
_MID_AUTUMN = (
    "0918 1006 0925 0914 1003 0922 0912 0930 0919 0908 0927 0915 1004 0924 0913 1001 0921 0910 0929 0917 1006"
    " 0925 0915 1003 0922 0912 1001 0919 0908 0927 0916 1004 0924 0913 1002 0920 0910 0928 0917 1005 0925"
)
_THURSDAY = 3


def _fix_date(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _compute_easter(year: int, days: int = 0) -> date:
    """So many days from Easter Sunday of the Gregorian calendar (Meeus, Jones and Butcher)."""
    century, of_century = divmod(year, 100)
    moon = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - moon - of_century % 4) % 7
    late = (year % 19 + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * late + 114, 31)
    return date(year, month, day + 1) + timedelta(days=days)


def _compute_thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(_THURSDAY - first.weekday()) % 7 + 21)


def _read_lunar_date(table: str, year: int, days: int = 0) -> date:
    on = dict(enumerate(table.split(), _FIRST_YEAR)).get(year)
    if on is None:
        raise ValueError(year)
    month, day = divmod(int(on), 100)
    return date(year, month, day) + timedelta(days=days)


# English, Chinese, the day. A longer name goes before one that it begins with.
_HOLIDAYS: tuple[tuple[str, str, Callable[[int], date]], ...] = (
    (r"(?:christmas|xmas)\s+eve", "平安夜|圣诞夜", _fix_date(12, 24)),
    (r"(?:christmas|xmas)(?:\s+day)?", "圣诞节?", _fix_date(12, 25)),
    (r"boxing\s+day", "", _fix_date(12, 26)),
    (r"(?:chinese|lunar)\s+new\s+year['’]?s?\s+eve", "除夕", lambda year: _read_lunar_date(_SPRING, year, -1)),
    (r"(?:chinese|lunar)\s+new\s+year", "春节", lambda year: _read_lunar_date(_SPRING, year)),
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
    ("", "中秋节?", lambda year: _read_lunar_date(_MID_AUTUMN, year)),
    ("", "(?:国庆节?|十一(?=假|长|黄|期))(?:假期|长假|黄金周|期间)?", _fix_date(10, 1)),
)
ENGLISH_NAMES = "|".join(english for english, _, _ in _HOLIDAYS if english)
CHINESE_NAMES = "|".join(chinese for _, chinese, _ in _HOLIDAYS if chinese)
_PATTERNS = tuple(
    (lazy_compile(f"{english or chinese}|{chinese or english}", re.IGNORECASE), on)
    for english, chinese, on in _HOLIDAYS
)


def get_holiday_date(name: str, year: int) -> date:
    """The day of the feast of that name in a year; ValueError where nobody has reckoned it."""
    return next(on(year) for pattern, on in _PATTERNS if pattern.fullmatch(name))
