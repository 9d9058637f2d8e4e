"""`config history`: who has changed which setting, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.config.stage import StageName, check_stage, format_value
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.changes import SettingChange, encode_changes
from muniment.memory.config.settings import load_settings

_MAX_CHANGES = 1000


def show_history(
    stage: StageName = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=_MAX_CHANGES, help="At most so many changes.")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the latest changes of the settings, newest first: when, by whom, from what to what.

    For example:

      muniment config history --stage maintenance
    """
    settings, of = load_settings(), check_stage(stage)

    async def work() -> Sequence[SettingChange]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.configuration.read_history(of, limit)

    changes = session.run_async(work())
    if as_json:
        screen.print_json(encode_changes(changes))
    elif changes:
        terminal.print_table(["rev", "when", "by", "key", "change"], [_format_row(change) for change in changes])
    else:
        terminal.print_hint("Nothing was changed. Change a setting with `muniment config set KEY VALUE`.")


def _format_row(change: SettingChange) -> list[str]:
    to = f"{format_value(change.former)} -> {format_value(change.value)}{' (reset)' if change.is_reset else ''}"
    return [str(change.rev), f"{change.at:%Y-%m-%d %H:%M:%S}", change.by, change.key, to]
