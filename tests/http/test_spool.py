"""Answers that are written to a disk before they are sent."""

import asyncio
import errno
import os
import stat
from typing import IO

import pytest
from fastapi.responses import StreamingResponse

from muniment.faces.http.spool import send_spooled
from muniment.memory.errors import NotReady, StoreDown


async def read(answer: StreamingResponse) -> bytes:
    chunks = [chunk async for chunk in answer.body_iterator]
    return b"".join(chunk.encode() if isinstance(chunk, str) else bytes(chunk) for chunk in chunks)


async def test_an_answer_is_whole_before_it_is_sent() -> None:
    """Its length is known, the file is its process's alone, has no name, and is closed at the end."""
    held: list[IO[bytes]] = []

    async def write(file: IO[bytes]) -> None:
        held.append(file)
        status = os.fstat(file.fileno())
        assert stat.S_IMODE(status.st_mode) & 0o077 == 0
        assert status.st_nlink == 0
        await asyncio.to_thread(file.write, b"x" * 700_000)

    answer = await send_spooled(write, "application/jsonl")
    assert isinstance(answer, StreamingResponse)
    assert answer.headers["content-length"] == "700000"
    assert await read(answer) == b"x" * 700_000
    assert held[0].closed


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), StoreDown("gone")])
async def test_what_goes_wrong_is_raised_and_leaves_no_file(error: Exception) -> None:
    """Errors before the first byte are proper statuses: those of the store as they are, a full disk as not ready."""
    held: list[IO[bytes]] = []

    async def write(file: IO[bytes]) -> None:
        held.append(file)
        raise error

    with pytest.raises(NotReady if isinstance(error, OSError) else StoreDown):
        await send_spooled(write, "application/jsonl")
    assert held[0].closed
