"""The body of a request, within a limit, and whether its client is still there."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message, Receive

_GONE: Message = {"type": "http.disconnect"}


class BodyTooLarge(Exception):
    """The body is larger than the limit, or costs too much to read."""


class ClientGone(Exception):
    """The client has gone away."""


class Receiver:
    """Receives the messages of a request for an application, and after the body waits for the client to go away."""

    def __init__(self, receive: Receive, headers: Headers, max_bytes: int) -> None:
        self._receive, self._max_bytes = receive, max_bytes
        self._length = headers.get("content-length", "0")
        self._count = 0
        self._whole: bytes | None = None  # a body that was read and that the application has not got yet
        self._is_complete, self._is_gone = asyncio.Event(), asyncio.Event()

    def check_length(self) -> None:
        """Raise BodyTooLarge where the client announces too large a body."""
        if self._length.isdecimal() and int(self._length[:20]) > self._max_bytes:
            raise self._refuse()

    async def read_whole(self) -> bytes:
        """Read the body before the application runs, which gets it as one message, and return it. Raises BodyTooLarge,
        ClientGone."""
        chunks: list[bytes] = []
        while not self._is_complete.is_set():
            message = await self._receive_counted()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunks.append(message.get("body", b""))
        self._whole = b"".join(chunks)
        return self._whole

    async def discard_rest(self) -> None:
        """Read what still comes of the body, and keep nothing."""
        is_more = not self._is_complete.is_set()
        while is_more:
            message = await self._receive()
            is_more = message["type"] != "http.disconnect" and message.get("more_body", False)

    async def receive_message(self) -> Message:
        """Return the next message for the application. Raises BodyTooLarge."""
        if self._whole is not None:
            body, self._whole = self._whole, None
            return {"type": "http.request", "body": body, "more_body": False}
        if not self._is_complete.is_set():
            return await self._receive_counted()
        await self._is_gone.wait()
        return _GONE

    async def wait_until_gone(self) -> None:
        """Return when the client has gone away, or has got its answer."""
        await self._is_complete.wait()
        while not self._is_gone.is_set():
            if (await self._receive())["type"] == "http.disconnect":
                self._is_gone.set()

    async def _receive_counted(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._is_gone.set()
            self._is_complete.set()
            return message
        self._count += len(message.get("body", b""))
        if self._count > self._max_bytes:
            raise self._refuse()
        if not message.get("more_body", False):
            self._is_complete.set()
        return message

    def _refuse(self) -> BodyTooLarge:
        return BodyTooLarge(f"the body is larger than {self._max_bytes:,} bytes")
