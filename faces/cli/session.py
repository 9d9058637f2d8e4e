"""From a command to an open memory and back: settings, event loop, ids typed in part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from muniment.faces.cli import options
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import STATES
from muniment.memory.domain.query import Listing
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from muniment.memory.client import Memory

T = TypeVar("T")
SHORTEST_ID = 4
_UUID_LENGTH = 36
_NAMED = 10


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end in a loop of its own."""
    with asyncio.Runner() as runner:
        return runner.run(work)


def scope_of(settings: Settings, user: str, thread: str | None = None) -> Scope:
    """The scope of the person at the command line. Raises BadInput for a name that cannot be one."""
    owner = options.name(user, "--user")
    return Scope(tenant=settings.tenant, owner=owner, actor=owner, thread=thread)


@asynccontextmanager
async def opened(settings: Settings, *, quiet: bool) -> AsyncIterator[Memory]:
    """The memory of these settings, open; a first start of the embedded server is announced."""
    memory = engine(settings)
    try:
        await start(memory, settings, quiet=quiet)
        yield memory
    finally:
        await memory.close()


def engine(settings: Settings) -> Memory:
    """The memory of these settings, not open yet."""
    # The bootstrap brings the database's driver and the embedder's libraries: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    return bootstrap.memory(settings)


async def start(memory: Memory, settings: Settings, *, quiet: bool) -> None:
    """Open the memory, saying so where somebody waits for a server to start."""
    what = "opening the database…" if settings.database_url else "starting the database…"
    with screen.waiting(what, quiet=quiet):
        await memory.open()


async def find(memory: Memory, scope: Scope, typed: str) -> MemoryId:
    """The id of the one memory that begins so. Raises BadInput (too short, no id, several) and NotFound."""
    wanted = typed.strip().lower()
    if len(wanted) == _UUID_LENGTH:
        return MemoryId(_uuid(wanted))
    if len(wanted) < SHORTEST_ID or len(wanted) > _UUID_LENGTH or set(wanted) - set("0123456789abcdef-"):
        raise BadInput(f"{screen.one_line(typed)!r} is no id: give the {SHORTEST_ID} or more characters that `muniment list` "
                       "shows")  # fmt: skip
    page = await memory.page(scope, Listing(states=STATES, beginning=wanted, limit=_NAMED + 1))
    found = [one.id for one in page.memories]
    if not found:
        raise NotFound(f"no memory of {scope.owner!r} has an id that begins with {wanted}", id=wanted)
    if len(found) > 1:
        several = sorted(map(str, found))
        raise BadInput(
            f"{wanted} is ambiguous: {', '.join(several[:_NAMED])}{' …' if page.total > _NAMED else ''}", ids=several
        )
    return found[0]


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadInput(f"{screen.one_line(text)!r} is no id; `muniment list` shows the ids") from None
