"""Answers that are written to a disk before they are sent.

What is read of one moment holds a connection to the database until its end, and a client may take its answer as slowly
as it likes: between the two stands a file that has no name, that its owner alone may read, and that is gone with the
request. What goes wrong while it is written has a status of its own; its length is announced, so that a client sees an
answer that breaks off."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import IO

from fastapi import Response
from fastapi.responses import StreamingResponse

from muniment.memory.errors import NotReady

_CHUNK = 2**18  # bytes of a file that are sent at once


async def send_spooled(
    write: Callable[[IO[bytes]], Awaitable[object]], media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with what `write` puts into a file, once it is whole. Raises what `write` raises, and NotReady where the
    disk takes no more."""
    file: IO[bytes] = await asyncio.to_thread(tempfile.TemporaryFile)
    try:
        await write(file)
        size = await asyncio.to_thread(file.seek, 0, os.SEEK_END)
        await asyncio.to_thread(file.seek, 0)
    except OSError as error:
        file.close()
        raise NotReady(f"the answer cannot be written to a file for a while ({error.strerror or 'disk'})") from error
    except BaseException:
        file.close()
        raise
    sent = {**(headers or {}), "Content-Length": str(size)}
    return StreamingResponse(_read_file(file), media_type=media_type, headers=sent)


async def _read_file(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
    finally:
        file.close()
