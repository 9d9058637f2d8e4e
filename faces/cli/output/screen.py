"""Plain output of the command line: lines and fields for people, JSON for programs, errors in one line."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

from muniment.memory.errors import (
    BadConfig,
    BadInput,
    Busy,
    CuratedFileError,
    Denied,
    InitInterrupted,
    ModelError,
    MunimentError,
    NoCheckpoint,
    NoSession,
    NotFound,
    NotInitialized,
    StoreDown,
    StoreError,
    StoreFull,
    TemplateError,
)

T = TypeVar("T")
EXIT_CODES: dict[type[BaseException], int] = {
    BadInput: 2,
    Denied: 3,
    NotFound: 4,
    BadConfig: 5,
    InitInterrupted: 8,
    NotInitialized: 9,
    TemplateError: 10,
    CuratedFileError: 11,
    StoreError: 6,
    Busy: 7,
    ModelError: 1,
    MunimentError: 1,
    KeyboardInterrupt: 130,
}
# Added to the message of an error, unless it names a way out itself.
ERROR_HINTS: dict[type[BaseException], str] = {
    StoreDown: "see that the server that MUNIMENT_DATABASE_URL names runs; where it names none, `muniment status` "
    "shows the embedded one",
    StoreFull: "make room on the disk of the database; nothing was half-written",
    NoCheckpoint: "`muniment stats checkpoints` shows the threads",
    NoSession: "`muniment sessions list` shows what there is",
    NotFound: "`muniment list --state all` shows what there is",
    ModelError: "see MUNIMENT_MODEL, MUNIMENT_EMBEDDER, OPENAI_API_KEY and OPENAI_BASE_URL",
}
_SHOWN_ID_CHARS = 8  # of an id that are shown: any four or more of its first find it
# A memory is somebody's text: shown as it is, it could move the cursor or retitle the window.
_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def prepare_streams() -> None:
    """Make standard output and error UTF-8, whatever the locale; half a surrogate pair is written as an escape. Where
    one of the three streams is closed nobody reads or says anything.

    The libraries' warnings are nobody's business here: what matters of them comes as an error."""
    logging.getLogger().addHandler(logging.NullHandler())
    sys.stdin, sys.stdout, sys.stderr = (
        sys.stdin or _open_devnull("r"),
        sys.stdout or _open_devnull("w"),
        sys.stderr or _open_devnull("w"),
    )
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def _open_devnull(mode: str) -> TextIO:
    return cast("TextIO", Path(os.devnull).open(mode, encoding="utf-8"))


def discard_stdout() -> None:
    """Discard what is still to be written to standard output, which cannot take it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def get_exit_code(error: BaseException) -> int:
    """The code of the error's class, or of the nearest class above it."""
    return _find_by_class(EXIT_CODES, error) or 1


def _find_by_class(table: Mapping[type[BaseException], T], error: BaseException) -> T | None:
    return next((table[kind] for kind in type(error).__mro__ if kind in table), None)


def format_error(error: BaseException) -> str:
    """The error on one line, with the way out."""
    text, hint = join_lines(str(error)).rstrip("."), _find_by_class(ERROR_HINTS, error)
    return f"{text}; {hint}" if hint and "`muniment " not in text and hint not in text else text


def replace_controls(text: str) -> str:
    """The text without control characters and lone surrogates: each becomes the replacement character."""
    return _CONTROL_CHARS.sub("\N{REPLACEMENT CHARACTER}", text)


def join_lines(text: str) -> str:
    """The text on one line, fit for a terminal."""
    return replace_controls(" ".join(text.split()))


def shorten_id(id_: object) -> str:
    """An id as a person reads and types it: its beginning."""
    return str(id_)[:_SHOWN_ID_CHARS]


def format_count(count: int, noun: str) -> str:
    """A number of things: "1 thread", "2,000 threads"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def is_interactive() -> bool:
    """Whether both outputs are a terminal."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def error_to_json(error: BaseException) -> dict[str, Any]:
    """The error as JSON: `{"error": {"type", "message", …data}}`."""
    data = getattr(error, "data", {})
    return {"error": {**data, "type": type(error).__name__, "message": format_error(error)}}


def report_error(error: BaseException, *, as_json: bool) -> int:
    """Tell the error - as JSON on standard output, else in one line on standard error - and give its exit code, which
    is the same when nobody hears it."""
    if as_json:
        with contextlib.suppress(OSError):
            print_json(error_to_json(error))
    else:
        print_error(format_error(error))
    return get_exit_code(error)


@contextmanager
def interruptible_prompt() -> Iterator[None]:
    """While somebody is asked inside an event loop: Ctrl-C ends the question at once. The loop would only note it and
    wait for the answer."""
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def print_error(text: str) -> None:
    """Print an error's line on standard error."""
    print_stderr(f"muniment: error: {text}")


def print_json(value: Any) -> None:
    """Print a JSON value as one line of standard output."""
    print_line(json.dumps(value, ensure_ascii=False, default=str))


def print_line(text: str) -> None:
    """Print a line on standard output, as it is."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def print_stderr(text: str) -> None:
    """Print a note on standard error, apart from the data; nothing where it cannot be written."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{replace_controls(text)}\n")
        sys.stderr.flush()


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print `name  value` lines, aligned."""
    width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        print_line(f"{name:<{width}}  {join_lines(str(value))}")
