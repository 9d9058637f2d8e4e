"""`erase`, and `forget --hard`: removal for good, with a question before and a receipt after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.erasure import scrub as scrubbing
from muniment.faces.cli.commands.erasure.scrub import Yes
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.erasure import Traces
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import MunimentError

if TYPE_CHECKING:
    from muniment.graph.erasure import ErasureResult
    from muniment.graph.saver import PooledSaver
    from muniment.memory.client import Memory


_MAX_SHOWN = 10
Scrub = Annotated[
    bool,
    typer.Option(
        "--scrub",
        help="Then rewrite the database's files without what was removed, as `muniment scrub`: every table is locked "
        "meanwhile, which takes minutes where there is much; wants the role that made the tables.",
    ),
]


def erase_user(
    user: Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Whose memory; there is no default.")],
    yes: Yes = False,
    scrub: Scrub = False,
    as_json: AsJson = False,
) -> None:
    """Erase a user for good: memories, history, what was said, jobs, tokens, and the checkpoints of every thread.

    Nobody else's rows are touched, and the user can begin anew. It cannot be undone: `muniment export` keeps a copy.
    A receipt with the numbers stays, without a word or a name in it; so does what the tenant has spent. Interrupted,
    the same command goes on. Backups, replicas and what a model's provider keeps are out of reach: see "Forgetting
    for good" in the README.

    For example:

      muniment erase --user ana

      muniment erase --user ana --yes --scrub --json
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    scrubbing.check_can_ask(yes=yes, as_json=as_json, reason="this cannot be undone")

    async def work() -> ErasureResult | None:
        async with _open_memory_and_savers(settings, quiet=as_json) as (memory, savers):
            traces = await memory.admin.find_traces(scope)
            if not yes and not _confirm_user(user, await memory.read_status(scope), traces):
                return None
            return await _run_erasure(memory, savers, scope, traces, None, quiet=as_json)

    _report_erasure(
        settings,
        session.run_async(work()),
        scrub=scrub,
        as_json=as_json,
        empty_message="There is nothing of this user.",
    )


def erase_memory(memory_id: str, user: str, *, yes: bool, scrub: bool, as_json: bool) -> None:
    """Erase one memory for good, as `forget --hard`. Raises BadInput, NotFound, StoreError."""
    settings = load_settings()
    scope = session.make_scope(settings, user)
    scrubbing.check_can_ask(yes=yes, as_json=as_json, reason="this cannot be undone")

    async def work() -> ErasureResult | None:
        async with _open_memory_and_savers(settings, quiet=as_json) as (memory, savers):
            id_ = await memory.find_id(scope, memory_id)
            with terminal.show_spinner("looking for what says it…", quiet=as_json):
                traces = await memory.admin.find_traces(scope, id_)
            if not yes and not _confirm_memory(traces):
                return None
            return await _run_erasure(memory, savers, scope, traces, id_, quiet=as_json)

    _report_erasure(
        settings, session.run_async(work()), scrub=scrub, as_json=as_json, empty_message="There is no such memory."
    )


async def erase_scope(settings: Settings, scope: Scope, *, quiet: bool) -> dict[str, Any]:
    """Erase all of a space, with its checkpoints and tokens; the receipt as JSON. Raises Conflict, StoreError."""
    async with _open_memory_and_savers(settings, quiet=quiet) as (memory, savers):
        traces = await memory.admin.find_traces(scope)
        return _receipt_to_json(await _run_erasure(memory, savers, scope, traces, None, quiet=quiet))


@asynccontextmanager
async def _open_memory_and_savers(
    settings: Settings, *, quiet: bool
) -> AsyncIterator[tuple[Memory, list[PooledSaver]]]:
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph.checkpointer import open_savers  # noqa: PLC0415

    async with (
        session.open_memory(settings, quiet=quiet) as memory,
        open_savers(settings, memory.conversation.redact) as savers,
    ):
        yield memory, savers


async def _run_erasure(
    memory: Memory, savers: list[PooledSaver], scope: Scope, traces: Traces, memory_id: MemoryId | None, *, quiet: bool
) -> ErasureResult:
    from muniment.graph import erasure  # noqa: PLC0415 - as above

    with terminal.show_spinner("erasing…", quiet=quiet):
        return await erasure.erase_with_checkpoints(memory, savers, scope, memory_id, traces)


def _report_erasure(
    settings: Settings, result: ErasureResult | None, *, scrub: bool, as_json: bool, empty_message: str
) -> None:
    """Show the receipt, then scrub. An error of the scrub carries the receipt."""
    if result is None:
        return
    receipt = _receipt_to_json(result)
    if not as_json:
        _print_receipt(receipt, empty_message)
    try:
        if scrub:
            receipt["scrubbed"] = scrubbing.run_scrub(settings, quiet=as_json)
    except MunimentError as error:
        error.data["receipt"] = receipt
        raise
    except KeyboardInterrupt:
        if as_json:
            screen.print_json(receipt)
        raise
    if as_json:
        screen.print_json(receipt)
    elif scrub:
        scrubbing.print_scrub(receipt["scrubbed"])


def _confirm_user(user: str, status: dict[str, Any], traces: Traces) -> bool:
    screen.print_line(
        f"{user}: {status['memories']:,} memories, {status['turns']:,} turns, {len(traces.threads):,} threads, "
        "and the tokens that speak for the user. All of it will be gone for good."
    )
    with screen.interruptible_prompt():
        answer = typer.prompt("Type the user's name to go on", default="", show_default=False)
    return bool(answer == user) or _report_unchanged()


def _confirm_memory(traces: Traces) -> bool:
    for text in traces.texts:
        screen.print_line(f"gone for good: {screen.join_lines(text)}")
    for memory in traces.built_on[:_MAX_SHOWN]:
        screen.print_line(f"with it: {memory.kind} {screen.shorten_id(memory.id)} {screen.join_lines(memory.text)}")
    if len(traces.built_on) > _MAX_SHOWN:
        screen.print_line(f"with it: {len(traces.built_on) - _MAX_SHOWN:,} more memories")
    screen.print_line(
        f"with it: {len(traces.turns):,} turns that say it, and the threads in which it was said or recalled"
    )
    with screen.interruptible_prompt():
        return typer.confirm("This cannot be undone. Go on?") or _report_unchanged()


def _report_unchanged() -> bool:
    screen.print_line("Nothing was changed.")
    return False


def _receipt_to_json(result: ErasureResult) -> dict[str, Any]:
    receipt = result.receipt
    counts = receipt.counts | result.checkpoints
    return {"id": str(receipt.id), "what": receipt.what, "at": receipt.at.isoformat(), "counts": counts}


def _print_receipt(receipt: dict[str, Any], empty_message: str) -> None:
    if not receipt["counts"]:
        screen.print_line(empty_message)
        return
    screen.print_line(f"Erased. Receipt {receipt['id']}, {receipt['at']}:")
    screen.print_fields({name: f"{count:,}" for name, count in receipt["counts"].items()})
