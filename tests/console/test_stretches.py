"""The turns that a memory comes from, as its page has them: P-24."""

from datetime import timedelta

from muniment.faces.console.memories.stretches import join_passages
from muniment.memory.domain.turn import Passage, Turn
from tests.engine import NOON

TURNS = [
    Turn.make(session="s", key=str(n), role="user", text=f"Turn {n}", at=NOON + timedelta(minutes=n)) for n in range(20)
]


def cut(at: int) -> Passage:
    """The passage of a turn with two turns before and after it."""
    first = max(0, at - 2)
    return Passage(turns=tuple(TURNS[first : at + 3]), at=at - first)


def test_passages_that_share_turns_are_one() -> None:
    """Every turn is there once, in its place, and both sources are marked."""
    (stretch,) = join_passages([cut(7), cut(4)])
    assert [turn.text for turn in stretch.turns] == [f"Turn {n}" for n in range(2, 10)]
    assert stretch.sources == {TURNS[4].id, TURNS[7].id}
    assert stretch.last_source == TURNS[7]


def test_passages_apart_follow_each_other_latest_first() -> None:
    found = join_passages([cut(1), cut(12)])
    assert [each.last_source.text for each in found] == ["Turn 12", "Turn 1"]
    assert join_passages([]) == []
