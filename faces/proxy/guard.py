"""What stands before every request of the proxy: its id, its token, its limits, and a client that goes away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pydantic import SecretStr
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.faces.proxy.deadlines import run_within
from muniment.faces.proxy.errors import (
    ID_HEADER,
    MEMORY_HEADER,
    BadRequest,
    MemoryAway,
    Refusal,
    make_defect,
    make_refusal,
)
from muniment.faces.proxy.exchange import Exchange
from muniment.faces.proxy.incoming import Incoming, Privacy
from muniment.faces.proxy.logs import LOG
from muniment.faces.proxy.service import ProxyService
from muniment.faces.serving.receiver import BodyTooLarge, ClientGone, Receiver
from muniment.faces.serving.request_ids import REQUEST_ID, locate_error
from muniment.faces.serving.running import refuse_body, run_until_gone
from muniment.memory.domain.tokens.config import ConfiguredToken
from muniment.memory.errors import StoreError, TokenConfigError

_HEALTH, _API, _ADMIN = "/health", "/v1/", "/v1/admin/"
_CLIENT_GONE = 499  # in the log: nobody hears an answer any more
_PRIVACIES: tuple[Privacy, ...] = ("on", "read", "off")
_NAMED = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/models",
    "/v1/admin/tokens",
    "/v1/admin/usage",
    _HEALTH,
)
_NO_TOKEN = "send a token, as in `Authorization: Bearer mun_…`; `muniment proxy token create` makes one"  # noqa: S105 - words
_BAD_TOKEN = "the token is not known, or it is revoked or has expired"  # noqa: S105 - as above
_NO_CONFIG = "the token is for administration; register one with a configuration to forward requests"
_NO_ADMIN = "the token does not permit this: it wants an administrator's"


@dataclass(slots=True)
class _Visit:
    """One request on its way through the guard."""

    scope: Scope
    send: Send
    headers: Headers
    path: str  # below where the proxy is mounted
    began: float
    status: int = 0
    token: ConfiguredToken | None = None
    secret: str = ""
    lookup_seconds: float = 0.0

    async def send_message(self, message: Message) -> None:
        """Send a message of an answer, with the id of the request."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)[ID_HEADER] = REQUEST_ID.get()
        await self.send(message)

    @property
    def operation(self) -> str:
        """The path for the log: one of those that are known, since another may have anything in it."""
        return next((name for name in _NAMED if self.path.rstrip("/").startswith(name)), "another path")


