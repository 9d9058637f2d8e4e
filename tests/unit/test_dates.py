"""Dates: what a mention means on the day it was said, and how it is written so that it stays true."""

import time
from calendar import monthcalendar
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.dates import mentions

AT = datetime(2023, 5, 8, 13, 56, tzinfo=timezone(timedelta(hours=2)))  # a Monday


@pytest.mark.parametrize(
    ("text", "day", "written"),
    [
        ("I ran yesterday", "2023-05-07", "I ran on 7 May 2023"),
        ("I leave the day after tomorrow", "2023-05-10", "I leave on 10 May 2023"),
        ("done by tomorrow evening", "2023-05-09", "done by the evening of 9 May 2023"),
        ("we sang last night", "2023-05-07", "we sang on the night of 7 May 2023"),
        ("yesterday's talk was long", "2023-05-07", "7 May 2023 talk was long"),
        ("we met last Friday", "2023-05-05", "we met on 5 May 2023"),
        ("we will meet next Friday", "2023-05-12", "we will meet on 12 May 2023"),
        ("we met on Friday", "2023-05-05", "we met on 5 May 2023"),
        ("there will be a party on Friday", "2023-05-12", "there will be a party on 12 May 2023"),
        ("I fly this Thursday", "2023-05-11", "I fly on 11 May 2023"),
        ("last week was hard", "2023-05-01", "in the week of 1 May 2023 was hard"),
        ("I hiked last weekend", "2023-05-06", "I hiked on the weekend of 6 May 2023"),
        ("I start next month", "2023-06-01", "I start in June 2023"),
        ("I have lived in Rome since last year", "2022-01-01", "I have lived in Rome since 2022"),
        ("I married last summer", "2022-06-01", "I married in summer 2022"),
        ("I will marry next spring", "2024-03-01", "I will marry in spring 2024"),
        ("I moved last May", "2022-05-01", "I moved in May 2022"),
        ("I ran two weeks ago", "2023-04-24", "I ran around 24 April 2023"),
        ("I ran 3 days ago", "2023-05-05", "I ran on 5 May 2023"),
        ("I ran a few days ago", "2023-05-05", "I ran around 5 May 2023"),
        ("I began about five years ago", "2018-01-01", "I began in 2018"),
        ("I leave in three weeks", "2023-05-29", "I leave around 29 May 2023"),
        ("two months from now I will sail", "2023-07-01", "in July 2023 I will sail"),
        ("training for a marathon in October", "2023-10-01", "training for a marathon in October 2023"),
        ("I moved in October", "2022-10-01", "I moved in October 2022"),
        ("I'm getting married in March", "2024-03-01", "I'm getting married in March 2024"),
        ("I was there on May 7th", "2023-05-07", "I was there on 7 May 2023"),
        ("I was there on the 9th of June", "2022-06-09", "I was there on 9 June 2022"),
        ("on 7 May 2021 it rained", "2021-05-07", None),
        ("May 7, 2021 was wet", "2021-05-07", None),
        ("since 2019-02-28", "2019-02-28", None),
        ("in summer 2020", "2020-06-01", None),
        ("in March 2020", "2020-03-01", None),
        ("in march 2020", "2020-03-01", None),
        ("it was dec 2020", "2020-12-01", None),
        ("i moved in march", "2023-03-01", "i moved in March 2023"),
        ("I graduated in 2015", "2015-01-01", None),
        ("We went skiing at Christmas", "2022-12-25", "We went skiing at Christmas 2022"),
        ("last Christmas we went skiing", "2022-12-25", "at Christmas 2022 we went skiing"),
        ("We met at Xmas last year", "2022-12-25", "We met at Xmas 2022"),
        ("the Christmas before last", "2021-12-25", "at Christmas 2021"),
        ("We fly home this Christmas", "2023-12-25", "We fly home at Christmas 2023"),
        ("We flew home this past Easter", "2023-04-09", "We flew home at Easter 2023"),
        ("We sing next Christmas Eve", "2023-12-24", "We sing on Christmas Eve 2023"),
        ("It rained on Christmas Day 2020", "2020-12-25", None),
        ("We left on Boxing Day", "2022-12-26", "We left on Boxing Day 2022"),
        ("last New Year’s Eve we danced", "2022-12-31", "on New Year’s Eve 2022 we danced"),
        (
            "We left Rome. Before Christmas, we were back",
            "2022-12-25",
            "We left Rome. before Christmas 2022, we were back",
        ),
        ("We met before New Year's", "2023-01-01", "We met before New Year's 2023"),
        ("We met on Valentine's Day evening", "2023-02-14", "We met on Valentine's Day evening 2023"),
        ("We met on St. Patrick's Day", "2023-03-17", "We met on St. Patrick's Day 2023"),
        ("We dressed up for Halloween", "2022-10-31", "We dressed up for Halloween 2022"),
        ("last Halloween's party was loud", "2022-10-31", "Halloween 2022's party was loud"),
        ("We moved on the Fourth of July", "2022-07-04", "We moved on the Fourth of July 2022"),
        ("We will move by Independence Day", "2023-07-04", "We will move by Independence Day 2023"),
        ("I'm cooking on Thanksgiving", "2023-11-23", "I'm cooking on Thanksgiving 2023"),
        ("We married Easter Monday", "2023-04-10", "We married Easter Monday 2023"),
        ("We met on Good Friday", "2023-04-07", "We met on Good Friday 2023"),
        ("last Chinese New Year we ate fish", "2023-01-22", "on Chinese New Year 2023 we ate fish"),
        ("Since Christmas the user lives in Rome", "2022-12-25", "since Christmas 2022 the user lives in Rome"),
        ("We moved in the summer", "2022-06-01", "We moved in summer 2022"),
        ("We moved during the early spring", "2023-03-01", "We moved during spring 2023"),
        ("I will move in spring", "2023-03-01", "I will move in spring 2023"),
        ("I will move in the autumn", "2023-09-01", "I will move in autumn 2023"),
        ("We met the summer before last", "2021-06-01", "We met in summer 2021"),
        ("We met the week before last", "2023-04-24", "We met in the week of 24 April 2023"),
        ("We met on the weekend before last", "2023-04-29", "We met on the weekend of 29 April 2023"),
        ("We met the week before last Christmas", "2022-12-25", "We met the week before Christmas 2022"),
        ("We met a fortnight ago", "2023-04-24", "We met around 24 April 2023"),
        ("I leave on Tuesday week", "2023-05-16", "I leave on 16 May 2023"),
        ("in Q3 2023", "2023-07-01", None),
        ("the third quarter of 2023", "2023-07-01", None),
        ("2022 Q4 was hard", "2022-10-01", None),
        ("I grew up in the nineties", "1990-01-01", None),
        ("music of the '80s", "1980-01-01", None),
        ("The 1970s were loud", "1970-01-01", None),
        ("in the mid 2000s", "2003-01-01", None),
        ("born on 15/3/2023", "2023-03-15", None),
        ("born 3/15/2023", "2023-03-15", None),
        ("lived there until 3.5.2023", "2023-05-03", None),
        ("我昨天去了医院", "2023-05-07", "我于2023年5月7日去了医院"),
        ("昨天的会议很长", "2023-05-07", "2023年5月7日的会议很长"),
        ("大后天出发", "2023-05-11", "2023年5月11日出发"),
        ("明早开会", "2023-05-09", "2023年5月9日早上开会"),
        ("上周五吃了火锅", "2023-05-05", "2023年5月5日吃了火锅"),
        ("下周三要考试", "2023-05-17", "2023年5月17日要考试"),
        ("上周末爬了山", "2023-05-06", "2023年5月6日那个周末爬了山"),
        ("上周很忙", "2023-05-01", "2023年5月1日那一周很忙"),
        ("下周日要开会", "2023-05-21", "2023年5月21日要开会"),
        ("周一吃了火锅", "2023-05-01", "2023年5月1日吃了火锅"),
        ("周一要开会", "2023-05-08", "2023年5月8日要开会"),
        ("周五要开会", "2023-05-12", "2023年5月12日要开会"),
        ("周五吃了火锅", "2023-05-05", "2023年5月5日吃了火锅"),
        ("下个月去北京", "2023-06-01", "2023年6月去北京"),
        ("下个月3号去北京", "2023-06-03", "2023年6月3日去北京"),
        ("明年结婚", "2024-01-01", "2024年结婚"),
        ("去年8月搬家", "2022-08-01", "2022年8月搬家"),
        ("去年夏天搬家", "2022-06-01", "2022年夏天搬家"),
        ("三天前到的", "2023-05-05", "2023年5月5日到的"),
        ("两年前毕业", "2021-01-01", "2021年毕业"),
        ("十个月后生", "2024-03-01", "2024年3月生"),
        ("8月5日要开会", "2023-08-05", "2023年8月5日要开会"),
        ("九月去了青岛", "2022-09-01", "2022年9月去了青岛"),
        ("2024年8月搬到杭州", "2024-08-01", None),
        ("二〇二一年三月五日", "2021-03-05", None),
        ("我们圣诞节去滑雪了", "2022-12-25", "我们于2022年圣诞节去滑雪了"),
        ("去年平安夜下了雪", "2022-12-24", "2022年平安夜下了雪"),
        ("我要在元旦前戒烟", "2024-01-01", "我要在2024年元旦前戒烟"),
        ("五一我们要去北京", "2024-05-01", "2024年五一我们要去北京"),
        ("2022年国庆去了西藏", "2022-10-01", None),
        ("十一假期我去了西藏", "2022-10-01", "2022年十一假期我去了西藏"),
        ("今年春节回了家", "2023-01-22", "2023年春节回了家"),
        ("在除夕吃了饺子", "2023-01-21", "在2023年除夕吃了饺子"),
        ("明年中秋要回家", "2024-09-17", "2024年中秋要回家"),
        ("2090年春节", "2090-01-01", None),
        ("We moved in mid-August", "2022-08-11", "We moved in mid-August 2022"),
        ("I fly in the first week of June", "2023-06-01", "I fly in the first week of June 2023"),
        ("by the end of last year we had moved", "2022-10-01", "by the end of 2022 we had moved"),
        ("early 2019 was hard", "2019-01-01", None),
        ("in the last week of February 2024", "2024-02-23", None),
        ("We grew last quarter", "2023-01-01", "We grew in Q1 2023"),
        ("We shipped in Q3", "2022-07-01", "We shipped in Q3 2022"),
        ("My dentist appointment is on the fourteenth", "2023-05-14", "My dentist appointment is on 14 May 2023"),
        ("I met her on the 14th", "2023-04-14", "I met her on 14 April 2023"),
        ("I will meet her on the 31st", "2023-05-31", "I will meet her on 31 May 2023"),
        ("We met on the twenty-first of April", "2023-04-21", "We met on 21 April 2023"),
        ("two summers ago we went to Rome", "2021-06-01", "in summer 2021 we went to Rome"),
        ("We got engaged two Christmases ago", "2021-12-25", "We got engaged at Christmas 2021"),
        ("My flight is on Christmas Eve", "2023-12-24", "My flight is on Christmas Eve 2023"),
        ("我六月初要搬家", "2023-06-01", "我于2023年6月初要搬家"),
        ("去年年底我换了工作", "2022-10-01", "2022年年底我换了工作"),
        ("两年前的冬天我去了哈尔滨", "2021-12-01", "2021年冬天我去了哈尔滨"),
        ("上个季度增长了", "2023-01-01", "2023年第一季度增长了"),
        ("六月的第一个星期要去巴黎", "2023-06-01", "2023年6月第一周要去巴黎"),
        ("90年代我在北京", "1990-01-01", None),
    ],
)
def test_a_date(text: str, day: str, written: str | None) -> None:
    """The event time is the first day of the period, on the speaker's calendar; absolute dates stay as they are."""
    expected = datetime.fromisoformat(day).replace(tzinfo=UTC)
    assert mentions.resolve_date(text, AT) == expected
    assert mentions.expand_dates(text, AT) == (written or text)
    assert not mentions.has_relative_date(mentions.expand_dates(text, AT), AT)


