"""How much two lists of results have in common."""

from uuid import UUID

from hypothesis import given, strategies as st

from muniment.memory.rules.retrieval.overlap import compute_mean, compute_overlap

IDS = st.lists(st.integers(0, 12).map(lambda n: UUID(int=n)), unique=True, max_size=10)


@given(IDS, IDS)
def test_overlap_is_a_share_and_asks_nobody_first(one: list[UUID], other: list[UUID]) -> None:
    """It is within [0, 1], the same both ways round, whatever the order, and 1 exactly where both have the same."""
    found = compute_overlap(one, other)
    assert 0 <= found <= 1
    assert found == compute_overlap(other, one) == compute_overlap(one[::-1], other)
    assert (found == 1) == (set(one) == set(other))
    assert (found == 0) == (bool(one or other) and not set(one) & set(other))


def test_overlap_of_ten() -> None:
    """Seven of ten in common are 0.7, and who finds fewer misses what the other finds."""
    ten = [UUID(int=n) for n in range(10)]
    assert compute_overlap(ten, [*ten[:7], *(UUID(int=n) for n in range(20, 23))]) == 0.7
    assert compute_overlap(ten[:5], ten) == 0.5


@given(st.lists(st.floats(0, 1), min_size=1))
def test_the_mean_lies_between_the_least_and_the_most(found: list[float]) -> None:
    """And without anything compared nothing differs."""
    assert min(found) - 1e-9 <= compute_mean(found) <= max(found) + 1e-9
    assert compute_mean([]) == 1
