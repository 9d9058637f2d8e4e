"""Calendar arithmetic for date mentions: periods, their bounds, and how they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from muniment.memory.rules.language import holidays

Grain = Literal["day", "about", "week", "weekend", "month", "season", "quarter", "year", "decade"]

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ONES = "first second third fourth fifth sixth seventh eighth ninth"
_TEENS = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
ORDINALS = (
    {word: n for n, word in enumerate(f"{_ONES} {_TEENS}".split(), 1)}
    | {
        f"{tens}{word}": start + n
        for tens, start, most in (("twenty", 20, 9), ("thirty", 30, 1))
        for n, word in enumerate(_ONES.split()[:most], 1)
    }
    | {"thirtieth": 30}
)
# Longer ordinals first. Between the two words of one there may be a hyphen or a space.
ORDINAL = "|".join(re.sub(r"^(twenty|thirty)", r"\1[\\s-]?", word) for word in sorted(ORDINALS, key=len, reverse=True))
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASONS_ZH = {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_PREPOSITIONS = {"day": "on", "about": "around", "weekend": "on"}  # of the other grains it is `in`
_AT_HOLIDAYS = ("christmas", "xmas", "easter", "new year", "new year's", "new years")  # these last for several days
_DAYS = {"day": 1, "about": 1, "weekend": 2, "week": 7}
_MONTHS = {"month": 1, "season": 3, "quarter": 3, "year": 12, "decade": 120}
_DECADE_PARTS = {"early": 0, "mid": 36, "late": 72}  # the first month of a part of a decade, which lasts four years
_YEAR_PARTS = {  # the months before the part, and how many months it has
    "early": (0, 4), "the start of": (0, 3), "the beginning of": (0, 3), "初": (0, 3), "年初": (0, 3),
    "mid": (4, 4), "the middle of": (4, 4), "年中": (4, 4),
    "late": (8, 4), "the end of": (9, 3), "年底": (9, 3), "年末": (9, 3), "底": (9, 3), "末": (9, 3),
    "the first half of": (0, 6), "上半年": (0, 6), "the second half of": (6, 6), "下半年": (6, 6),
}  # fmt: skip
_MONTH_PARTS = {  # the first day of the part, and the first day after it (0: the first of the next month)
    "early": (1, 11), "the start of": (1, 11), "the beginning of": (1, 11), "初": (1, 11), "上旬": (1, 11),
    "mid": (11, 21), "the middle of": (11, 21), "中旬": (11, 21),
    "late": (21, 0), "the end of": (21, 0), "下旬": (21, 0), "底": (21, 0), "末": (21, 0),
    "the first half of": (1, 16), "上半月": (1, 16), "the second half of": (16, 0), "下半月": (16, 0),
    "the first week of": (1, 8), "第一周": (1, 8), "the second week of": (8, 15), "第二周": (8, 15),
    "the third week of": (15, 22), "第三周": (15, 22), "the fourth week of": (22, 29), "第四周": (22, 29),
    "the last week of": (-7, 0), "最后一周": (-7, 0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DatePeriod:
    """A period: its first moment, its length, and how it is written."""

    start: datetime
    grain: Grain
    chinese: bool = False
    part: str = ""  # the part of the day, month, year or decade, as it is written
    holiday: str = ""  # its name as it is written, if it has one

    @property
    def preposition(self) -> str:
        """The English word that goes before it."""
        if self.holiday.casefold().replace("’", "'") in _AT_HOLIDAYS:
            return "at"
        if self.grain in ("month", "year") and self.part in ("the start of", "the beginning of", "the end of"):
            return "at"
        return _PREPOSITIONS.get(self.grain, "in")

    @property
    def end(self) -> datetime:
        """The first moment after the period. Raises OverflowError or ValueError beyond the calendar."""
        return self._compute_end(self.start)

    def move_to_year(self, year: int) -> DatePeriod:
        """The same period of another year. Raises ValueError where there is none."""
        return DatePeriod(self.get_bounds(year)[0], self.grain, self.chinese, self.part, self.holiday)

    def get_bounds(self, year: int) -> tuple[datetime, datetime]:
        """Start and end of the same period of another year. Raises OverflowError or ValueError where there is none."""
        if self.part and self.grain == "month":
            start = get_month_part(self.start.replace(year=year, day=1), self.part)
        else:
            start = get_holiday(self.start, self.holiday, year) if self.holiday else self.start.replace(year=year)
        return start, self._compute_end(start)

    def _compute_end(self, start: datetime) -> datetime:
        if self.part and self.grain == "month":
            behind = _MONTH_PARTS[self.part][1]
            return start.replace(day=behind) if behind else add_months(start, 1)
        if self.part and self.grain == "year":
            return add_months(start, _YEAR_PARTS[self.part][1])
        if self.grain in _DAYS:
            return start + timedelta(days=_DAYS[self.grain])
        return add_months(start, 48 if self.grain == "decade" and self.part else _MONTHS[self.grain])

    @property
    def text(self) -> str:
        """The period in words, without a preposition."""
        return self._format_chinese() if self.chinese else self._format_english()

    def _format_english(self) -> str:
        if self.holiday:
            return " ".join(filter(None, (self.holiday, self.part, str(self.start.year))))
        day = f"{self.start.day} {MONTHS[self.start.month - 1]} {self.start.year}"
        if self.grain in ("month", "year"):
            words = day.partition(" ")[2] if self.grain == "month" else str(self.start.year)
            return f"{self.part}{'-' if self.part == 'mid' else ' ' * bool(self.part)}{words}"
        if self.grain == "season":
            return f"{next(name for name, month in SEASONS.items() if month == self.start.month)} {self.start.year}"
        if self.grain == "quarter":
            return f"Q{self.start.month // 3 + 1} {self.start.year}"
        if self.grain == "decade":
            return f"the {self.part}{' ' * bool(self.part)}{self.start.year // 10}0s"
        if self.grain in ("week", "weekend"):
            return f"the {self.grain} of {day}"
        return f"the {self.part} of {day}" if self.part else day

    def _format_chinese(self) -> str:
        year, month, day = self.start.year, self.start.month, self.start.day
        if self.holiday:
            return f"{year}年{self.holiday}"
        if self.grain == "month":
            return f"{year}年{month}月{self.part}"
        if self.grain == "year":
            return f"{year}年{self.part}"
        if self.grain == "quarter":
            return f"{year}年第{'一二三四'[month // 3]}季度"
        if self.grain == "decade":
            return f"{year}年代"
        if self.grain == "season":
            return f"{year}年{next(name for name, first in SEASONS_ZH.items() if first == month)}天"
        tail = {"week": "那一周", "weekend": "那个周末", "about": "左右"}.get(self.grain, self.part)
        return f"{year}年{month}月{day}日{tail}"


def get_midnight(at: datetime) -> datetime:
    """The start of the day of `at`, in its zone."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def add_days(at: datetime, count: int) -> datetime:
    """The midnight that many days after the day of `at`. Raises OverflowError beyond the calendar."""
    return get_midnight(at) + timedelta(days=count)


