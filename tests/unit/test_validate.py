"""Validation: what is refused, what is repaired, and that a repaired text needs no repair."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Kind
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction.gate import validate_candidate

CATEGORIES = frozenset({"profile", "goals"})
TURN = TurnId(uuid4())


def candidate(text: str, *, kind: Kind = "semantic", category: str = "profile", supported: bool = True) -> Candidate:
    return Candidate(text=text, category=category, kind=kind, turns=(TURN,) if supported else ())


def check(text: str, *, kind: Kind = "semantic", max_chars: int = 280) -> tuple[str | None, str | None]:
    one, reason = validate_candidate(candidate(text, kind=kind), categories=CATEGORIES, max_chars=max_chars)
    return one.text if one else None, reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("...!", "empty"),
        ("The user's code is [redacted:password]", "a secret"),
        ("I live in Rome", "first or second person"),
        ("The user likes my tea", "first or second person"),
        ("Your favourite colour is green", "first or second person"),
        ("We went to Rome", "first or second person"),
        ("The user's sister told me", "first or second person"),
        ("The user thinks I'm late", "first or second person"),
        ("我住在上海", "first or second person"),
        ("用户喜欢你", "first or second person"),
        ("The user ran yesterday", "relative date"),
        ("The user moves next month", "relative date"),
        ("用户昨天去了医院", "relative date"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    """The reason names what is wrong and nothing of the text."""
    assert check(text) == (None, reason)


def test_refused_for_what_is_around_the_text() -> None:
    """No turn that supports it, or a category that nobody knows."""
    text = "The user lives in Rome"
    assert validate_candidate(candidate(text, supported=False), categories=CATEGORIES) == (None, "no supporting turn")
    assert validate_candidate(candidate(text, category="hobbies"), categories=CATEGORIES) == (
        None,
        "unknown category 'hobbies'",
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("  The user’s name\n is   José ", "The user's name is José"),
        ("The user's pronouns are they/them", "The user's pronouns are they/them"),
        ("The user studies World War I", "The user studies World War I"),
        ("The user moved to the US in 2020", "The user moved to the US in 2020"),
        ("The user's diet includes ham on 7 May 2023", "The user's diet includes ham on 7 May 2023"),
        ('The user\'s motto is "I will not yield"', 'The user\'s motto is "I will not yield"'),
        ("用户喜欢自我提升", "用户喜欢自我提升"),
        ("The user swims every Friday", "The user swims every Friday"),
    ],
)
def test_kept(text: str, kept: str) -> None:
    """Quotes, blanks and composed letters are made plain; what only looks like a pronoun passes."""
    assert check(text) == (kept, None)


def test_a_long_text_ends_with_a_whole_statement() -> None:
    """It is cut at the last sentence that fits, else at a clause, else it is refused."""
    assert check("The user likes tea. " * 20, max_chars=50) == ("The user likes tea. The user likes tea.", None)
    assert check("The user likes tea, but " + "very " * 80 + "strong")[0] == "The user likes tea"
    assert check("用户喜欢喝茶。" * 60)[0] == "用户喜欢喝茶。" * 40
    assert check("The user " + "very " * 80) == (None, "longer than 280 characters")


def test_episodes_are_told_as_they_were() -> None:
    """Dialogue keeps its lines, its persons and its length."""
    text = "I said yesterday:\n  " + "you " * 100 + "\x00"
    assert check(text, kind="episodic") == (text.replace("\x00", "\ufffd"), None)
    assert check("  ", kind="episodic") == (None, "empty")


def test_the_rest_of_the_candidate_stays() -> None:
    """Only the text is repaired."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    one = Candidate(text=" The user runs ", category="goals", importance=4, tags=("a",), event_time=at, turns=(TURN,))
    kept, _ = validate_candidate(one, categories=CATEGORIES)
    assert kept == Candidate(
        text="The user runs", category="goals", importance=4, tags=("a",), event_time=at, turns=(TURN,)
    )


WORDS = st.lists(
    st.sampled_from(
        [
            "The user",
            "likes",
            "tea",
            ",",
            ".",
            "and",
            "I",
            "my",
            "yesterday",
            "用户",
            "我",
            "喜欢",
            "。",
            "very long words",
            "\n",
            "’",
        ]
    ),
    max_size=90,
).map(" ".join)


@given(st.one_of(st.text(), WORDS), st.sampled_from(["semantic", "episodic", "insight"]), st.integers(10, 300))
def test_what_passes_passes_again(text: str, kind: Kind, most: int) -> None:
    """A repaired text is its own repair, and within the length."""
    kept, reason = check(text, kind=kind, max_chars=most)
    assert (kept is None) != (reason is None)
    if kept is not None:
        assert check(kept, kind=kind, max_chars=most) == (kept, None)
        assert kind == "episodic" or len(kept) <= most
