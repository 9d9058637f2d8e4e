"""What stands before every endpoint: ids, tokens, limits, time-outs, and clients that go away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, MutableMapping
from contextlib import nullcontext
from typing import Any

from fastapi import Response
from pydantic import SecretStr
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.faces.http.errors import make_defect, make_engine_error, make_error
from muniment.faces.http.request_log import LOG
from muniment.faces.http.service import Service
from muniment.faces.http.strict_json import check_values
from muniment.faces.mcp.deferred import PATH as MCP_PATH
from muniment.faces.serving.receiver import BodyTooLarge, ClientGone, Receiver
from muniment.faces.serving.request_ids import REQUEST_ID, choose_request_id, locate_error
from muniment.faces.serving.running import refuse_body, run_until_gone
from muniment.memory.config.processes import Serving
from muniment.memory.errors import MunimentError

OPEN_PATHS = frozenset({"/health", "/ready", "/metrics", "/openapi.json"})  # they tell nothing of anybody
# Former addresses of pages, from which a browser is sent on.
PAGE_PATHS = frozenset({"/config", "/config/login", "/config/plugin"})
STREAM_PATHS = frozenset({"/export", "/import"})
DOSSIER_PATH = "/dossier"
ADMIN_PATHS = "/v1/admin/"  # they may read whole spaces
STORE_PATHS = "/v1/store/"  # of items: all that a token of some projects opens
CHANGES_PATH = "/memory/changes"
LIVE_PATH = "/console/live"  # what an open page of the console follows
# Ends of pages of the console that may take as long as a transfer.
LONG_PAGES = ("/erase", "/export", "/dossier", "/several/preview")
EVENTS = "text/event-stream"
_NO_TOKEN = "send a token, as in `Authorization: Bearer mun_…`; `muniment token create` makes one"  # noqa: S105 - words about tokens
_BAD_TOKEN = "the token is not known, or it is revoked or has expired"  # noqa: S105 - as above
_STORE_ALONE = "the token is for the items of some projects, and for nothing else"
_CLIENT_GONE = 499  # in the log and the metrics: nobody hears an answer any more


class _Sender:
    """Sends an answer with the request's id, and knows its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def send_message(self, message: Message) -> None:
        """Send a message of an answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = REQUEST_ID.get()
            headers.setdefault("Cache-Control", "no-store")
            headers["X-Content-Type-Options"] = "nosniff"
        await self._send(message)


class Guard:
    """An ASGI application around another one."""

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        *,
        needs_token: bool = True,
        show_refusal: Callable[[Scope, int], Response] | None = None,
    ) -> None:
        """`needs_token`: whether a request shows a token in its head; without it the application asks by itself.
        `show_refusal` makes the answer of a refusal from its status, where that is no JSON."""
        self._app, self._service, self._needs_token, self._show_refusal = app, service, needs_token, show_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. What goes wrong is an answer, too."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, sender, tracing = Headers(scope=scope), _Sender(send), self._service.tracing
        with tracing.trace_request(scope["method"], headers) if tracing else nullcontext() as span:
            await self._answer_counted(scope, headers, receive, sender)
            if span is not None:
                span.end_request(_name_operation(scope), sender.status or _CLIENT_GONE)

    async def _answer_counted(self, scope: Scope, headers: Headers, receive: Receive, sender: _Sender) -> None:
        """Answer a request with its id; log and count it."""
        id_ = REQUEST_ID.set(choose_request_id(headers.get("x-request-id")))
        metrics, began = self._service.metrics, time.monotonic()
        metrics.begin_request()
        try:
            await self._answer(scope, headers, receive, sender)
        finally:
            operation, seconds = _name_operation(scope), time.monotonic() - began
            status = sender.status or _CLIENT_GONE
            metrics.end_request(operation, status, seconds)
            LOG.info("%s %s: %d in %.1f ms", scope["method"], operation, status, seconds * 1000)
            REQUEST_ID.reset(id_)

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, sender: _Sender) -> None:
        rules = self._service.settings.serve
        is_stream = scope["path"] in STREAM_PATHS
        body = Receiver(receive, headers, rules.import_bytes if is_stream else rules.body_bytes)
        refusal: Response | None = None
        try:
            async with asyncio.timeout(_choose_timeout(rules, scope, headers)):
                with self._service.trace_stage("authorize"):
                    refusal = await self._check_token(scope, headers)
                if refusal is None:
                    body.check_length()
                    if not is_stream:
                        with self._service.trace_stage("read the body"):
                            async with asyncio.timeout(rules.timeout_seconds):  # also of what may go on for long
                                check_values(await body.read_whole())
                    with self._service.trace_stage("answer"):
                        refusal = await self._run_counted(scope, headers, body, sender)
        except BodyTooLarge as error:
            if not sender.status:
                too_large = self._shape_refusal(scope, make_error(413, "TooLarge", str(error)))
                await refuse_body(too_large, body, sender.send_message)
        except ClientGone:
            return
        except TimeoutError:
            refusal = make_error(503, "TimedOut", "it took too long; try again")
        except MunimentError as error:
            refusal = make_engine_error(error)
        except Exception as error:  # noqa: BLE001 - a defect in one request must not end the others
            LOG.error("defect: %s", locate_error(error))
            refusal = make_defect()
        if refusal is not None and not sender.status:
            await self._shape_refusal(scope, refusal)(scope, receive, sender.send_message)

    def _shape_refusal(self, scope: Scope, refusal: Response) -> Response:
        return self._show_refusal(scope, refusal.status_code) if self._show_refusal else refusal

    async def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Put the grant of the token into the request's state; a refusal where it has none, or too many requests."""
        if not self._needs_token or scope["path"] in OPEN_PATHS | PAGE_PATHS:
            return None
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            return make_error(401, "Unauthorized", _NO_TOKEN)
        grant = await self._service.tokens.find_grant(SecretStr(token.strip()))
        if grant is None:
            return make_error(401, "Unauthorized", _BAD_TOKEN)
        if wait := self._service.limits.take_request(grant.id, time.monotonic()):
            retry = {"Retry-After": str(wait)}
            return make_error(429, "TooManyRequests", "the token has asked too often; wait", headers=retry)
        if grant.projects and not scope["path"].startswith(STORE_PATHS):
            return make_error(403, "NotPermitted", _STORE_ALONE)
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["grant"] = grant
        return None

    async def _run_counted(self, scope: Scope, headers: Headers, body: Receiver, sender: _Sender) -> Response | None:
        """Run the application; a refusal for a token that follows too many streams. The console counts its own."""
        if scope["path"] == LIVE_PATH or not _is_followed(scope["path"], headers):
            await run_until_gone(self._app, scope, body, sender.send_message)
            return None
        token, streams = scope["state"]["grant"].id, self._service.streams
        if not streams.take_stream(token):
            return make_error(429, "TooManyStreams", "the token follows too many streams of changes; end one")
        try:
            await run_until_gone(self._app, scope, body, sender.send_message)
        finally:
            streams.release_stream(token)
        return None


def wants_events(headers: Headers) -> bool:
    """Whether a client asks for a stream of events."""
    return EVENTS in headers.get("accept", "")


def _is_followed(path: str, headers: Headers) -> bool:
    """Whether a request is for a stream that goes on."""
    return path in (CHANGES_PATH, LIVE_PATH) and wants_events(headers)


def _choose_timeout(rules: Serving, scope: Scope, headers: Headers) -> float | None:
    """Return the seconds that a request may take; None for a stream that goes on."""
    path = scope["path"]
    if _is_followed(path, headers):
        return None
    if path == MCP_PATH:
        return None  # it may wait for a person, and bounds its work itself
    is_erasure = scope["method"] == "DELETE" and scope["query_string"]  # it reads a whole space, and checkpoints
    is_page = path.startswith("/console/") and path.endswith(LONG_PAGES)
    is_long = is_erasure or is_page or path in STREAM_PATHS | {DOSSIER_PATH} or path.startswith(ADMIN_PATHS)
    return rules.transfer_seconds if is_long else rules.timeout_seconds


def _name_operation(scope: Scope) -> str:
    """Return the path of the endpoint as it is declared, without the ids in it."""
    return getattr(scope.get("route"), "path", "unknown")
