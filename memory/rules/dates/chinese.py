"""Chinese date mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from muniment.memory.rules.language import calendar, holidays as feasts
from muniment.memory.rules.language.calendar import SEASONS_ZH, Grain, When
from muniment.memory.rules.language.lazy_regex import late

Reading = tuple[int, int, When, str, bool, bool]
Handler = Callable[[re.Match[str], datetime, int], When]

_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "几": 3, "半": 0}
_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_YEARS = {"前": -2, "去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_SIDES = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_MOST = 200  # dates of one pattern that are read of a text
_WEEKDAYS = "一二三四五六日"

_PART = r"(?P<part>早上|清晨|上午|中午|下午|傍晚|晚上|夜里|凌晨)?"
NUMBER = r"(?:\d{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_MONTH = r"(?P<month>" + NUMBER + r")月(?!里?[前后])份?"
_DAY = r"(?P<day>" + NUMBER + r")[日号]"
_YEAR = r"(?P<year>(?:19|20)\d\d|[一二][〇零九一二三四五六七八]{3})年"
# As the calendar has them, and not where the character begins another word: 初中, 底特律, 末班车.
_OF_YEAR = r"(?P<of_year>年?(?:初(?![次中一二三恋步始见级期夏春秋冬学试])|底(?![特下层部线薪片])|末(?![班日]))|年中(?!秋)|[上下]半年)"
_OF_MONTH = (
    r"(?:的?(?P<of_month>[上中下]旬|[上下]半月|(?:第[一二三四]|最后一)个?(?:周|星期|礼拜)"
    r"|初(?![次中一二三恋步始见级期夏春秋冬学试])|底(?![特下层部线薪片])|末(?![班日])))?"
)
_COUNT = r"(?P<count>\d{1,4}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九几])"
_NOT_HABITUAL = r"(?<!每)(?<!每个)(?<!每逢)(?<!每年)(?<!每年的)"
# What one never or always does on a weekday has no date.
_NOT_A_HABIT = r"(?!(?:早上|上午|中午|下午|傍晚|晚上)?(?:我|用户|他|她)?(?:都|从不|从来|总|一般|通常|基本|经常|习惯|固定|只|不(?:开会|上班|工作|加班|吃|喝|出门|接电话)))"
_FUTURE = late(r"打算|计划|准备|想|将|会(?!议|员|计|场|$|[，。])|要|目标|备战|希望|截止|提醒")
_PAST = late(r"了|过|曾|当时|刚|是在")


_FEAST = r"(?P<feast>" + feasts.CHINESE + r")(?!前[夕夜])"
# Without a year it is a date behind who did what, or a preposition, or at the start; and before that, or at the end.
_BARE_FEAST = (
    r"(?:^|(?<=[\s，。,.！!？?；;：:在于从自到户们我你您他她]))"
    + _FEAST
    + r"(?=[\s，。,.！!？?；;前后之以我你您他她和跟与同带在去来回到要会想打计准吃喝做买送收飞参结订见有早上中下晚那当]"
    r"|期间|的时候|时|$)"
)
_ONCE = late(r"了|曾|当时|刚|[去来吃看到做见玩]过")
_HABIT = late(r"每|总|通常|经常|常常|一般|平时|往年|历年|都|从不|从来|习惯|小时候")


def number(words: str) -> int:
    """A Chinese or Arabic numeral below a hundred, or a year said digit by digit."""
    if words.isdecimal():
        return int(words)
    if "十" not in words:
        return int("".join(str(_DIGITS[c]) for c in words))
    tens, _, ones = words.partition("十")
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)


def _lean(text: str) -> int:
    if _FUTURE.search(text):
        return 1
    return -1 if _PAST.search(text) else 1


def _when(start: datetime, grain: Grain, part: str | None = None) -> When:
    return When(start, grain, chinese=True, part=part or "")


def _near(found: re.Match[str], at: datetime, lean: int) -> When:
    part = found["part"] or {"晚": "晚上", "早": "早上", "晨": "早上"}.get(found["near"][-1])
    return _when(calendar.days(at, _DAYS[found["near"][:-1]]), "day", part)


def _week(found: re.Match[str], at: datetime, lean: int) -> When:
    side, name = _SIDES[found["side"]], (found["weekday"] or "").replace("天", "日")
    if not name:
        return _when(calendar.weekday(at, 0, side), "week")
    if name == "末":
        return _when(calendar.weekday(at, 5, side), "weekend")
    return _when(calendar.weekday(at, _WEEKDAYS.index(name), side), "day", found["part"])


def _weekday(found: re.Match[str], at: datetime, lean: int) -> When:
    name = found["weekday"].replace("天", "日")
    start = calendar.weekday(at, _WEEKDAYS.index(name), 0)
    past = start < calendar.midnight(at)
    if lean > 0 and past:
        return _when(calendar.weekday(at, _WEEKDAYS.index(name), 1), "day", found["part"])
    if lean < 0 and not past:
        return _when(calendar.weekday(at, _WEEKDAYS.index(name), -1), "day", found["part"])
    return _when(start, "day", found["part"])


def _month(found: re.Match[str], at: datetime, lean: int) -> When:
    first = calendar.months(at, _SIDES[found["side"]])
    if found["day"]:
        return _when(first.replace(day=number(found["day"])), "day", found["part"])
    return _of_month(found, first)


def _of_month(found: re.Match[str], first: datetime) -> When:
    if not found["of_month"]:
        return _when(first, "month")
    part = re.sub("个?(?:星期|礼拜)|个周", "周", found["of_month"])
    return _when(calendar.of_month(first, part), "month", part)


def _of_year(found: re.Match[str], first: datetime) -> When:
    return _when(calendar.of_year(first, found["of_year"]), "year", found["of_year"])


def _quarter(found: re.Match[str], at: datetime, lean: int) -> When:
    return _when(calendar.months(at, 3 * _SIDES[found["side"]] - (at.month - 1) % 3), "quarter")


def _decade(found: re.Match[str], at: datetime, lean: int) -> When:
    return _when(
        calendar.decade(at, number(found["tens"]) + 1900 if len(found["tens"]) < 3 else int(found["tens"]), ""),
        "decade",
    )


def _years_ago(found: re.Match[str], at: datetime, lean: int) -> When:
    return _in_year(found, at, at.year - number(found["count"]))


def _feast(found: re.Match[str], at: datetime, number_of: int) -> When:
    return When(calendar.feast(at, found["feast"], number_of), "day", chinese=True, feast=found["feast"])


def _bare_feast(found: re.Match[str], at: datetime, lean: int) -> When:
    near = calendar.feast(at, found["feast"], at.year)
    return _feast(found, at, calendar.nearest_year(at, near.month, lean, near.day))


def _in_year(found: re.Match[str], at: datetime, number_of: int) -> When:
    if found["feast"]:
        try:
            return _feast(found, at, number_of)
        except ValueError:  # nobody knows the day, but the year is said
            return When(calendar.year(at, number_of), "year", chinese=True, feast=found["feast"])
    if found["season"]:
        return _when(calendar.season(at, SEASONS_ZH[found["season"][0]], number_of), "season")
    if found["quarter"]:
        return _when(calendar.day(at, number_of, 3 * number(found["quarter"]) - 2, 1), "quarter")
    if found["of_year"]:
        return _of_year(found, calendar.year(at, number_of))
    if not found["month"]:
        return _when(calendar.year(at, number_of), "year")
    month = number(found["month"])
    if not found["day"]:
        return _of_month(found, calendar.day(at, number_of, month, 1))
    return _when(calendar.day(at, number_of, month, number(found["day"])), "day", found["part"])


def _turned_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return _in_year(found, at, at.year + _YEARS[found["side"]])


def _said_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return _in_year(found, at, number(found["year"]))


def _iso_like(found: re.Match[str], at: datetime, lean: int) -> When:
    month, of_month = number(found["month"]), number(found["day"])
    return _when(
        calendar.day(at, calendar.nearest_year(at, month, lean, of_month), month, of_month), "day", found["part"]
    )


def _bare_month(found: re.Match[str], at: datetime, lean: int) -> When:
    month = number(found["month"])
    return _of_month(found, calendar.day(at, calendar.nearest_year(at, month, lean), month, 1))


def _shifted(found: re.Match[str], at: datetime, lean: int) -> When:
    count = number(found["count"]) * (-1 if found["way"] == "前" else 1)
    unit = found["unit"]
    if unit == "年":
        return _when(calendar.year(at, at.year + count), "year")
    if unit == "月":  # `七月前` is before July, `七个月前` seven months ago
        return _when(calendar.months(at, count), "month")
    vague = unit != "天" or found["count"] == "几"
    return _when(calendar.days(at, count * (1 if unit in "天日" else 7)), "about" if vague else "day")


_WITHIN = (
    r"的?(?:" + _MONTH + r"(?:" + _DAY + _PART + r"|" + _OF_MONTH + r")|(?P<season>[春夏秋冬][天季])|第?(?P<quarter>[一二三四1-4])季度|" + _FEAST
    + r"|" + _OF_YEAR + r")"
)  # fmt: skip
_IN_YEAR = r"(?:" + _WITHIN + r")?"
_RULES: tuple[tuple[re.Pattern[str], Handler, bool, bool], ...] = (
    (late(_YEAR + _IN_YEAR), _said_year, False, False),
    (
        late(
            r"(?:上世纪|20世纪|二十世纪)?(?<![\d一二两三四五六七八九十])(?P<tens>(?:19|20)\d0|[3-9]0|[三四五六七八九]十)年代"
        ),
        _decade,
        False,
        False,
    ),
    (late(r"(?P<side>上上|上|这|本|下)(?:一)?个?季度"), _quarter, True, False),
    (late(r"(?:大概|大约|差不多)?" + _COUNT + r"年(?:以|之)?前" + _WITHIN), _years_ago, True, False),
    (late(r"(?P<near>(?:大前|大后|前|昨|今|明|后)天|[昨今明][日晚早晨])" + _PART), _near, True, False),
    (
        late(
            r"(?<!早)(?P<side>上上|下下|上|这|本|下)(?:一)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?"
            + _PART
        ),
        _week,
        True,
        False,
    ),
    (
        late(
            _NOT_HABITUAL
            + r"(?<![上下这本个一两二三四五六七八九十\d])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
            + _NOT_A_HABIT
            + _PART
        ),
        _weekday,
        True,
        False,
    ),
    (
        late(r"(?P<side>上上|下下|上|这|本|下)(?:一)?个?月(?!份?会)(?:的?" + _DAY + _PART + r"|" + _OF_MONTH + r")"),
        _month,
        True,
        False,
    ),
    (
        late(r"(?<![\d一二两三四五六七八九十几每])(?P<side>[前去今明后本])年" + _IN_YEAR),
        _turned_year,
        True,
        False,
    ),
    (
        late(
            r"(?:大概|大约|差不多)?"
            + _COUNT
            + r"(?:个)?(?P<unit>天|日|周|星期|礼拜|(?<=[个几两半])月|年)(?:以|之)?(?P<way>[前后])(?!天)"
        ),
        _shifted,
        True,
        False,
    ),
    (late(_NOT_HABITUAL + r"(?<![\d年])" + _MONTH + _DAY + _PART), _iso_like, False, True),
    (
        late(
            _NOT_HABITUAL
            + r"(?<![\d年一二两三四五六七八九十])"
            + _MONTH
            + r"(?![\d一二三四五六七八九十]{1,3}[日号])"
            + _OF_MONTH
        ),
        _bare_month,
        False,
        True,
    ),
    (late(_BARE_FEAST), _bare_feast, False, True),
)


def read(text: str, at: datetime, *, asked: str = "") -> Iterator[Reading]:
    """Every reading of every pattern: start, end, period, preposition (none), relative, partial. What is `asked`, of which
    the text is a part or all, may be asked of each year."""
    lean, bare = _lean(asked or text), bool(asked) or _once(text)
    for pattern, handler, relative, partial in _RULES:
        for found in islice(pattern.finditer(text), _MOST):
            if handler is _bare_feast and not bare:
                continue
            try:
                when = handler(found, at, lean)
            except (ValueError, OverflowError):
                continue
            yield found.start(), found.end(), when, "", relative, partial


def _once(text: str) -> bool:
    """Whether the text tells of what happened once, or will, and not each year."""
    return not _HABIT.search(text) and (_ONCE.search(text) or _FUTURE.search(text)) is not None
