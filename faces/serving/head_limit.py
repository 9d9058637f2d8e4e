"""A protocol of the server that bounds the head of a request, which no application sees before all of it is there."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64_000  # of the address and all headers
_SEPARATORS = 4  # bytes around a name and a value
_MESSAGE = b"The head of the request is too large."
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_MESSAGE), _MESSAGE)
)


class _HeadTooLarge(Exception):
    """Stops the parser."""


class BoundedProtocol(HttpToolsProtocol):
    """Answers a head of more than `MAX_HEAD_BYTES` with 431, and closes the connection.

    The parser keeps what it has of a header until the last byte, without a bound. So a head that is whole is measured,
    and packets that bring neither the end of a head nor a part of a body are counted: those of trailers, too."""

    def __init__(self, *args: Any, **more: Any) -> None:
        """Take what the server gives."""
        super().__init__(*args, **more)
        self._has_progressed = False
        self._is_too_large = False
        self._kept = 0  # bytes of packets since the last progress

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        self._has_progressed = False
        super().data_received(data)
        if self._has_progressed:
            self._kept = 0
            return
        self._kept += len(data)
        if self._kept > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse_head()

    def on_headers_complete(self) -> None:
        """Begin the request, unless its head is too large."""
        self._has_progressed = True
        size = len(self.url) + sum(len(name) + len(value) + _SEPARATORS for name, value in self.headers)
        if size > MAX_HEAD_BYTES:
            self._is_too_large = True
            raise _HeadTooLarge
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._has_progressed = True
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser has stopped at."""
        if self._is_too_large:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        self.transport.write(_REFUSAL)
        self.transport.close()
