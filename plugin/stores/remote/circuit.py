"""A circuit breaker as pure values: who asks passes the time."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """How requests to a service went. It is open after so many failures in a row: nothing is sent for some seconds, and
    then one request alone, which closes it or opens it again.

    Times are seconds of a clock that never goes back."""

    failures_to_open: int
    seconds: float
    failures: int = 0
    opened_at: float | None = None
    tried_at: float | None = None  # since it is open: when the one request was let through that is under way

    def is_open(self, now: float) -> bool:
        """Whether a request would be refused now."""
        if self.opened_at is None:
            return False
        since = self.opened_at if self.tried_at is None else self.tried_at
        return now - since < self.seconds

    def begin_request(self, now: float) -> Circuit:
        """Return the circuit once a request is let through. A request that never ends counts as one that failed."""
        return self if self.opened_at is None else replace(self, tried_at=now)

    def note_success(self) -> Circuit:
        """Return the circuit after a request that was answered: it is closed."""
        return replace(self, failures=0, opened_at=None, tried_at=None)

    def note_failure(self, now: float) -> Circuit:
        """Return the circuit after a request that was not answered."""
        failures = self.failures + 1
        is_open = self.opened_at is not None or failures >= self.failures_to_open
        return replace(self, failures=failures, opened_at=now if is_open else None, tried_at=None)

    def note_cancellation(self) -> Circuit:
        """Return the circuit after a request that was given up by who asked: it says nothing of the service, and of an
        open circuit the next request is the one that is let through."""
        if self.opened_at is None:
            return self
        return replace(self, tried_at=None, opened_at=self.opened_at)
