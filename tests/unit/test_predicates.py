"""One fact, one key: predicates, subjects and numbers mean the same whoever found them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction.alignment import align_candidates
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.language import numerals
from muniment.memory.rules.statements import predicates
from tests.answers import fact, one, turns

RULED = [
    "My name is Ana", "Call me Nina", "I live in Lisbon", "I'm 34 years old", "My birthday is 3 May", "I'm from Porto",
    "I work as a nurse", "I work at Globex", "I am married", "I love green tea", "I hate olives",
    "My favourite food is ramen",
    "I'm allergic to peanuts", "I'm vegan", "My wife's name is Maria", "My sister lives in Rome", "I speak French",
    "My budget is 2000 euros",
    "I moved to Lisbon last year", "我叫王敏", "我住在杭州", "我对花生过敏", "我老婆叫李雷",
    "我最喜欢的颜色是蓝色",
]  # fmt: skip


@pytest.mark.parametrize("text", RULED)
def test_what_the_rules_find_comes_back_with_its_key(text: str) -> None:
    """A model that answers with the rules' own facts names them alike, so that they meet."""
    [turn] = turns(text)
    known = extract_statements(turn).facts
    assert known
    for candidate in known:
        found = candidate.fact
        assert found is not None
        raw = fact(
            candidate.text,
            kind=found.kind,
            predicate=found.predicate,
            object=found.object,
            subject=found.subject,
            single=not found.single,
            negated=found.negated,
            persons=list(found.persons),
            category=candidate.category,
        )
        read_back, repaired = one([turn], raw)
        assert repaired == ()
        assert read_back.fact is not None
        assert read_back.fact.key == found.key
        assert (read_back.text, read_back.event_time) == (candidate.text, candidate.event_time)


@pytest.mark.parametrize(
    ("kind", "predicate", "subject", "name"),
    [
        ("identity", "home city", "user", ("identity", "lives_in", True)),
        ("event", "resides_in", "user", ("identity", "lives_in", True)),
        ("identity", "lives_in", "Ana", ("relationship", "lives_in", True)),
        ("family", "wife", "user", ("relationship", "spouse", True)),
        ("note", "老婆", "user", ("relationship", "spouse", True)),
        ("relationship", "former_spouse", "user", ("relationship", "former_spouse", False)),
        ("relationship", "older sister", "user", ("relationship", "sister", False)),
        ("preference", "favorite_food", "user", ("preference", "favourite_food", True)),
        ("note", "has_kids", "user", ("relationship", "has_kids", True)),
        ("note", "report deadline", "user", ("constraint", "deadline_of_report", True)),
        ("experience", "sailed around", "user", ("experience", "sailed_around", False)),
        ("nonsense", "sails", "user", ("note", "sails", False)),
        ("skill", "sails", "user", ("skill", "sails", None)),
    ],
)
def test_predicates_have_one_name(kind: str, predicate: str, subject: str, name: tuple[str, str, bool | None]) -> None:
    """Whoever found the fact, and in whatever words."""
    found = predicates.normalize_predicate(kind, predicate, subject)
    assert (found.kind, found.predicate, found.single) == name


def test_a_dislike_is_a_like_denied() -> None:
    """As the rules have it."""
    assert predicates.normalize_predicate("preference", "hates", "user").negated
    found, _ = one(turns("I hate olives"), fact("The user hates olives", predicate="dislikes", object="olives"))
    assert found.fact is not None
    assert (found.fact.predicate, found.fact.negated) == ("likes", True)


@pytest.mark.parametrize(
    ("said", "subject"),
    [
        ("", "user"), ("The user", "user"), ("用户", "user"), ("I", "user"), ("Bo", "user"), ("Ana", "Ana"),
        ("the user's wife", "user's spouse"), ("my older sister", "user's older sister"),
        ("用户的老婆", "user's spouse"),
        ("user's dog Rex", "Rex"), ("Userton", "Userton"),
    ],
)  # fmt: skip
def test_subjects_have_one_name(said: str, subject: str) -> None:
    """The speaker is the user, also by name; a relation is one word."""
    assert predicates.normalize_subject(said, "bo") == subject


def test_a_relation_is_known_by_its_name() -> None:
    """Where somebody says it beside the relation."""
    raw = fact("The user's wife Maria teaches", subject="user's wife", persons=["Maria"], object="teaches")
    found, _ = one(turns("My wife Maria teaches"), raw)
    assert found.fact is not None
    assert found.fact.subject == "Maria"
    stranger = fact("The user's wife met Maria", subject="user's wife", persons=["Maria"], object="met Maria")
    found, _ = one(turns("My wife met Maria"), stranger)
    assert found.fact is not None
    assert found.fact.subject == "user's spouse"


