"""Decides when a failed job is tried again, and whether later jobs of its space may run before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from muniment.memory.errors import (
    BadModelAnswer,
    Busy,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    NotReady,
    OverBudget,
    StoreError,
)

MAX_WAIT_SECONDS = 3600.0
_DEFECT_SECONDS = 60.0
_LOOK_SECONDS = 60.0
_PATIENCE = 5
_SOON_SECONDS, _PATIENT_SECONDS = 0.5, 10.0
_SERVER = 500  # and above: a status that may pass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """The earliest time of the next attempt, and whether later jobs of the space may run before it."""

    at: datetime
    lets_others_pass: bool = False


def plan_retry(error: Exception, attempts: int, now: datetime, first_wait: float = 1.0) -> RetryDecision:
    """The decision after the failure of a job that was tried `attempts` times before; `now` is UTC, and
    `first_wait` the seconds after a model's first failure, which double with each.

    When a model or a database is down, the order of jobs is kept, so that no correction is learned before its subject.
    A bad answer or a defect may fail for ever: after five attempts later jobs may pass. A job that waits for a result
    is tried ever more rarely, at least once an hour."""
    if isinstance(error, OverBudget):
        day = date.fromisoformat(error.data["day"]) if "day" in error.data else now.date()
        over = datetime.combine(day + timedelta(days=1), time(), tzinfo=now.tzinfo)
        # The day of the request may have ended; then there is a new budget.
        return RetryDecision(at=over if over > now else now + timedelta(seconds=_compute_backoff(attempts)))
    if isinstance(error, NotReady):
        return RetryDecision(
            at=now + timedelta(seconds=min(MAX_WAIT_SECONDS, _LOOK_SECONDS * 2.0 ** min(attempts, 12)))
        )
    seconds = _compute_backoff(attempts)
    if isinstance(error, ModelError):
        seconds = min(MAX_WAIT_SECONDS, seconds * first_wait)
    if isinstance(error, ModelRateLimited):
        seconds = max(seconds, _read_retry_after(error))
    is_external = isinstance(error, ModelError | StoreError)
    if not is_external:
        seconds = min(MAX_WAIT_SECONDS, _DEFECT_SECONDS * seconds)
    is_own_fault = isinstance(error, BadModelAnswer) or is_rejected_request(error) or not is_external
    return RetryDecision(
        at=now + timedelta(seconds=seconds), lets_others_pass=is_own_fault and attempts + 1 >= _PATIENCE
    )


def is_waiting(error: Exception) -> bool:
    """Whether a job only waits: its result is not ready, or another process works on it."""
    return isinstance(error, NotReady | Busy)


def is_rejected_request(error: Exception) -> bool:
    """Whether the endpoint refuses this request, for instance for its length or its content."""
    return type(error) is ModelError and "status" in error.data


def find_retry_delay(error: ModelError, attempt: int) -> float | None:
    """The seconds before a person's request is tried again after `attempt` attempts; None if it should not be.

    A person waits for the answer, so a delay of more than 10 seconds is not worth it. An endpoint that is merely slow
    would only be slow again."""
    if error.data.get("slow"):
        return None
    status = error.data.get("status")
    passing = isinstance(error, ModelTimeout | ModelRateLimited) or (
        isinstance(error, ModelUnavailable) and "sent" not in error.data and (status is None or status >= _SERVER)
    )
    wait = max(_SOON_SECONDS * 2**attempt, _read_retry_after(error) if isinstance(error, ModelRateLimited) else 0.0)
    return wait if passing and wait <= _PATIENT_SECONDS else None


def _compute_backoff(attempts: int) -> float:
    return min(MAX_WAIT_SECONDS, 2.0 ** min(attempts, 12))


def _read_retry_after(error: ModelRateLimited) -> float:
    """The seconds of the provider's Retry-After, at most a day; 0 without one."""
    seconds = error.data.get("retry_after")
    return min(float(seconds), 86400.0) if isinstance(seconds, int | float) and seconds > 0 else 0.0
