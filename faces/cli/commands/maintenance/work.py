"""`work`: background jobs, until the worker is stopped."""

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
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.jobs import JobOutcome
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.client import Memory
from muniment.faces.cli.commands.checkpoints import saver

_NO_MODEL_MESSAGE = (
    "No model is configured (MUNIMENT_MODEL, OPENAI_API_KEY), so what needs one waits; nothing of it is lost or tried."
)


def run_worker(
    drain: Annotated[bool, typer.Option("--drain", help="Do what is due, then end with the counts.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Do one job, if one is due, and end.")] = False,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-n", min=1, metavar="N", help="Jobs at once; else jobs.concurrency.")
    ] = None,
    catch_up: Annotated[
        bool, typer.Option("--catch-up", help="Let the model read also the turns that it has not read, which costs.")
    ] = False,
    retry: Annotated[
        int | None,
        typer.Option("--retry", min=1, metavar="JOB", help="Take this waiting job at once: a number of the console."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do background jobs: let a model look at what was said, and tend the memories of every user while nobody looks.
    As many workers as you like may run, on any machine.

    A job that fails is tried again, ever more rarely; the turns of one user are looked at in order. Leave with
    Ctrl-C: what is under way goes back to the queue. Cut off from the database, a worker goes on when it is back; one
    that is stopped meanwhile ends with code 6, and its jobs are another's. Turns from before a model was configured,
    and imported ones, are left alone; with --catch-up the model reads them as well, within the budget (spend in the
    settings). With --json every attempt is a line, and the last line has the counts.

    Every six hours (session_ledger.cleanup_interval_seconds) one of the workers makes a round: it looks which users'
    memories have changed or have something due, and each of those is tended at a time of its own: what nobody needs
    is forgotten (see "forgetting" in the settings), what was forgotten long ago is purged, what was said longer than
    session_ledger.retention_days ago leaves the ledger, and what has changed is consolidated, once in
    consolidation.every_hours (see `muniment consolidate`). Checkpoints are pruned every six hours, too. Every ten
    minutes the memories that have grown large get their indexes (see `muniment index`). With --once none of this is
    done.

    For example:

      muniment work

      muniment work --drain --json

      muniment work --drain --catch-up

      muniment work --drain --retry 1234
    """
    if drain and once:
        raise BadInput("--drain and --once: give one of them")
    settings = load_settings()
    if concurrency is not None:
        settings = settings.model_copy(update={"jobs": settings.jobs.model_copy(update={"concurrency": concurrency})})
    max_jobs = 1 if once else None
    session.run_async(
        _run_worker(settings, drain=drain, max_jobs=max_jobs, catch_up=catch_up, retry=retry, as_json=as_json)
    )


async def _run_worker(
    settings: Settings, *, drain: bool, max_jobs: int | None, catch_up: bool, retry: int | None, as_json: bool
) -> None:
    # The bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    counts: Counter[str] = Counter()

    def report_outcome(outcome: JobOutcome) -> None:
        counts[_classify_outcome(outcome)] += 1
        if as_json:
            screen.print_json(_outcome_to_json(outcome))
        elif screen.is_interactive():
            screen.print_line(_format_outcome(outcome))

    async with (
        session.open_memory(settings, quiet=as_json) as memory,
        bootstrap.open_worker(settings, memory, report_outcome, with_schedule=max_jobs is None) as worker,
        saver.schedule_pruning(memory.engine.settings, once=drain) if max_jobs is None else contextlib.nullcontext(),
    ):
        if settings.chat_model is None and not as_json:
            screen.print_stderr(f"muniment: warning: {_NO_MODEL_MESSAGE}")
        _stop_on_signals(worker.stop)
        if catch_up:
            await _enqueue_missed(memory, as_json=as_json)
        if retry is not None:
            await memory.jobs.hasten_job(retry, tenant=settings.tenant)
        await worker.run(drain=drain, max_jobs=max_jobs)
        waiting = await memory.jobs.count_jobs()
    _print_summary(counts, waiting, as_json=as_json)


async def _enqueue_missed(memory: Memory, *, as_json: bool) -> None:
    """Enqueue the turns that no model has read."""
    turn_count = await memory.jobs.enqueue_missed()
    if turn_count and not as_json:
        terminal.print_hint(f"{turn_count} earlier turn{'s' if turn_count > 1 else ''} to look at")


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """End the worker at Ctrl-C and SIGTERM, without an error or a traceback."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # a system without such signals; Ctrl-C cancels it then
            loop.add_signal_handler(number, stop)


def _classify_outcome(outcome: JobOutcome) -> str:
    if outcome.retry_at:
        return "failed" if outcome.error_class else "not_ready"
    return "dropped" if outcome.error_class else "done"


def _outcome_to_json(outcome: JobOutcome) -> dict[str, Any]:
    return {
        "job": outcome.job.name,
        "space": str(outcome.job.scope.space) if outcome.job.scope.owner else None,
        "key": outcome.job.key,
        "seconds": round(outcome.seconds, 3),
        "failed": outcome.error_class,
        "again": outcome.retry_at.isoformat(timespec="seconds") if outcome.retry_at else None,
    }


def _format_outcome(outcome: JobOutcome) -> str:
    what = f"{outcome.job.name} {screen.shorten_id(outcome.job.key)}".strip()
    duration = f"{outcome.seconds:.1f} s"
    if outcome.retry_at:
        why = f"{outcome.error_class} after {duration}" if outcome.error_class else "not ready yet"
        return f"{what}: {why}, again at {outcome.retry_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{what}: what it was about is gone" if outcome.error_class else f"{what}: done in {duration}"


def _print_summary(counts: Counter[str], waiting: dict[str, dict[str, int]], *, as_json: bool) -> None:
    left = sum(sum(counts_by_state.values()) for counts_by_state in waiting.values())
    if as_json:
        outcomes = {name: counts[name] for name in ("done", "failed", "not_ready", "dropped")}
        screen.print_json({**outcomes, "waiting": waiting})
        return
    tried = f", {counts['failed']} failed and will be tried again" if counts["failed"] else ""
    early = f", {counts['not_ready']} not ready yet" if counts["not_ready"] else ""
    screen.print_line(f"{counts['done']} done{tried}{early}, {left} waiting.")
