"""When the next request may go to the server: after a failure, and within the requests that turns may cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

FIRST_DELAY, LAST_DELAY = timedelta(seconds=1), timedelta(minutes=5)
MOST_CREDIT, LEAST_CREDIT = 3.0, -5.0  # requests that may be made at once; those that a person's commands may borrow
MAX_WAIT = timedelta(days=1)  # that a server may ask for
MAX_AGE = timedelta(days=3)  # after which a write is sent whatever it costs
WRITTEN_SHARE = 2 / 3  # of the requests that turns bring: a person's commands, which wait for nothing, have the rest
_MOST_DOUBLINGS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What decides whether to send: what waits, and how the last request went."""

    waiting: int
    oldest_at: datetime | None  # of what waits
    has_command: bool  # something of it was wanted by a person, who expects it everywhere
    credit: float
    next_at: datetime | None  # before which nothing is sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The limits of a sender. Without `writes_per_100_turns` only the server's own limit holds."""

    writes_per_100_turns: int | None = None
    collect: timedelta = timedelta(minutes=5)  # for which the first of a batch waits for others
    batch: int = 100  # operations that are sent without waiting for others


def compute_delay(failures: int, jitter: float, wanted: timedelta | None = None) -> timedelta:
    """Return how long to wait after so many failures in a row, at least one: from 1 s doubling to 5 min, times
    0.5 to 1 by `jitter` in [0, 1], so that devices do not come back at once. Not less than the server has wanted, as
    far as that is within a day."""
    doubled = FIRST_DELAY * float(2 ** min(failures - 1, _MOST_DOUBLINGS))
    delay = min(doubled, LAST_DELAY) * (0.5 + 0.5 * jitter)
    return max(delay, min(wanted or timedelta(), MAX_WAIT))


def is_held(next_at: datetime | None, now: datetime) -> bool:
    """Return whether a failure still holds back what waits. A time that no failure can have named is that of a clock
    which was set back, and holds nothing."""
    return next_at is not None and now < next_at <= now + MAX_WAIT


def compute_due(queue: Queue, pace: Pace, now: datetime) -> datetime | None:
    """Return when the next request is due; None for not before something else happens."""
    if not queue.waiting or queue.oldest_at is None:
        return None
    held_until = queue.next_at if queue.next_at is not None and is_held(queue.next_at, now) else now
    if queue.has_command:
        return held_until
    if pace.writes_per_100_turns is not None and queue.credit < 1:
        due = queue.oldest_at + MAX_AGE
    elif queue.waiting >= pace.batch:
        due = now
    else:
        # A time ahead of the clock would wait for the clock.
        due = min(queue.oldest_at, now) + pace.collect
    return max(due, held_until)


def compute_credit(turns: int, pace: Pace) -> float:
    """Return how many requests with writes so many turns bring."""
    return turns * WRITTEN_SHARE * (pace.writes_per_100_turns or 0) / 100
