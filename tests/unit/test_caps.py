"""The most important of too many changes."""

from collections.abc import Collection
from uuid import UUID

from hypothesis import given, strategies as st

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.rules.merging.merge import MergeResult
from muniment.memory.rules.policy.quotas import cap_changes
from tests.engine import NOON


def change(number: int, importance: int, confidence: float) -> Change:
    after = StoredMemory(
        id=MemoryId(UUID(int=number)),
        kind="semantic",
        category="goals",
        text=str(number),
        created_at=NOON,
        updated_at=NOON,
        importance=importance,
        confidence=confidence,
    )
    return Change(action="ADD", after=after)


def select(changes: list[Change], limit: int, exempt: Collection[MemoryId] = ()) -> tuple[Change, ...]:
    return cap_changes(MergeResult(changes=tuple(changes), relations=()), limit, exempt, "too many").changes


def test_importance_then_confidence_then_order() -> None:
    """Of five the three most important stay, the surer of equals, the first said of the equally sure; in their
    order."""
    some = [change(1, 2, 0.9), change(2, 3, 0.5), change(3, 2, 0.95), change(4, 2, 0.9), change(5, 4, 0.1)]
    assert [int(one.after.text) for one in select(some, 3)] == [2, 3, 5]
    assert [int(one.after.text) for one in select(some, 4)] == [1, 2, 3, 5]


CHANGES = st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1)), max_size=12).map(
    lambda made: [change(n, *one) for n, one in enumerate(made)]
)


@given(CHANGES, st.integers(-3, 12), st.frozensets(st.integers(0, 11)))
def test_never_more_than_allowed_and_nothing_free_is_left_out(
    some: list[Change], most: int, free: frozenset[int]
) -> None:
    """What is free stays, of the rest at most so many, none of them less important than one left out."""
    spared = {MemoryId(UUID(int=number)) for number in free}
    kept = select(some, most, spared)
    counted = [one for one in kept if one.after.id not in spared]
    gone = [one for one in some if one not in kept]
    assert len(counted) <= max(most, 0)
    assert not any(one.after.id in spared for one in gone)
    assert [one for one in some if one in kept] == list(kept)
    if gone and counted:
        assert max(one.after.importance for one in gone) <= min(one.after.importance for one in counted)
