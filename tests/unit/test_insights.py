"""Insights read by rule: what is shown to a model, and what of its answer is fit to be kept."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.episodes.insight_answer import build_snippet, parse_insights, select_recent
from tests.answers import NOON, SLUGS, turns
from tests.unit.test_answers import JSON

TURNS = [TurnId(turn.id) for turn in turns("I like proof")]


def memory(n: int, **more: Any) -> StoredMemory:
    at = NOON + timedelta(minutes=n)
    usual = {"kind": "semantic", "category": "goals", "text": f"m{n}"}
    return StoredMemory(id=MemoryId(TURNS[0]), created_at=at, updated_at=at, **usual | more)


SHOWN = [memory(0, text="The user likes proof", turns=tuple(TURNS)), memory(1, trust="document")]


@given(
    st.lists(
        st.fixed_dictionaries(
            {"summary": JSON, "memories": JSON | st.just([1])}, optional={"tags": JSON, "importance": JSON}
        )
        | JSON,
        max_size=5,
    )
)
def test_every_insight_passes_the_checks(raw: list[Any]) -> None:
    """Whatever a model says: at most three, short, of their category, of low trust."""
    found = parse_insights(json.dumps({"insights": raw}), SHOWN, categories=SLUGS)
    assert len(found.candidates) + len(found.refusals) == found.total == len(raw)
    assert len(found.candidates) <= 3
    for one in found.candidates:
        assert (one.kind, one.category, one.trust, one.pinned) == ("insight", "relationship_dynamic", "agent", False)
        assert 0 < len(one.text) <= 280
        assert 1 <= one.importance <= 5
        assert one.turns == tuple(TURNS)


def test_repairs_are_told() -> None:
    """A pronoun that can only mean the user, and a text that was too long."""
    raw = [
        {"summary": "They want proof", "memories": [1], "tags": "x"},
        {"summary": "The user wants proof. " * 20, "memories": [1, 1, 7, "1"], "tags": [1, " a ", ""]},
    ]
    found = parse_insights(json.dumps({"insights": raw}), SHOWN, categories=SLUGS)
    assert found.repairs == ("pronoun", "too long")
    assert found.candidates[0].text == "The user wants proof"
    assert [one.tags for one in found.candidates] == [(), ("a",)]


@pytest.mark.parametrize(
    ("summary", "cited", "why"),
    [
        ("The user wants proof", None, "no memory of the user"),
        ("The user wants proof", [], "no memory of the user"),
        ("The user wants proof", [9, 0, -1, True, "1"], "no memory of the user"),
        ("The user wants proof", [2], "no memory of the user"),
        ("The user avoids peanuts because of an allergy", [1], "a private matter"),
        ("The user decides after prayer", [1], "a private matter"),
        ("The user votes before deciding", [1], "a private matter"),
        ("The user speaks openly about sex", [1], "a private matter"),
        ("用户的健康状况影响决定", [1], "a private matter"),
        ("用户的信仰很重要", [1], "a private matter"),
        ("The user's brother wants proof", [1], "about another person"),
        ("The user waits until Petra agrees", [1], "about another person"),
        ("用户的妈妈喜欢证据", [1], "about another person"),
        ("The user wants 5 proofs", [1], "not in the memories"),
    ],
)
def test_an_insight_is_the_users_and_no_private_matter(summary: str, cited: object, why: str) -> None:
    """It rests on a memory of the user, and tells nothing that nobody asked to be inferred."""
    answer = json.dumps({"insights": [{"summary": summary, "memories": cited}]})
    found = parse_insights(answer, SHOWN, categories=SLUGS)
    assert (found.candidates, found.refusals) == ((), (why,))


def test_no_list_is_an_error() -> None:
    """Not an empty list."""
    with pytest.raises(BadExtraction):
        parse_insights('{"insights": "none"}', SHOWN, categories=SLUGS)


def test_the_end_of_a_conversation_is_shown() -> None:
    """As much as fits, the first turn cut at its beginning."""
    said = turns("abc", ("tool", "a page"), ("assistant", "defg"), "hi")
    assert [one["text"] for one in build_snippet(said, 8)] == ["bc", "defg", "hi"]
    assert [one["text"] for one in build_snippet(said, 6)] == ["defg", "hi"]
    assert [one["text"] for one in build_snippet(said, 99)] == ["abc", "defg", "hi"]


def test_the_latest_of_a_person_is_shown() -> None:
    """Newest first; what strangers wrote and what was inferred before show nothing of a person."""
    some = [memory(n) for n in range(4)] + [memory(9, trust="document"), memory(8, kind="insight", trust="agent")]
    some += [memory(n, kind="episodic", category="event") for n in (5, 6)] + [memory(7, category="activity")]
    happened, stated = select_recent(some, activities=2, facts=3)
    assert [one.text for one in happened] == ["m7", "m6"]
    assert [one.text for one in stated] == ["m3", "m2", "m1"]
