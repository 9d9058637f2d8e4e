"""What stands before LangGraph's server: which paths it has, and from where it takes requests without a token.

`http.app` of `langgraph.json` names `app`. Its middleware sees every request first, also those for the routes that
LangGraph's own server does not authenticate."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.applications import Starlette  # of LangGraph's server, which alone imports this module
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from muniment.graph.auth import access
from muniment.memory import bootstrap
from muniment.memory.errors import BadInput, Conflict, Denied, MunimentError, NotFound, StoreDown

_log = logging.getLogger(__name__)
_STUDIO = "https://smith.langchain.com"
# What is filtered by owner, and what tells nothing of anybody. Not among them: `/internal` and `/deploy` of a server in
# development, which ask for no login, read any thread, and remove all.
_PATHS = re.compile(r"/((threads|runs|assistants|store)(/.*)?|info|ok|metrics|docs|openapi\.json)?")
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
    status = next((status for kind, status in _STATUS_CODES.items() if isinstance(error, kind)), 500)
    return JSONResponse({"detail": str(error)}, status)


@asynccontextmanager
async def _open_access(_: Starlette) -> AsyncIterator[None]:
    """The tokens, open while the server runs."""
    if access.settings.development:
        _log.warning(_DEVELOPMENT)
    async with bootstrap.open_tokens(access.settings) as tokens:
        access.tokens = tokens
        yield


app = Starlette(
    middleware=[Middleware(Gate)], exception_handlers={MunimentError: describe_error}, lifespan=_open_access
)
