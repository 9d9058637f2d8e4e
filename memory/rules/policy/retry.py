"""When a job that failed is tried again, and whether it lets others pass."""

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
    """Not before `at`; `aside` lets the later jobs of the same space pass."""

    at: datetime
    lets_others_pass: bool = False


def plan_retry(error: Exception, attempts: int, now: datetime) -> RetryDecision:
    """What to do after the failure of a job that was tried `attempts` times before; `now` is UTC.

    A model or a database that is down is down for every job: the order is kept, so that no correction is learned before
    what it corrects. An answer that cannot be used, and a defect, may be this one job's own trouble for ever: after some
    attempts it must not hold up the rest of its space.
    What is only not there yet has not failed: it is looked for ever more rarely, at least once an hour."""
    if isinstance(error, OverBudget):
        day = date.fromisoformat(error.data["day"]) if "day" in error.data else now.date()
        over = datetime.combine(day + timedelta(days=1), time(), tzinfo=now.tzinfo)
        # The day it was asked on may have ended since: then there is a new budget.
        return RetryDecision(at=over if over > now else now + timedelta(seconds=_compute_backoff(attempts)))
    if isinstance(error, NotReady):
        return RetryDecision(
            at=now + timedelta(seconds=min(MAX_WAIT_SECONDS, _LOOK_SECONDS * 2.0 ** min(attempts, 12)))
        )
    seconds = _compute_backoff(attempts)
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
    """Whether nothing has failed: what is waited for is not there yet, or another process is at it."""
    return isinstance(error, NotReady | Busy)


def is_rejected_request(error: Exception) -> bool:
    """Whether the endpoint does not accept this request: it may be too long, or of a matter that it refuses to read."""
    return type(error) is ModelError and "status" in error.data


def find_retry_delay(error: ModelError, attempt: int) -> float | None:
    """The seconds until a person's request is tried again after `attempt` tries before; None when that is of no use.

    A person waits: for an endpoint that wants to be left alone for longer nobody does."""
    status = error.data.get("status")
    passing = isinstance(error, ModelTimeout | ModelRateLimited) or (
        isinstance(error, ModelUnavailable) and "sent" not in error.data and (status is None or status >= _SERVER)
    )
    wait = max(_SOON_SECONDS * 2**attempt, _read_retry_after(error) if isinstance(error, ModelRateLimited) else 0.0)
    return wait if passing and wait <= _PATIENT_SECONDS else None


def _compute_backoff(attempts: int) -> float:
    return min(MAX_WAIT_SECONDS, 2.0 ** min(attempts, 12))


def _read_retry_after(error: ModelRateLimited) -> float:
    """The seconds that the provider asks to wait, at most a day; 0 when it did not say."""
    seconds = error.data.get("retry_after")
    return min(float(seconds), 86400.0) if isinstance(seconds, int | float) and seconds > 0 else 0.0
