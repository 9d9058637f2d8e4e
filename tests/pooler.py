"""A pooler in transaction mode: a client has a connection to Postgres for as long as its transaction lasts, then
another one.

It knows nothing of what a session was set to, and of prepared statements only what passes through."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import threading
from collections import deque
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

_HEAD = struct.Struct("!cI")
_STARTUP = 196_608
_TOLD = (
    "server_version",
    "client_encoding",
    "standard_conforming_strings",
    "DateStyle",
    "TimeZone",
    "integer_datetimes",
)


class Pooler:
    """Takes turns among `size` connections to the server of `url`. With `posing` it greets as the server process that
    comes next, and keeps a client to it until `turn`."""

    def __init__(self, url: str, size: int = 3, *, posing: bool = False) -> None:
        self._server, self._size, self._posing = url, size, posing
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._free: deque[_Backend] = deque()
        self._wanted: asyncio.Condition
        self._writers: set[asyncio.StreamWriter] = set()
        self.backends: list[_Backend] = []
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening = self._run(self._open())
        address = {"host": "127.0.0.1", "port": self._listening.sockets[0].getsockname()[1], "sslmode": "disable"}
        self.url = make_conninfo("", **{**conninfo_to_dict(self._server), **address})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def turn(self) -> None:
        """Whoever was kept to one connection goes on with another."""
        self._loop.call_soon_threadsafe(self._free.rotate, 1)

    def _run(self, step: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(10)

    async def _open(self) -> asyncio.Server:
        self._wanted = asyncio.Condition()
        self.backends = [await _Backend.connect(self._server) for _ in range(self._size)]
        self._free.extend(self.backends)
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _close(self) -> None:
        self._listening.close()
        for backend in self.backends:
            backend.close()
        for writer in self._writers:
            writer.transport.abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)  # each ends with what it hears

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        await self._greet(reader, writer)
        said = _heard(reader)
        while (first := await said.get())[:1] not in (b"X", b""):
            async with self._wanted:
                await self._wanted.wait_for(lambda: self._free)
                backend = self._free.popleft()
            if not await backend.serve(first, said, writer):
                break  # who has left a transaction open takes the connection along
            async with self._wanted:
                (self._free.appendleft if self._posing else self._free.append)(backend)
                self._wanted.notify()
        self._writers.discard(writer)
        writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (size,) = struct.unpack("!I", await reader.readexactly(4))
            (code,) = struct.unpack("!I", (await reader.readexactly(size - 4))[:4])
            if code == _STARTUP:
                break
            writer.write(b"N")  # no encryption
        known = self.backends[0]
        pid = self._free[0].pid if self._posing else 1
        writer.write(_made(b"R", struct.pack("!I", 0)))
        for name, value in known.told.items():
            writer.write(_made(b"S", f"{name}\0{value}\0".encode()))
        writer.write(_made(b"K", struct.pack("!II", pid, 0)) + _made(b"Z", b"I"))


class _Backend:
    """A connection to Postgres, whose greeting is over."""

    def __init__(self, conn: psycopg.AsyncConnection[Any]) -> None:
        self._conn = conn  # has said who it is, and says no more
        self.pid = conn.info.backend_pid
        self._answers: asyncio.Queue[bytes]
        self._writer: asyncio.StreamWriter
        self.told = {name: value for name in _TOLD if (value := conn.info.parameter_status(name))}

    @classmethod
    async def connect(cls, url: str) -> Self:
        """Greeted by a driver, which knows how."""
        made = cls(await psycopg.AsyncConnection.connect(url, autocommit=True, sslmode="disable"))
        sock = socket.socket(fileno=os.dup(made._conn.fileno()))
        reader, made._writer = await asyncio.open_connection(sock=sock)
        made._answers = _heard(reader)
        return made

    def close(self) -> None:
        self._writer.transport.abort()
        self._conn.pgconn.finish()

    async def serve(self, first: bytes, said: asyncio.Queue[bytes], writer: asyncio.StreamWriter) -> bool:
        """From a client's first message until the server is in no transaction, and has answered all that it was
        asked."""
        self._asked, self._open = 0, False
        self._pass(first)
        more = asyncio.create_task(self._more(said))
        try:
            while answer := await self._answers.get():
                writer.write(answer)
                if answer[:1] == b"Z":
                    self._asked -= 1
                    if answer[5:] == b"I" and not self._asked and not self._open:
                        return True
        finally:
            more.cancel()
        return False

    async def _more(self, said: asyncio.Queue[bytes]) -> None:
        while (message := await said.get())[:1] not in (b"X", b""):
            self._pass(message)
        self._answers.put_nowait(b"")

    def _pass(self, message: bytes) -> None:
        self._asked += message[:1] in (b"Q", b"S")
        self._open = message[:1] in b"PBDEC" or (self._open and message[:1] not in b"QS")
        self._writer.write(message)


def _made(kind: bytes, body: bytes) -> bytes:
    return _HEAD.pack(kind, len(body) + 4) + body


def _heard(reader: asyncio.StreamReader) -> asyncio.Queue[bytes]:
    """Messages as they come; an empty one when there are no more."""
    found: asyncio.Queue[bytes] = asyncio.Queue()

    async def hear() -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readexactly(_HEAD.size)
                found.put_nowait(head + await reader.readexactly(_HEAD.unpack(head)[1] - 4))
        found.put_nowait(b"")

    found.hearing = asyncio.create_task(hear())  # type: ignore[attr-defined]  # kept as long as what it is for
    return found
