"""`curated edit`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from muniment.agent.curated.calls import FILE_NAMES, TARGETS, Target
from muniment.agent.curated.files import make_curated_files
from muniment.faces.cli import session
from muniment.faces.cli.commands.curated.folder import Folder
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadInput, MunimentError


def edit_file(
    which: Annotated[str, typer.Argument(metavar="memory|user", help="Which of the files.")],
    folder: Folder = None,
) -> None:
    """Edit a file with the program that VISUAL or EDITOR names, on a copy that is checked before it is written.

    What cannot be written, because it is too long or the file was changed meanwhile, is kept in the copy, and the error
    says where.

    For example:

      muniment curated edit user

      EDITOR="code --wait" muniment curated edit memory
    """
    target = _find_target(which)
    files = make_curated_files(load_settings(), folder)
    editor = _find_editor()
    former = session.run_async(files.read_file(target))
    copy = Path(tempfile.mkdtemp(prefix="muniment-curated-")) / FILE_NAMES[target]
    copy.write_bytes(former)
    _run_editor(editor, copy)
    try:
        edited = copy.read_bytes()
        if edited == former:
            screen.print_line("Nothing was changed.")
        else:
            for note in session.run_async(files.write_edit(target, former, edited)):
                screen.print_line(note)
            screen.print_line(f"{FILE_NAMES[target]} is written.")
    except MunimentError as error:
        raise type(error)(f"{str(error).rstrip('.')}; your text is kept in {copy}", **error.data) from None
    except OSError as error:
        raise BadInput(f"{copy}: cannot be read any more ({error.strerror})") from None
    shutil.rmtree(copy.parent)


def _find_target(which: str) -> Target:
    for target in TARGETS:
        if which == target:
            return target
    raise BadInput(f"memory|user: is neither; allowed: {', '.join(TARGETS)}")


def _find_editor() -> list[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        raise BadInput("EDITOR: has a quotation mark that is not closed") from None
    if not words:
        raise BadInput("no editor is named; set VISUAL or EDITOR to one, such as EDITOR=nano")
    return words


def _run_editor(editor: list[str], copy: Path) -> None:
    try:
        code = subprocess.run([*editor, str(copy)], check=False).returncode  # noqa: S603 - the user's own editor
    except OSError as error:
        raise BadInput(f"{editor[0]}: cannot be started ({error.strerror})") from None
    if code:
        raise BadInput(f"{editor[0]}: ended with {code}, so nothing was written; your text is kept in {copy}")
