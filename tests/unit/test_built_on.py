"""What says a statement that is to be erased, and what only speaks of the same thing."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID, uuid4

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.erasure import MemoryStatement
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import Kind
from muniment.memory.domain.turn import Turn
from muniment.memory.flows.background.derived import (
    drop_beside,
    echoes_any,
    find_affected_part,
    mentions_any,
    states_any,
    turn_states_any,
)
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.provenance.quoted import hash_shingles
from tests.golden import inputs

WALNUTS = "User is allergic to walnuts"
VERA = "User's sister Vera teaches the cello in Lyon"
words = st.lists(
    st.sampled_from(["harbour", "ferry", "lantern", "copper", "maple", "violin", "river", "stone"]), max_size=60
)


@pytest.mark.parametrize(
    ("statement", "text", "said"),
    [
        (WALNUTS, "I am allergic to walnuts.", True),
        (WALNUTS, "Hello!\nBecause you're allergic to walnuts, no pesto for you.", True),
        (WALNUTS, "Walnuts are nuts.", False),
        (WALNUTS, "", False),
        (VERA, "My sister Vera teaches cello, in Lyon, did you know?", True),
        (VERA, "In Lyon there is a cello school.", False),
        ("The user wants to ship v1 by September", "On 2026-05-04 the user decided to ship v1 by September", True),
        ("用户对花生过敏", "我对花生过敏", True),
        ("用户对花生过敏", "我对海鲜过敏", False),
        ("", "anything", False),
    ],
)
def test_what_says_it(statement: str, text: str, said: bool) -> None:
    """In any person and order, in a sentence of a longer text; not by a word alone."""
    assert mentions_any([statement], text) is said
    assert mentions_any(["User keeps bees", statement], text) is said


@pytest.mark.parametrize(
    ("statement", "other", "same"),
    [
        (WALNUTS, "The user is allergic to walnuts and pears", True),
        (VERA, "User's sister Vera teaches the cello in Paris", False),
        ("User's budget is 50 euros a week", "User's budget is 80 euros a week", False),
        ("User likes tea", "User likes coffee", False),
    ],
)
def test_what_states_it(statement: str, other: str, same: bool) -> None:
    """A statement that differs in a name or a number is another one, and stays."""
    assert states_any([statement], other) is same


@given(before=words, after=words)
def test_it_is_found_in_any_text(before: list[str], after: list[str]) -> None:
    """Whatever stands around it, and however long that is."""
    text = " ".join([*before, "I am allergic to walnuts", *after])
    assert mentions_any([WALNUTS], text)
    assert mentions_any([WALNUTS], f"{'harbour ' * 5_000}{text}")
    assert not mentions_any([WALNUTS], " ".join(before + after))


@pytest.mark.parametrize("kind", ["semantic", "episodic", "procedural", "insight"])
@given(turns=st.sets(st.integers(0, 5)), own=st.sets(st.integers(0, 5)))
def test_what_was_made_of_its_turns(kind: Kind, turns: set[int], own: set[int]) -> None:
    """An insight goes with any of the turns that it rests on; other statements of a turn stay."""
    ids = [TurnId(UUID(int=n + 1)) for n in range(6)]
    one = MemoryStatement(
        id=MemoryId(uuid4()),
        since=Revision(0),
        kind=kind,
        text="User keeps bees",
        turns=tuple(ids[n] for n in sorted(own)),
    )
    found = find_affected_part([WALNUTS], frozenset(ids[n] for n in turns), one)
    assert found == ("text" if kind == "insight" and turns & own else None)


def test_what_says_it_around_the_text() -> None:
    """The text stays where only what is kept beside it says it, and so does the rest of that."""
    bees = MemoryStatement(id=MemoryId(uuid4()), since=Revision(0), kind="semantic", text="User keeps bees")
    bees = replace(bees, tags=("bees",), source="bees.md", context="at home")
    said = "I am allergic to walnuts"
    for one, left in (
        (replace(bees, context=said), replace(bees, context=None)),
        (replace(bees, source=said), replace(bees, source=None)),
        (replace(bees, tags=("bees", said)), bees),
    ):
        assert find_affected_part([WALNUTS], frozenset(), one) == "beside"
        assert drop_beside([WALNUTS], one) == left
    assert find_affected_part([WALNUTS], frozenset(), bees) is None
    for one in (replace(bees, aliases=(WALNUTS,)), replace(bees, fact={"kind": "note", "object": WALNUTS})):
        assert find_affected_part([WALNUTS], frozenset(), one) == "text"


def test_what_repeats_what_it_was_shown() -> None:
    """A reply, if memory had put the statement before it; not what a person says, nor a reply about something else."""
    shown = hash_shingles([f"[constraints] {WALNUTS}"])

    def turn(role: Literal["user", "assistant"], text: str, recalled: tuple[int, ...] = shown) -> Turn:
        at = datetime(2026, 5, 4, tzinfo=UTC)
        return Turn.make(session="A", key=text, role=role, text=text, at=at, recalled=recalled)

    assert echoes_any([VERA, WALNUTS], turn("assistant", "As you are allergic to walnuts, no pesto."))
    assert not echoes_any([VERA, WALNUTS], turn("user", "As I am allergic to walnuts, no pesto."))
    assert not echoes_any([VERA, WALNUTS], turn("assistant", "As you are allergic to walnuts, no pesto.", ()))
    assert not echoes_any([VERA, WALNUTS], turn("assistant", "Good morning."))


def test_a_turn_of_which_the_rules_made_a_statement_is_found_by_it() -> None:
    """Whatever the rules read in the frozen texts is found from what they made of it: no turn is left unread."""
    missed, found = [], 0
    for text in ["not in it", *(record["text"] for record in inputs.load()["text"][::7])]:
        turn = Turn.make(session="s", key="k", role="user", text=text, at=datetime(2026, 5, 4, tzinfo=UTC))
        made = [each.text for each in extract_statements(turn).candidates if states_any([each.text], each.text)]
        found += len(made)
        missed += [(turn.text, each) for each in made if not turn_states_any([each], turn)]
    assert found > 200
    assert not missed