@pytest.mark.parametrize(
    "text",
    [
        "I swim every Friday",
        "I lived in Rome in my twenties",
        "We lost in the last quarter of the game",
        "I live on the 14th floor",
        "I get paid on the 15th",
        "for the third May in a row",
        "late to the party",
        "I have lived here for the last two years",
        "I may march on",
        "over the past year",
        "in 2000 meters turn left",
        "I wrote it in two days",
        "version 10.5.2023",
        "on 10.5.2023.4",
        "on 3/5/2023",
        "on 13/13/2023",
        "I love Halloween",
        "We always went skiing at Christmas",
        "I cook on Easter Sunday",
        "I rest on Good Friday",
        "I get hay fever in spring",
        "I get depressed in the winter",
        "I bought a tree for Christmas dinner",
        "We saw the statues on Easter Island",
        "many died in the fall of Rome",
        "I had water in spring bottles",
        "I fall in love, which springs to mind",
        "it was in the 80s degrees",
        "the temperature was in the nineties",
        "We watched The Nightmare Before Christmas",
        "I was born on Christmas Day",
        "Orthodox Christmas 2022",
        "Chinese New Year 2090",
        "the 45th of nothing",
        "I ate 12 pancakes",
        "9999 years ago",
        "on 31 June",
        "on march 7 they go",
        "we march 2000 steps",
        "we read it by may and march",
        "13月45日",
        "99999年前",
        "每周五打球",
        "我喜欢春节",
        "每年春节都回家",
        "春节我要回家，每年如此",
        "圣诞节快乐",
        "每年8月休假",
        "他有3个月大",
        "天气很好",
    ],
)
def test_no_date(text: str) -> None:
    """Habits, durations, amounts and days that do not exist are no dates."""
    assert mentions.resolve_date(text, AT) is None
    assert mentions.expand_dates(text, AT) == text


