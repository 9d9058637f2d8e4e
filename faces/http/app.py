"""The application: its endpoints, behind what stands before all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fastapi import FastAPI
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from muniment import __version__
from muniment.faces.http import former_pages
from muniment.faces.http.errors import add_handlers
from muniment.faces.http.guard import Guard
from muniment.faces.http.routes import (
    administration,
    bisections,
    changes,
    configuration,
    consents,
    conversations,
    erasure,
    memories,
    operations,
    projections,
    query,
    sessions,
    store,
    transfer,
)
from muniment.faces.http.service import Service
from muniment.faces.mcp.deferred import METHODS, PATH
from muniment.faces.serving.reply_searches import ReplySearches

_DESCRIPTION = (
    "The long-term memory of agents. Every request but those of the group `operations` shows a token of "
    "`muniment token create`; a token that speaks for no user names one in the header `X-Muniment-User`."
)


class _McpRoute(Route):
    """A route that the log and the metrics call by its path, as they call FastAPI's."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether it takes a request, and what the request then knows."""
        match, known = super().matches(scope)
        return match, {**known, "route": self}


def create_app(service: Service, mcp: ASGIApp, mounts: Mapping[str, ASGIApp] = MappingProxyType({})) -> ASGIApp:
    """Return the application of a service. Its memory, its tokens and its endpoint of MCP are open while it runs.

    What is at and below a path of `mounts`, such as `/gateway`, is answered by that application alone; of `/` it is
    that address and no other."""
    app = FastAPI(
        title="Muniment",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.reply_searches = ReplySearches()
    groups = (
        query, changes, memories, erasure, conversations, consents, projections, sessions, bisections, transfer, store,
        operations, configuration, administration, former_pages,
    )  # fmt: skip
    add_handlers(app, [route for group in groups for route in group.router.routes])
    for group in groups:
        app.include_router(group.router)
    app.router.routes.append(_McpRoute(PATH, mcp, methods=[*METHODS]))
    return _mount_applications(Guard(app, service), mounts)


def _mount_applications(app: ASGIApp, mounts: Mapping[str, ASGIApp]) -> ASGIApp:
    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        for prefix, mounted in mounts.items():
            is_below = scope["path"] == prefix or (prefix != "/" and scope["path"].startswith(f"{prefix}/"))
            if scope["type"] == "http" and is_below:
                below = {**scope, "root_path": scope.get("root_path", "") + prefix.rstrip("/")}
                await mounted(below, receive, send)
                return
        await app(scope, receive, send)

    return dispatch if mounts else app
