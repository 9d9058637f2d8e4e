"""The clock on the wall, as the `Clock` port."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The system's time, UTC, timezone-aware."""

    def now(self) -> datetime:
        return datetime.now(UTC)