def test_a_weekday_that_is_over() -> None:
    """On a Friday, what is to be on Wednesday is next week's."""
    friday = AT + timedelta(days=4)
    assert mentions.expand_dates("周三要开会", friday) == "2023年5月17日要开会"
    assert mentions.expand_dates("周三开了会", friday) == "2023年5月10日开了会"


def test_without_takes_dates_out() -> None:
    """What is left is what happened."""
    assert mentions.remove_dates("the Lisbon marathon in October", AT) == "the Lisbon marathon"
    assert mentions.remove_dates("明年去日本", AT) == "去日本"


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    """No text raises, and what is written out is written out once."""
    once = mentions.expand_dates(text, AT)
    assert mentions.expand_dates(once, AT) == once


MENTIONS = st.sampled_from(
    [
        "yesterday",
        "last Friday",
        "next month",
        "in two weeks",
        "a year ago",
        "on Sunday",
        "last summer",
        "昨天",
        "上周五",
        "明年",
        "三天后",
        "last Christmas",
        "next Easter",
        "this past Thanksgiving",
        "New Year's Eve last year",
        "the weekend before last",
        "a fortnight ago",
        "去年圣诞节",
    ]
)


@given(MENTIONS, st.datetimes(datetime(1905, 1, 1), datetime(2090, 1, 1)))  # noqa: DTZ001 - the zone is irrelevant here
def test_on_any_day_a_mention_becomes_absolute(mention: str, at: datetime) -> None:
    """The written date means the same on the day it was said and a thousand days later."""
    text = f"the party {mention}"
    written = mentions.expand_dates(text, at)
    assert not mentions.has_relative_date(written, at)
    assert mentions.resolve_date(written, at + timedelta(days=1000)) == mentions.resolve_date(text, at)


