"""What is counted, for Prometheus. No label names a user, a tenant or a token."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

FACE = "http"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The numbers and durations of the requests of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "muniment_requests",
            "Requests that were answered.",
            ("face", "operation", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "muniment_request_seconds",
            "Seconds to the end of an answer.",
            ("face", "operation"),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._active = Gauge(
            "muniment_requests_active", "Requests under way.", ("face",), registry=self._registry
        ).labels(FACE)

    def begin_request(self) -> None:
        """Count a request that is under way."""
        self._active.inc()

    def end_request(self, operation: str, status: int, seconds: float) -> None:
        """Count the end of a request."""
        self._active.dec()
        self._requests.labels(FACE, operation, str(status)).inc()
        self._seconds.labels(FACE, operation).observe(seconds)

    def format_text(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
