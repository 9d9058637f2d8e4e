"""Extraction by rule: keys, what is to be forgotten, and what holds for any text."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, strategies as st

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.memory import Fact, Role
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.extraction.extract import extract_statements

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday
CATEGORIES = frozenset(load_settings({"HOME": "/nonexistent"}).categories)


def turn(text: str, role: Role = "user") -> Turn:
    return Turn.make(session="s", key="k", role=role, text=text, at=AT)


def found(text: str) -> list[Candidate]:
    return list(extract_statements(turn(text)).facts)


def fact(text: str) -> Fact:
    (one,) = found(text)
    assert one.fact is not None
    return one.fact


def test_three_facts_of_one_message() -> None:
    """A name, an intolerance and a move, with the month of the move as its time."""
    name, body, move = found("Hi, call me Ana. I am lactose intolerant and I'm moving to Lisbon in October.")
    assert (name.text, name.importance) == ("Preferred name is Ana", 2)
    assert (body.text, body.importance) == ("The user is lactose intolerant", 4)
    assert move.event_time == datetime(2026, 10, 1, tzinfo=UTC)
    assert move.fact == Fact(kind="event", predicate="plans", object="Lisbon", location="Lisbon", single=False)


def test_four_facts_in_chinese() -> None:
    """Standard words stand beside the words said, so that both find the memory."""
    candidates = found("王敏是我老婆，我对花生过敏，我会说法语。2024年8月我搬到了杭州。")
    for one, word in zip(candidates, ("配偶", "花生", "法语", "杭州"), strict=True):
        assert word in one.text
    assert candidates[3].event_time == datetime(2024, 8, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I like coffee", "I don't like coffee any more"),
        ("I love coffee", "I hate coffee"),
        ("I'm vegan", "I'm no longer vegan"),
        ("I'm allergic to cats", "I'm not allergic to cats"),
        ("I live in Rome", "I don't live in Rome anymore"),
        ("I speak Dutch", "I don't speak Dutch"),
        ("我喜欢香菜", "我不喜欢香菜了"),
        ("我吃素", "我不再吃素了"),
        ("我在学游泳", "游泳我不学了"),
    ],
)
def test_a_contradiction_has_the_same_key(before: str, after: str) -> None:
    """Merging sees that the two speak of one thing, and that the second denies it."""
    yes, no = fact(before), fact(after)
    assert yes.key == no.key
    assert (yes.negated, no.negated) == (False, True)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Call me Ana", "Call me Annie"),
        ("I live in Rome", "I live in Oslo"),
        ("My favourite colour is green", "My favourite colour is blue"),
        ("Tom is my boss", "My boss is called Sara"),
        ("My report is on 3 June 2026", "My report was moved to 5 June 2026"),
        ("My budget is 800 euros", "Our budget is 900 euros now"),
        ("我住在上海", "我住在杭州"),
        ("我老婆叫王敏", "我老婆是李娜"),
    ],
)
def test_one_value_at_a_time_has_one_key(first: str, second: str) -> None:
    """The second value will replace the first."""
    assert fact(first).single
    assert fact(first).key == fact(second).key


def test_another_language_has_the_same_attribute() -> None:
    """Predicates are English whatever the language, so that a fact corrects its translation."""
    for english, chinese in (
        ("I live in Rome", "我住在上海"),
        ("I'm allergic to nuts", "我对花生过敏"),
        ("Ann is my wife", "王敏是我老婆"),
    ):
        assert fact(english).attribute == fact(chinese).attribute


def test_somebody_elses_fact_is_theirs() -> None:
    """What is said of a sister never has the user as its subject."""
    named, lives = found("My sister Ida lives in Bergen")
    assert named.fact is not None
    assert lives.fact is not None
    assert (named.fact.subject, named.fact.persons) == ("user", ("Ida",))
    assert (lives.fact.subject, lives.fact.predicate, lives.fact.location) == ("Ida", "lives_in", "Bergen")


@pytest.mark.parametrize(
    ("question", "answer", "statement"),
    [
        ("Nice! What's your name?", "Ana", "The user's name is Ana"),
        ("What should I call you?", "Bo.", "Preferred name is Bo"),
        ("Where do you live?", "Rome", "The user lives in Rome"),
        ("How old are you?", "34", "The user is 34 years old"),
        ("请问怎么称呼您？", "小敏", "用户的称呼（偏好的名字）是小敏"),
        ("你住在哪里？", "杭州", "用户住在杭州"),
    ],
)
def test_a_bare_answer(question: str, answer: str, statement: str) -> None:
    """It is a statement after the assistant's question, and no fact without it."""
    asked = extract_statements(turn(answer), previous=(turn(question, "assistant"),))
    assert [one.text for one in asked.facts] == [statement]
    assert extract_statements(turn(answer)).facts == ()
    assert extract_statements(turn(answer), previous=(turn(question, "user"),)).facts == ()


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_only_the_user_speaks_of_the_user(role: Role) -> None:
    """The same words from another role hold nothing."""
    assert extract_statements(turn("I live in Rome. Forget my diet.", role)) == extract_statements(turn("", "user"))


