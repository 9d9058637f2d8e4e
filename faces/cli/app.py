"""The commands of `muniment`, and what becomes of their errors."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from muniment import __version__
from muniment.faces.cli.lazy_commands import LazyGroup, add_commands
from muniment.faces.cli.output import screen
from muniment.memory.errors import BadInput, MunimentError

_OUTPUT_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of whatever takes the output

app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_commands(app)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        screen.print_line(f"muniment {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def muniment(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback has done all
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """The long-term memory of LangGraph agents: talk to it, ask it, change it.

    Everything is kept in Postgres: an embedded one that starts by itself, or yours, by MUNIMENT_DATABASE_URL.
    Start with `muniment chat`, then see `muniment list`.

    Exit codes: 0 done, 1 the model failed, 2 usage or bad input, 3 denied, 4 not found, 5 configuration, 6 database,
    7 busy: another process is at it, try again later, 8 to 10 the folder of a proxy is not ready,
    11 a curated file cannot be read or written, 130 interrupted.
    Errors are one line on standard error; with --json one object {"error": …} on standard output.
    """
    if context.invoked_subcommand is None:
        screen.print_line(context.get_help())


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code. Only defects are raised."""
    own_arguments = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in own_arguments
    screen.prepare_streams()
    code = 0
    try:
        code = _invoke_app(arguments, as_json=as_json)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the reader has closed the pipe, which typer may turn into an exit
        screen.discard_stdout()
    except OSError as error:
        if error.errno not in _OUTPUT_ERRNOS or error.filename is not None:
            raise
        screen.discard_stdout()
        return code or screen.report_error(
            BadInput(f"standard output: cannot be written ({error.strerror})"), as_json=False
        )
    return code


def _invoke_app(arguments: Sequence[str], *, as_json: bool) -> int:
    try:
        result: Any = app(args=list(arguments), prog_name="muniment", standalone_mode=False)
    except typer.TyperException as error:  # the command line is not valid
        return screen.report_error(BadInput(_format_usage_error(error)), as_json=as_json)
    except MunimentError as error:
        return screen.report_error(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort) as error:
        return (
            screen.get_exit_code(KeyboardInterrupt()) if isinstance(error, typer.Abort) else screen.get_exit_code(error)
        )
    return result if isinstance(result, int) else 0


def _format_usage_error(error: typer.TyperException) -> str:
    """The message with the command whose help explains it."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "muniment"
    return f"{error.format_message().replace('Value error, ', '').rstrip('.')} (see {path} --help)"
