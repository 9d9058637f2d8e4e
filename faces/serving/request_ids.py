"""The id of a request, on every line of the log; and where an error was raised, without its text."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from contextvars import ContextVar
from uuid import uuid4

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="-")
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class RequestIds(logging.Filter):
    """Puts the id of the request on each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the id, drop the text of an exception, and keep the record."""
        record.request_id = REQUEST_ID.get()
        if record.exc_info:
            error = record.exc_info[1]
            record.msg, record.args = f"{record.getMessage().splitlines()[0]}: {locate_error(error)}", ()
            record.exc_info = record.exc_text = None
        return True


def write_log(layout: str, others: int) -> None:
    """Write the log of this process to standard error, each line in this layout, which may name `request_id`.

    `others` is the level of what is no logger of ours."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(layout))
    handler.addFilter(RequestIds())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(others)


def choose_request_id(given: str | None) -> str:
    """Return the id that the client has given, where it is one, or a new one."""
    return given if given is not None and _ID.fullmatch(given) else uuid4().hex


def locate_error(error: BaseException | None) -> str:
    """Return the class of an error and where it was raised, without its text, which may be of a memory."""
    if error is None:
        return "no error"
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(f"{frame.filename.rpartition('muniment/')[2]}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {places}"
