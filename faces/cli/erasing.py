"""`erase`, and `forget --hard`: removal for good, asked about first and told in a receipt."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import screen, session
from muniment.faces.cli.options import AsJson
from muniment.memory.errors import BadInput
from muniment.memory.records import MemoryId, Scope
from muniment.memory.settings import Settings, load
from muniment.memory.upkeep import Erasure, Scrubbed, Traces

if TYPE_CHECKING:
    from muniment.graph.checkpointer import PooledSaver
    from muniment.memory.engine import Memory

_SHOWN = 10
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Without asking; a program has to say so.")]
Scrub = Annotated[
    bool,
    typer.Option(
        "--scrub",
        help="Then rewrite the database's files without what was removed: every table is locked meanwhile, which takes "
        "minutes where there is much; wants the role that made the tables.",
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
    _asking(yes=yes, as_json=as_json)

    async def work() -> dict[str, Any] | None:
        async with _both(settings, quiet=as_json) as (memory, saver):
            traces = await memory.traces(scope)
            if not yes and not _named(user, await memory.status(scope), traces):
                return None
            return await _erased(memory, saver, scope, traces, None, scrub=scrub, quiet=as_json)

    _show(session.run(work()), as_json=as_json, none="There is nothing of this user.")


def hard(memory_id: str, user: str, *, yes: bool, scrub: bool, as_json: bool) -> None:
    """`forget --hard`."""
    settings = load()
    scope = session.scope_of(settings, user)
    _asking(yes=yes, as_json=as_json)

    async def work() -> dict[str, Any] | None:
        async with _both(settings, quiet=as_json) as (memory, saver):
            id_ = await session.find(memory, scope, memory_id)
            with screen.waiting("looking for what says it…", quiet=as_json):
                traces = await memory.traces(scope, id_)
            if not yes and not _agreed(traces):
                return None
            return await _erased(memory, saver, scope, traces, id_, scrub=scrub, quiet=as_json)

    _show(session.run(work()), as_json=as_json, none="There is no such memory.")


@asynccontextmanager
async def _both(settings: Settings, *, quiet: bool) -> AsyncIterator[tuple[Memory, PooledSaver]]:
    # The graph's libraries are slow to import, and no other command of this file's neighbours wants them.
    from muniment.graph.checkpointer import open_saver  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415

    async with (
        session.opened(settings, quiet=quiet) as memory,
        open_saver(await bootstrap.threads_database(settings), memory.redact) as saver,
    ):
        yield memory, saver


async def _erased(
    memory: Memory,
    saver: PooledSaver,
    scope: Scope,
    traces: Traces,
    memory_id: MemoryId | None,
    *,
    scrub: bool,
    quiet: bool,
) -> dict[str, Any]:
    """The checkpoints first: as long as the memory is there, the same command finds them again."""
    from muniment.graph.erasing import holding  # noqa: PLC0415 - as above
    from muniment.graph.janitor import delete_threads, threads_of  # noqa: PLC0415 - as above

    with screen.waiting("erasing…", quiet=quiet):
        threads = await holding(
            saver,
            scope.space,
            traces.threads,
            traces.texts,
            None if memory_id is None else lambda text: memory.said_in(traces, text),
        )
        if memory_id is None:
            threads = sorted({*threads, *await threads_of(saver, scope.space)})
        counts = await delete_threads(saver, threads)
        done = await (memory.erase_space(scope) if memory_id is None else memory.erase(scope, memory_id))
    told = _told(done, counts)
    if scrub:
        with screen.waiting("rewriting the database's files…", quiet=quiet):
            told["scrubbed"] = _scrubbed(await memory.scrub())
    return told


def _asking(*, yes: bool, as_json: bool) -> None:
    if not yes and (as_json or not (screen.interactive() and sys.stdin.isatty())):
        raise BadInput("this cannot be undone, and nobody is there to ask: say --yes")


def _named(user: str, status: dict[str, Any], traces: Traces) -> bool:
    screen.say(
        f"{user}: {status['memories']:,} memories, {status['turns']:,} turns, {len(traces.threads):,} threads. "
        "All of it will be gone for good."
    )
    typed = typer.prompt("Type the user's name to go on", default="", show_default=False)
    return bool(typed == user) or _no()


def _agreed(traces: Traces) -> bool:
    for text in traces.texts:
        screen.say(f"gone for good: {screen.one_line(text)}")
    for one in traces.built_on[:_SHOWN]:
        screen.say(f"with it: {one.kind} {str(one.id)[:8]} {screen.one_line(one.text)}")
    if len(traces.built_on) > _SHOWN:
        screen.say(f"with it: {len(traces.built_on) - _SHOWN:,} more memories")
    screen.say(f"with it: {len(traces.turns):,} turns that say it, and the threads in which it was said or recalled")
    return typer.confirm("This cannot be undone. Go on?") or _no()


def _no() -> bool:
    screen.say("Nothing was changed.")
    return False


def _told(done: Erasure, checkpoints: dict[str, int]) -> dict[str, Any]:
    counts = done.counts | {name: count for name, count in checkpoints.items() if count}
    return {"id": str(done.id), "what": done.what, "at": done.at.isoformat(), "counts": counts}


def _scrubbed(done: Scrubbed) -> dict[str, Any]:
    return {"tables": done.tables, "statistics": done.statistics, "log": done.log}


def _show(told: dict[str, Any] | None, *, as_json: bool, none: str) -> None:
    if told is None:
        return
    if as_json:
        screen.show_json(told)
        return
    if not told["counts"]:
        screen.say(none)
    else:
        screen.say(f"Erased. Receipt {told['id']}, {told['at']}:")
        screen.show_fields({name: f"{count:,}" for name, count in told["counts"].items()})
    if scrubbed := told.get("scrubbed"):
        log = "the write-ahead log of before is gone" if scrubbed["log"] else (
            "the write-ahead log still holds what was written before, until Postgres uses its files again"
        )  # fmt: skip
        screen.say(f"{scrubbed['tables']} tables rewritten; {log}.")