@given(
    st.sampled_from(["yesterday", "today", "tomorrow", "昨天", "今天"]),
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - they get a zone
    st.integers(-12, 14),
)
def test_a_day_is_the_same_in_words_and_in_time(mention: str, local: datetime, east: int) -> None:
    """In whatever zone it is said: the day that is written out is the day of the calendar (UTC) that is stored."""
    at = local.replace(tzinfo=timezone(timedelta(hours=east)))
    found = mentions.resolve_date(f"the party {mention}", at)
    assert found is not None
    assert (found.utcoffset(), found.timetz().isoformat()) == (timedelta(), "00:00:00+00:00")
    day = local.date() + timedelta(days={"yesterday": -1, "昨天": -1, "tomorrow": 1}.get(mention, 0))
    assert found.date() == day
    assert mentions.resolve_date(mentions.expand_dates(f"the party {mention}", at), at) == found


def test_a_turkish_keyboard_writes_dates() -> None:
    """A dotless i, which a pattern takes for one, is one."""
    found = mentions.find_mentions("In April 2026, on 5 Aprıl 2026 and next sprİng", AT)
    assert [one.when.start.date().isoformat() for one in found] == ["2026-04-01", "2026-04-05", "2024-03-01"]


# Easter Sunday of the years from 1990 on, month and day.
EASTER = (
    "0415 0331 0419 0411 0403 0416 0407 0330 0412 0404 0423 0415 0331 0420 0411 0327 0416 0408 0323 0412 0404 0424 0408"
    " 0331 0420 0405 0327 0416 0401 0421 0412 0404 0417 0409 0331 0420 0405 0328 0416 0401 0421 0413 0328 0417 "
    "0409 0325"
    " 0413 0405 0425 0410 0401"
)
FEASTS = {
    "Christmas Eve": "1224", "xmas": "1225", "Boxing Day": "1226", "New Year's Eve": "1231", "New Year": "0101",
    "St. Valentine's Day": "0214", "Saint Patrick's Day": "0317", "the Fourth of July": "0704", "Halloween": "1031",
}  # fmt: skip


