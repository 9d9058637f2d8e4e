"""`curated check`."""

from __future__ import annotations

from dataclasses import asdict

import typer

from muniment.agent.curated.calls import FILE_NAMES
from muniment.agent.curated.checking import Finding
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
    findings = session.run_async(files.check())
    if as_json:
        screen.print_json({"folder": str(files.folder), "findings": [asdict(finding) for finding in findings]})
    elif findings:
        for finding in findings:
            screen.print_line(_format_finding(finding))
    else:
        screen.print_line("Both files are as they should be.")
    if findings:
        raise typer.Exit(1)


def _format_finding(finding: Finding) -> str:
    place = f", entry {finding.entry}" if finding.entry else ""
    return f"{FILE_NAMES[finding.target]}{place}: {finding.problem}"
