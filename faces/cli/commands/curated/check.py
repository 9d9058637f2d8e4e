"""`curated check`."""

from __future__ import annotations

from dataclasses import asdict

import typer

from muniment.agent.curated.calls import FILE_NAMES
from muniment.agent.curated.checking import FileProblem
from muniment.agent.curated.files import make_curated_files
from muniment.faces.cli import session
from muniment.faces.cli.commands.curated.folder import Folder
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings


def check_files(folder: Folder = None, as_json: AsJson = False) -> None:
    """Check both files: encoding, limit, and entries that are there twice, instruct, hide characters or have a secret.

    With something wrong the exit code is 1.

    For example:

      muniment curated check
    """
    files = make_curated_files(load_settings(), folder)
    problems = session.run_async(files.check_files())
    if as_json:
        screen.print_json({"folder": str(files.folder), "problems": [asdict(problem) for problem in problems]})
    elif problems:
        for problem in problems:
            screen.print_line(_format_problem(problem))
    else:
        screen.print_line("Both files are as they should be.")
    if problems:
        raise typer.Exit(1)


def _format_problem(problem: FileProblem) -> str:
    place = f", entry {problem.entry}" if problem.entry else ""
    return f"{FILE_NAMES[problem.target]}{place}: {problem.text}"
