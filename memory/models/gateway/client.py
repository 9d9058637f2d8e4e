"""The HTTP client of a memory gateway: one attempt for each operation, within a time and a size."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import httpx2
import orjson

from muniment.memory.domain.gateway.config import GatewayConfig
from muniment.memory.domain.gateway.user_key import UserKey
from muniment.memory.domain.gateway.wire import Category, GatewayMessage, Operation, RecalledItem
from muniment.memory.errors import GatewayError
from muniment.memory.models.connections import make_empty_jar
from muniment.memory.models.gateway.answers import UnusableAnswer, parse_answer, parse_results
from muniment.memory.models.gateway.library_log import silence_library
from muniment.memory.rules.language.tokens import repair_surrogates

MAX_BYTES = 4 * 2**20  # of an answer: a hundred results, each with a vector in the part that is not read
_UNAUTHORIZED = 401
_NO_CONTENT = {204: b"{}"}  # a success that says nothing
_IDLE_SECONDS = 1.0  # an idle connection is closed here before a server does it, since no request is sent twice
# Besides its own errors the library lets through those of the socket, of names that cannot be looked up (ValueError),
# and of a client that has been closed (RuntimeError).
_LIBRARY_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RuntimeError)
_HEADERS = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why there is no answer."""

    category: Category
    status: int | None = None


@dataclass(frozen=True, slots=True)
class _Cancelled:
    """The run was cancelled, with these arguments of its CancelledError."""

    messages: tuple[Any, ...]


class GatewayClient:
    """A `Gateway` behind HTTP. Raises GatewayError, which holds nothing of a request or an answer.

    Errors of the HTTP library hold the request with the key in it, also in the frames of their tracebacks. So they end
    in `_exchange`, which returns, and what is raised is made outside of it; a cancelled request ends the same way."""

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self._http = httpx2.AsyncClient(
            cookies=make_empty_jar(),
            follow_redirects=False,
            timeout=None,  # `_exchange` limits the whole request; the library's times are for each part of it
            limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
        )

    async def search(self, conversation_id: str, query: str) -> list[RecalledItem]:
        answer = await self._call(
            "search",
            user_id=self._config.user_id,
            user_key=self._config.user_key,
            conversation_id=repair_surrogates(conversation_id),
            query=repair_surrogates(query),
            scope=self._config.scope,
            top_k=self._config.top_k,
            app_id=self._config.app_id,
            project_id=self._config.project_id,
        )
        return parse_results(answer["results"], self._config.top_k)

    async def add(self, session_id: str, messages: Sequence[GatewayMessage]) -> None:
        encoded = [asdict(message) | {"content": repair_surrogates(message.content)} for message in messages]
        await self._call("add", **self._build_session(session_id), messages=encoded)

    async def flush(self, session_id: str) -> None:
        await self._call("flush", **self._build_session(session_id))

    async def check_reachable(self) -> bool:
        try:
            with silence_library():
                async with (
                    asyncio.timeout(self._config.timeout_seconds),
                    self._http.stream("GET", f"{self._config.base_url}/health"),
                ):
                    return True
        except _LIBRARY_ERRORS:
            return False

    async def close(self) -> None:
        with silence_library():
            await self._http.aclose()

    def _build_session(self, session_id: str) -> dict[str, Any]:
        return {
            "user_id": self._config.user_id,
            "user_key": self._config.user_key,
            "session_id": repair_surrogates(session_id),
            "app_id": self._config.app_id,
            "project_id": self._config.project_id,
        }

    async def _call(self, operation: Operation, **body: object) -> dict[str, Any]:
        """Return the answer. Raises GatewayError, CancelledError."""
        path = f"/memories/{operation}"
        outcome = await self._exchange(operation, path, body)
        if isinstance(outcome, _Failure):
            raise GatewayError(operation, path, outcome.category, outcome.status)
        if isinstance(outcome, _Cancelled):
            raise asyncio.CancelledError(*outcome.messages)
        return outcome

    async def _exchange(
        self, operation: Operation, path: str, body: Mapping[str, object]
    ) -> dict[str, Any] | _Failure | _Cancelled:
        """Send a request, once, and return its answer, or why there is none. It raises nothing."""
        try:
            with silence_library():
                async with asyncio.timeout(self._config.timeout_seconds):
                    content = await self._request(path, body)
            return parse_answer(operation, content)
        except UnusableAnswer as error:
            return _Failure(error.category, error.status)
        except (TimeoutError, httpx2.TimeoutException):
            return _Failure("timeout")
        except _LIBRARY_ERRORS:
            return _Failure("connection")
        except asyncio.CancelledError as error:
            return _Cancelled(error.args)

    async def _request(self, path: str, body: Mapping[str, object]) -> bytes:
        """Return the body of a successful answer. Raises UnusableAnswer, and what the library raises."""
        url = self._config.base_url + path
        encoded = orjson.dumps(body, default=_reveal_key)
        async with self._http.stream("POST", url, content=encoded, headers=_HEADERS) as answer:
            status = answer.status_code
            if not answer.is_success:
                raise UnusableAnswer("unauthorized" if status == _UNAUTHORIZED else "http_error", status)
            if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
                raise UnusableAnswer("encoded", status)
            content = bytearray()
            async for part in answer.aiter_raw():
                content += part
                if len(content) > MAX_BYTES:
                    raise UnusableAnswer("too_large", status)
        return bytes(content) or _NO_CONTENT.get(status, b"")


def _reveal_key(value: object) -> object:
    if isinstance(value, UserKey):
        return value.reveal_value()
    raise TypeError("not JSON")
