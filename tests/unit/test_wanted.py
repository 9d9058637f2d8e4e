"""What a query says about what it wants."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st

from muniment.memory.rules.language import tokens
from muniment.memory.rules.retrieval import question as asked

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
DATES = (
    "in May",
    "on 4 May",
    "4 May 2025",
    "last summer",
    "in 2024",
    "yesterday",
    "last week",
    "去年",
    "in June 2025",
    "29 February",
)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Where did Caroline move to?", {"carolin"}),
        ("where does Caroline's sister live?", {"carolin"}),
        ('who is "Melanie"?', {"melani"}),
        ('who wrote "The Alchemist"?', {"alchemist"}),
        ("who plays CS:GO with J.K. and Bo in IT?", {"j", "k", "bo"}),
        ("what did I do in March, on Sept 3rd and on Mon?", set()),
    ],
)
def test_a_name_has_a_capital_within_a_sentence(query: str, names: set[str]) -> None:
    """A capital within a sentence is a name's, whatever stands around it, but for months, weekdays and I."""
    assert asked.find_proper_nouns(query) == names


@pytest.mark.parametrize(
    "query",
    [
        "what did I watch on TV?",
        "which Iranian dish do I like?",
        "what did I say about the English and the Swiss?",
        "when did I have COVID, and what about AI and IDs?",
        "where did I do my PhD?",
        "what do I give Mum and Grandma for Christmas?",
        "what do I do on Fridays in Spring?",
        "is the Internet down, Professor?",
    ],
)
def test_not_every_capital_is_a_name(query: str) -> None:
    """Nations, abbreviations, kin, titles, feasts and days have a capital and name nobody."""
    assert asked.find_proper_nouns(query) == frozenset()
    assert asked.find_proper_nouns(f"{query[:-1]} with Dr Smith?") == {"smith"}


@pytest.mark.parametrize(
    "before", ["", " ", "Hi!\n\n", "Yes.  ", "- ", "1. ", '"', "¿", "Question: ", "(", "well… ", "好。"]
)
def test_a_sentence_starts_with_no_name(before: str) -> None:
    """The capital of a first word says nothing, be the sentence on a line of its own, quoted, or of a list."""
    assert asked.find_proper_nouns(f"{before}Recommend a restaurant") == frozenset()
    assert asked.find_proper_nouns(f"{before}Recommend a restaurant to Bo") == {"bo"}


@pytest.mark.parametrize(
    "query", ["Which Restaurant Does The User Like?", "WHAT IS THE DOG CALLED?", "BO IS GREETED", ""]
)
def test_a_headline_names_nobody(query: str) -> None:
    """Where every word has a capital, none is a name."""
    assert asked.find_proper_nouns(query) == frozenset()


@pytest.mark.parametrize("greeting", ["Hi", "hello", "Hey,", "Thanks", "Thank you,", "OK"])
def test_who_is_greeted_is_not_asked_about(greeting: str) -> None:
    """A name behind a greeting is that of who answers."""
    assert asked.find_proper_nouns(f"{greeting} Claude, where does Bo live?") == {"bo"}


@example("a:Ꭰ")
@example("a:ϒ")
@given(st.text(max_size=200))
def test_any_text_may_be_asked(query: str) -> None:
    """Names are terms in lower case, and periods have a length, whatever was typed."""
    assert all(name == name.lower() for name in asked.find_proper_nouns(query))
    assert all(start < end for start, end in asked.find_periods(query, NOON))


