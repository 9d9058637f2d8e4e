"""A model's answers read by rule: what is repaired, what is refused, and that nothing else gets through."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.memory import Role, Trust
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.model_answer import FACTS_SCHEMA, parse_facts
from muniment.memory.rules.language.json_finder import find_json
from muniment.memory.rules.statements.predicates import CATEGORIES
from tests.answers import NOON, SLUGS, fact, one, told, turns


@pytest.mark.parametrize(
    "text",
    [
        '{"facts": [1]}',
        '```json\n{"facts": [1]}\n```',
        'Sure, here {it} is: {"facts": [1]} Anything {else}?',
        '{"thought": {"facts": "none yet"}} and then {"facts": [1]}',
        '<think>{"a": "}{"}</think>{"note": "a \\" and a }", "facts": [1]}',
        '{ {{ { "facts": [ {"facts": [1]}',
        '{"facts": [1], "broken": "a\nb"}',
    ],
)
def test_the_object_is_found_among_other_words(text: str) -> None:
    """Fenced, surrounded, behind another object, with braces in its strings."""
    assert find_json(text, "facts")["facts"] == [1]


@pytest.mark.parametrize(
    "text",
    [
        "", "No facts here.", "[]", '"facts"', '{"facts": [', '{"fact": []}', '{"facts": null}', '{"facts": {}}',
        "{" * 50_000, '{"a":' * 50_000,
    ],
)  # fmt: skip
def test_what_holds_no_list_of_facts_is_an_error(text: str) -> None:
    """Never an empty list: nothing found and nothing understood are not the same."""
    with pytest.raises(BadExtraction) as raised:
        parse_facts(text, turns("I live in Lisbon"), target_numbers=[1], categories=SLUGS)
    assert "Lisbon" not in str(raised.value)


@given(st.text(max_size=300))
def test_no_text_does_harm(text: str) -> None:
    """Whatever a model says is facts or an error of its own class."""
    try:
        found = parse_facts(text, turns("I live in Lisbon"), target_numbers=[1], categories=SLUGS)
    except BadExtraction:
        return
    assert len(found.candidates) + len(found.refusals) == found.total


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
FIELDS = list(FACTS_SCHEMA["properties"]["facts"]["items"]["properties"])
ODD = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=len(FIELDS))
SAID = st.sampled_from([
    "I live in Lisbon", "You moved yesterday", "She likes tea", "用户明天去上海", "他喜欢茶",
    "The user has 3 cats. " * 20, "",
    "x",
])  # fmt: skip


@given(st.lists(st.builds(lambda odd, said: fact(said) | odd, ODD, SAID) | JSON, max_size=4))
def test_every_candidate_passes_the_checks(facts: list[Any]) -> None:
    """Of known category and kind, with a turn, in the third person, timeless, short, within its ranges, whatever
    came."""
    conversation = turns("I moved to Lisbon yesterday, I like tea, my 3 cats too. 我喜欢茶，明天去上海。")
    found = parse_facts(json.dumps({"facts": facts}), conversation, target_numbers=[1], categories=SLUGS)
    assert len(found.candidates) + len(found.refusals) == found.total == len(facts)
    assert len(found.repairs) <= len(found.candidates)
    for candidate in found.candidates:
        assert candidate.fact is not None
        assert candidate.category in SLUGS
        assert candidate.fact.kind in CATEGORIES
        assert candidate.turns == (conversation[0].id,)
        assert 0 < len(candidate.text) <= 280
        assert not mentions.has_relative_date(candidate.text, NOON)
        assert not {"i", "you", "she", "my"} & set(candidate.text.casefold().split())
        assert 1 <= candidate.importance <= 5
        assert 0.5 <= candidate.confidence <= 1


@pytest.mark.parametrize(
    ("said", "statement", "more", "kept", "why"),
    [
        ("I live in Lisbon", "I live in Lisbon.", {}, "The user lives in Lisbon", "pronoun"),
        ("I'm a nurse", "You are a nurse", {}, "The user is a nurse", "pronoun"),
        ("My sister Ana sings", "My sister Ana sings", {}, "The user's sister Ana sings", "pronoun"),
        ("My sister Ana sings", "She sings", {"subject": "Ana", "persons": ["Ana"]}, "Ana sings", "pronoun"),
        ("Ana sold her car", "Ana sold her car", {"subject": "Ana", "persons": ["Ana"]}, "Ana sold Ana's car",
            "pronoun"),
        ("My sister sold her car", "The user's sister sold her car", {"subject": "user's sister"},
            "The user's sister sold the sister's car", "pronoun"),
        ("Ana says she's tired", "She's tired and they called her", {"subject": "Ana", "persons": ["Ana"]},
            "Ana is tired and Ana called Ana", "pronoun"),
        ("我妹妹说她要结婚", "用户的妹妹说她要结婚", {"subject": "用户的妹妹"}, "用户的妹妹说妹妹要结婚", "pronoun"),
        ("我喜欢茶，他说", "他喜欢茶", {}, "用户喜欢茶", "pronoun"),
        ("I like tea", "They like tea", {}, "The user likes tea", "pronoun"),
        ("I own a boat", "The user loves their boat", {}, "The user loves the user's boat", "pronoun"),
        ("我住在杭州", "我住在杭州", {}, "用户住在杭州", "pronoun"),
        ("我的猫叫豆包", "你的猫叫豆包", {}, "用户的猫叫豆包", "pronoun"),
        ("I moved yesterday", "The user moved yesterday", {}, "The user moved on 3 May 2026", "relative date"),
        ("我昨天搬家了", "用户昨天搬家了", {}, "用户于2026年5月3日搬家了", "relative date"),
        ("I never work on Fridays", "The user never works on Friday", {}, "The user never works every Friday",
            "relative date"),
        ("我周五一般不开会", "用户周五一般不开会", {}, "用户每周五一般不开会", "relative date"),
        ("I like tea", "The user likes tea", {"kind": "hobby horse"}, "The user likes tea", "unknown kind"),
        ("I like tea", "The user likes tea", {"category": "Goals"}, "The user likes tea", "unknown category"),
        ("I like tea", "The user likes tea", {"importance": 9}, "The user likes tea", "importance"),
        ("I like tea", "The user likes tea", {"confidence": 90}, "The user likes tea", "confidence"),
        ("I like tea", "The user likes tea", {"turns": []}, "The user likes tea", "no supporting turn"),
        ("I like tea", "The user likes tea", {"turns": ["1", 7]}, "The user likes tea", "no supporting turn"),
    ],
)  # fmt: skip
def test_what_is_certain_is_repaired(said: str, statement: str, more: dict[str, Any], kept: str, why: str) -> None:
    """And said to have been."""
    found, repaired = one(turns(said), fact(statement, **more))
    assert (found.text, repaired) == (kept, (why,))


@pytest.mark.parametrize(
    ("said", "statement", "more", "why"),
    [
        ("I like tea", "", {}, "no statement"),
        ("I like tea", ["The user likes tea"], {}, "no statement"),
        ("I like tea", "The user owns a castle in Wales", {"turns": None}, "no supporting turn"),
        ("I like tea", "The user likes tea", {"confidence": 0.3}, "low confidence"),
        ("I like tea", "The user likes tea", {"category": "drinks"}, "unknown category"),
        ("I like tea", "We like tea", {}, "first or second person"),
        ("I like it here", "I like it here", {}, "first or second person"),
        ("I like tea", "You like my tea", {}, "first or second person"),
        ("Ana and Bo like tea", "She likes tea", {"persons": ["Ana", "Bo"]}, "pronoun"),
        ("Ana and Bo like tea", "She likes tea", {"subject": "Ana", "persons": ["Ana", "Bo"]}, "pronoun"),
        ("Ana likes tea", "She likes tea", {"subject": "Ana"}, "pronoun"),
        ("我们喜欢茶", "我们喜欢茶", {}, "first or second person"),
        ("I like tea", "The user likes coffee", {"object": "coffee"}, "not in the turn"),
        ("I have three kids", "The user has 4 kids", {"object": "4 kids"}, "not in the turn"),
        ("我喜欢喝茶", "用户喜欢苹果", {"object": "苹果"}, "not in the turn"),
        ("我有三只猫", "The user has 5 cats", {"object": "5 cats"}, "not in the turn"),
        ("I like tea", "The user was born in Oslo", {"object": "Oslo"}, "not in the turn"),
        ("I like tea", "The user's birthday is 3 May", {"object": "3 May"}, "not in the turn"),
        ("I like tea", "The user swims at dawn", {"object": "hot drinks of any kind"}, "not in the turn"),
        ("I like long walks", "The user likes walks " + "so much that words fail " * 15, {},
            "longer than 280 characters"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_refused(said: str, statement: object, more: dict[str, Any], why: str) -> None:
    """With the reason, and without a word of what was said."""
    found = told(turns(said), fact(statement, **more))
    assert (found.candidates, found.refusals, found.repairs) == ((), (why,), ())


@pytest.mark.parametrize(
    ("said", "statement", "value"),
    [
        ("We have three kids", "The user has 3 kids", "3 kids"),
        ("I make 5k a month", "The user earns 5,000 a month", "5,000 a month"),
        ("I paid two hundred and fifty", "The user paid 250", "250"),
        ("预算一万八", "用户的预算是18000", "18000"),
        ("I'm in NYC now", "The user lives in New York City", "New York City"),
        ("starting as a PM at a fintech", "The user starts as a product manager at a fintech", "product manager"),
        (
            "I've got 8 yrs in backend dev",
            "The user has 8 years of backend development",
            "8 years of backend development",
        ),
        ("I'm 5'11 and 82 kilos", "The user is 5 feet 11 inches tall and weighs 82 kg", "5'11, 82 kg"),
        ("I'm German", "The user comes from Germany", "Germany"),
        ("我在杭州上班", "The user works in Hangzhou", "Hangzhou"),
        ("I gave up meat", "The user gave up meat and is a vegetarian", "meat"),
        ("I was born on 3 May", "The user's birthday is 3 May", "3 May"),
        ("I slept half an hour", "The user slept 0.5 hours", "0.5 hours"),
        ("我睡了半小时", "用户睡了0.5小时", "0.5小时"),
        ("We leave at 5pm on 3 June", "The user leaves at 17 on 3 June", "17"),
    ],
)
def test_other_words_for_it_are_fine(said: str, statement: str, value: str) -> None:
    """Numbers in words, initials, related words and translations are no inventions."""
    assert len(told(turns(said), fact(statement, object=value)).candidates) == 1


def test_a_translation_needs_a_reason() -> None:
    """Where a language is spoken anyway, a statement in it is held to the words of the conversation."""
    raw = fact("The user works in Hangzhou", object="Hangzhou", turns=[2])
    assert told(turns("早", "我在杭州上班"), raw).refusals == ()
    english = "Good morning, please draft a short reply to the mayor about our harbour park"
    assert told(turns(english, "我在杭州上班"), raw).refusals == ("not in the turn",)
    assert told(turns(f"{english} in Hangzhou, where I work", "我在那边上班"), raw).refusals == ()


def test_the_words_of_a_neighbour_are_not_enough() -> None:
    """Something of it is said in the turn that is named."""
    raw = fact("The user owns a boat", predicate="owns", object="boat", turns=[2])
    assert told(
        turns("I own a boat", "The weather in Bergen was cold, wet, windy and grey all spring"), raw
    ).refusals == ("not in the turn",)
    assert told(turns(("assistant", "Do you own a boat?"), "I own two"), raw).refusals == ()


def test_a_long_statement_ends_with_a_sentence() -> None:
    """The rest of it goes."""
    found, repaired = one(turns("I like tea and walks"), fact("The user likes tea. The user likes walks. " * 8))
    assert len(found.text) <= 280
    assert found.text.endswith((" tea.", " walks."))
    assert repaired == ("too long",)


def test_what_an_earlier_turn_said_is_not_read_again() -> None:
    """It had its own look; as the question to an answer it helps."""
    conversation = turns("I like tea", ("assistant", "Where do you live?"), "Lisbon")
    found = told(
        conversation,
        fact("The user likes tea", turns=[1]),
        fact("The user lives in Lisbon", turns=[2, 3], predicate="lives_in", object="Lisbon", category="profile"),
    )
    assert [one.text for one in found.candidates] == ["The user lives in Lisbon"]
    assert found.candidates[0].turns == (conversation[1].id, conversation[2].id)
    assert found.refusals == ("no supporting turn",)


@pytest.mark.parametrize(("role", "trust"), [("user", "user"), ("tool", "tool"), ("assistant", "agent")])
def test_a_statement_is_trusted_as_its_turn_is(role: Role, trust: Trust) -> None:
    """And nobody but the user is the user: the I of a tool is somebody else."""
    conversation = turns((role, "Ana lives in Lisbon. I live in Rome"))
    found = told(conversation, fact("Ana lives in Lisbon", subject="Ana", persons=["Ana"]), fact("I live in Rome"))
    assert found.candidates[0].trust == trust
    assert found.candidates[0].role == role
    assert len(found.candidates) == (2 if role == "user" else 1)


@pytest.mark.parametrize("role", ["tool", "assistant"])
def test_what_others_say_is_no_fact_about_the_user(role: Role) -> None:
    """Not even what a tool states of the user in so many words."""
    found = told(turns((role, "The user lives in Lisbon.")), fact("The user lives in Lisbon"))
    assert found.refusals == ("not the user's words",)


def test_the_i_of_a_document_is_not_the_user() -> None:
    """Whoever passed it on."""
    some = fact("Somebody lives in Rome", subject="somebody")
    found = told(turns("I live in Rome", source="document"), fact("I live in Rome"), some)
    assert found.refusals == ("first or second person",)
    assert [one.trust for one in found.candidates] == ["document"]


@pytest.mark.parametrize(
    ("statement", "given", "kept"),
    [
        ("The user moved on 3 May 2026", None, datetime(2026, 5, 3, tzinfo=UTC)),
        ("The user moved on 3 May 2026", "1999-01-01", datetime(2026, 5, 3, tzinfo=UTC)),
        ("The user moved", "2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("The user moved", "2026-05-01T08:30:00+02:00", datetime(2026, 5, 1, 6, 30, tzinfo=UTC)),
        ("The user moved", "next week", None),
        ("The user moved", "null", None),
    ],
)
def test_the_time_is_that_of_the_statement(statement: str, given: str | None, kept: datetime | None) -> None:
    """What the statement says goes before what the model adds; what is no time is none."""
    found, _ = one(turns("I moved, on 3 May 2026 I think"), fact(statement, kind="event", event_time=given))
    assert found.event_time == kept