class Guard:
    """An ASGI application around another one, which finds `incoming` in the state of each request but `/health`."""

    def __init__(self, app: ASGIApp, service: ProxyService) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. What goes wrong is an answer, too."""
        if scope["type"] != "http":
            return
        id_ = REQUEST_ID.set(uuid4().hex[:8])
        visit = _Visit(scope, send, Headers(scope=scope), _find_path(scope), time.monotonic())
        LOG.info("%s %s: received", scope["method"], visit.operation)
        try:
            await self._answer(visit, receive)
        finally:
            seconds, status = time.monotonic() - visit.began, visit.status or _CLIENT_GONE
            LOG.info("%s %s: %d in %.1f ms", scope["method"], visit.operation, status, seconds * 1000)
            REQUEST_ID.reset(id_)

    async def _answer(self, visit: _Visit, receive: Receive) -> None:
        rules = self._service.settings.proxy
        body = Receiver(receive, visit.headers, rules.body_bytes)
        refusal: Response | None = None
        try:
            if visit.path == _HEALTH:
                refusal = JSONResponse({"status": "ok"})
            else:
                await self._check_token(visit)
                if (wait := self._take_request(visit)) > 0:
                    refusal = make_refusal(Refusal(429, "too_many_requests", "the token has asked too often"), wait)
                    self._account(visit, 429)
                else:
                    await self._run_app(visit, body)
        except BodyTooLarge as error:
            self._account(visit, 413)
            if not visit.status:
                await refuse_body(make_refusal(Refusal(413, "too_large", str(error))), body, visit.send_message)
        except ClientGone:
            return
        except Refusal as error:
            LOG.warning("refused with %d: %s", error.status, error)
            refusal = make_refusal(error)
            self._account(visit, error.status)
        except Exception as error:  # noqa: BLE001 - a defect in one request must not end the others
            LOG.error("defect: %s", locate_error(error))
            refusal = make_defect()
        if refusal is not None and not visit.status:
            await refusal(visit.scope, receive, visit.send_message)

    async def _check_token(self, visit: _Visit) -> None:
        """Find the token of a request. Raises Refusal where there is none that permits it."""
        kind, _, token = visit.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise Refusal(401, "missing_token", _NO_TOKEN)
        visit.secret = token.strip()
        seconds = self._service.settings.proxy.memory_search_timeout
        try:
            visit.token = await run_within(seconds, self._service.tokens.find_token(SecretStr(visit.secret)))
        except TokenConfigError as error:
            raise Refusal(401, "invalid_token_config", f"the token is not valid until it is mended: {error}") from None
        except StoreError:
            raise MemoryAway("the database does not answer") from None
        except TimeoutError:
            raise MemoryAway(f"no answer within {seconds:g} s", may_retry=False) from None
        visit.lookup_seconds = time.monotonic() - visit.began
        if visit.token is None:
            raise Refusal(401, "invalid_token", _BAD_TOKEN)
        if is_administration(visit.scope):
            if not visit.token.grant.permits("admin"):
                raise Refusal(403, "not_permitted", _NO_ADMIN)
        elif not visit.path.startswith(_API):
            raise Refusal(404, "not_found", "There is no such address.")
        elif visit.token.config is None:
            raise Refusal(403, "no_token_config", _NO_CONFIG)

    def _take_request(self, visit: _Visit) -> int:
        """Take a request of the token; the seconds after which there is one again, 0 where there is one."""
        return self._service.limits.take_request(visit.token.grant.id, visit.began) if visit.token else 0

    async def _run_app(self, visit: _Visit, body: Receiver) -> None:
        """Read the body, and run the application until it is done or the client is gone."""
        body.check_length()
        seconds = self._service.settings.proxy.http_timeout
        try:
            async with asyncio.timeout(seconds):
                raw = await body.read_whole()
        except TimeoutError:
            raise Refusal(408, "body_timeout", f"the body did not come within {seconds:g} s") from None
        state: MutableMapping[str, Any] = visit.scope.setdefault("state", {})
        state["request_id"], state["grant"] = REQUEST_ID.get(), visit.token.grant if visit.token else None
        state["incoming"] = self._make_incoming(visit, raw)
        size = len(raw)
        del raw
        try:
            await run_until_gone(self._app, visit.scope, body, visit.send_message)
        finally:
            self._service.heap.note_body(size)

    def _make_incoming(self, visit: _Visit, raw: bytes) -> Incoming | None:
        """Return what goes on with a request; None for one of administration."""
        scope, token = visit.scope, visit.token
        if token is None or token.config is None:
            return None
        wishes = {value.strip().lower() for value in visit.headers.getlist(MEMORY_HEADER)} or {"on"}
        privacy = next((each for each in _PRIVACIES if wishes == {each}), None)
        if privacy is None:
            raise BadRequest(MEMORY_HEADER, "is not known; off or read is wanted")
        return Incoming(
            request_id=REQUEST_ID.get(),
            method=scope["method"],
            path=visit.path,
            raw_path=scope["raw_path"][len(scope.get("root_path", "").encode()) :],
            query=scope["query_string"],
            headers=tuple(scope["headers"]),
            body=raw,
            token=token,
            config=token.config,
            secret=visit.secret,
            privacy=privacy,
            began=visit.began,
            lookup_seconds=visit.lookup_seconds,
            at=self._service.now(),
        )

    def _account(self, visit: _Visit, status: int) -> None:
        """Count a request that the proxy itself has refused, where it is known whose it is."""
        if visit.token is None or visit.token.config is None or self._service.account is None:
            return
        exchange = Exchange(
            request_id=REQUEST_ID.get(),
            messages=(),
            answer=None,
            recalled=(),
            usage=None,
            memories=0,
            bytes_in=0,
            bytes_out=0,
            seconds=time.monotonic() - visit.began,
            status=status,
            at=self._service.now(),
            is_refused=True,
            is_stored=False,
        )
        self._service.background.start_work(self._service.account(visit.token.grant.id, exchange))


def is_administration(scope: Scope) -> bool:
    """Whether a request is for the administration of tokens."""
    return f"{_find_path(scope)}/".startswith(_ADMIN)


def _find_path(scope: Scope) -> str:
    """Return the path of a request below where the proxy is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
