"""The HTTP client that is shared by who speaks with a service: one attempt for each request, within a time and a size.

Errors of the HTTP library hold the request with its secrets, also in the frames of their tracebacks. So they end in
`_attempt`, which returns, and what is raised is made outside of it; a cancelled request ends the same way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx2

from muniment.memory.domain.gateway.exchange import FailureCategory, HttpAnswer, HttpFailure, HttpRequest
from muniment.memory.models.connections import make_empty_jar
from muniment.memory.models.library_log import silence_library
from muniment.memory.ports.transport import Transport

_IDLE_SECONDS = 1.0  # an idle connection is closed here before a server does it, since no request is sent twice
# Besides its own errors the library lets through those of the socket, of names that cannot be looked up (ValueError),
# and of a client that has been closed (RuntimeError).
_LIBRARY_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RuntimeError)
_PLAIN = {"accept-encoding": "identity"}  # what a few bytes unpack to has no bound


@dataclass(frozen=True, slots=True)
class _Cancelled:
    """The request was cancelled, with these arguments of its CancelledError."""

    messages: tuple[Any, ...]


class _Unreadable(Exception):
    """An answer that is not read."""

    def __init__(self, category: FailureCategory, status: int) -> None:
        super().__init__(category)
        self.failure = HttpFailure(category=category, status=status)


class HttpTransport(Transport):
    """The `Transport` port. `reads_refusals`: whether the body of an answer without success is read."""

    def __init__(self, *, timeout_seconds: float, max_bytes: int, reads_refusals: bool) -> None:
        self._timeout_seconds, self._max_bytes, self._reads_refusals = timeout_seconds, max_bytes, reads_refusals
        self._http = httpx2.AsyncClient(
            cookies=make_empty_jar(),
            follow_redirects=False,
            timeout=None,  # `_attempt` limits the whole request; the library's times are for each part of it
            limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
        )

    async def send_request(self, request: HttpRequest) -> HttpAnswer | HttpFailure:
        outcome = await self._attempt(request)
        if isinstance(outcome, _Cancelled):
            raise asyncio.CancelledError(*outcome.messages)
        return outcome

    async def is_reachable(self, url: str) -> bool:
        try:
            with silence_library():
                async with asyncio.timeout(self._timeout_seconds), self._http.stream("GET", url):
                    return True
        except _LIBRARY_ERRORS:
            return False

    async def close(self) -> None:
        with silence_library():
            await self._http.aclose()

    async def _attempt(self, request: HttpRequest) -> HttpAnswer | HttpFailure | _Cancelled:
        """Send a request, once, and return its answer, or why there is none. It raises nothing."""
        try:
            with silence_library():
                async with asyncio.timeout(self._timeout_seconds):
                    return await self._read_answer(request)
        except _Unreadable as error:
            return error.failure
        except (TimeoutError, httpx2.TimeoutException):
            return HttpFailure(category="timeout")
        except _LIBRARY_ERRORS:
            return HttpFailure(category="connection")
        except asyncio.CancelledError as error:
            return _Cancelled(error.args)

    async def _read_answer(self, request: HttpRequest) -> HttpAnswer:
        """Return the answer. Raises _Unreadable, and what the library raises."""
        headers = {**_PLAIN, **request.make_headers()}
        body = request.encode_body()
        async with self._http.stream(request.method, request.url, content=body, headers=headers) as answer:
            content = bytearray()
            if answer.is_success or self._reads_refusals:
                if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
                    raise _Unreadable("encoded", answer.status_code)
                async for part in answer.aiter_raw():
                    content += part
                    if len(content) > self._max_bytes:
                        raise _Unreadable("too_large", answer.status_code)
            wanted = {name: answer.headers[name] for name in request.wanted_headers if name in answer.headers}
            return HttpAnswer(status=answer.status_code, content=bytes(content), headers=wanted)
