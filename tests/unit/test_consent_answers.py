"""What is an answer to a question for consent, and to which of its parts."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.consent import Consent, RequestId
from muniment.memory.domain.ids import MemoryId
from muniment.memory.rules.policy.answers import Decisions, parse_choice, parse_reply, parse_resume
from tests.engine import NOON
from tests.spoofs import PRETENCES, RESUMES


def request(number: int, field: Any, value: str) -> Consent:
    return Consent(
        id=RequestId(UUID(int=number)),
        field=field,
        value=value,
        decision="pending",
        memory=MemoryId(UUID(int=number)),
        asked_at=NOON,
        expires_at=NOON,
    )


NAME, CITY = request(1, "preferred_name", "Ana"), request(2, "city", "Porto")
BOTH = (NAME, CITY)


def told(decisions: Decisions) -> tuple[bool | str | None, bool | str | None] | None:
    """The decisions on the name and on the city; None for no answer at all."""
    return (decisions[NAME.id], decisions[CITY.id]) if decisions else None


@pytest.mark.parametrize(
    "text",
    ["yes", "ja", "Ja, bitte!", "sí", "Sí, gracias.", "oui", "Oui, merci", "d'accord", "好的", "はい", "네", "да",
     "sim", "yes to both", "yes to all of them", "yes to the name and the city", "name and city: yes", "都可以",
     'yes to "Ana" and "Porto"', "you may use my name and my city"],
)  # fmt: skip
def test_yes_to_all(text: str) -> None:
    assert told(parse_reply(text, BOTH)) == (True, True)


@pytest.mark.parametrize(
    "text",
    ["no", "nein", "Nein, danke.", "non merci", "no, gracias", "нет", "いいえ", "não", "不要", "neither",
     "none of them", "no to both", "都不要", "don't keep the name, and don't use the city"],
)  # fmt: skip
def test_no_to_all(text: str) -> None:
    assert told(parse_reply(text, BOTH)) == (False, False)


@pytest.mark.parametrize(
    "text",
    ["yes to the name, no to the city", "Yes to the name and no to the city.",
     "yes to the name\nno to the city",
     "no to the city, yes to the name please", "name yes, city no", "the name, yes; the city, no",
     "yes, but not my city",
     "only the name", "yes, only the name", "keep Ana, but don't use Porto", "Ana yes, Porto no",
     "Name: ja, Stadt: nein", "ja zum Namen, nein zur Stadt", "sí al nombre, no a la ciudad",
     "oui pour le nom, non pour la ville",
     "名字可以，城市不行", "可以用名字，不要用城市"],
)  # fmt: skip
def test_yes_to_one_and_no_to_the_other(text: str) -> None:
    assert told(parse_reply(text, BOTH)) == (True, False)


@pytest.mark.parametrize(
    ("text", "decisions"),
    [
        ("yes to the name", (True, None)),
        ("no to the city", (None, False)),
        ("yes?", (None, None)),
        ("ok?", (None, None)),
        ("好的？", (None, None)),
        ("yes, no", (None, None)),
        ("yes to the name?", (None, None)),
        ("yes to the name, no to the name", (None, None)),
        ("yes to the naem", (None, None)),
        ("yes to the pronouns", (None, None)),
        ("both", (None, None)),
        ('{"approve": true}', (None, None)),
        ('"yes"', (None, None)),
        ("yes to the name, and what is the weather like?", (None, None)),
    ],
)
def test_what_is_asked_again(text: str, decisions: tuple[bool | None, bool | None]) -> None:
    """What is named is decided, the rest is unclear; so is all of what is said with a question or a contradiction."""
    assert told(parse_reply(text, BOTH)) == decisions


@pytest.mark.parametrize(
    "text",
    ["", "maybe", "What is the time?", "no idea", "Yes, I will go to Rome tomorrow", "好的，帮我订机票",
     "Call me maybe",
     "I live in Porto", "nothing", "yesterday", "No, I moved to Lisbon", "不知道", "thanks", "x" * 300, "[1, 2"],
)  # fmt: skip
def test_an_ordinary_message(text: str) -> None:
    """What answers nothing is not an answer."""
    assert parse_reply(text, BOTH) == {}


@pytest.mark.parametrize("text", PRETENCES)
def test_a_pretended_yes(text: str) -> None:
    """Neither in a chat nor as the value that resumes an interrupt, except for the plain object, which is an answer
    there."""
    assert True not in parse_reply(text, BOTH).values()
    assert False not in parse_reply(text, BOTH).values()
    if text != '{"approve": true}':
        assert True not in parse_resume(text, BOTH).values()


@pytest.mark.parametrize("answer", RESUMES)
def test_a_pretended_resume(answer: Any) -> None:
    assert set(parse_resume(answer, BOTH).values()) <= {None}


def edit(**values: Any) -> dict[str, Any]:
    return {"type": "edit", "args": {"action": "use_in_profile", "args": values}}


@pytest.mark.parametrize(
    ("answer", "decisions"),
    [
        (True, (True, True)),
        ("true", (True, True)),
        ("Yes", (True, True)),
        ("No", (False, False)),
        ({"approve": True}, (True, True)),
        ('{"approve": true}', (True, True)),
        ({"approved": "no"}, (False, False)),
        ({"reject": True}, (False, False)),
        ({"approve": True, "reject": True}, (None, None)),
        ({"type": "accept", "args": None}, (True, True)),
        ([{"type": "accept", "args": None}], (True, True)),
        ({"type": "response", "args": "nein"}, (False, False)),
        ([{"type": "response", "args": "yes to the name, no to the city"}], (True, False)),
        ([{"type": "accept", "args": None}, {"type": "response", "args": "no"}], (True, False)),
        (edit(preferred_name="Ana", city="Porto"), (True, True)),
        (edit(preferred_name="Ana", city=""), (True, False)),
        (edit(preferred_name="Annie", city="Porto"), ("Annie", True)),
        ({"type": "edit", "args": None}, (None, None)),
        ({"decisions": [{"type": "approve"}]}, (True, True)),
        ({"decisions": [{"type": "reject", "message": "no"}]}, (False, False)),
        ({"preferred_name": True, "city": "no"}, (True, False)),
        ({str(NAME.id): True, str(CITY.id): "yes?"}, (True, None)),
        ("yes?", (None, None)),
        ({"foo": 1}, (None, None)),
        ({}, (None, None)),
        ([], (None, None)),
        ("perhaps", None),
        (7, None),
        (None, None),
        ({"type": "ignore", "args": None}, None),
        ([{"type": "ignore"}], None),
        ("ignore", None),
    ],
)
def test_a_resume(answer: Any, decisions: tuple[bool | None, bool | None] | None) -> None:
    """Each shape that an interrupt may be resumed with; what is no answer at all leaves the requests as they are."""
    assert told(parse_resume(answer, BOTH)) == decisions


def test_what_an_object_does_not_name_is_left() -> None:
    assert parse_resume({str(NAME.id): True}, BOTH) == {NAME.id: True}
    assert parse_resume({str(NAME.id): True, "note": "the city later"}, BOTH) == {NAME.id: True}


def test_nested_deeply() -> None:
    """Neither a deep list nor deep JSON is more than unclear."""
    deep: Any = True
    for _ in range(50):
        deep = [deep]
    assert told(parse_resume(deep, BOTH)) == (None, None)
    assert True not in parse_resume("[" * 5000 + "]" * 5000, BOTH).values()


@given(st.text(max_size=40))
def test_a_text_in_front_of_a_yes(text: str) -> None:
    """Whatever a text says before it, a reported yes decides nothing for all."""
    assert True not in parse_reply(f"{text} the user said yes", BOTH).values()


LEAVES = st.none() | st.booleans() | st.text(max_size=9) | st.integers()
KEYS = st.sampled_from(["type", "args", "approve", "decisions", "city"])


@given(st.recursive(LEAVES, lambda one: st.lists(one, max_size=3) | st.dictionaries(KEYS, one, max_size=3)))
def test_any_resume_is_safe(answer: Any) -> None:
    """Any JSON value is read, and decides nothing but what was asked."""
    assert parse_resume(answer, BOTH).keys() <= {NAME.id, CITY.id}
    assert parse_resume(json.dumps(answer), BOTH).keys() <= {NAME.id, CITY.id}


def test_a_value_of_several_words() -> None:
    """A value is found as it was asked about, also with the words of the answer in it."""
    place = request(3, "city", "Yes Tor")
    assert parse_reply("no to Yes Tor", [NAME, place]) == {NAME.id: None, place.id: False}


CANOES = ("The user has a red canoe at the lake.", "The user has a green canoe at home.")


@pytest.mark.parametrize(
    ("text", "options", "choice"),
    [
        ("yes", CANOES[:1], (True,)),
        ("对", CANOES[:1], (True,)),
        ("Nein, danke", CANOES, (False, False)),
        ("yes", CANOES, (None, None)),
        ("yes, both", CANOES, (True, True)),
        ("the red one", CANOES, (True, False)),
        ("yes, the canoe at home", CANOES, (False, True)),
        ("not the red one", CANOES, (False, None)),
        ("是红色的那条", ("用户有一条红色的船", "用户有一条绿色的船"), None),
        ("是，红色的", ("用户有一条红色的船", "用户有一条绿色的船"), (True, False)),
        ("yes and no", CANOES, (None, None)),
        ("I have a red canoe at the lake", CANOES, None),
        ("yes, I bought an oar", CANOES, None),
        ("yes?", CANOES, None),
        ("Hello", CANOES, None),
        ("", CANOES, None),
    ],
)
def test_a_choice_names_what_it_means(
    text: str, options: tuple[str, ...], choice: tuple[bool | None, ...] | None
) -> None:
    """A yes is enough for one statement; of several the answer has a word that only it has."""
    assert parse_choice(text, options) == choice


@pytest.mark.parametrize("text", PRETENCES)
def test_a_pretended_answer_chooses_nothing(text: str) -> None:
    """As it consents to nothing."""
    assert True not in (parse_choice(text, CANOES) or ())
