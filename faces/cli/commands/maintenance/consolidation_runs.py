"""`consolidate --undo`, `--cancel` and `--runs`: earlier runs of one user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from muniment.faces.cli import session
from muniment.faces.cli.output import consolidation, screen, terminal
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Run, UndoResult
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from muniment.memory.client import Memory


_MAX_RUNS = 20
_MAX_SEARCHED_RUNS = 1_000  # runs among which one is looked for by the beginning of its id


def undo_run(settings: Settings, scope: Scope, prefix: str, *, as_json: bool) -> None:
    """Take back what a run did and print the counts. Raises BadInput, NotFound, StoreError."""

    async def work() -> UndoResult:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.admin.undo_consolidation(scope, await _find_run(memory, scope, prefix, "--undo"))

    result = session.run_async(work())
    if as_json:
        screen.print_json(
            {"user": scope.owner, "run": str(result.run.id), "restored": result.restored, "left": result.left}
        )
        return
    left = f"; {result.left:,} changed since and left as found" if result.left else ""
    done = "1 memory is what it was" if result.restored == 1 else f"{result.restored:,} memories are what they were"
    screen.print_line(f"{done} before the run{left}.")


def cancel_run(settings: Settings, scope: Scope, prefix: str, *, as_json: bool) -> None:
    """Call off a run that waits for a batch endpoint, and print it. Raises BadInput, NotFound, StoreError."""

    async def work() -> Run:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.admin.cancel_consolidation(scope, await _find_run(memory, scope, prefix, "--cancel"))

    run = session.run_async(work())
    if as_json:
        screen.print_json(consolidation.run_to_json(run))
        return
    later = "" if run.batch is None else " The endpoint is not done with it yet: `muniment work` sees to it."
    screen.print_line(f"The run is called off; its pairs are looked at another night.{later}")


def list_runs(settings: Settings, scope: Scope, *, as_json: bool) -> None:
    """Print the latest runs of a space."""

    async def work() -> Sequence[Run]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.admin.list_runs(scope, _MAX_RUNS)

    runs = session.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, "runs": [consolidation.run_to_json(run) for run in runs]})
        return
    if not runs:
        screen.print_line(f"The memory of {scope.owner!r} was never consolidated.")
        return
    rows = [consolidation.format_run_row(run, settings) for run in runs]
    terminal.print_table(("run", "started (UTC)", "status", "what it came to"), rows)


async def _find_run(memory: Memory, scope: Scope, prefix: str, option: str) -> UUID:
    """The id of the run whose id begins with `prefix`. Raises BadInput, NotFound."""
    normalized, command = prefix.strip().lower(), consolidation.format_runs_command(scope)
    if len(normalized) < session.MIN_ID_CHARS or set(normalized) - set("0123456789abcdef-"):
        raise BadInput(f"{option}: {screen.join_lines(prefix)!r} is no run: `{command}` shows their ids")
    runs = await memory.admin.list_runs(scope, _MAX_SEARCHED_RUNS)
    ids = [run.id for run in runs if str(run.id).startswith(normalized)]
    if not ids:
        raise NotFound(f"no run of {scope.owner!r} has an id that begins with {normalized}; `{command}` shows the runs")
    if len(ids) > 1:
        raise BadInput(f"{option}: {normalized} is ambiguous: {', '.join(map(str, ids))}")
    return ids[0]
