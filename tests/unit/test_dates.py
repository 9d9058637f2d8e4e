"""Dates: what a mention means on the day it was said, and how it is written so that it stays true."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules import dates

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
    ],
)
def test_a_date(text: str, day: str, written: str | None) -> None:
    """The event time is the start of the period, in the speaker's zone; absolute dates stay as they are."""
    expected = datetime.fromisoformat(day).replace(tzinfo=AT.tzinfo)
    assert dates.resolve(text, AT) == expected
    assert dates.absolute(text, AT) == (written or text)
    assert not dates.relative(dates.absolute(text, AT), AT)


@pytest.mark.parametrize(
    "text",
    [
        "I swim every Friday",
        "I may march on",
        "over the past year",
        "in 2000 meters turn left",
        "I wrote it in two days",
        "version 10.5.2023",
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
        "每年8月休假",
        "他有3个月大",
        "天气很好",
    ],
)
def test_no_date(text: str) -> None:
    """Habits, durations, amounts and days that do not exist are no dates."""
    assert dates.resolve(text, AT) is None
    assert dates.absolute(text, AT) == text


def test_a_weekday_that_is_over() -> None:
    """On a Friday, what is to be on Wednesday is next week's."""
    friday = AT + timedelta(days=4)
    assert dates.absolute("周三要开会", friday) == "2023年5月17日要开会"
    assert dates.absolute("周三开了会", friday) == "2023年5月10日开了会"


def test_without_takes_dates_out() -> None:
    """What is left is what happened."""
    assert dates.without("the Lisbon marathon in October", AT) == "the Lisbon marathon"
    assert dates.without("明年去日本", AT) == "去日本"


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    """No text raises, and what is written out is written out once."""
    once = dates.absolute(text, AT)
    assert dates.absolute(once, AT) == once


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
    ]
)


@given(MENTIONS, st.datetimes(datetime(1905, 1, 1), datetime(2090, 1, 1)))  # noqa: DTZ001 - the zone is irrelevant here
def test_on_any_day_a_mention_becomes_absolute(mention: str, at: datetime) -> None:
    """The written date means the same on the day it was said and a thousand days later."""
    text = f"the party {mention}"
    written = dates.absolute(text, at)
    assert not dates.relative(written, at)
    assert dates.resolve(written, at + timedelta(days=1000)) == dates.resolve(text, at)


def test_a_turkish_keyboard_writes_dates() -> None:
    """A dotless i, which a pattern takes for one, is one."""
    found = dates.mentions("In April 2026, on 5 Aprıl 2026 and next sprİng", AT)
    assert [one.when.start.date().isoformat() for one in found] == ["2026-04-01", "2026-04-05", "2024-03-01"]
