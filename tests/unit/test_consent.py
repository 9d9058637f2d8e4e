"""Which statements propose what for the profile, and what is a yes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.consent import Consent, RequestId
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import Fact, Neighbour
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn, make_memory
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.merging.merge import IncomingCandidate
from muniment.memory.rules.policy.consent import build_proposals, find_profile_field, is_corroborated, parse_yes_no
from tests.engine import NOON

WEEK = NOON + timedelta(days=7)


def fact(predicate: str, value: str, **more: Any) -> Fact:
    return Fact(**{"kind": "identity", "predicate": predicate, "object": value} | more)


@pytest.mark.parametrize(
    ("one", "category", "field"),
    [
        (fact("preferred_name", "Ana"), "profile", "preferred_name"),
        (fact("name", "Ana"), "profile", "preferred_name"),
        (fact("name", "Ana Silva Costa"), "profile", None),
        (fact("pronouns", "they/them"), "profile", "pronouns"),
        (fact("lives_in", "Rio de Janeiro"), "profile", "city"),
        (fact("moved_to", "Lisbon", kind="event"), "event", "city"),
        (fact("answer_language", "French", kind="preference"), "style", "language"),
        (fact("response_style", "brief", kind="preference"), "style", "tone"),
        (fact("prefers", "short answers", kind="preference"), "style", "tone"),
        (fact("prefers", "tea", kind="preference"), "preferences", None),
        (fact("wants_to", "learn Rust", kind="goal"), "goals", "goals"),
        (fact("wants_to", "x" * 121, kind="goal"), "goals", None),
        (fact("lives_in", "Porto", negated=True), "profile", None),
        (fact("lives_in", "Porto", subject="Maria"), "relationships", None),
        (fact("lives_in", "x" * 61), "profile", None),
        (fact("lives_in", "a house with my wife and two cats"), "profile", None),
        (fact("works_at", "Acme"), "profile", None),
    ],
)
def test_the_field_of_a_fact(one: Fact, category: str, field: str | None) -> None:
    """Only what the person says of themselves, in a value that is one."""
    assert find_profile_field(one, category) == field


def incoming(text: str, **more: Any) -> list[IncomingCandidate]:
    turn = Turn.make(session="a", key=text, role="user", text=text, at=NOON)
    found = [replace(one, **more) for one in extract_statements(turn).candidates]
    return [
        IncomingCandidate(candidate=one, vector=np.ones(1, np.float32), neighbours=(), id=MemoryId(uuid4()))
        for one in found
    ]


def added(some: list[IncomingCandidate]) -> list[Change]:
    scope = Scope(owner="ana")
    return [Change(action="ADD", after=make_memory(one.candidate, one.id, scope, NOON)) for one in some]


def test_what_is_proposed_names_its_memory_and_turns() -> None:
    """Each field once, with the last value said."""
    some = incoming("Call me Ana. I live in Porto.")
    wishes = build_proposals(some, added(some), expires_at=WEEK)
    assert [(one.field, one.value, one.memory, one.turns) for one in wishes] == [
        (field, value, each.id, each.candidate.turns)
        for field, value, each in zip(("preferred_name", "city"), ("Ana", "Porto"), some, strict=True)
    ]
    assert {one.expires_at for one in wishes} == {WEEK}
    twice = incoming("I live in Porto.") + incoming("I live in Braga.")
    assert [one.value for one in build_proposals(twice, added(twice), expires_at=WEEK)] == ["Braga"]
    goals = incoming("I want to learn Rust.") + incoming("I want to learn Go.")
    assert len(build_proposals(goals, added(goals), expires_at=WEEK)) == 2


def test_what_is_known_already_is_a_signal() -> None:
    """No change, and yet a proposal, from the memory that says the same; one that says otherwise is none."""
    (one,) = incoming("I live in Porto.")
    (change,) = added([one])
    near = replace(one, neighbours=(Neighbour(memory=change.after, sim=1.0),))
    assert [wish.memory for wish in build_proposals([near], (), expires_at=WEEK)] == [one.id]
    (other,) = incoming("I live in Braga.")
    assert build_proposals([replace(other, neighbours=near.neighbours)], (), expires_at=WEEK) == ()
    assert build_proposals([one], (), expires_at=WEEK) == ()


@pytest.mark.parametrize("more", [{"trust": "tool"}, {"trust": "agent"}, {"state": "pending"}, {"fact": None}])
def test_only_the_persons_word_proposes(more: dict[str, Any]) -> None:
    """Neither a tool, nor an inference, nor what waits itself, nor words without a fact."""
    some = incoming("Call me Ana.", **more)
    assert build_proposals(some, added(some), expires_at=WEEK) == ()


def request(field: Any, *turns: TurnId) -> Consent:
    return Consent(
        id=RequestId(uuid4()),
        field=field,
        value="x",
        decision="pending",
        memory=MemoryId(uuid4()),
        asked_at=NOON,
        expires_at=WEEK,
        turns=turns,
    )


def test_signals() -> None:
    """Two different turns carry a benign field; no number of turns carries a sensitive one."""
    a, b = TurnId(uuid4()), TurnId(uuid4())
    assert is_corroborated(request("tone", a, b), 2)
    assert is_corroborated(request("goals", a, b), 2)
    assert not is_corroborated(request("tone", a, a), 2)
    for field in ("preferred_name", "pronouns", "city", "language"):
        assert not is_corroborated(request(field, a, b), 1)


@pytest.mark.parametrize(
    "text",
    ["yes", "Yes.", "YES!", "y", "ok", "Okay, thanks", "sure", "Sure thing", "yes please", "Yes, please!", "of course",
        "go ahead",
     "是", "是的。", "好", "好的！", "可以", "行", "没问题", "当然可以", "嗯嗯"],
)  # fmt: skip
def test_a_clear_yes(text: str) -> None:
    """Nothing but a yes."""
    assert parse_yes_no(text) is True


@pytest.mark.parametrize(
    "text",
    ["no", "No!", "nope", "no thanks", "No, thank you.", "please don't", "no, don't", "I'd rather not", "n",
     "不", "不要", "不用了", "不可以", "不行。", "别", "否"],
)  # fmt: skip
def test_a_clear_no(text: str) -> None:
    """Nothing but a no."""
    assert parse_yes_no(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes but not my city",
        "no idea",
        "yesterday",
        "nothing",
        "ok what next?",
        "好的帮我订票",
        "不知道",
        "是谁",
        "maybe",
    ],
)
def test_neither(text: str) -> None:
    """More or less than a clear answer is none."""
    assert parse_yes_no(text) is None


@given(st.text(max_size=30))
def test_any_text_is_cheap_and_safe(text: str) -> None:
    """Whatever is said, the answer is one of three, and a longer message is never one."""
    assert parse_yes_no(text) in (True, False, None)
    assert parse_yes_no(f"{text} and I will go to Rome with Maria") is None


def test_a_candidate_without_turns_is_no_signal() -> None:
    """It would have nothing to be counted by."""
    one = Candidate(text="Preferred name is Ana", category="profile", fact=fact("preferred_name", "Ana", single=True))
    each = IncomingCandidate(candidate=one, vector=np.ones(1, np.float32), neighbours=(), id=MemoryId(uuid4()))
    (wish,) = build_proposals([each], added([each]), expires_at=WEEK)
    assert wish.turns == ()
