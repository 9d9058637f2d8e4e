"""The commands of `muniment`, and what becomes of their errors."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from muniment import __version__
from muniment.faces.cli.commands import (
    chat,
    checkpoints,
    consent,
    consolidate,
    database as serving,
    embedder,
    erase as erasing,
    index as indexing,
    list as reading,
    query as asking,
    remember as writing,
    scrub as scrubbing,
    stats,
    transfer as moving,
    work as working,
)
from muniment.faces.cli.output import screen
from muniment.memory.errors import BadInput, MunimentError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of whatever takes the output

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip

COMMANDS: dict[str, Callable[..., None]] = {
    "chat": chat.chat,
    "query": asking.query,
    "why-not": asking.why_not,
    "remember": writing.remember,
    "list": reading.list_memories,
    "show": reading.show,
    "history": reading.history,
    "pin": writing.pin,
    "unpin": writing.unpin,
    "forget": writing.forget,
    "restore": writing.restore,
    "erase": erasing.erase,
    "scrub": scrubbing.scrub,
    "import": moving.import_file,
    "export": moving.export,
    "consolidate": consolidate.consolidate,
    "work": working.work,
    "index": indexing.index,
    "migrate": serving.migrate,
    "status": serving.status,
    "stop": serving.stop,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(embedder.embedder, name="embedder")
app.add_typer(consent.consent, name="consent")
app.add_typer(stats.stats, name="stats")
app.add_typer(checkpoints.checkpoints, name="checkpoints")
stats.stats.command("checkpoints")(checkpoints.sizes)


def _version(wanted: bool) -> None:
    if wanted:
        screen.say(f"muniment {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def muniment(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback has done all
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """The long-term memory of LangGraph agents: talk to it, ask it, change it.

    Everything is kept in Postgres: an embedded one that starts by itself, or yours, by MUNIMENT_DATABASE_URL.
    Start with `muniment chat`, then see `muniment list`.

    Exit codes: 0 done, 1 the model failed, 2 usage or bad input, 3 denied, 4 not found, 5 configuration, 6 database,
    7 busy: another process is at it, try again later, 130 interrupted. Errors are one line on standard error; with --json one object {"error": …} on standard output.
    """
    if context.invoked_subcommand is None:
        screen.say(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; no error leaves it but a defect."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in before
    screen.prepare()
    code = 0
    try:
        code = _run(arguments, as_json=as_json)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # whoever read has read enough; typer turns some of it into an exit
        screen.let_go()
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        screen.let_go()
        return code or screen.fail(BadInput(f"standard output: cannot be written ({error.strerror})"), as_json=False)
    return code


def _run(arguments: Sequence[str], *, as_json: bool) -> int:
    try:
        result: Any = app(args=list(arguments), prog_name="muniment", standalone_mode=False)
    except typer.TyperException as error:  # what was typed makes no command
        return screen.fail(BadInput(_usage(error)), as_json=as_json)
    except MunimentError as error:
        return screen.fail(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort) as error:
        return screen.exit_code(KeyboardInterrupt()) if isinstance(error, typer.Abort) else screen.exit_code(error)
    return result if isinstance(result, int) else 0


def _usage(error: typer.TyperException) -> str:
    """The message with the way to the command's help."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "muniment"
    return f"{error.format_message().replace('Value error, ', '').rstrip('.')} (see {path} --help)"
