"""Files that come into their place whole, written while something else makes their content."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from muniment.memory.errors import BadInput

_CHUNK = 2**18  # bytes that are written at once
OnProgress = Callable[[int], None]


@contextmanager
def open_replacement(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside the one at a path, and put it in its place at the end, readable by its owner alone. After an
    error the old one stays. Raises BadInput for a place that cannot be written."""
    draft = None
    try:
        with tempfile.NamedTemporaryFile("w+b", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            draft = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


async def write_chunks(pieces: AsyncIterator[bytes], file: IO[bytes], on_progress: OnProgress | None = None) -> int:
    """Write pieces of bytes, in a thread, and return their number; `on_progress` gets how many were written."""
    held: list[bytes] = []
    count = size = 0
    async for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            count += await _write_held(held, file, on_progress)
            size = 0
    return count + await _write_held(held, file, on_progress)


async def _write_held(held: list[bytes], file: IO[bytes], on_progress: OnProgress | None) -> int:
    count = len(held)
    await asyncio.to_thread(file.write, b"".join(held))
    held.clear()
    if on_progress and count:
        on_progress(count)
    return count
