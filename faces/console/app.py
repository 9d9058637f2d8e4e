"""The application of the console: its pages, and the headers that every answer of it has."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.faces.console import access, pages
from muniment.faces.console.areas import Area
from muniment.faces.console.failures import answer_error, render_failure
from muniment.faces.console.listening import ChangeListener
from muniment.faces.console.rendering import HEADERS, ROOT
from muniment.faces.console.static_files import send_static
from muniment.faces.console.visits import make_route
from muniment.faces.console.waiting import WaitingCounts
from muniment.faces.http.guard import Guard
from muniment.faces.http.service import Service
from muniment.faces.serving.rate_limit import RateLimits
from muniment.faces.serving.reply_searches import ReplySearches
from muniment.memory.bootstrap.console_reads import make_console_reads
from muniment.memory.bootstrap.console_sessions import ConsoleSessions, make_console_sessions
from muniment.memory.errors import MunimentError

PREFIXES = ("/", ROOT)  # what the console answers: the first page, and everything below the second
_FAILURES_PER_SECOND, _FAILURES_AT_ONCE = 1, 10  # of one client that tries to log in


def create_app(service: Service, sessions: ConsoleSessions | None = None) -> ASGIApp:
    """Return the application of a service, whose parts are open while it runs, with these logins or its own. It is
    mounted at `PREFIXES`."""
    routes, areas = load_pages()
    app = Starlette(
        routes=[
            *access.routes,
            *routes,
            make_route("/static/{name}", send_static),
        ],
        exception_handlers=dict.fromkeys((MunimentError, HTTPException, Exception), answer_error),
    )
    app.router.redirect_slashes = False
    app.state.service, app.state.reads = service, make_console_reads(service.memory)
    app.state.sessions = sessions or make_console_sessions(service.tokens)
    app.state.areas, app.state.waiting = areas, WaitingCounts()
    app.state.reply_searches = ReplySearches()
    app.state.listener = ChangeListener(app.state.reads.live, service.ending)
    app.state.failures = RateLimits(_FAILURES_PER_SECOND, _FAILURES_AT_ONCE)
    return _add_headers(Guard(app, service, needs_token=False, show_refusal=_show_refusal))


def _show_refusal(scope: Scope, status: int) -> Response:
    return render_failure(Request(scope), status)


def _add_headers(app: ASGIApp) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_message(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        # Without the last slash it is the first page, too.
        place = {"path": f"{ROOT}/"} if scope.get("path") == ROOT else {}
        await app({**scope, **place}, receive, send_message)

    return answer


def load_pages() -> tuple[list[Route], list[Area]]:
    """Return the routes of all modules of pages, and the areas of those that have one, in the order of their places.

    A module of pages has `routes`, and may have `AREA`."""
    modules = [import_module(f"{pages.__name__}.{each.name}") for each in iter_modules(pages.__path__)]
    areas = sorted((each.AREA for each in modules if hasattr(each, "AREA")), key=lambda area: area.place)
    return [route for each in modules for route in each.routes], areas
