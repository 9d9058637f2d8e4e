"""A visit: one request of somebody who is logged in, and the routes of pages and actions for it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope as AsgiScope

from muniment.faces.console.areas import Area
from muniment.faces.console.forms import Form, check_form, read_form
from muniment.faces.console.rendering import make_address, render_page
from muniment.faces.console.texts import Texts, choose_language, load_texts
from muniment.faces.console.waiting import WaitingCounts
from muniment.faces.http.access import Caller, check_name
from muniment.faces.http.operator import Operator, check_operator, is_everybodys
from muniment.faces.http.service import Service, get_service
from muniment.memory.bootstrap.console_reads import ConsoleReads
from muniment.memory.bootstrap.console_sessions import ConsoleSessions
from muniment.memory.domain.console.inbox import InboxCounts
from muniment.memory.domain.scope import Grant, Permission, Reader
from muniment.memory.errors import BadInput, MunimentError

COOKIES = ("__Host-muniment", "muniment_console")  # where a request came by TLS, and where it did not
LANGUAGE_COOKIE = "muniment_language"
USER = "user"
_NOTICE = "notice"


class TooManyRequests(MunimentError):
    """A token has asked too often: `seconds` is how long to wait."""


class NotSignedIn(MunimentError):
    """The page is for somebody who is logged in."""


class NoUser(MunimentError):
    """The token speaks for no user by itself, and the address names none."""


@dataclass(frozen=True)
class Visit:
    """One request of somebody who is logged in.

    `user` is whom the address names, and None for a token that speaks for one user alone."""

    request: Request
    service: Service
    sessions: ConsoleSessions
    session: SecretStr
    grant: Grant
    texts: Texts
    user: str | None
    waiting: InboxCounts | None = None  # what waits for the user's answer, as the navigation says

    @cached_property
    def caller(self) -> Caller:
        """What the token permits, for the user whose memory the page is about. Raises NoUser, NotPermitted."""
        if self.grant.owner is None and self.user is None:
            raise NoUser("choose a user first")
        return Caller(grant=self.grant, scope=self.grant.make_scope(self.user), service=self.service)

    @cached_property
    def reader(self) -> Reader:
        """The user's scope with the categories that the token may read. Raises as `caller`."""
        return Reader(scope=self.caller.scope, allowed=self.caller.allowed)

    @property
    def reads(self) -> ConsoleReads:
        """What pages read that no other face asks for."""
        reads: ConsoleReads = self.request.app.state.reads
        return reads

    @property
    def owner(self) -> str | None:
        """Whose memory the page is about; None where no user is chosen."""
        return self.grant.owner or self.user

    @property
    def is_operator(self) -> bool:
        """Whether the visitor may look at every user of the tenant, and chooses one."""
        return self.grant.owner is None and not self.grant.agents and self.grant.permits("admin")

    @property
    def operates_installation(self) -> bool:
        """Whether the visitor may see and change what concerns everybody: `require_operator` raises where not."""
        return is_everybodys(self.grant, self.service)

    def require_operator(self) -> Operator:
        """Return who operates the installation, for what concerns everybody. Raises NotPermitted for a token that is a
        user's, another tenant's, or of some agents, also where it has the permission `admin`."""
        return check_operator(self.grant, self.service)

    @property
    def here(self) -> str:
        """The address of the page without what was said once: the page as it is by now."""
        kept = [(name, value) for name, value in self.request.query_params.multi_items() if name not in (_NOTICE, "n")]
        path: str = self.request.scope["path"]
        return f"{path}?{urlencode(kept)}" if kept else path

    @property
    def live_address(self) -> str | None:
        """Where the page follows what changes; None for one that is of no user, or the answer to a form."""
        if self.owner is None or self.request.method != "GET":
            return None
        rev = self.waiting.rev if self.waiting is not None and not self.grant.agents else None
        return self.make_link("/live", since=rev)

    def make_link(self, path: str, **parameters: Any) -> str:
        """Return the address of a page for the same user."""
        return make_address(path, self.user, **parameters)

    def link_to_user(self, user: str) -> str:
        """Return the address of the first page of another user, for a token that speaks for nobody by itself."""
        return make_address("/", user)

    @property
    def shell_owner(self) -> str:
        """The name of the user as a word of a command line."""
        return shlex.quote(self.owner or "")

    def render_page(self, template: str, status: int = 200, **shown: Any) -> Response:
        """Return a page in the layout. `t`, `link`, `form_key` and `visit` are in every template."""
        notice = self.request.query_params.get(_NOTICE, "")
        return render_page(
            template,
            self.texts,
            status,
            visit=self,
            link=self.make_link,
            form_key=self.sessions.make_form_key(self.session),
            path=self.request.scope["path"],
            notice=self._describe_notice(notice),
            areas=[each for each in self.request.app.state.areas if self._sees_area(each)],
            **shown,
        )

    def redirect_to(self, path: str, notice: str | None = None, *, n: int | None = None, **parameters: Any) -> Response:
        """Send the browser to a page after a change; `notice` is the key of a text that says what was done, such as
        `memories.notice.pinned`, and `n` the number in it. An anchor may stand at the end of the path."""
        place, mark, anchor = path.partition("#")
        address = self.make_link(place, **parameters, **({_NOTICE: notice} if notice else {}), n=n)
        return RedirectResponse(address + mark + anchor, 303)

    def _sees_area(self, area: Area) -> bool:
        is_whole = not self.grant.agents or not area.for_whole_tokens
        is_theirs = self.operates_installation or not area.for_operators
        return self.grant.permits(area.permission) and is_whole and is_theirs

    def _describe_notice(self, key: str) -> str:
        """Return the text of a notice in the address, which anybody can write there: only notices are shown."""
        number = self.request.query_params.get("n", "")
        if ".notice." not in key:
            return ""
        if number.isascii() and number.isdigit() and self.texts.has_text(f"{key}.other"):
            return self.texts.format_count(key, int(number[:9]))
        return self.texts(key) if self.texts.has_text(key) else ""


