"""The process that parses documents: what it answers, and how it is asked."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from muniment.memory import errors
from muniment.memory.config.schema import ResourceSettings
from muniment.memory.domain.layers.resources import DocumentKind, Statement
from muniment.memory.errors import BadInput, TooLarge
from muniment.memory.models.documents.parsing import DocumentParser, read_nothing
from muniment.memory.rules.redaction.redact import Redactor

_HEADER_BYTES = 8  # before each message; they say how long it is
_MEGABYTE = 1_000_000
_NICENESS = 10
_ANSWER_BYTES = 1_000_000_000  # more is no answer
# Without the caller's `__main__`: a script without a guard would run a second time.
_COMMAND = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from muniment.memory.models.documents import process; process.answer_documents()"
)


class DocumentReader:
    """Reads documents one after the other in a process of its own, which is ended when one takes too long or too much
    memory, and at the end of the context. Use it with `async with`."""

    def __init__(self, settings: ResourceSettings, redactor: Redactor) -> None:
        self._settings = settings
        self._parser = DocumentParser(settings=settings, redactor=redactor)
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end_process()

    @property
    def pid(self) -> int | None:
        """Return the id of the process; None where none was started or it was ended."""
        return self._process.pid if self._process else None

    async def read_document(self, kind: DocumentKind, content: bytes) -> tuple[Statement, ...]:
        """Return the statements of a document, redacted.

        Raises BadInput for what cannot be read as this kind, TooLarge for what passes a limit of the settings, time and
        memory among them, BadConfig where PDF is read without the extra."""
        if len(content) > (most := self._settings.file_bytes):
            raise TooLarge(f"has {len(content):,} bytes; the limit is {most:,} (resources.file_bytes)")
        seconds = self._settings.reading_seconds
        try:
            async with asyncio.timeout(seconds):
                answer = await self._exchange(kind, content)
        except TimeoutError:
            await self._end_process()
            raise TooLarge(f"takes more than {seconds:g} seconds to read (resources.reading_seconds)") from None
        except (EOFError, OSError, asyncio.IncompleteReadError):
            await self._end_process()
            raise BadInput("cannot be read: what reads it has ended without an answer") from None
        except asyncio.CancelledError:
            await self._end_process()
            raise
        return _parse_answer(answer)

    async def _exchange(self, kind: DocumentKind, content: bytes) -> bytes:
        is_new = self._process is None
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-c", _COMMAND, *sys.path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,  # libraries warn there, with words of the document
            )
        asked, answers = self._process.stdin, self._process.stdout
        if asked is None or answers is None:
            raise OSError("the process has no pipe")
        messages = [pickle.dumps((kind, content))]
        if is_new:
            messages.insert(0, pickle.dumps(self._parser))
        for message in messages:
            asked.write(len(message).to_bytes(_HEADER_BYTES, "big") + message)
            await asked.drain()
        size = int.from_bytes(await answers.readexactly(_HEADER_BYTES), "big")
        if size > _ANSWER_BYTES:
            raise EOFError
        return await answers.readexactly(size)

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
            with suppress(OSError):
                await process.stdin.wait_closed()


def _parse_answer(answer: bytes) -> tuple[Statement, ...]:
    """Return the statements of an answer; raise the error that it tells of."""
    told: dict[str, Any] = orjson.loads(answer)
    if "error" in told:
        known: type[errors.MunimentError] = getattr(errors, told["error"])
        raise known(told["message"])
    return tuple(Statement(**each) for each in told["statements"])


def answer_documents() -> None:
    """Answer the documents that come by standard input, until it is closed."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, and this one ends with it
    asked, answers = FileIO(os.dup(0)), FileIO(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    parser: DocumentParser = pickle.loads(_read_message(asked))  # noqa: S301 - the process that started this one
    read_nothing()
    _limit_memory(parser.settings.reading_megabytes * _MEGABYTE)
    with suppress(EOFError, OSError):
        while True:
            kind, content = pickle.loads(_read_message(asked))  # noqa: S301 - as above
            _write_message(answers, _answer(parser, kind, content))


def _answer(parser: DocumentParser, kind: DocumentKind, content: bytes) -> bytes:
    try:
        statements = parser.parse_document(kind, content)
        return orjson.dumps({"statements": [asdict(each) for each in statements]})
    except errors.MunimentError as error:
        return orjson.dumps({"error": type(error).__name__, "message": str(error)})
    except RecursionError:
        return orjson.dumps({"error": BadInput.__name__, "message": "is nested too deeply to be read"})
    except MemoryError:
        most = parser.settings.reading_megabytes
        told = f"takes more than {most:,} MB to read (resources.reading_megabytes)"
    return orjson.dumps({"error": TooLarge.__name__, "message": told})


def _limit_memory(more: int) -> None:
    """Let this process have so many bytes more than it has now, where the system can limit that."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return
    statm = Path("/proc/self/statm")
    if statm.exists():
        most = int(statm.read_text().split()[0]) * resource.getpagesize() + more
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _read_message(pipe: FileIO) -> bytes:
    size = int.from_bytes(_read_bytes(pipe, _HEADER_BYTES), "big")
    return _read_bytes(pipe, size)


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


def _write_message(pipe: FileIO, message: bytes) -> None:
    rest = memoryview(len(message).to_bytes(_HEADER_BYTES, "big") + message)
    while rest:
        rest = rest[pipe.write(rest) :]
