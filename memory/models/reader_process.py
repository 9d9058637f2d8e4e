"""A process that reads long texts, as the `TextReader` port.

A thread would not do: `re` holds the interpreter while it searches, so that all other threads wait for it."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from select import select
from typing import IO, Any, TypeVar

_Result = TypeVar("_Result")
_IDLE_SECONDS = 60.0  # after which the process ends; it takes some 80 MB
_GRACE_SECONDS = 2.0  # for its end
_NICENESS = 10  # above that of the process that asks: who waits for a short text goes first
_ATTEMPTS = 2  # for a process that ends while it reads
_HEADER_BYTES = 8  # before each message; they say how long it is
# As multiprocessing does it, but without the caller's `__main__`: a script without a guard would run a second time.
_COMMAND = (
    "import sys; sys.path[:] = sys.argv[2:]; from muniment.memory.models import reader_process; "
    "reader_process.answer_calls(float(sys.argv[1]))"
)


class ReaderProcess:
    """Calls functions in a process of its own, one after the other.

    The process starts with the first call. It ends after `idle_seconds` without a call, and with this process. Where it
    cannot be started, or ends during a call and once more when the call is repeated, the function is called here."""

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._load: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_process)

    @property
    def pid(self) -> int | None:
        """Return the id of the process, None where none was started or its end was noticed."""
        return self._process.pid if self._process else None

    def load_first(self, load: Callable[[], object]) -> None:
        """Have each process that is started from now on call this function first, so that no text waits for it."""
        self._load = load

    def call_function(self, function: Callable[..., _Result], /, *arguments: Any) -> _Result:
        """Return what a function of a module returns, or raise what it raises. It waits: call it from a thread."""
        message = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        for _ in range(_ATTEMPTS):
            with suppress(EOFError, OSError), self._lock:
                answer = self._exchange(message)
                break
        else:
            return function(*arguments)
        is_done, result = pickle.loads(answer)  # noqa: S301 - our own process has written it
        if not is_done:
            raise result
        value: _Result = result
        return value

    def forget_texts(self) -> None:
        """Drop what is cached of texts, after something was erased. It waits, too."""
        self.close()

    def close(self) -> None:
        """End the process. The next call starts another one."""
        with self._lock:
            self._end_process()

    def _exchange(self, message: bytes) -> bytes:
        """Send a message and return the answer. Raises EOFError, OSError."""
        messages = [message]
        if self._process is None:
            self._process = _start_process(self._idle_seconds)
            if self._load is not None:
                messages.insert(0, pickle.dumps((self._load, ()), pickle.HIGHEST_PROTOCOL))
        try:
            for each in messages:
                _write_message(_get_pipe(self._process.stdin), each)
                answer = _read_message(_get_pipe(self._process.stdout))
        except (EOFError, OSError):
            self._end_process()
            raise
        return answer

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                _get_pipe(pipe).close()
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # in the middle of a text
            process.kill()
            process.wait()

    def _forget_process(self) -> None:
        """After a fork: the pipes are the parent's, and the lock may be held by a thread that is not here."""
        self._lock, self._process = threading.Lock(), None


READER = ReaderProcess()  # of this interpreter: its engines and savers share it


def answer_calls(idle_seconds: float) -> None:
    """Answer the calls that come by standard input, until it is closed or none has come for `idle_seconds`."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, and this one ends with it
    calls, answers = FileIO(os.dup(0)), FileIO(os.dup(1), "w")
    os.dup2(2, 1)  # what a function prints is no answer
    with suppress(EOFError, OSError):
        while select([calls], [], [], idle_seconds)[0]:
            _write_message(answers, _answer_call(_read_message(calls)))


def _answer_call(message: bytes) -> bytes:
    """Return whether the call has succeeded, with its result or its error."""
    try:
        function, arguments = pickle.loads(message)  # noqa: S301 - the process that started this one has written it
        answer = True, function(*arguments)
    except Exception as error:  # noqa: BLE001 - the process that asks raises it
        answer = False, error
    return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)


def _start_process(idle_seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _COMMAND, str(idle_seconds), *sys.path]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)  # noqa: S603 - our own


def _get_pipe(pipe: IO[bytes] | None) -> FileIO:
    if not isinstance(pipe, FileIO):
        raise OSError("the process has no pipe")
    return pipe


def _write_message(pipe: FileIO, message: bytes) -> None:
    rest = memoryview(len(message).to_bytes(_HEADER_BYTES, "big") + message)
    while rest:
        rest = rest[pipe.write(rest) :]


def _read_message(pipe: FileIO) -> bytes:
    return _read_bytes(pipe, int.from_bytes(_read_bytes(pipe, _HEADER_BYTES), "big"))


def _read_bytes(pipe: FileIO, size: int) -> bytes:
    """Read so many bytes. Raises EOFError where the other side has ended."""
    parts: list[bytes] = []
    while size:
        part = pipe.read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
