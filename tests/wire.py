"""A way to Postgres that can be cut off: packets vanish, in both directions, and nobody is told."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import socket
import struct
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

# Linux, in the numbers of its headers: a program of one instruction that lets no packet into a socket. It is not even
# acknowledged, which a proxy that only stops to read would go on to do.
_ATTACH, _DETACH = 26, 27
_NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_DEAF = struct.pack("HP", 1, ctypes.addressof(_NOTHING))


class Wire:
    """Passes on what comes for the server of `url`; `stall` and `heal` are for any thread."""

    def __init__(self, url: str) -> None:
        self._server = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._open = asyncio.Event()
        self._open.set()
        self._sockets: set[Any] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.url = ""

    def __enter__(self) -> Self:
        with psycopg.connect(self._server) as conn:
            self._where, password = (conn.info.host, conn.info.port), conn.info.password
        self._thread.start()
        self._listening = self._run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        listener = self._listening.sockets[0]
        self._sockets.add(listener)
        address = {"host": "127.0.0.1", "port": listener.getsockname()[1], "sslmode": "disable"}
        known = {"password": password} if password else {}
        self.url = make_conninfo("", **{**conninfo_to_dict(self._server), **known, **address})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def stall(self) -> None:
        """From now on nothing arrives, and nothing says so."""
        self._run(self._cut())

    def heal(self) -> None:
        """What was sent meanwhile and is not given up arrives."""
        self._run(self._mend())

    def _run(self, step: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(10)

    async def _cut(self) -> None:
        self._open.clear()
        for one in self._sockets:
            one.setsockopt(socket.SOL_SOCKET, _ATTACH, _DEAF)

    async def _mend(self) -> None:
        for one in self._sockets:
            one.setsockopt(socket.SOL_SOCKET, _DETACH, 0)
        self._open.set()

    async def _close(self) -> None:
        self._listening.close()
        self._open.set()
        for _ in range(3):  # who was let in a moment ago is known by then
            await asyncio.sleep(0)
        for one in self._writers:
            one.transport.abort()
        ways = asyncio.all_tasks() - {asyncio.current_task()}
        for way in ways:
            way.cancel()  # one may still be on its way to the server
        await asyncio.gather(*ways, return_exceptions=True)
        await asyncio.sleep(0)  # what is aborted is closed with the loop's next turn

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.CancelledError):  # the wire ends
            await self._lead(reader, writer)

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._where
        self._writers.add(writer)
        if host.startswith("/"):
            back, forth = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            back, forth = await asyncio.open_connection(host, port)
        sockets = {one.get_extra_info("socket") for one in (writer, forth)}
        sockets = {one for one in sockets if one.family != socket.AF_UNIX}
        both = {writer, forth}
        self._sockets |= sockets
        self._writers |= both
        try:
            await asyncio.gather(self._pass(reader, forth), self._pass(back, writer))
        finally:
            self._sockets -= sockets
        for one in both:  # what is written may have to wait for who reads it
            with contextlib.suppress(OSError):
                await one.wait_closed()
        self._writers -= both

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        await self._open.wait()  # that somebody has gone is not told either
        writer.close()