@pytest.mark.parametrize("query", ["in 9999", "in 0001", "9999999 years ago", "in 99999 weeks"])
def test_the_end_of_the_calendar_is_no_error(query: str) -> None:
    """A date out of the calendar names no period."""
    assert asked.find_periods(query, NOON) == ()


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What changed since 2020?", datetime(2020, 1, 1, tzinfo=UTC), NOON),
        ("Since March, what has Ana read?", datetime(2026, 3, 1, tzinfo=UTC), NOON),
        ("in 2020", datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)),
        ("since 2090", datetime(2090, 1, 1, tzinfo=UTC), datetime(2091, 1, 1, tzinfo=UTC)),
    ],
)
def test_what_has_been_since_then(query: str, start: datetime, end: datetime) -> None:
    """It lasts until now, from the last time that a date without a year came; what is yet to begin is as long as it
    is."""
    assert asked.find_periods(query, NOON) == ((start, end),)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("Who came last Christmas?", "2025-12-25", "2025-12-26"),
        ("who came around Christmas 2022?", "2022-12-25", "2022-12-26"),
        ("the weekend before last", "2026-04-25", "2026-04-27"),
        ("What is on Tuesday week?", "2026-05-12", "2026-05-13"),
        ("in Q4 2023", "2023-10-01", "2024-01-01"),
        ("in the 1990s", "1990-01-01", "2000-01-01"),
        ("in the late nineties", "1996-01-01", "2000-01-01"),
        ("on 15/3/2023", "2023-03-15", "2023-03-16"),
        ("Since Easter, what has Ana read?", "2026-04-05", "2026-05-04T12:00"),
        ("Since winter?", "2025-12-01", "2026-05-04T12:00"),
        ("去年除夕", "2025-01-28", "2025-01-29"),
        ("between May and July 2023", "2023-05-01", "2023-08-01"),
        ("from May to July 2023", "2023-05-01", "2023-08-01"),
        ("May to July 2023", "2023-05-01", "2023-08-01"),
        ("Dec 2022 – Jan 2023", "2022-12-01", "2023-02-01"),
        ("between November and February 2023", "2022-11-01", "2023-03-01"),
        ("between November 2022 and February", "2022-11-01", "2023-03-01"),
        ("between 3 and 9 May 2023", "2023-05-03", "2023-05-10"),
        ("3-9 May 2023", "2023-05-03", "2023-05-10"),
        ("from the 28th to the 3rd of May 2023", "2023-04-28", "2023-05-04"),
        ("between Christmas and New Year's Eve 2022", "2022-12-25", "2023-01-01"),
        ("between Christmas 2022 and New Year", "2022-12-25", "2023-01-02"),
        ("between 2019 and 2021", "2019-01-01", "2022-01-01"),
        ("between 2022-05-01 and 2022-06-01", "2022-05-01", "2022-06-02"),
        ("May 3 to 9, 2023", "2023-05-03", "2023-05-10"),
        ("between May 3 and 9 2023", "2023-05-03", "2023-05-10"),
        ("from the 3rd to the 9th", "2026-05-03", "2026-05-10"),
        ("What did I do on the 2nd?", "2026-05-02", "2026-05-03"),
        ("2019-2021", "2019-01-01", "2022-01-01"),
        ("early 2019", "2019-01-01", "2019-05-01"),
        ("in the twenties", "2020-01-01", "2030-01-01"),
        ("last quarter", "2026-01-01", "2026-04-01"),
        ("over the past two weeks", "2026-04-20T12:00", "2026-05-04T12:00"),
        ("最近两周", "2026-04-20T12:00", "2026-05-04T12:00"),
        ("2023年三月到五月", "2023-03-01", "2023-06-01"),
        ("2023年十二月至二月", "2023-12-01", "2024-03-01"),
        ("去年夏天到今年春天", "2025-06-01", "2026-06-01"),
        ("从2019到2021年", "2019-01-01", "2022-01-01"),
        ("2023年5月3日到9日", "2023-05-03", "2023-05-10"),
        ("从去年到现在", "2025-01-01", "2026-05-05"),
        ("上周三到周五", "2026-04-29", "2026-05-02"),
        ("from Thursday to Tuesday", "2026-05-07", "2026-05-13"),
        ("Who called from Friday to Thursday?", "2026-04-24", "2026-05-01"),
        ("from March until now in Rome", "2026-03-01", "2026-05-05"),
    ],
)
def test_one_period(query: str, start: str, end: str) -> None:
    """A date, or two that are joined, of which the one takes the year from the other."""
    first, last = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (start, end))
    assert asked.find_periods(query, NOON) == ((first, last),)


@pytest.mark.parametrize(
    ("query", "periods"),
    [
        ("at Christmas", 15),
        ("Easter Sunday", 15),
        ("in the summer", 15),
        ("May - July", 15),
        ("May 3 to 9", 15),
        ("3-9 May", 15),
        ("三月到五月", 15),
        ("三到五月", 15),
        ("我三月到上海去了", 15),
        ("我去年到上海，去了三天", 1),
        ("from May 3 to 9 pm", 15),
        ("in my twenties", 0),
        ("the last two weeks of school", 0),
        ("between Chinese New Year and May 2003", 1),
        ("December 2022 and March 2023", 2),
        ("the letters from June 2020 and June 2022", 2),
        ("from July 2023 to May 2023", 2),
        ("between 31 and 5 May 2023", 1),
        ("from 31 to 5 May 2023", 1),
        ("between you and me", 0),
        ("from home to school", 0),
        ("between Rome and May 2023", 1),
        ("at Easter Island", 0),
        ("Who saw The Nightmare Before Christmas?", 0),
        ("Before Christmas?", 15),
        ("WHO CAME BEFORE CHRISTMAS?", 15),
    ],
)
def test_so_many_periods(query: str, periods: int) -> None:
    """What has no year is that of each, and what is not joined, or not in the order of time, is each by itself."""
    assert len(asked.find_periods(query, NOON)) == periods


