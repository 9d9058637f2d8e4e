"""The HTTP client of a memory gateway: one attempt for each operation, within a time and a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import orjson

from muniment.memory.domain.gateway.config import GatewayConfig
from muniment.memory.domain.gateway.exchange import HttpAnswer, HttpFailure, HttpRequest
from muniment.memory.domain.gateway.user_key import UserKey
from muniment.memory.domain.gateway.wire import Category, GatewayMessage, Operation, RecalledItem
from muniment.memory.errors import GatewayError
from muniment.memory.models.gateway.answers import UnusableAnswer, parse_answer, parse_results
from muniment.memory.models.transport import HttpTransport
from muniment.memory.rules.language.tokens import repair_surrogates

MAX_BYTES = 4 * 2**20  # of an answer: a hundred results, each with a vector in the part that is not read
_UNAUTHORIZED = 401
_NO_CONTENT = {204: b"{}"}  # a success that says nothing
_HEADERS = {"content-type": "application/json", "accept": "application/json"}


class GatewayClient:
    """A `Gateway` behind HTTP. Raises GatewayError, which holds nothing of a request or an answer."""

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self._transport = HttpTransport(
            timeout_seconds=config.timeout_seconds, max_bytes=MAX_BYTES, reads_refusals=False
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
        return await self._transport.is_reachable(f"{self._config.base_url}/health")

    async def close(self) -> None:
        await self._transport.close()

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
        request = HttpRequest(
            method="POST",
            url=self._config.base_url + path,
            encode_body=partial(_encode_body, body),
            make_headers=_make_headers,
        )
        outcome = await self._transport.send_request(request)
        if isinstance(outcome, HttpFailure):
            raise GatewayError(operation, path, outcome.category, outcome.status)
        try:
            return parse_answer(operation, _read_content(outcome))
        except UnusableAnswer as error:
            category, status = error.category, error.status
        raise GatewayError(operation, path, category, status)


def _read_content(answer: HttpAnswer) -> bytes:
    """Return the body of a successful answer. Raises UnusableAnswer."""
    if not answer.is_success:
        category: Category = "unauthorized" if answer.status == _UNAUTHORIZED else "http_error"
        raise UnusableAnswer(category, answer.status)
    return answer.content or _NO_CONTENT.get(answer.status, b"")


def _make_headers() -> Mapping[str, str]:
    return _HEADERS


def _encode_body(body: Mapping[str, object]) -> bytes:
    return orjson.dumps(body, default=_reveal_key)


def _reveal_key(value: object) -> object:
    if isinstance(value, UserKey):
        return value.reveal_value()
    raise TypeError("not JSON")
