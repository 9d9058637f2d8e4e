"""Files of anchors on the disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.bootstrap import AnchorFiles

_MAX_BYTES = 2**28


def open_anchor_files(settings: Settings) -> AnchorFiles:
    """The files of anchors of this installation, which opens no database."""
    # The bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    return bootstrap.make_anchor_files(settings)


def read_file(path: str) -> bytes:
    """The content of a file. Raises BadInput for one that cannot be read or is far too long."""
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise BadInput(f"{path}: has {file.stat().st_size:,} bytes; it is no file of anchors")
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None


def write_file(path: Path, text: str) -> None:
    """Write a file beside the old one and put it in its place whole. Raises BadInput where it cannot be written."""
    draft = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            draft = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
