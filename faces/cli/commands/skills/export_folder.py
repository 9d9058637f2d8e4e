"""`skills export`: the published skills as files that other agents read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadInput

_FILE = "SKILL.md"


def export_skills(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Each skill is a folder in it; it may exist.")],
    user: User = DEFAULT_USER,
    as_json: AsJson = False,
) -> None:
    """Write the published skills as Agent Skills: a folder for each, with a SKILL.md.

    A file of the same name is written anew; no other file is touched.

    For example:

      muniment skills export ~/.claude/skills
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Mapping[str, str]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.projections.render_skills(scope)

    files = session.run_async(work())
    for name, text in files.items():
        path = Path(folder).expanduser() / name / _FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from error
    if as_json:
        screen.print_json({"user": scope.owner, "folder": folder, "skills": sorted(files)})
    else:
        screen.print_line(f"{len(files):,} skills written to {folder}")
