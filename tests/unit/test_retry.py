"""When a failed job is tried again."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from muniment.memory.errors import (
    BadExtraction,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    NotReady,
    OverBudget,
    StoreDown,
)
from muniment.memory.rules.policy.retry import MAX_WAIT_SECONDS, find_retry_delay, plan_retry

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ATTEMPTS = st.integers(0, 10**6)
ERRORS = st.sampled_from([ModelTimeout(), BadExtraction(), StoreDown(), ModelRateLimited(), ValueError()])


@given(error=ERRORS, attempts=ATTEMPTS)
def test_later_each_time_and_at_last_every_hour(error: Exception, attempts: int) -> None:
    """The wait is at least a second, at most an hour, and never shorter than the one before."""
    wait, next_wait = (plan_retry(error, n, NOW).at - NOW for n in (attempts, attempts + 1))
    assert timedelta(seconds=1) <= wait <= next_wait <= timedelta(seconds=MAX_WAIT_SECONDS)


@given(attempts=ATTEMPTS, asked=st.floats(0, 86400))
def test_a_provider_gets_the_time_it_asks_for(attempts: int, asked: float) -> None:
    """Never sooner than asked, nor sooner than without asking."""
    plain = plan_retry(ModelRateLimited(), attempts, NOW).at
    found = plan_retry(ModelRateLimited(retry_after=asked), attempts, NOW).at
    assert found == max(plain, NOW + timedelta(seconds=asked))


@pytest.mark.parametrize("nonsense", [None, -5.0, float("nan"), float("inf"), "soon", 10**12])
def test_a_provider_that_asks_for_nonsense_waits_a_day_at_most(nonsense: object) -> None:
    """What is no number of seconds counts as not said; a far future counts as a day."""
    wait = plan_retry(ModelRateLimited(retry_after=nonsense), 0, NOW).at - NOW
    assert timedelta(seconds=1) <= wait <= timedelta(days=1)


@given(st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - they get a zone
def test_a_budget_is_new_at_midnight(now: datetime) -> None:
    """Over budget waits for the first moment of the next day (UTC), however often it was tried."""
    at = plan_retry(OverBudget(day=now.date().isoformat()), 7, now).at
    assert (at.hour, at.minute, at.second, at.microsecond) == (0, 0, 0, 0)
    assert timedelta(0) < at - now <= timedelta(days=1)
    assert at == plan_retry(OverBudget(), 7, now).at
    # When it is midnight by now, the new budget is not left alone for a day; nor asked for without a pause.
    assert plan_retry(OverBudget(day=now.date().isoformat()), 7, at).at == at + timedelta(seconds=128)


@given(attempts=st.integers(0, 20))
def test_only_what_may_be_its_own_fault_steps_aside(attempts: int) -> None:
    """Order is kept for a model or a database that is down; a bad answer or a defect steps aside at the fifth
    failure."""
    for error in (ModelError(), ModelTimeout(), ModelRateLimited(), OverBudget(), StoreDown()):
        assert plan_retry(error, attempts, NOW).lets_others_pass is False
    own: tuple[Exception, ...] = (BadExtraction(), ModelError(status=400), KeyError("x"))
    for failure in own:
        assert plan_retry(failure, attempts, NOW).lets_others_pass is (attempts >= 4)


@given(attempts=st.integers(0, 10**6))
def test_what_is_not_there_yet_is_looked_for_ever_more_rarely(attempts: int) -> None:
    """First after a minute, then after twice as long each time, at least once an hour; it never steps aside."""
    found = plan_retry(NotReady(), attempts, NOW)
    assert found.at - NOW == timedelta(minutes=min(60, 2 ** min(attempts, 9)))
    assert not found.lets_others_pass


@pytest.mark.parametrize(
    ("error", "attempt", "wait"),
    [
        (ModelTimeout(), 0, 0.5),
        (ModelUnavailable(), 1, 1.0),
        (ModelUnavailable(status=503), 0, 0.5),
        (ModelUnavailable(status=401), 0, None),
        (ModelUnavailable(sent=False), 0, None),
        (ModelRateLimited(retry_after=3), 0, 3.0),
        (ModelRateLimited(retry_after=60), 0, None),
        (ModelError(status=400), 0, None),
        (BadExtraction(), 0, None),
        (OverBudget(), 0, None),
        (ModelTimeout(), 10**3, None),
    ],
)
def test_a_person_waits_for_what_may_pass_soon(error: ModelError, attempt: int, wait: float | None) -> None:
    """Not for a key that is wrong, nor for a minute."""
    assert find_retry_delay(error, attempt) == wait