@given(st.integers(2014, 2028))
def test_a_feast_that_moves_is_reckoned_for_each_year(year: int) -> None:
    """Who asks about Easter asks about that of each year."""
    assert asked.find_periods(f"Easter {year}", NOON)[0] in asked.find_periods("at Easter", NOON)


ABSOLUTE = ("May 2021", "4 May 2022", "2022", "Christmas 2022", "spring 2023", "Q3 2023", "2024-02-29", "the 2010s")


@given(
    st.sampled_from(ABSOLUTE),
    st.sampled_from(ABSOLUTE),
    st.sampled_from(["between {} and {}", "from {} to {}", "from {} until {}"]),
)
def test_a_span_has_both_its_parts(one: str, other: str, joined: str) -> None:
    """It goes from the start of the first to the end of what ends last, and is never shorter than either."""
    [first], [second] = (asked.find_periods(f"in {part}", NOON) for part in (one, other))
    if first[0] > second[0]:
        (one, first), (other, second) = (other, second), (one, first)
    assert asked.find_periods(joined.format(one, other), NOON) == ((first[0], max(first[1], second[1])),)


@pytest.mark.parametrize(
    "query",
    [
        "5月" * 2_000,
        "between May and June, from May to June, " * 200,
        "from " * 3_000,
        "May-" * 3_000,
        "May 1, 3 May, " * 300,
        "next year last year " * 200,
    ],
)
def test_dates_without_end_are_a_few_periods(query: str) -> None:
    """Every memory is held against each: what is said again, and what comes after many dates, is no more of them."""
    days = " ".join(f"{day} {month}" for month in ("May", "July", "August") for day in range(1, 31, 2))
    assert len(asked.find_periods(query, NOON)) <= 30
    assert len(asked.find_periods(days, NOON)) == 12 * 15


@given(st.lists(st.sampled_from(DATES), max_size=8), st.integers(-6_000, 900))
def test_periods_that_touch_are_one(named: list[str], days: int) -> None:
    """A moment is as near to them as it is to the nearest of the dates, each by itself."""
    moment = NOON + timedelta(days=days)
    alone = [period for one in named for period in asked.find_periods(one, NOON)]
    together = asked.find_periods(", ".join(named), NOON)
    assert asked.compute_nearness(moment, together, before=14, after=90) == asked.compute_nearness(
        moment, tuple(alone), before=14, after=90
    )
    assert all(end < start for (_, end), (start, _) in pairwise(together))


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("what may I not eat?", {"eat"}),
        ("May I eat nuts?", {"eat", "nut"}),
        ("may there be nuts in it, or may it rain?", {"nut", "rain"}),
        ("WHO MAY I ASK?", {"ask"}),
        ("what did I do in May?", {"may"}),
        ("what happened in may, and on may 5?", {"may", "happen", "5"}),
        ("in may we went where?", {"may", "went"}),
        ("was it May or June?", {"may", "june"}),
        ("does May like tea?", {"may", "like", "tea"}),
    ],
)
def test_what_one_may_is_not_in_may(query: str, terms: set[str]) -> None:
    """The keywords have the month, and who is called so, without the verb."""
    assert set(asked.parse_question(query).terms) == terms


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("我对什么过敏？", ("过敏",)),
        ("我住在哪里？", ("住在",)),
        ("小白是谁？", ("小白",)),
        ("了解", ("了解",)),
        ("Who is 小白?", ("小白",)),
    ],
)
def test_the_grammar_of_a_chinese_question_is_not_asked_for(query: str, terms: tuple[str, ...]) -> None:
    """Pairs that no statement has would make the share of those that it has small; alone they are what is asked for."""
    assert tokens.extract_terms(query) == terms


@given(st.text("我的猫叫什么名字是谁小白住在 tea", max_size=60), st.integers(1, 5))
def test_terms_are_lexemes(query: str, most: int) -> None:
    """A query has terms where it has lexemes, each once, at most so many."""
    found = tokens.extract_terms(query, most)
    assert set(found) <= set(tokens.extract_lexemes(query))
    assert len(found) == len(set(found)) <= most
    assert bool(found) == any(tokens.extract_lexemes(query))


@pytest.mark.parametrize(
    ("query", "speaker"),
    [
        ("what does Caroline's brother eat?", "caroline"),
        ("小明昨天吃了什么？", "小明"),
        ("你问欧阳小红了吗", "欧阳小红"),
        ("who is Strauß?", "strauß"),
        ("что сказала Анна?", "анна"),
    ],
)
def test_a_speaker_is_recognised(query: str, speaker: str) -> None:
    """In any script, with spaces or without, as the lower case of the name is written."""
    assert speaker in tokens.extract_speaker_terms(query)
    assert len(tokens.extract_speaker_terms(query * 40)) <= 64
