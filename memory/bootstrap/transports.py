"""Opens the connection over HTTP that a client of a service uses."""

from __future__ import annotations

from muniment.memory.ports.transport import Transport


def create_transport(*, timeout_seconds: float, max_bytes: int) -> Transport:
    """Return a connection of at most so many seconds for a whole request, and so many bytes of an answer; nothing is
    sent before it is asked. Close it at the end."""
    from muniment.memory.models.transport import HttpTransport  # noqa: PLC0415 - the HTTP library loads slowly

    return HttpTransport(timeout_seconds=timeout_seconds, max_bytes=max_bytes, reads_refusals=True)
