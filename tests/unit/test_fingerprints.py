"""What memory said is no evidence: repeating it is told from saying it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.memory import Role
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.provenance.quoted import hash_shingles, is_echo, is_repetition

AT = datetime(2026, 5, 4, tzinfo=UTC)
KNOWN = (
    "- [profile] The user lives in Porto near the old bridge",
    "[goals] The user trains for the Lisbon marathon in October 2026",
    "[preferences] 用户喜欢喝乌龙茶",
)


def turn(text: str, role: Role = "user", recalled: tuple[int, ...] = ()) -> Turn:
    return Turn.make(session="a", key=text, role=role, text=text, at=AT, recalled=recalled)


REPLY = turn(
    "For October: your Lisbon marathon. And yes, near the old bridge in Porto is where you live!",
    "assistant",
    hash_shingles(KNOWN),
)


def echo(statement: str, *cited: Turn, reply: Turn = REPLY) -> bool:
    one = Candidate(text=statement, category="profile", turns=tuple(turn.id for turn in cited))
    return is_echo(one, [*(turn for turn in cited if turn.id != reply.id), reply])


@pytest.mark.parametrize(
    "statement",
    [
        "The user lives in Porto",
        "The user lives near the old bridge in Porto",
        "The user trains for the Lisbon marathon",
        "In October 2026 the user trains for the Lisbon marathon",
        "用户喜欢喝乌龙茶",
        "用户喜欢乌龙茶",
    ],
)
def test_what_a_reply_repeats_is_not_learned(statement: str) -> None:
    """In another order, in part, with other words around: what rests on the reply alone is an echo."""
    assert echo(statement, REPLY)


def test_a_question_is_no_statement() -> None:
    """That a person asked about it does not make it the person's word."""
    assert echo("The user lives in Porto", turn("Where do I live?"), REPLY)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("The user lives in Porto", "I live in Porto, as you know."),
        ("The user trains for the Lisbon marathon", "Still training for the Lisbon marathon!"),
        ("用户喜欢喝乌龙茶", "对，我喜欢喝乌龙茶。"),
    ],
)
def test_a_person_who_says_it_again_is_believed(statement: str, said: str) -> None:
    """The words are the person's, whoever else used them."""
    assert not echo(statement, turn(said), REPLY)
    assert echo(statement, turn(f"> {said}"), REPLY)


@pytest.mark.parametrize(
    "statement",
    ["The user lives in Braga", "The user has run the Porto marathon twice", "用户喜欢喝咖啡", "The user is a nurse"],
)
def test_what_is_new_is_no_echo(statement: str) -> None:
    """A statement that memory did not make passes, also when it shares a word."""
    assert not echo(statement, REPLY)


def test_a_reply_without_recall_echoes_nothing() -> None:
    """Nothing was put before the model, so nothing of it can come back."""
    assert not echo("The user lives in Porto", REPLY, reply=replace(REPLY, recalled=()))


@given(st.lists(st.text(max_size=40), max_size=6))
def test_hashes_fit_a_bigint(texts: list[str]) -> None:
    """Each is once there, and not negative."""
    found = hash_shingles(texts)
    assert len(found) == len(set(found))
    assert all(0 <= one < 2**63 for one in found)


@given(
    st.lists(st.sampled_from(["lives", "Porto", "bridge", "marathon", "tea", "乌龙茶", "2026"]), min_size=1, max_size=8)
)
def test_every_text_repeats_itself(said: list[str]) -> None:
    """Whatever is recalled word for word is an echo; of a text without words nobody can tell."""
    text = " ".join(said)
    assert is_repetition(text, hash_shingles([text]))
    assert not is_repetition("the of and", hash_shingles([text]))
