"""What commands share: the event loop, the scope, an open memory, ids that are typed in part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from muniment.faces.cli import options
from muniment.faces.cli.output import terminal
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope

if TYPE_CHECKING:
    from muniment.memory.bootstrap import ProxyAccounts, Shares, Tokens
    from muniment.memory.client import Memory
    from muniment.memory.ports.embedders import Embedder

T = TypeVar("T")
MIN_ID_CHARS = 4


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine in an event loop of its own; its result."""
    with asyncio.Runner() as runner:
        return runner.run(work)


def make_scope(
    settings: Settings,
    user: str,
    thread: str | None = None,
    *,
    project: str | None = None,
    session: str | None = None,
    app: str | None = None,
) -> Scope:
    """The scope of the person at the command line. Raises BadInput for a name that cannot be one."""
    owner = options.check_name(user, "--user")
    for what, name in (("--project", project), ("--session", session), ("--app", app)):
        if name is not None:
            options.check_name(name, what)
    return Scope(
        tenant=settings.tenant, owner=owner, actor=owner, thread=thread, project=project, session=session, app=app
    )


@asynccontextmanager
async def open_memory(settings: Settings, *, quiet: bool, embedder: Embedder | None = None) -> AsyncIterator[Memory]:
    """The memory of these settings, open; a first start of the embedded server is announced.

    A given embedder replaces the one that the settings name."""
    memory = create_memory(settings, embedder)
    try:
        await start_memory(memory, settings, quiet=quiet)
        yield memory
    finally:
        await memory.close()


def create_memory(settings: Settings, embedder: Embedder | None = None) -> Memory:
    """The memory of these settings, not open yet, with their embedder or a given one."""
    # The bootstrap brings the database's driver and the embedder's libraries: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    return bootstrap.create_memory(settings, embedder=embedder)


@asynccontextmanager
async def open_tokens(settings: Settings, *, quiet: bool) -> AsyncIterator[Tokens]:
    """The tokens of these settings, open. Raises StoreDown, BadConfig."""
    # As above.
    from muniment.memory import bootstrap  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        with terminal.show_spinner(_describe_opening(settings), quiet=quiet):
            tokens = await stack.enter_async_context(bootstrap.open_tokens(settings, as_owner=True))
        yield tokens


@asynccontextmanager
async def open_shares(settings: Settings, *, quiet: bool) -> AsyncIterator[Shares]:
    """The shares of these settings, open. Raises StoreDown."""
    # As above.
    from muniment.memory import bootstrap  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        with terminal.show_spinner(_describe_opening(settings), quiet=quiet):
            shares = await stack.enter_async_context(bootstrap.open_shares(settings))
        yield shares


@asynccontextmanager
async def open_proxy_accounts(settings: Settings, *, quiet: bool) -> AsyncIterator[ProxyAccounts]:
    """The accounts of the proxy of these settings, open. Raises StoreDown."""
    # As above.
    from muniment.memory import bootstrap  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        with terminal.show_spinner(_describe_opening(settings), quiet=quiet):
            accounts = await stack.enter_async_context(bootstrap.open_proxy_accounts(settings))
        yield accounts


async def start_memory(memory: Memory, settings: Settings, *, quiet: bool) -> None:
    """Open the memory, with a spinner on a terminal. Raises StoreDown, BadConfig."""
    with terminal.show_spinner(_describe_opening(settings), quiet=quiet):
        await memory.open()


def _describe_opening(settings: Settings) -> str:
    return "starting the database…" if settings.is_embedded else "opening the database…"
