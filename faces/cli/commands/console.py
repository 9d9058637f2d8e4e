"""`console`: the service on this machine alone, and a browser that is logged in to its pages."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.commands.serve import run_service
from muniment.faces.cli.options import DEFAULT_USER, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load_settings

if TYPE_CHECKING:
    from muniment.memory.bootstrap.console_sessions import ConsoleSessions

_MAX_PORT = 65_535
_ENTRANCE = "/console/enter"


def open_console(
    user: User = DEFAULT_USER,
    port: Annotated[
        int, typer.Option("--port", "-p", metavar="N", min=0, max=_MAX_PORT, help="0 takes one that is free.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the link, which works once within a minute.")
    ] = False,
) -> None:
    """Open the console in a browser: what is known, where it came from, and what happens.

    The service runs on this machine alone until Ctrl-C, with a worker inside, and the browser is logged in by a link
    that works once within a minute. The login ends with the command. For the console of a service elsewhere, open its
    address and show a token of `muniment token create`.

    For example:

      muniment console

      muniment console --user ana --no-browser
    """
    owner, settings = options.check_name(user, "--user"), load_settings()

    @asynccontextmanager
    async def greet(url: str, sessions: ConsoleSessions) -> AsyncIterator[None]:
        async with _log_in(settings, url, sessions, owner) as link:
            screen.print_line(link)
            if not no_browser:
                await asyncio.to_thread(_open_browser, link)
            yield

    run_service(settings, "127.0.0.1", port, with_worker=True, greet=greet)


@asynccontextmanager
async def _log_in(settings: Settings, url: str, sessions: ConsoleSessions, owner: str) -> AsyncIterator[str]:
    """Make a token that is valid while the command runs, and a link that opens a session of it once."""
    async with session.open_tokens(settings, quiet=True) as tokens:
        _, grant = await tokens.issue_token(tenant=settings.tenant, owner=None, scopes=("admin",), days=1)
        try:
            code = sessions.make_link_code(grant.id)
            yield f"{url}{_ENTRANCE}?{urlencode({'code': code.get_secret_value(), 'user': owner})}"
        finally:
            await tokens.revoke_token(grant.id)


def _open_browser(link: str) -> None:
    """Open a browser of the desktop, where there is one; one of the terminal would take the terminal."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    is_of_terminal = isinstance(browser, webbrowser.GenericBrowser) and not isinstance(
        browser, webbrowser.BackgroundBrowser
    )
    if not is_of_terminal:
        browser.open(link)
