"""MCP over HTTP: an ASGI application that gets the grant of a token in the state of each request."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import orjson
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.request_state import RequestStateSecurity
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import SecretBytes, ValidationError
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from muniment.faces.mcp.caller import Caller, identify_caller
from muniment.faces.mcp.server import Context, create_server
from muniment.faces.mcp.sessions import SessionCounts
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Grant
from muniment.memory.errors import NotPermitted

_MAX_SESSIONS = 2_000  # of clients of the protocol before 2026-07-28, which are asked within a session; 40 kB each
_MAX_OF_TOKEN = 20
_PROJECT, _MAX_NAME_CHARS = b"x-muniment-project", 200
_SESSION = "mcp-session-id"
_IDLE_SECONDS = 600.0
_HERE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")


class McpEndpoint:
    """The application. It answers while `run` is open, and waits for no person any more when `ending` is set."""

    def __init__(self, memory: Memory, key: SecretBytes, ending: asyncio.Event) -> None:
        self._settings, self._sessions = memory.engine.settings, SessionCounts(_MAX_OF_TOKEN)
        # One key for all processes of an installation: any of them may get the answer to a question.
        secret = hmac.digest(key.get_secret_value(), b"muniment: state of an MCP request", sha256)
        security = RequestStateSecurity(keys=[secret], bind_principal=lambda ctx: str(_find_grant(ctx).id))
        self._manager = StreamableHTTPSessionManager(
            create_server(memory, self._find_caller, security, ending),
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=_MAX_SESSIONS,
            max_request_body_size=self._settings.serve.body_bytes,
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Hold the sessions while the context is open. Once only."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises NotPermitted where the token is not for MCP or the request comes from a page of
        another site."""
        grant = _get_grant(scope)
        self._identify(grant)
        _check_origin(Headers(scope=scope))
        body = await receive()  # the service has read it whole
        if scope["method"] == "POST" and (refusal := _check_body(body.get("body", b""))) is not None:
            await refusal(scope, receive, send)
            return
        # A session answers only the token that has opened it.
        user = AuthenticatedUser(AccessToken(token="", client_id=str(grant.id), scopes=[*grant.scopes]))
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]  # as HTTP wants values read
        await self._handle({**scope, "headers": headers, "user": user}, _replay(body, receive), send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the library's application. Once the answer is whole it runs to its end, though the client leaves then, as
        each does: the session would not be kept that the answer begins."""
        is_whole, session = False, ""

        async def send_noting(message: Message) -> None:
            nonlocal is_whole, session
            if message["type"] == "http.response.start":
                session = Headers(raw=message["headers"]).get(_SESSION, "")
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        async def handle_counted() -> None:
            await self._manager.handle_request(scope, receive, send_noting)
            if scope["method"] == "DELETE":
                self._sessions.forget_session(_get_grant(scope).id, Headers(scope=scope).get(_SESSION, ""))
            elif session and (ended := self._sessions.record_use(_get_grant(scope).id, session)):
                await self._manager.handle_request(*_make_end(scope, ended))

        work = asyncio.ensure_future(handle_counted())
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            if not is_whole:
                work.cancel()
            await asyncio.wait({work})
            raise

    def _find_caller(self, ctx: Context) -> Caller:
        return self._identify(_find_grant(ctx), _find_project(ctx))

    def _identify(self, grant: Grant, project: str | None = None) -> Caller:
        return identify_caller(self._settings, grant, with_writes=self._settings.serve.mcp_write, project=project)


def _get_grant(scope: Scope) -> Grant:
    grant: Grant = scope["state"]["grant"]
    return grant


def _find_grant(ctx: Any) -> Grant:
    """Return the grant of the HTTP request from which a request of the protocol comes."""
    return _get_grant(ctx.request.scope)


def _find_project(ctx: Any) -> str | None:
    """Return the project that the header of the HTTP request names; None for one that cannot be the name of any."""
    raw = dict(ctx.request.scope["headers"]).get(_PROJECT, b"").decode("utf-8", "replace")
    return raw if raw.strip() and raw.isprintable() and len(raw) <= _MAX_NAME_CHARS else None


def _make_end(scope: Scope, session: str) -> tuple[Scope, Receive, Send]:
    """Return the request that ends a session, in the name of who has sent another, and whose answer nobody gets."""

    async def receive_nothing() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send_nowhere(_: Message) -> None:
        return

    return (
        {**scope, "method": "DELETE", "headers": [(_SESSION.encode(), session.encode())]},
        receive_nothing,
        send_nowhere,
    )


def _check_origin(headers: Headers) -> None:
    """Raise NotPermitted for a page of a site. Only one of this machine may ask, such as a developer's inspector."""
    origin = headers.get("origin")
    if origin is not None and _HERE.fullmatch(origin) is None:
        raise NotPermitted("the request comes from a page of another site")


def _check_body(body: bytes) -> Response | None:
    """Return the refusal of a body that is no message of the protocol, without a word of it; None for one that is."""
    try:
        jsonrpc_message_adapter.validate_python(orjson.loads(body), by_name=False)
    except orjson.JSONDecodeError:
        return _refuse(PARSE_ERROR, "The body is not JSON.")
    except ValidationError:
        return _refuse(INVALID_REQUEST, "The body is not one message of JSON-RPC.")
    return None


def _refuse(code: int, message: str) -> Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return Response(orjson.dumps(error), 400, media_type="application/json")


def _replay(first: Message, receive: Receive) -> Receive:
    """Return a `receive` that gives this message before all others."""
    waiting = [first]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next
