"""The system clock, as the `Clock` port."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The system's time."""

    def now(self) -> datetime:
        """Return the current time in UTC, with its time zone."""
        return datetime.now(UTC)
