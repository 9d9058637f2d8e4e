"""`config set`: settings that are changed for every process."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.config.stage import format_value
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.changes import SettingChange, encode_changes
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.configuration import Configuration


def change_settings(
    words: Annotated[
        list[str], typer.Argument(metavar="KEY VALUE", help="A key and its value; or several, as KEY=VALUE each.")
    ],
    reset: Annotated[
        bool, typer.Option("--reset", help="Let the keys be as the file of each process says again.")
    ] = False,
    rev: Annotated[
        int | None,
        typer.Option("--rev", metavar="N", min=0, help="Only if the settings are still at this revision."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change settings in the database: every process follows within half a minute, without a restart.

    Several are changed at once or not at all. A value that is not allowed is refused with what is: exit code 2; with
    --rev, settings that somebody else has changed meanwhile: exit code 6.

    For example:

      muniment config set recall.top_k 12

      muniment config set embedders.default.auto=0.9 embedders.default.check=0.7

      muniment config set recall.top_k --reset
    """
    settings = load_settings()
    given = {} if reset else _split_words(words)

    async def work() -> tuple[Sequence[SettingChange], int]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            door = memory.configuration
            values = _parse_values(door, given)
            changes = await door.change_settings(values, words if reset else (), by=_name_account(), expected_rev=rev)
            return changes, changes[0].rev

    changes, revision = session.run_async(work())
    if as_json:
        screen.print_json({"rev": revision, "changes": encode_changes(changes)})
        return
    for change in changes:
        screen.print_line(f"{change.key}: {format_value(change.former)} -> {format_value(change.value)}")
    terminal.print_hint(f"Revision {revision}. Running processes follow within half a minute.")


def _split_words(words: Sequence[str]) -> dict[str, str]:
    """The values as typed by their keys. Raises BadInput."""
    if len(words) == 2 and "=" not in words[0]:
        return {words[0]: words[1]}
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not equals:
            raise BadInput("KEY VALUE: give a key and a value, or several as KEY=VALUE; --reset takes keys alone")
        if [each for each, _, _ in pairs].count(key) > 1:
            raise BadInput("KEY VALUE: a key is given twice")
    return {key: value for key, _, value in pairs}


def _parse_values(door: Configuration, given: dict[str, str]) -> dict[str, Any]:
    return {key: door.parse_value(key, text) for key, text in given.items()}


def _name_account() -> str:
    """Whose account of this machine it is."""
    try:
        return f"command line: {getpass.getuser()}"
    except (OSError, KeyError):
        return "command line"