def add_months(at: datetime, count: int) -> datetime:
    """The first day of the month that many months after that of `at`. Raises ValueError beyond the calendar."""
    index = at.year * 12 + at.month - 1 + count
    return get_midnight(at).replace(year=index // 12, month=index % 12 + 1, day=1)


def get_year_start(at: datetime, year: int) -> datetime:
    """The first of January of a year. Raises ValueError beyond the calendar."""
    return get_midnight(at).replace(year=year, month=1, day=1)


def get_day(at: datetime, year: int, month: int, day: int) -> datetime:
    """The midnight of a date in the zone of `at`. Raises ValueError where there is no such date."""
    return get_midnight(at).replace(year=year, month=month, day=day)


def get_month_part(first: datetime, part: str) -> datetime:
    """The start of a part of the month whose first day is given."""
    day = _MONTH_PARTS[part][0]
    return first.replace(day=day) if day > 0 else add_months(first, 1) + timedelta(days=day)


def get_year_part(first: datetime, part: str) -> datetime:
    """The start of a part of the year whose first day is given. Raises ValueError for a part that years do not have."""
    if part not in _YEAR_PARTS:
        raise ValueError(part)
    return add_months(first, _YEAR_PARTS[part][0])


def get_holiday(at: datetime, name: str, year: int) -> datetime:
    """The day of a feast in a year. Raises ValueError where it is unknown."""
    on = holidays.get_holiday_date(name, year)
    return get_midnight(at).replace(year=on.year, month=on.month, day=on.day)


def get_decade_start(at: datetime, first: int, part: str) -> datetime:
    """The start of the decade of a year, or of a part of it. Raises ValueError beyond the calendar."""
    return add_months(get_year_start(at, first), _DECADE_PARTS.get(part, 0))


def get_weekday(at: datetime, index: int, weeks: int) -> datetime:
    """A day (Monday is 0) of the calendar week that many weeks after that of `at`."""
    return add_days(at, index - at.weekday() + 7 * weeks)


def find_nearest_weekday(at: datetime, index: int, direction: int) -> datetime:
    """The last such weekday before `at` (direction -1) or the next one after it (1), never the day of `at`."""
    gap = (index - at.weekday()) % 7 or 7
    return add_days(at, gap if direction > 0 else gap - 7 if gap != 7 else -7)


def find_nearest_year(at: datetime, month: int, direction: int, day: int | None = None) -> int:
    """The year in which that month, or day of it, is next (direction 1) or was last (-1)."""
    there, here = (month, day or 0), (at.month, at.day if day else 0)
    if direction > 0:
        return at.year + (there < here)
    return at.year - (there > here)
