"""What the commands of the proxy share: its folder, and the extra that it needs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from muniment.memory.errors import BadConfig

Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="[FOLDER]", help="The proxy's folder; the current one unless told.")
]


@contextlib.contextmanager
def require_extra() -> Iterator[None]:
    """Import within it what the extra brings. Raises BadConfig where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BadConfig(f"proxy needs {error.name}: install muniment[proxy]") from None
