"""`config show`: the settings in force."""

from __future__ import annotations

from itertools import groupby

from muniment.faces.cli import session
from muniment.faces.cli.commands.config.stage import StageName, check_stage, format_value
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.changes import SettingState, SettingsView, encode_settings
from muniment.memory.config.settings import load_settings
from muniment.memory.config.stages import STAGES


def show_settings(stage: StageName = None, as_json: AsJson = False) -> None:
    """Show the settings in force by stages: the value of each, and where it comes from.

    `default` is what Muniment brings, `file` what the file of MUNIMENT_CONFIG or a program says, `override` what
    `muniment config set`, the page /config or an HTTP request has changed.

    For example:

      muniment config show --stage retrieval
    """
    settings, of = load_settings(), check_stage(stage)

    async def work() -> SettingsView:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.configuration.read_settings(of)

    view = session.run_async(work())
    if as_json:
        screen.print_json(encode_settings(view, STAGES))
        return
    for name, states in groupby(view.settings, key=lambda each: each.stage):
        screen.print_line(f"{STAGES[name]} ({name})")
        terminal.print_table(["key", "value", "from", "about"], [_format_row(each) for each in states])
        screen.print_line("")
    screen.print_line(f"revision {view.rev}")
    for why in view.ignored.values():
        screen.print_stderr(f"muniment: warning: left out here: {why}")


def _format_row(state: SettingState) -> list[str]:
    source: str = state.source
    if state.at is not None:
        source += f" of {state.at:%Y-%m-%d %H:%M} by {state.by}"
    return [state.key, format_value(state.value), source, state.about]