Page = Callable[[Visit], Awaitable[Response]]
Action = Callable[[Visit, Form], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class _Place:
    path: str


class _Route(Route):
    """A route that the log and the metrics call by its whole path: the API has addresses of the same names."""

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        """Return whether it takes a request, and what the request then knows."""
        match, known = super().matches(scope)
        return match, {**known, "route": _Place(make_address(self.path))}


def make_route(path: str, answer: Callable[[Request], Awaitable[Response]], method: str = "GET") -> Route:
    """Return a route below the console's root that anybody may ask: `make_page` and `make_action` are for those who are
    logged in."""
    return _Route(path, answer, methods=[method])


def make_page(path: str, show: Page, *, permission: Permission = "read", needs_user: bool = True) -> Route:
    """Return the route of a page below the console's root. Without `needs_user` it is shown before a user is chosen,
    too."""

    async def answer(request: Request) -> Response:
        visit = await begin_visit(request)
        visit.grant.require_permission(permission)
        if needs_user:
            _ = visit.caller
        return await show(await _count_waiting(visit))

    return make_route(path, answer)


def make_action(path: str, change: Action, *, permission: Permission = "write", needs_user: bool = True) -> Route:
    """Return the route of a form that changes something: it is taken from a page of the same session alone."""

    async def answer(request: Request) -> Response:
        visit = await begin_visit(request)
        form = await read_form(request)
        check_form(request, form, visit.sessions, visit.session)
        visit.grant.require_permission(permission)
        if needs_user:
            _ = visit.caller
        return await change(visit, form)

    return make_route(path, answer, "POST")


async def _count_waiting(visit: Visit) -> Visit:
    """Return a visit that knows how many things wait for its user."""
    if visit.owner is None:
        return visit
    known: WaitingCounts = visit.request.app.state.waiting
    return replace(visit, waiting=await known.count_waiting(visit.caller))


async def begin_visit(request: Request) -> Visit:
    """Return the visit of a request. Raises NotSignedIn, TooManyRequests, BadInput for a name that cannot be a
    user's, NotPermitted for another user than the token's."""
    service, sessions, session = get_service(request), get_sessions(request), read_cookie(request)
    grant = await sessions.find_grant(session)
    if grant is None:
        raise NotSignedIn("log in first")
    if wait := service.limits.take_request(grant.id, time.monotonic()):
        raise TooManyRequests("the token has asked too often; wait", seconds=wait)
    named = request.query_params.getlist(USER)
    if len(named) > 1:
        raise BadInput("user: is named twice")
    user = check_name(named[0], USER) if named else None
    if user is not None:
        grant.make_scope(user)
    return Visit(
        request=request,
        service=service,
        sessions=sessions,
        session=session,
        grant=grant,
        texts=choose_texts(request),
        user=user if grant.owner is None else None,
    )


def get_sessions(request: Request) -> ConsoleSessions:
    """Return the logins of the service that a request has reached."""
    sessions: ConsoleSessions = request.app.state.sessions
    return sessions


def choose_texts(request: Request) -> Texts:
    """Return the texts in the language of a browser."""
    preferred = request.cookies.get(LANGUAGE_COOKIE)
    return load_texts(choose_language(preferred, request.headers.get("accept-language", "")))


def is_secure(request: Request) -> bool:
    """Whether a request came by TLS, here or to a proxy before this service."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))


def read_cookie(request: Request) -> SecretStr:
    """Return the value of a browser's session; empty where it has none. Where a request came by TLS, only the cookie
    counts that no page of another host of the domain can set."""
    name = COOKIES[0] if is_secure(request) else COOKIES[1]
    return SecretStr(request.cookies.get(name, ""))
