"""What stands before LangGraph's server: which paths it has, from where it takes requests without a token, and whose an
id is that a request names.

`http.app` of `langgraph.json` names `app`. Its middleware sees every request first, also those for the routes that
LangGraph's own server does not authenticate."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import UUID

from langgraph_sdk import Auth
from starlette.applications import Starlette  # of LangGraph's server, which alone imports this module
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.graph.auth import Kind, access, find_login, find_own_id
from muniment.memory import bootstrap
from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.scope import Scope as MemoryScope
from muniment.memory.errors import BadInput, Conflict, Denied, MunimentError, NotFound, StoreDown

_log = logging.getLogger(__name__)
_STUDIO = "https://smith.langchain.com"
# What is filtered by owner, and what tells nothing of anybody. Not among them: `/internal` and `/deploy` of a server in
# development, which ask for no login, read any thread, and remove all.
_PATHS = re.compile(r"/((threads|runs|assistants|store)(/.*)?|info|ok|metrics|docs|openapi\.json)?")
_WITH_ID = re.compile(r"/(threads|assistants)/([^/]+)(/.*)?")
_WITH_BODY = re.compile(r"/(threads|assistants|runs)(/.*)?")
_ID_KEYS: dict[str, Kind] = {
    "thread_id": "threads",
    "thread_ids": "threads",
    "ids": "threads",
    "assistant_id": "assistants",
}
_FORWARDED = frozenset({"forwarded", "x-forwarded-for"})
_STATUS_CODES: dict[type[MunimentError], int] = {
    BadInput: 422,
    Denied: 403,
    NotFound: 404,
    Conflict: 409,
    StoreDown: 503,
}
_IN_PROCESS = "/noauth"  # the root path of calls that the server makes to itself; no request can set it
_DEVELOPMENT = (
    "Development mode (MUNIMENT_DEVELOPMENT=1): whoever sends a request from this machine needs no token, may name any "
    "user, and reads every thread. Requests from elsewhere are refused."
)


class Gate:
    """Refuses paths that the server need not have, and in development mode what does not come from this machine: its
    programs, its pages and Studio. A page of another origin cannot even ask."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan" or scope.get("root_path", "").startswith(_IN_PROCESS):
            await self.app(scope, receive, send)
        elif _PATHS.fullmatch(scope["path"]) is None:
            await _refuse_request(scope, receive, send, 404, "Not Found")
        elif access.settings.development and not is_local_request(scope):
            await _refuse_request(scope, receive, send, 403, "In development mode only this machine is answered.")
        else:
            await self.app(scope, receive, send)


class OwnIds:
    """Lets each user name threads and assistants without meeting those of others.

    An id of something that is the user's, or the server's, stays. Any other becomes one that is derived from the user
    and the id, whether somebody else has the id or nobody: what is made with it is found by both."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with ids of the user's own."""
        if scope["type"] == "lifespan" or scope.get("root_path", "").startswith(_IN_PROCESS):
            await self.app(scope, receive, send)
            return
        try:
            space = await _find_space(scope)
            if space is not None:
                scope = await _replace_path(scope, space)
                receive = await _replace_body(scope, receive, space)
        except MunimentError as error:
            await _refuse_request(scope, receive, send, _find_status(error), str(error))
            return
        await self.app(scope, receive, send)


async def _find_space(scope: Scope) -> SpaceId | None:
    """The space of the user of a request that may name an id; None for any other, and for whom the server refuses."""
    if _WITH_BODY.fullmatch(scope["path"]) is None:
        return None
    try:
        login = cast("dict[str, Any]", await find_login(dict(scope["headers"])))
    except Auth.exceptions.HTTPException:
        return None
    return MemoryScope(owner=login["identity"], tenant=login["tenant"]).space if "tenant" in login else None


async def _replace_path(scope: Scope, space: SpaceId) -> Scope:
    """The request with an id of the user's own in its path."""
    if (found := _WITH_ID.fullmatch(scope["path"])) is None:
        return scope
    kind: Kind = "threads" if found[1] == "threads" else "assistants"
    path = f"/{kind}/{await _replace_id(kind, found[2], space)}{found[3] or ''}"
    return {**scope, "path": path, "raw_path": path.encode()}


async def _replace_body(scope: Scope, receive: Receive, space: SpaceId) -> Receive:
    """What the request receives, with ids of the user's own in a body that is JSON."""
    if scope["type"] != "http" or scope["method"] not in {"POST", "PUT", "PATCH"}:
        return receive
    body = await Request(scope, receive).body()
    try:
        values = json.loads(body)
    except ValueError:  # the server says so
        values = None
    if await _replace_values(values, space):
        body = json.dumps(values).encode()
        size = (b"content-length", str(len(body)).encode())
        scope["headers"] = [size if name == size[0] else (name, value) for name, value in scope["headers"]]
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive_again() -> Message:
        return next(messages, None) or await receive()

    return receive_again


async def _replace_values(values: Any, space: SpaceId) -> bool:
    """Replace ids in a body, in the parameters of a command, and in each body of several. Returns whether any was."""
    if isinstance(values, list):
        return any([await _replace_values(each, space) for each in values if isinstance(each, dict)])
    if not isinstance(values, dict):
        return False
    before = {key: values[key] for key in _ID_KEYS if key in values}
    for key, given in before.items():
        if isinstance(given, list):
            values[key] = [await _replace_id(_ID_KEYS[key], each, space) for each in given]
        else:
            values[key] = await _replace_id(_ID_KEYS[key], given, space)
    is_changed = any(values[key] != given for key, given in before.items())
    return await _replace_values(values.get("params"), space) or is_changed


async def _replace_id(kind: Kind, given: Any, space: SpaceId) -> Any:
    """The user's own id for what is named; what is no id stays."""
    try:
        id_ = UUID(given)
    except (ValueError, TypeError, AttributeError):
        return given
    return str(await find_own_id(kind, id_, space))


def is_local_request(scope: Scope) -> bool:
    """Whether a request comes from this machine, is meant for it, and is not sent by a page from elsewhere.

    A proxy on this machine hides where a request comes from, and says so in a header; a page that had its name changed
    to this machine's address still sends its own name as the host."""
    headers, client = Headers(scope=scope), scope.get("client")
    if client is None or not _leads_here(f"//{_bracket(client[0])}") or not _FORWARDED.isdisjoint(headers.keys()):
        return False
    origin = headers.get("origin")
    return _leads_here(f"//{headers.get('host', '')}") and (origin in {None, _STUDIO} or _leads_here(str(origin)))


def _leads_here(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _bracket(peer: str) -> str:
    return f"[{peer}]" if ":" in peer else peer


async def _refuse_request(scope: Scope, receive: Receive, send: Send, status: int, detail: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await JSONResponse({"detail": detail}, status)(scope, receive, send)


def describe_error(_: Request, error: Exception) -> JSONResponse:
    """An error of Muniment as an answer in words: the server says of others only that there was one."""
    return JSONResponse({"detail": str(error)}, _find_status(error))


def _find_status(error: Exception) -> int:
    return next((status for kind, status in _STATUS_CODES.items() if isinstance(error, kind)), 500)


@asynccontextmanager
async def _open_access(_: Starlette) -> AsyncIterator[None]:
    """The tokens, open while the server runs."""
    if access.settings.development:
        _log.warning(_DEVELOPMENT)
    async with bootstrap.open_tokens(access.settings) as tokens:
        access.tokens = tokens
        yield


app = Starlette(
    middleware=[Middleware(Gate), Middleware(OwnIds)],
    exception_handlers={MunimentError: describe_error},
    lifespan=_open_access,
)
