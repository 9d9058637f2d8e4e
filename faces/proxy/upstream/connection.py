"""Connections to upstreams: what has arrived is read at once, as one portion."""

from __future__ import annotations

import asyncio
import select
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

import httpcore2

from muniment.faces.proxy.upstream.framing import ChunkJoiner

SocketOption: TypeAlias = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
_MOST_BYTES = 1 << 18  # that wait for a client who reads slowly
_HELD_BYTES = 1 << 16  # of a request that are sent with what follows them: its head goes with its body
_EYEBALLS_SECONDS = 0.25  # after which another address of a host is tried beside the first


class _Arrivals(asyncio.Protocol):
    """What has arrived on a connection and nobody has read yet, and whether more may be sent."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._is_paused = False  # no more is taken from the socket
        self._is_ended = False
        self._is_lost = False  # by an error
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport

    @property
    def has_something(self) -> bool:
        """Whether a read would return at once."""
        return bool(self._parts) or self._is_ended or self._is_lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _MOST_BYTES and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> None:
        self._is_ended = True
        _wake(self._reader)

    def connection_lost(self, error: Exception | None) -> None:
        self._is_ended = True
        self._is_lost = self._is_lost or error is not None
        _wake(self._reader)
        _wake(self._writer)

    def pause_writing(self) -> None:
        self._writer = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        _wake(self._writer)
        self._writer = None

    async def read(self, most: int, seconds: float | None) -> bytes:
        """Return all that has arrived, so many bytes at most; nothing at the end. Raises ReadTimeout, ReadError."""
        if not self.has_something:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await _wait_within(self._reader, seconds)
            except TimeoutError:
                raise httpcore2.ReadTimeout from None
            finally:
                self._reader = None
        if not self._parts:
            if self._is_lost:
                raise httpcore2.ReadError
            return b""
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = [data[most:]] if len(data) > most else []
        self._size = max(0, len(data) - most)
        if self._is_paused and self._size < _MOST_BYTES and not self.transport.is_closing():
            self._is_paused = False
            self.transport.resume_reading()
        return data[:most]

    async def write(self, data: bytes, seconds: float | None) -> None:
        """Send bytes, and wait while too many are on their way. Raises WriteTimeout, WriteError."""
        if self._is_lost or self.transport.is_closing():
            raise httpcore2.WriteError
        self.transport.write(data)
        if self._writer is not None:
            try:
                await _wait_within(self._writer, seconds)
            except TimeoutError:
                raise httpcore2.WriteTimeout from None
            if self._is_lost:
                raise httpcore2.WriteError


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection as the pool has it. Small chunks are joined before they are parsed."""

    def __init__(self, arrivals: _Arrivals) -> None:
        self._arrivals, self._joiner = arrivals, ChunkJoiner()
        self._held = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the interface's
        if self._held:
            await self._send_held(timeout)
        while True:
            data = await self._arrivals.read(max_bytes, timeout)
            seen = self._joiner.join_chunks(data)
            if seen or not data:
                return seen

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        if not buffer:
            return
        self._joiner.begin_request()
        if len(buffer) > _HELD_BYTES and self._held:
            await self._send_held(timeout)
        self._held = self._held + buffer if self._held else buffer
        if len(self._held) > _HELD_BYTES:
            await self._send_held(timeout)

    async def _send_held(self, seconds: float | None) -> None:
        held, self._held = self._held, b""
        await self._arrivals.write(held, seconds)

    async def aclose(self) -> None:
        self._arrivals.transport.abort()  # what is not sent yet has nobody who waits for it

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
    ) -> httpcore2.AsyncNetworkStream:
        inner = _Arrivals()
        async with _connect(timeout):
            try:
                transport = await asyncio.get_running_loop().start_tls(
                    self._arrivals.transport, inner, ssl_context, server_hostname=server_hostname
                )
            except BaseException:
                self._arrivals.transport.abort()
                raise
            if transport is None:  # it was closed meanwhile
                raise ConnectionResetError
        inner.connection_made(transport)
        return _Stream(inner)

    def get_extra_info(self, info: str) -> Any:
        transport = self._arrivals.transport
        if info == "is_readable":  # asked of an idle connection: it is when the other end has closed it
            return self._arrivals.has_something or transport.is_closing() or _is_readable(transport)
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return transport.get_extra_info(names.get(info, info))


class PortionBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections whose bytes are read in portions, whatever chunks they came in."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface's
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Return a connection to a host. Raises ConnectError, ConnectTimeout."""
        local = None if local_address is None else (local_address, 0)
        async with _connect(timeout):
            transport, arrivals = await asyncio.get_running_loop().create_connection(
                _Arrivals, host, port, local_addr=local, happy_eyeballs_delay=_EYEBALLS_SECONDS
            )
        for option in socket_options or ():
            transport.get_extra_info("socket").setsockopt(*option)
        return _Stream(arrivals)


@asynccontextmanager
async def _connect(seconds: float | None) -> AsyncIterator[None]:
    """Bound a connecting, and give its errors the names that the pool knows."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise httpcore2.ConnectTimeout from None
    except OSError:
        raise httpcore2.ConnectError from None


async def _wait_within(waiter: asyncio.Future[None], seconds: float | None) -> None:
    """Wait for what will be set. Raises TimeoutError after so many seconds."""
    if seconds is None:
        await waiter
        return
    timer = asyncio.get_running_loop().call_later(seconds, _expire, waiter)
    try:
        await waiter
    finally:
        timer.cancel()


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _is_readable(transport: asyncio.Transport) -> bool:
    """Whether something has come to the socket that the loop has not seen yet."""
    number = transport.get_extra_info("socket").fileno()
    if number < 0:
        return True
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))