@pytest.mark.parametrize(
    ("said", "statement", "more", "same"),
    [
        ("昨天我搬到了苏州！", "用户于2026年5月3日搬到了苏州",
            {"kind": "event", "predicate": "got", "object": "苏州"}, True),
        ("我不吃香菜", "用户不吃香菜，也受不了香菜的味道",
            {"kind": "preference", "predicate": "dislikes", "object": "香菜"}, True),
        ("My wife's name is Maria, she has asthma", "The user's wife Maria has asthma",
            {"subject": "Maria", "object": "asthma"}, False),
        ("I like tea", "The user does not like tea",
            {"predicate": "avoids", "object": "tea", "turns": [2], "heard": "I don't like tea"}, False),
        ("My sister lives in Rome", "The user lives in Rome",
            {"predicate": "lives_in", "object": "Rome", "turns": [2], "heard": "I live in Rome"}, False),
    ],
)  # fmt: skip
def test_nearly_the_same_words_of_one_turn_are_one_fact(
    said: str, statement: str, more: dict[str, Any], same: bool
) -> None:
    """Under the rules' key, unless they deny it, or are about something or somebody else."""
    heard = {key: value for key, value in more.items() if key == "heard"}
    conversation = turns(said, *heard.values())
    known = extract_statements(conversation[0]).facts
    found, _ = one(conversation, fact(statement, **{key: more[key] for key in more.keys() - heard.keys()}))
    [aligned] = align_candidates([found], known)
    assert aligned.fact is not None
    keys = {candidate.fact.key for candidate in known if candidate.fact}
    assert keys
    assert (aligned.fact.key in keys) is same
    assert aligned.text == found.text


def test_what_has_no_fact_stays_as_it_is() -> None:
    """An episode or an insight has no key."""
    [turn] = turns("I like tea")
    plain = Candidate(text="The user likes tea", category="activity", turns=(turn.id,))
    assert align_candidates([plain], extract_statements(turn).candidates) == (plain,)
    known, _ = one([turn], fact("The user likes tea", predicate="enjoys things like", object="tea"))
    assert align_candidates([known], [plain]) == (known,)


def test_another_number_is_another_fact() -> None:
    """In nearly the same words."""
    known = extract_statements(turns("I need to pay 300 euros by 4 June")[0]).candidates
    found, _ = one(turns("I need to pay 800 euros by 4 June"), fact("The user needs to pay 800 euros by 4 June 2026"))
    assert known
    assert align_candidates([found], known) == (found,)


def test_what_is_known_in_parts_is_left_out() -> None:
    """Two skills are not a third one, a third thing is."""
    [turn] = turns("I'm good with QGIS and Rhino, and with Blender on Sundays")
    both = fact("The user is good with QGIS and Rhino", kind="skill", predicate="skilled_in", object="QGIS and Rhino")
    more = fact(
        "The user is good with Rhino and Blender", kind="skill", predicate="skilled_in", object="Rhino and Blender"
    )
    known = [
        one([turn], fact(f"The user is good with {app}", kind="skill", predicate="skilled_in", object=app))[0]
        for app in ("QGIS", "Rhino")
    ]
    found = [one([turn], raw)[0] for raw in (both, more)]
    assert [left.text for left in align_candidates(found, known)] == ["The user is good with Rhino and Blender"]


@given(st.integers(0, 99_999_999))
def test_a_number_in_chinese_is_the_number(value: int) -> None:
    """Digit by digit and in units."""
    assert float(value) in numerals.expand_numbers(f"一共{_chinese(value)}个")


@given(st.integers(1, 999_999))
def test_a_number_in_english_is_the_number(value: int) -> None:
    """With and without the and."""
    assert float(value) in numerals.expand_numbers(f"about {_english(value)} of them")


def _chinese(value: int) -> str:
    if value == 0:
        return "零"
    high, low = divmod(value, 10_000)
    gap = "零" if high and 0 < low < 1000 else ""
    return (_below(high) + "万" if high else "") + gap + (_below(low) if low else "")


def _below(value: int) -> str:
    text, zero = "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        figure, value = divmod(value, unit)
        if figure:
            text += ("零" if zero and text else "") + "零一二三四五六七八九"[figure] + name
        zero = not figure
    return text


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)


def _english(value: int) -> str:
    if value >= 1000:
        rest = f" {_english(value % 1000)}" if value % 1000 else ""
        return f"{_english(value // 1000)} thousand{rest}"
    if value >= 100:
        rest = f" and {_english(value % 100)}" if value % 100 else ""
        return f"{_english(value // 100)} hundred{rest}"
    if value < 20:
        return _ONES.split()[value]
    tens = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")[value // 10 - 2]
    return tens + (f"-{_ONES.split()[value % 10]}" if value % 10 else "")
