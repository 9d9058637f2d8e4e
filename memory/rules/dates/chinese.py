"""Chinese date mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from muniment.memory.rules.dates.tense import ClauseTenses, TenseWords
from muniment.memory.rules.language import calendar, holidays
from muniment.memory.rules.language.calendar import SEASONS_ZH, DatePeriod, Grain
from muniment.memory.rules.language.lazy_regex import lazy_compile

DateMatch = tuple[int, int, DatePeriod, str, bool, bool]
Handler = Callable[[re.Match[str], datetime, int], DatePeriod]

_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "几": 3, "半": 0}
_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_YEARS = {"前": -2, "去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_SIDES = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_MAX_MATCHES = 200  # of one pattern in one text
_WEEKDAYS = "一二三四五六日"

_PART = r"(?P<part>早上|清晨|上午|中午|下午|傍晚|晚上|夜里|凌晨)?"
NUMBER = r"(?:\d{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_MONTH = r"(?P<month>" + NUMBER + r")月(?!里?[前后])份?"
_DAY = r"(?P<day>" + NUMBER + r")[日号]"
_YEAR = r"(?P<year>(?:19|20)\d\d|[一二][〇零九一二三四五六七八]{3})年"
# The parts that the calendar has, unless the character begins another word: 初中, 底特律, 末班车.
_OF_YEAR = (
    r"(?P<of_year>年?(?:初(?![次中一二三恋步始见级期夏春秋冬学试])|底(?![特下层部线薪片])|末(?![班日]))|年中(?!秋)"
    r"|[上下]半年)"
)
_OF_MONTH = (
    r"(?:的?(?P<of_month>[上中下]旬|[上下]半月|(?:第[一二三四]|最后一)个?(?:周|星期|礼拜)"
    r"|初(?![次中一二三恋步始见级期夏春秋冬学试])|底(?![特下层部线薪片])|末(?![班日])))?"
)
_COUNT = r"(?P<count>\d{1,4}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九几])"
_NOT_HABITUAL = r"(?<!每)(?<!每个)(?<!每逢)(?<!每年)(?<!每年的)"
# A habit on a weekday has no date.
_NOT_A_HABIT = (
    r"(?!(?:早上|上午|中午|下午|傍晚|晚上)?(?:我|用户|他|她)?(?:都|从不|从来|总|一般|通常|基本|经常|习惯|固定|只"
    r"|不(?:开会|上班|工作|加班|吃|喝|出门|接电话)))"
)
_FUTURE = lazy_compile(r"打算|计划|准备|想|将|会(?!议|员|计|场|$|[，。])|要|目标|备战|希望|截止|提醒")
_PAST = lazy_compile(r"了|过|曾|当时|刚|是在")
_BOOKED = lazy_compile(r"[预约]?订[了好到]|预[订约]|约[了好]")
_CLAUSE, _SENTENCE = lazy_compile(r"[，,;；。！？!?\n]"), lazy_compile(r"[。！？!?\n]")


_HOLIDAY = r"(?P<feast>" + holidays.CHINESE_NAMES + r")(?!前[夕夜])"
# Without a year it is a date only between a pronoun, a preposition or the start and a verb, a pronoun or the end.
_BARE_HOLIDAY = (
    r"(?:^|(?<=[\s，。,.！!？?；;：:在于从自到户们我你您他她]))"
    + _HOLIDAY
    + r"(?=[\s，。,.！!？?；;前后之以我你您他她和跟与同带在去来回到要会想打计准吃喝做买送收飞参结订见有早上中下晚那当]"
    r"|期间|的时候|时|$)"
)
_ONCE = lazy_compile(r"了|曾|当时|刚|[去来吃看到做见玩]过")
_HABIT = lazy_compile(r"每|总|通常|经常|常常|一般|平时|往年|历年|都|从不|从来|习惯|小时候")


def parse_number(numeral: str) -> int:
    """The value of a Chinese or Arabic numeral below a hundred, or of a year that is written digit by digit."""
    if numeral.isdecimal():
        return int(numeral)
    if "十" not in numeral:
        return int("".join(str(_DIGITS[c]) for c in numeral))
    tens, _, ones = numeral.partition("十")
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)


def _find_direction(text: str) -> int:
    if _FUTURE.search(text):
        return 1
    return -1 if _PAST.search(text) else 0


_TENSE_WORDS = TenseWords(_CLAUSE, _SENTENCE, _BOOKED, _find_direction)


def _build_period(start: datetime, grain: Grain, part: str | None = None) -> DatePeriod:
    return DatePeriod(start, grain, chinese=True, part=part or "")


def _resolve_near(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    part = match["part"] or {"晚": "晚上", "早": "早上", "晨": "早上"}.get(match["near"][-1])
    return _build_period(calendar.add_days(at, _DAYS[match["near"][:-1]]), "day", part)


def _resolve_week(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    side, name = _SIDES[match["side"]], (match["weekday"] or "").replace("天", "日")
    if not name:
        return _build_period(calendar.get_weekday(at, 0, side), "week")
    if name == "末":
        return _build_period(calendar.get_weekday(at, 5, side), "weekend")
    return _build_period(calendar.get_weekday(at, _WEEKDAYS.index(name), side), "day", match["part"])


def _resolve_weekday(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    name = match["weekday"].replace("天", "日")
    start = calendar.get_weekday(at, _WEEKDAYS.index(name), 0)
    past = start < calendar.get_midnight(at)
    if direction > 0 and past:
        return _build_period(calendar.get_weekday(at, _WEEKDAYS.index(name), 1), "day", match["part"])
    if direction < 0 and not past:
        return _build_period(calendar.get_weekday(at, _WEEKDAYS.index(name), -1), "day", match["part"])
    return _build_period(start, "day", match["part"])


def _resolve_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    first = calendar.add_months(at, _SIDES[match["side"]])
    if match["day"]:
        return _build_period(first.replace(day=parse_number(match["day"])), "day", match["part"])
    return _resolve_month_part(match, first)


def _resolve_month_part(match: re.Match[str], first: datetime) -> DatePeriod:
    if not match["of_month"]:
        return _build_period(first, "month")
    part = re.sub("个?(?:星期|礼拜)|个周", "周", match["of_month"])
    return _build_period(calendar.get_month_part(first, part), "month", part)


def _resolve_year_part(match: re.Match[str], first: datetime) -> DatePeriod:
    return _build_period(calendar.get_year_part(first, match["of_year"]), "year", match["of_year"])


def _resolve_quarter(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return _build_period(calendar.add_months(at, 3 * _SIDES[match["side"]] - (at.month - 1) % 3), "quarter")


def _resolve_decade(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return _build_period(
        calendar.get_decade_start(
            at, parse_number(match["tens"]) + 1900 if len(match["tens"]) < 3 else int(match["tens"]), ""
        ),
        "decade",
    )


def _resolve_years_ago(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return _resolve_in_year(match, at, at.year - parse_number(match["count"]))


def _resolve_holiday(match: re.Match[str], at: datetime, year: int) -> DatePeriod:
    return DatePeriod(calendar.get_holiday(at, match["feast"], year), "day", chinese=True, holiday=match["feast"])


def _resolve_bare_holiday(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    near = calendar.get_holiday(at, match["feast"], at.year)
    return _resolve_holiday(match, at, calendar.find_nearest_year(at, near.month, direction, near.day))


def _resolve_in_year(match: re.Match[str], at: datetime, year: int) -> DatePeriod:
    if match["feast"]:
        try:
            return _resolve_holiday(match, at, year)
        except ValueError:  # the day is unknown, but the text names the year
            return DatePeriod(calendar.get_year_start(at, year), "year", chinese=True, holiday=match["feast"])
    if match["season"]:
        return _build_period(calendar.get_day(at, year, SEASONS_ZH[match["season"][0]], 1), "season")
    if match["quarter"]:
        return _build_period(calendar.get_day(at, year, 3 * parse_number(match["quarter"]) - 2, 1), "quarter")
    if match["of_year"]:
        return _resolve_year_part(match, calendar.get_year_start(at, year))
    if not match["month"]:
        return _build_period(calendar.get_year_start(at, year), "year")
    month = parse_number(match["month"])
    if not match["day"]:
        return _resolve_month_part(match, calendar.get_day(at, year, month, 1))
    return _build_period(calendar.get_day(at, year, month, parse_number(match["day"])), "day", match["part"])


def _resolve_relative_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return _resolve_in_year(match, at, at.year + _YEARS[match["side"]])


def _resolve_absolute_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return _resolve_in_year(match, at, parse_number(match["year"]))


def _resolve_month_day(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    month, of_month = parse_number(match["month"]), parse_number(match["day"])
    return _build_period(
        calendar.get_day(at, calendar.find_nearest_year(at, month, direction, of_month), month, of_month),
        "day",
        match["part"],
    )


def _resolve_bare_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    month = parse_number(match["month"])
    return _resolve_month_part(match, calendar.get_day(at, calendar.find_nearest_year(at, month, direction), month, 1))


def _resolve_shift(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    count = parse_number(match["count"]) * (-1 if match["way"] == "前" else 1)
    unit = match["unit"]
    if unit == "年":
        return _build_period(calendar.get_year_start(at, at.year + count), "year")
    if unit == "月":  # `七月前` is before July, `七个月前` seven months ago
        return _build_period(calendar.add_months(at, count), "month")
    vague = unit != "天" or match["count"] == "几"
    return _build_period(calendar.add_days(at, count * (1 if unit in "天日" else 7)), "about" if vague else "day")


_WITHIN = (
    r"的?(?:"
    + _MONTH
    + r"(?:"
    + _DAY
    + _PART
    + r"|"
    + _OF_MONTH
    + r")|(?P<season>[春夏秋冬][天季])|第?(?P<quarter>[一二三四1-4])季度|"
    + _HOLIDAY
    + r"|"
    + _OF_YEAR
    + r")"
)
_IN_YEAR = r"(?:" + _WITHIN + r")?"
_RULES: tuple[tuple[re.Pattern[str], Handler, bool, bool], ...] = (
    (lazy_compile(_YEAR + _IN_YEAR), _resolve_absolute_year, False, False),
    (
        lazy_compile(
            r"(?:上世纪|20世纪|二十世纪)?(?<![\d一二两三四五六七八九十])(?P<tens>(?:19|20)\d0|[3-9]0"
            r"|[三四五六七八九]十)年代"
        ),
        _resolve_decade,
        False,
        False,
    ),
    (lazy_compile(r"(?P<side>上上|上|这|本|下)(?:一)?个?季度"), _resolve_quarter, True, False),
    (lazy_compile(r"(?:大概|大约|差不多)?" + _COUNT + r"年(?:以|之)?前" + _WITHIN), _resolve_years_ago, True, False),
    (lazy_compile(r"(?P<near>(?:大前|大后|前|昨|今|明|后)天|[昨今明][日晚早晨])" + _PART), _resolve_near, True, False),
    (
        lazy_compile(
            r"(?<!早)(?P<side>上上|下下|上|这|本|下)(?:一)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?"
            + _PART
        ),
        _resolve_week,
        True,
        False,
    ),
    (
        lazy_compile(
            _NOT_HABITUAL
            + r"(?<![上下这本个一两二三四五六七八九十\d])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
            + _NOT_A_HABIT
            + _PART
        ),
        _resolve_weekday,
        True,
        False,
    ),
    (
        lazy_compile(
            r"(?P<side>上上|下下|上|这|本|下)(?:一)?个?月(?!份?会)(?:的?" + _DAY + _PART + r"|" + _OF_MONTH + r")"
        ),
        _resolve_month,
        True,
        False,
    ),
    (
        lazy_compile(r"(?<![\d一二两三四五六七八九十几每])(?P<side>[前去今明后本])年" + _IN_YEAR),
        _resolve_relative_year,
        True,
        False,
    ),
    (
        lazy_compile(
            r"(?:大概|大约|差不多)?"
            + _COUNT
            + r"(?:个)?(?P<unit>天|日|周|星期|礼拜|(?<=[个几两半])月|年)(?:以|之)?(?P<way>[前后])(?!天)"
        ),
        _resolve_shift,
        True,
        False,
    ),
    (lazy_compile(_NOT_HABITUAL + r"(?<![\d年])" + _MONTH + _DAY + _PART), _resolve_month_day, False, True),
    (
        lazy_compile(
            _NOT_HABITUAL
            + r"(?<![\d年一二两三四五六七八九十])"
            + _MONTH
            + r"(?![\d一二三四五六七八九十]{1,3}[日号])"
            + _OF_MONTH
        ),
        _resolve_bare_month,
        False,
        True,
    ),
    (lazy_compile(_BARE_HOLIDAY), _resolve_bare_holiday, False, True),
)


def match_dates(text: str, at: datetime, *, question: str = "") -> Iterator[DateMatch]:
    """Every match of every pattern: start, end, period, preposition (none), relative, partial.

    With a `question`, which the text is part of, a date may be one of each year."""
    tenses = ClauseTenses(text, _TENSE_WORDS)
    lean, bare = (_find_direction(question) or 1) if question else 0, bool(question) or _is_single_event(text)
    for pattern, handler, relative, partial in _RULES:
        for match in islice(pattern.finditer(text), _MAX_MATCHES):
            if handler is _resolve_bare_holiday and not bare:
                continue
            direction = lean or tenses.infer_direction(*match.span(), is_booked=partial)
            try:
                period = handler(match, at, direction)
            except (ValueError, OverflowError):
                continue
            yield match.start(), match.end(), period, "", relative, partial


def _is_single_event(text: str) -> bool:
    """Whether the text is about one event in the past or future, and not about each year."""
    return not _HABIT.search(text) and (_ONCE.search(text) or _FUTURE.search(text)) is not None
