"""Keeps the log of the HTTP library silent while it speaks with a service.

The library logs the headers and the reason of an answer. Those are words of the service, which may repeat a key."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LOGGERS = ("httpx2", *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))
_is_silent: ContextVar[bool] = ContextVar("_is_silent", default=False)


def _may_log(_record: logging.LogRecord) -> bool:
    return not _is_silent.get()


@contextmanager
def silence_library() -> Iterator[None]:
    """Drop what the HTTP library logs in this task within the context; other tasks log as ever."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_may_log)  # the same filter is added once
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)