@given(st.sampled_from([*FEASTS]), st.integers(1990, 2040))
def test_a_feast_is_on_its_day(name: str, year: int) -> None:
    """Those of one date have it each year, and those that move are where the tables have them."""
    assert _on(f"{name} {year}") == datetime.strptime(f"{year}{FEASTS[name]}", "%Y%m%d").replace(tzinfo=AT.tzinfo)
    easter = datetime.strptime(f"{year}{EASTER.split()[year - 1990]}", "%Y%m%d").replace(tzinfo=AT.tzinfo)
    days = {"Good Friday": -2, "Easter": 0, "Easter Sunday": 0, "Easter Monday": 1}
    assert {one: _on(f"{one} {year}") for one in days} == {one: easter + timedelta(many) for one, many in days.items()}
    thursdays = [week[3] for week in monthcalendar(year, 11) if week[3]]
    assert _on(f"Thanksgiving of {year}") == datetime(year, 11, thursdays[3], tzinfo=AT.tzinfo)


def _on(text: str) -> datetime:
    [found] = mentions.find_mentions(text, AT)
    assert (found.start, found.end, found.when.end) == (0, len(text), found.when.start + timedelta(1))
    return found.when.start


WORDS = [
    "spring",
    "the",
    "summer",
    "fall",
    "winter",
    "love",
    "to mind",
    "Christmas",
    "Easter",
    "Halloween",
    "party",
    "water",
]


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_a_word_is_no_date_by_itself(text: str) -> None:
    """A season or a feast of no year is a date behind a preposition alone, in a question, too."""
    assert mentions.find_mentions(f"We loved {text}", AT, question="When?") == []


@pytest.mark.parametrize(
    "said",
    [
        "last night",
        "Christmas 2022",
        "spring 2022",
        "Q3 2023",
        "the late 1990s",
        "the 2000s",
        "in 2022",
        "去年圣诞节",
        "mid-May 2022",
        "the end of 2022",
        "the last week of May 2022",
        "the second half of 2022",
        "去年六月中旬",
        "去年下半年",
        "去年第三季度",
        "90年代",
    ],
)
def test_what_is_written_is_what_was_said(said: str) -> None:
    """The words of a period, wherever it comes from, name that period."""
    [found] = mentions.find_mentions(f"in {said}", AT)
    [again] = mentions.find_mentions(f"{found.when.preposition} {found.when.text}", AT)
    assert (again.when.start, again.when.end) == (found.when.start, found.when.end)


@pytest.mark.parametrize(
    "said",
    [
        "in spring ", "at Christmas ", "on the 14th ", "in the late nineties ", "May 3 ", "the first week of June ",
        "五月", "去年圣诞节",
    ],
)  # fmt: skip
def test_a_text_of_dates_alone_is_read_quickly(said: str) -> None:
    """However many it has: none is looked at with the whole text around it."""
    text, seconds = (f"we left {said}" * 20_000)[:40_000], []
    for _ in range(3):  # the garbage collector counts, too: the least is that of the reading
        start = time.process_time()
        assert mentions.find_mentions(text, AT)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.5
