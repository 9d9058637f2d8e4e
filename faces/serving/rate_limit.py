"""How many requests a token may make, and how many streams it may have open."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from uuid import UUID

_MAX_BUCKETS = 10_000


class RateLimits:
    """The requests that each token still has. A bucket holds `burst`, and gets `per_second` again each second."""

    def __init__(self, per_second: int, burst: int) -> None:
        self._per_second, self._burst = per_second, burst
        self._buckets: OrderedDict[UUID, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    def take_request(self, token: UUID, now: float) -> int:
        """Take a request of a token at a monotonic time. Returns 0, or the seconds after which there is one again."""
        left, then = self._buckets.pop(token, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._per_second)
        wait = 0 if left >= 1 else max(1, math.ceil((1 - left) / self._per_second))
        self._buckets[token] = (left if wait else left - 1, now)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return wait


class StreamLimits:
    """The streams that each token has open, of `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[UUID] = Counter()

    def take_stream(self, token: UUID) -> bool:
        """Whether a token may open one more stream, which is counted then."""
        if self._open[token] >= self._most:
            return False
        self._open[token] += 1
        return True

    def release_stream(self, token: UUID) -> None:
        """Count a stream as ended."""
        self._open[token] -= 1
        if not self._open[token]:
            del self._open[token]
