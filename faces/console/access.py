"""Getting in and out: a token is shown once, or a one-time link opened, and the browser has a cookie from then on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from uuid import UUID

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from muniment.faces.console.forms import Form, check_origin, read_form
from muniment.faces.console.rendering import make_address, render_page
from muniment.faces.console.texts import LANGUAGES
from muniment.faces.console.visits import (
    COOKIES,
    LANGUAGE_COOKIE,
    TooManyRequests,
    Visit,
    choose_texts,
    get_sessions,
    is_secure,
    make_action,
    make_page,
    make_route,
    read_cookie,
)
from muniment.faces.http.service import get_service
from muniment.faces.serving.rate_limit import RateLimits
from muniment.memory.bootstrap.console_sessions import SESSION_SPAN
from muniment.memory.errors import BadInput, NotPermitted

LOGIN = "/login"
_MAX_ADDRESS_CHARS = 2_000
_YEAR_SECONDS = 365 * 24 * 3600
_MAX_PICKED = 200  # users that the picker shows at once


async def show_login(request: Request) -> Response:
    """Show the form for a token."""
    return _render_login(request, next_=request.query_params.get("next", ""))


async def log_in(request: Request) -> Response:
    """Check a token, and give the browser a session of it."""
    check_origin(request)
    form = await read_form(request)
    grant = await get_service(request).tokens.find_grant(SecretStr(form.get("token").strip()))
    if grant is not None and grant.projects:
        raise NotPermitted("the token is for the items of some projects, and for nothing else")
    opened = None if grant is None else await get_sessions(request).open_session(grant.id)
    if opened is None:
        _count_failure(request)
        return _render_login(request, next_=form.get("next"), problem="login.unknown", status=401)
    await _end_session(request)
    response = RedirectResponse(_check_next(form.get("next")), 303)
    _set_cookie(response, request, opened)
    return response


async def open_link(request: Request) -> Response:
    """Open the session of a one-time link, which is used up by that."""
    opened = await get_sessions(request).open_link(SecretStr(request.query_params.get("code", "")))
    if opened is None:
        _count_failure(request)
        return _render_login(request, problem="login.link_over", status=401)
    await _end_session(request)
    user = request.query_params.get("user")
    response = RedirectResponse(make_address("/", user), 303)
    _set_cookie(response, request, opened)
    return response


async def log_out(visit: Visit, _: Form) -> Response:
    """End the session."""
    await visit.sessions.end_session(visit.session)
    response = RedirectResponse(make_address(LOGIN), 303)
    for name in COOKIES:
        response.delete_cookie(name, secure=name == COOKIES[0], httponly=True, samesite="strict")
    return response


async def choose_language(visit: Visit, form: Form) -> Response:
    """Remember the language of the browser."""
    language = form.get("language")
    if language not in LANGUAGES:
        raise BadInput("language: is not one of the console")
    response = RedirectResponse(_check_next(form.get("next")), 303)
    response.set_cookie(
        LANGUAGE_COOKIE, language, _YEAR_SECONDS, secure=is_secure(visit.request), httponly=True, samesite="strict"
    )
    return response


async def show_users(visit: Visit) -> Response:
    """Show the users of the tenant to choose one: an operator sees those that have a memory, others type a name."""
    part = visit.request.query_params.get("q", "")[:200].strip()
    users: Sequence[str] = ()
    total = 0
    if visit.is_operator:
        users, total = await visit.reads.users.find_users(visit.grant.tenant, part, _MAX_PICKED)
    return visit.render_page("users.html", users=users, total=total, q=part)


def _check_next(address: str) -> str:
    """Return an address of this console to go on at, or the first page for any other address."""
    is_own = address == "/" or address.startswith(("/?", "/console/"))
    is_plain = "\\" not in address and address.isprintable() and len(address) <= _MAX_ADDRESS_CHARS
    return address if is_own and is_plain else "/"


def _render_login(request: Request, *, next_: str = "", problem: str = "", status: int = 200) -> Response:
    texts = choose_texts(request)
    return render_page(
        "login.html", texts, status, next=_check_next(next_), problem=texts(problem) if problem else "", visit=None
    )


def _count_failure(request: Request) -> None:
    """Raise TooManyRequests for a client that has tried too often without success."""
    failures: RateLimits = request.app.state.failures
    client = request.client.host if request.client else ""
    key = UUID(bytes=hashlib.sha256(client.encode()).digest()[:16])
    if wait := failures.take_request(key, time.monotonic()):
        raise TooManyRequests("too many attempts to log in; wait", seconds=wait)


async def _end_session(request: Request) -> None:
    """End the session that a browser has had until it logged in anew."""
    former = read_cookie(request)
    if former.get_secret_value():
        await get_sessions(request).end_session(former)


def _set_cookie(response: Response, request: Request, value: SecretStr) -> None:
    """Give the browser the cookie: no script reads it, no other site sends it, and where it came by TLS, nothing else
    does."""
    secure = is_secure(request)
    response.set_cookie(
        COOKIES[0] if secure else COOKIES[1],
        value.get_secret_value(),
        int(SESSION_SPAN.total_seconds()),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


routes: list[Route] = [
    make_route(LOGIN, show_login),
    make_route(LOGIN, log_in, "POST"),
    make_route("/enter", open_link),
    make_action("/logout", log_out, permission="read", needs_user=False),
    make_action("/language", choose_language, permission="read", needs_user=False),
    make_page("/users", show_users, needs_user=False),
]
