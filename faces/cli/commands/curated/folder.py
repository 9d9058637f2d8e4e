"""The option of the commands that says where the files are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder", metavar="PATH", help="Where MEMORY.md and USER.md are; else curated.folder.", show_default=False
    ),
]
