"""`curated show`."""

from __future__ import annotations

from typing import Any

from muniment.agent.curated.files import make_curated_files
from muniment.agent.curated.snapshot import FileSnapshot
from muniment.faces.cli import session
from muniment.faces.cli.commands.curated.folder import Folder
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings


def show_files(folder: Folder = None, as_json: AsJson = False) -> None:
    """Show both files: how full each is, and its entries, with secrets redacted.

    What an agent is not shown, because it instructs or hides characters, is marked [BLOCKED].

    For example:

      muniment curated show

      muniment curated show --folder ~/agent --json
    """
    files = make_curated_files(load_settings(), folder)
    snapshot = session.run_async(files.take_snapshot())
    shown = [snapshot.memory, snapshot.user]
    if as_json:
        screen.print_json({"folder": str(files.folder), "files": [*map(_encode_file, shown)]})
        return
    screen.print_line(f"{files.folder}")
    for each in shown:
        screen.print_line("")
        screen.print_line(each.header)
        if each.problem:
            screen.print_line(f"({each.problem})")
        for entry in each.entries:
            mark = "[BLOCKED] " if entry.is_blocked else ""
            screen.print_line(f"- {mark}{screen.join_lines(entry.redacted)}")


def _encode_file(file: FileSnapshot) -> dict[str, Any]:
    entries = [
        {"text": entry.redacted, "blocked": entry.is_blocked, "problems": list(entry.problems)}
        for entry in file.entries
    ]
    return {
        "target": file.target,
        "used": file.used,
        "limit": file.limit,
        "problem": file.problem or None,
        "entries": entries,
    }
