"""The clock port."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time, UTC, timezone-aware."""

    def now(self) -> datetime: ...
