"""`work`: do the background jobs, here, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import Counter
from collections.abc import Callable
from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands import checkpoints
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load
from muniment.memory.domain.jobs import Outcome
from muniment.memory.errors import BadInput, StoreError

if TYPE_CHECKING:
    from muniment.memory.client import Memory

_CATCH_UP_SECONDS = 3600.0
_NO_MODEL = (
    "No model is configured (MUNIMENT_MODEL, OPENAI_API_KEY), so what needs one waits; nothing of it is lost or tried."
)


def work(
    drain: Annotated[bool, typer.Option("--drain", help="Do what is due, then end with the counts.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Do one job, if one is due, and end.")] = False,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-n", min=1, metavar="N", help="Jobs at once; else jobs.concurrency.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do background jobs: let a model look at what was said, and tend the memories of every user while nobody looks.
    As many workers as you like may run, on any machine.

    A job that fails is tried again, ever more rarely; the turns of one user are looked at in order. Leave with
    Ctrl-C: what is under way goes back to the queue. Cut off from the database, a worker goes on when it is back; one that
    is stopped meanwhile ends with code 6, and its jobs are another's. Turns from before a model was configured are
    looked at, too.
    With --json every attempt is a line, and the last line has the counts.

    Every six hours (session_ledger.cleanup_interval_seconds) one of the workers makes a round: it looks which users'
    memories have changed or have something due, and each of those is tended at a time of its own: what nobody needs is
    forgotten (see "forgetting" in the settings), what was forgotten long ago is purged, what was said longer than
    session_ledger.retention_days ago leaves the ledger, and what has changed is consolidated, once in
    consolidation.every_hours (see `muniment consolidate`). Checkpoints are pruned every six hours, too. With --once none
    of this is done.

    For example:

      muniment work

      muniment work --drain --json
    """
    if drain and once:
        raise BadInput("--drain and --once: give one of them")
    settings = load()
    if concurrency is not None:
        settings = settings.model_copy(update={"jobs": settings.jobs.model_copy(update={"concurrency": concurrency})})
    session.run(_work(settings, drain=drain, most=1 if once else None, as_json=as_json))


async def _work(settings: Settings, *, drain: bool, most: int | None, as_json: bool) -> None:
    # The bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    counts: Counter[str] = Counter()

    def told(outcome: Outcome) -> None:
        counts[_fate(outcome)] += 1
        if as_json:
            screen.show_json(_line(outcome))
        elif screen.interactive():
            screen.say(_sentence(outcome))

    tidied = checkpoints.tidied(settings, once=drain) if most is None else contextlib.nullcontext()
    async with (
        session.opened(settings, quiet=as_json) as memory,
        bootstrap.worker(settings, memory, told, rounds=most is None) as worker,
        tidied,
    ):
        if settings.chat_model is None and not as_json:
            screen.aside(f"muniment: warning: {_NO_MODEL}")
        _at_a_signal(worker.stop)
        await _catch_up(memory, as_json=as_json)
        catching = asyncio.create_task(_keep_up(memory, as_json=as_json))
        try:
            await worker.run(drain=drain, most=most)
        finally:
            catching.cancel()
            await asyncio.gather(catching, return_exceptions=True)
        waiting = await memory.waiting()
    _sum_up(counts, waiting, as_json=as_json)


async def _catch_up(memory: Memory, *, as_json: bool) -> None:
    """Enqueue what no model has looked at."""
    found = await memory.catch_up()
    if found and not as_json:
        screen.whisper(f"{found} earlier turn{'s' if found > 1 else ''} to look at")


async def _keep_up(memory: Memory, *, as_json: bool) -> None:
    while True:
        await asyncio.sleep(_CATCH_UP_SECONDS)
        with contextlib.suppress(StoreError):  # the next time will do
            await _catch_up(memory, as_json=as_json)


def _at_a_signal(stop: Callable[[], None]) -> None:
    """Ctrl-C and SIGTERM are how a worker ends: no error, and no traceback."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # a system without such signals; Ctrl-C cancels it then
            loop.add_signal_handler(number, stop)


def _fate(outcome: Outcome) -> str:
    if outcome.again:
        return "failed" if outcome.failed else "not_ready"
    return "dropped" if outcome.failed else "done"


def _line(outcome: Outcome) -> dict[str, Any]:
    return {
        "job": outcome.job.name,
        "space": str(outcome.job.scope.space) if outcome.job.scope.owner else None,
        "key": outcome.job.key,
        "seconds": round(outcome.seconds, 3),
        "failed": outcome.failed,
        "again": outcome.again.isoformat(timespec="seconds") if outcome.again else None,
    }


def _sentence(outcome: Outcome) -> str:
    what = f"{outcome.job.name} {screen.short(outcome.job.key)}".strip()
    took = f"{outcome.seconds:.1f} s"
    if outcome.again:
        why = f"{outcome.failed} after {took}" if outcome.failed else "not ready yet"
        return f"{what}: {why}, again at {outcome.again.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{what}: what it was about is gone" if outcome.failed else f"{what}: done in {took}"


def _sum_up(counts: Counter[str], waiting: dict[str, dict[str, int]], *, as_json: bool) -> None:
    left = sum(sum(one.values()) for one in waiting.values())
    if as_json:
        fates = {one: counts[one] for one in ("done", "failed", "not_ready", "dropped")}
        screen.show_json({**fates, "waiting": waiting})
        return
    tried = f", {counts['failed']} failed and will be tried again" if counts["failed"] else ""
    early = f", {counts['not_ready']} not ready yet" if counts["not_ready"] else ""
    screen.say(f"{counts['done']} done{tried}{early}, {left} waiting.")
