"""When the next request may go to the server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from muniment.plugin.stores.hybrid.pacing import (
    FIRST_DELAY,
    LAST_DELAY,
    MAX_AGE,
    MAX_WAIT,
    Pace,
    Queue,
    compute_credit,
    compute_delay,
    compute_due,
    is_held,
)

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
PACE = Pace(writes_per_100_turns=15)


def queue(**more: object) -> Queue:
    """One write that came just now, with credit for a request."""
    given = {"waiting": 1, "oldest_at": NOW, "has_command": False, "credit": 1.0, "next_at": None} | more
    return Queue(**given)  # type: ignore[arg-type] # of the fields' own types


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_delay_grows_to_five_minutes_with_jitter(failures: int, jitter: float) -> None:
    """P-83: 1 s doubling to 5 min, and a half to the whole of it."""
    delay = compute_delay(failures, jitter)
    whole = min(FIRST_DELAY * float(2 ** min(failures - 1, 16)), LAST_DELAY)
    assert whole / 2 <= delay <= whole


def test_a_server_that_asks_to_wait_is_waited_for_a_day_at_most() -> None:
    """P-83."""
    assert compute_delay(1, 0.0, timedelta(seconds=90)) == timedelta(seconds=90)
    assert compute_delay(1, 0.0, timedelta(days=90)) == MAX_WAIT


def test_a_write_waits_for_others() -> None:
    """P-83: writes go in batches."""
    assert compute_due(queue(), PACE, NOW) == NOW + PACE.collect
    assert compute_due(queue(waiting=100), PACE, NOW) == NOW


def test_a_write_waits_for_its_share_of_the_turns() -> None:
    """P-29: without credit nothing is sent, for a week at most; a third of the share is left for commands."""
    assert compute_due(queue(credit=0.85, waiting=100), PACE, NOW) == NOW + MAX_AGE
    assert sum(compute_credit(1, PACE) for _ in range(100)) == pytest.approx(10)


def test_a_command_of_a_person_is_sent_at_once() -> None:
    """P-22: who forgets something does not wait for a batch."""
    assert compute_due(queue(has_command=True, credit=-3), PACE, NOW) == NOW


def test_a_failure_holds_all_of_it() -> None:
    """P-92, and a clock that was set back does not hold it for years."""
    later = NOW + timedelta(minutes=8)
    assert compute_due(queue(has_command=True, next_at=later), PACE, NOW) == later
    assert compute_due(queue(next_at=later), PACE, NOW) == later
    assert not is_held(NOW + timedelta(days=400), NOW)


def test_nothing_waits_for_nothing() -> None:
    """An empty outbox is never due."""
    assert compute_due(queue(waiting=0, oldest_at=None), PACE, NOW) is None
