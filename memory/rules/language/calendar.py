"""Calendar arithmetic of date mentions: a period has a start, and words that name it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from muniment.memory.rules.language import holidays

Grain = Literal["day", "about", "week", "weekend", "month", "season", "quarter", "year", "decade"]

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASONS_ZH = {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_PREPOSITIONS = {
    "day": "on",
    "about": "around",
    "week": "in",
    "weekend": "on",
    "month": "in",
    "season": "in",
    "quarter": "in",
    "year": "in",
    "decade": "in",
}
_AT_HOLIDAYS = (
    "christmas",
    "xmas",
    "easter",
    "new year",
    "new year's",
    "new years",
)  # feasts of more days than the one
_DAYS = {"day": 1, "about": 1, "weekend": 2, "week": 7}
_MONTHS = {"month": 1, "season": 3, "quarter": 3, "year": 12, "decade": 120}
_DECADE_PARTS = {"early": 0, "mid": 36, "late": 72}  # of a decade: four of its years each, from that month on
# Of a year: from which month on, and how many. Of a month: its first day, and the first behind it (0: the next month's).
_YEAR_PARTS = {
    "early": (0, 4),
    "mid": (4, 4),
    "late": (8, 4),
    "the start of": (0, 3),
    "the beginning of": (0, 3),
    "the middle of": (4, 4),
    "the end of": (9, 3),
    "the first half of": (0, 6),
    "the second half of": (6, 6),
    "初": (0, 3),
    "年初": (0, 3),
    "年中": (4, 4),
    "年底": (9, 3),
    "年末": (9, 3),
    "底": (9, 3),
    "末": (9, 3),
    "上半年": (0, 6),
    "下半年": (6, 6),
}
_MONTH_PARTS = {
    "early": (1, 11),
    "mid": (11, 21),
    "late": (21, 0),
    "the start of": (1, 11),
    "the beginning of": (1, 11),
    "the middle of": (11, 21),
    "the end of": (21, 0),
    "the first half of": (1, 16),
    "the second half of": (16, 0),
    "the first week of": (1, 8),
    "the second week of": (8, 15),
    "the third week of": (15, 22),
    "the fourth week of": (22, 29),
    "the last week of": (-7, 0),
    "初": (1, 11),
    "上旬": (1, 11),
    "中旬": (11, 21),
    "下旬": (21, 0),
    "底": (21, 0),
    "末": (21, 0),
    "上半月": (1, 16),
    "下半月": (16, 0),
    "第一周": (1, 8),
    "第二周": (8, 15),
    "第三周": (15, 22),
    "第四周": (22, 29),
    "最后一周": (-7, 0),
}


@dataclass(frozen=True, slots=True)
class DatePeriod:
    """A period: its first moment, how long it is, and how it is written."""

    start: datetime
    grain: Grain
    chinese: bool = False
    part: str = ""  # the part of the day, month, year or decade, as said
    holiday: str = ""  # its name as said, if it has one

    @property
    def preposition(self) -> str:
        """The English word that goes before it."""
        if self.holiday.casefold().replace("’", "'") in _AT_HOLIDAYS:
            return "at"
        if self.grain in ("month", "year") and self.part in ("the start of", "the beginning of", "the end of"):
            return "at"
        return _PREPOSITIONS[self.grain]

    @property
    def end(self) -> datetime:
        """The first moment behind it; OverflowError or ValueError beyond the calendar."""
        return self._compute_end(self.start)

    def move_to_year(self, year: int) -> DatePeriod:
        """The like of another year; ValueError where there is none."""
        return DatePeriod(self.get_bounds(year)[0], self.grain, self.chinese, self.part, self.holiday)

    def get_bounds(self, year: int) -> tuple[datetime, datetime]:
        """Start and end of the like of another year; OverflowError or ValueError where there is none."""
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
            said = day.partition(" ")[2] if self.grain == "month" else str(self.start.year)
            return f"{self.part}{'-' if self.part == 'mid' else ' ' * bool(self.part)}{said}"
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
    """So many days from the day of `at`; OverflowError beyond the calendar."""
    return get_midnight(at) + timedelta(days=count)


def add_months(at: datetime, count: int) -> datetime:
    """The first of the month, so many months from that of `at`; ValueError beyond the calendar."""
    index = at.year * 12 + at.month - 1 + count
    return get_midnight(at).replace(year=index // 12, month=index % 12 + 1, day=1)


def get_year_start(at: datetime, year: int) -> datetime:
    """The first of January of that year; ValueError beyond the calendar."""
    return get_midnight(at).replace(year=year, month=1, day=1)


def get_day(at: datetime, year: int, month: int, day: int) -> datetime:
    """That day in the zone of `at`; ValueError where there is none."""
    return get_midnight(at).replace(year=year, month=month, day=day)


def get_month_part(first: datetime, part: str) -> datetime:
    """The start of that part of the month of that first day."""
    day = _MONTH_PARTS[part][0]
    return first.replace(day=day) if day > 0 else add_months(first, 1) + timedelta(days=day)


def get_year_part(first: datetime, part: str) -> datetime:
    """The start of that part of the year of that first of January; ValueError where nobody says so."""
    if part not in _YEAR_PARTS:
        raise ValueError(part)
    return add_months(first, _YEAR_PARTS[part][0])


def get_season_start(at: datetime, month: int, year: int) -> datetime:
    """The start of the season whose first month is given, in that year."""
    return get_midnight(at).replace(year=year, month=month, day=1)


def get_holiday(at: datetime, name: str, year: int) -> datetime:
    """The day of that feast in that year; ValueError where it is not known."""
    on = holidays.get_holiday_date(name, year)
    return get_midnight(at).replace(year=on.year, month=on.month, day=on.day)


def get_decade_start(at: datetime, first: int, part: str) -> datetime:
    """The start of the decade of that year, or of that part of it; ValueError beyond the calendar."""
    return add_months(get_year_start(at, first), _DECADE_PARTS.get(part, 0))


def get_weekday(at: datetime, index: int, weeks: int) -> datetime:
    """Monday is 0: that day in the calendar week so many weeks from that of `at`."""
    return add_days(at, index - at.weekday() + 7 * weeks)


def find_nearest_weekday(at: datetime, index: int, direction: int) -> datetime:
    """The last such day before `at` (lean -1) or the next after it (lean 1), never the day itself."""
    gap = (index - at.weekday()) % 7 or 7
    return add_days(at, gap if direction > 0 else gap - 7 if gap != 7 else -7)


def find_nearest_year(at: datetime, month: int, direction: int, day: int | None = None) -> int:
    """The year in which that month, or day of it, is next (lean 1) or was last (lean -1)."""
    there, here = (month, day or 0), (at.month, at.day if day else 0)
    if direction > 0:
        return at.year + (there < here)
    return at.year - (there > here)
