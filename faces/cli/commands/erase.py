"""`erase`, and `forget --hard`: removal for good, asked about first and told in a receipt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands import scrub as scrubbing
from muniment.faces.cli.commands.scrub import Yes
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load
from muniment.memory.domain.erasure import Traces
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import MunimentError

if TYPE_CHECKING:
    from muniment.graph.checkpointer import PooledSaver
    from muniment.graph.erasing import Erased
    from muniment.memory.client import Memory

_SHOWN = 10
Scrub = Annotated[
    bool,
    typer.Option(
        "--scrub",
        help="Then rewrite the database's files without what was removed, as `muniment scrub`: every table is locked "
        "meanwhile, which takes minutes where there is much; wants the role that made the tables.",
    ),
]


def erase(
    user: Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Whose memory; there is no default.")],
    yes: Yes = False,
    scrub: Scrub = False,
    as_json: AsJson = False,
) -> None:
    """Erase a user for good: memories, history, what was said, jobs, and the checkpoints of every thread.

    Nobody else's rows are touched, and the user can begin anew. It cannot be undone: `muniment export` keeps a copy.
    A receipt with the numbers stays, without a word or a name in it; so does what the tenant has spent. Interrupted, the
    same command goes on. Backups, replicas and what a model's provider keeps are out of reach: see "Forgetting for good"
    in the README.

    For example:

      muniment erase --user ana

      muniment erase --user ana --yes --scrub --json
    """
    settings = load()
    scope = session.scope_of(settings, user)
    scrubbing.asking(yes=yes, as_json=as_json, why="this cannot be undone")

    async def work() -> Erased | None:
        async with _both(settings, quiet=as_json) as (memory, savers):
            traces = await memory.traces(scope)
            if not yes and not _named(user, await memory.status(scope), traces):
                return None
            return await _erased(memory, savers, scope, traces, None, quiet=as_json)

    _finish(settings, session.run(work()), scrub=scrub, as_json=as_json, none="There is nothing of this user.")


def hard(memory_id: str, user: str, *, yes: bool, scrub: bool, as_json: bool) -> None:
    """`forget --hard`."""
    settings = load()
    scope = session.scope_of(settings, user)
    scrubbing.asking(yes=yes, as_json=as_json, why="this cannot be undone")

    async def work() -> Erased | None:
        async with _both(settings, quiet=as_json) as (memory, savers):
            id_ = await session.find(memory, scope, memory_id)
            with screen.waiting("looking for what says it…", quiet=as_json):
                traces = await memory.traces(scope, id_)
            if not yes and not _agreed(traces):
                return None
            return await _erased(memory, savers, scope, traces, id_, quiet=as_json)

    _finish(settings, session.run(work()), scrub=scrub, as_json=as_json, none="There is no such memory.")


@asynccontextmanager
async def _both(settings: Settings, *, quiet: bool) -> AsyncIterator[tuple[Memory, list[PooledSaver]]]:
    # The graph's libraries are slow to import, and no other command of this file's neighbours wants them.
    from muniment.graph.checkpointer import open_savers  # noqa: PLC0415

    async with session.opened(settings, quiet=quiet) as memory, open_savers(settings, memory.redact) as savers:
        yield memory, savers


async def _erased(
    memory: Memory, savers: list[PooledSaver], scope: Scope, traces: Traces, memory_id: MemoryId | None, *, quiet: bool
) -> Erased:
    from muniment.graph import erasing  # noqa: PLC0415 - as above

    with screen.waiting("erasing…", quiet=quiet):
        return await erasing.erase(memory, savers, scope, memory_id, traces)


def _finish(settings: Settings, done: Erased | None, *, scrub: bool, as_json: bool, none: str) -> None:
    """Show the receipt and then scrub: it is there whatever comes of that."""
    if done is None:
        return
    told = _told(done)
    if not as_json:
        _show(told, none)
    try:
        if scrub:
            told["scrubbed"] = scrubbing.scrubbed(settings, quiet=as_json)
    except MunimentError as error:
        error.data["receipt"] = told
        raise
    except KeyboardInterrupt:
        if as_json:
            screen.show_json(told)
        raise
    if as_json:
        screen.show_json(told)
    elif scrub:
        scrubbing.show(told["scrubbed"])


def _named(user: str, status: dict[str, Any], traces: Traces) -> bool:
    screen.say(
        f"{user}: {status['memories']:,} memories, {status['turns']:,} turns, {len(traces.threads):,} threads. "
        "All of it will be gone for good."
    )
    with screen.asking():
        typed = typer.prompt("Type the user's name to go on", default="", show_default=False)
    return bool(typed == user) or _no()


def _agreed(traces: Traces) -> bool:
    for text in traces.texts:
        screen.say(f"gone for good: {screen.one_line(text)}")
    for one in traces.built_on[:_SHOWN]:
        screen.say(f"with it: {one.kind} {screen.short(one.id)} {screen.one_line(one.text)}")
    if len(traces.built_on) > _SHOWN:
        screen.say(f"with it: {len(traces.built_on) - _SHOWN:,} more memories")
    screen.say(f"with it: {len(traces.turns):,} turns that say it, and the threads in which it was said or recalled")
    with screen.asking():
        return typer.confirm("This cannot be undone. Go on?") or _no()


def _no() -> bool:
    screen.say("Nothing was changed.")
    return False


def _told(done: Erased) -> dict[str, Any]:
    receipt = done.receipt
    counts = receipt.counts | done.checkpoints
    return {"id": str(receipt.id), "what": receipt.what, "at": receipt.at.isoformat(), "counts": counts}


def _show(told: dict[str, Any], none: str) -> None:
    if not told["counts"]:
        screen.say(none)
        return
    screen.say(f"Erased. Receipt {told['id']}, {told['at']}:")
    screen.show_fields({name: f"{count:,}" for name, count in told["counts"].items()})
