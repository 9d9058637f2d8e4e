"""`scrub`, and what `--scrub` does: the database's files are written without what was removed."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.erasure import ScrubResult
from muniment.memory.errors import BadInput

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Without asking; a program has to say so.")]


def scrub_files(yes: Yes = False, as_json: AsJson = False) -> None:
    """Rewrite the database's files without what was erased, forgotten and purged, or pruned.

    A deleted row stays in the files until its place is used again. This writes every table anew - of the checkpoints,
    too, and where MUNIMENT_CHECKPOINTS_URL keeps these elsewhere, in both databases - and, for a superuser such as
    the embedded server's role, what the planner remembers of them and the write-ahead log. Each table is locked while
    it is written, which takes minutes where there is much. Wants the role that made the tables. It may be interrupted
    and repeated at any time; nothing that is there is lost. Backups, replicas and archived log are out of reach: see
    "Forgetting for good" in the README.

    For example:

      muniment forget 4f2a --hard

      muniment scrub
    """
    settings = load_settings()
    check_can_ask(yes=yes, as_json=as_json, reason="tables are locked while they are rewritten")
    if not yes and not typer.confirm("Every table is locked while it is rewritten. Go on?"):
        screen.print_line("Nothing was changed.")
        return
    report = run_scrub(settings, quiet=as_json)
    if as_json:
        screen.print_json(report)
    else:
        print_scrub(report)


def check_can_ask(*, yes: bool, as_json: bool, reason: str) -> None:
    """Raises BadInput where no person can be asked and --yes is missing."""
    if not yes and (as_json or not (screen.is_interactive() and sys.stdin.isatty())):
        raise BadInput(f"{reason}, and nobody is there to ask: say --yes")


def run_scrub(settings: Settings, *, quiet: bool) -> dict[str, Any]:
    """Do it, and say how far it came, as JSON has it."""

    async def work() -> ScrubResult:
        # The bootstrap brings the database's driver: nothing for `--help` to wait for.
        from muniment.memory import bootstrap  # noqa: PLC0415

        with terminal.show_progress("rewriting tables", None, quiet=quiet) as on_progress:
            return await bootstrap.scrub_database(settings, on_progress)

    result = session.run_async(work())
    return {"tables": result.tables, "statistics": result.statistics, "log": result.log, "held": result.held}


def print_scrub(report: dict[str, Any]) -> None:
    """Print what a scrub has rewritten, and what it could not."""
    log = (
        "the write-ahead log of before is gone"
        if report["log"]
        else ("the write-ahead log still holds what was written before, until Postgres uses its files again")
    )
    screen.print_line(f"{report['tables']} tables rewritten; {log}.")
    if not report["statistics"]:
        screen.print_line(
            "What the planner remembers of the columns was not rewritten: that wants a superuser, and no cluster."
        )
    if report["held"]:
        screen.print_line(
            f"{report['held']:,} dead rows were taken along, since somebody still sees them (an open transaction, "
            "a replica): `muniment scrub` again later."
        )
