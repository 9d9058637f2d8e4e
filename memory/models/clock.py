"""The system clock, as the `Clock` port."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial


class SystemClock:
    """The system's time. `now` returns it in UTC, with its time zone."""

    now = staticmethod(partial(datetime.now, UTC))