def test_the_last_word_counts() -> None:
    """A thing said twice is found once, as it was said last."""
    assert len(found("I like tea. I like tea. I really like tea!")) == 1
    assert [one.text for one in found("I live in Rome. No, I live in Oslo now.")] == ["The user lives in Oslo"]


def test_a_long_message_is_read_from_its_start() -> None:
    """No more facts than can be meant, and none from beyond the first thousand clauses."""
    assert len(found(" ".join(f"I like dish{n}." for n in range(60)))) == 24
    assert found("It rains. " * 1200 + "I like tea.") == []
    assert len(found("It rains. " * 900 + "I like tea.")) == 1


PIECES = st.sampled_from(
    ["I", "I'm", "my", "like", "live in", "Rome", "call me", "Ana", "and", "but", ",", ".", "not", "allergic to",
        "yesterday", "last May",
     "remember that", "forget", "sister", "is", "want to", "我", "是", "喜欢", "住在", "叫", "对", "过敏", "了", "，",
     "。", "去年",
     "老婆", "记住", '"', "(", "?"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=14).map(" ".join), st.lists(PIECES, max_size=14).map("".join)))
@example("I \ud800 like tea")
def test_any_text_can_be_read(text: str) -> None:
    """No text raises; what is found names its turn, stays in range and in a known category."""
    for one in found(text):
        assert one.turns == (turn(text).id,)
        assert 1 <= one.importance <= 5
        assert one.category in CATEGORIES
        assert one.fact is not None


@pytest.mark.parametrize(
    "unit",
    [
        "I like ",
        "my sister ",
        "and I ",
        "remember that ",
        "a, ",
        "I'm ",
        "我",
        "我喜欢",
        "，我",
        "\"'",
        "I have been ",
        "if ",
        "`",
        "in May ",
        "forget about ",
        "forget x, please ",
    ],
)
def test_long_texts_are_cheap(unit: str) -> None:
    """A hundred thousand characters without a sentence take no more than a moment."""
    start = time.process_time()
    extract_statements(turn(unit * (100_000 // len(unit))))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("said", "places"),
    [
        ("I live in Porto and drink green tea", ["Porto"]),
        ("My brother lives in Porto and drives a taxi", ["Porto"]),
        ("I live in Bosnia and Herzegovina", ["Bosnia and Herzegovina"]),
        ("I live in Trinidad and Tobago and teach maths", ["Trinidad and Tobago"]),
    ],
)
def test_a_place_ends_where_something_else_begins(said: str, places: list[str]) -> None:
    """Behind `and` a capital goes on with its name, and a verb does not."""
    assert [one.fact.object for one in extract_statements(turn(said)).facts if one.fact] == places
