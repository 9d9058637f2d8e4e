"""What large bodies leave in the heap."""

import asyncio
import gc
import platform

import psutil  # type: ignore[import-untyped] # it has no types
import pytest

from muniment.faces.proxy.heap import LARGE_BYTES, Heap

BLOCKS, BLOCK_BYTES = 60_000, 1_000


def weigh() -> int:
    return int(psutil.Process().memory_info().rss)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another library gives back what it likes")
async def test_what_a_large_body_leaves_goes_back_to_the_system() -> None:
    """A block that stays at the end of the heap keeps all that was freed before it in the process, until it is asked
    for; a small body asks for nothing."""
    blocks = [bytes(BLOCK_BYTES) for _ in range(BLOCKS)]
    last = blocks.pop()
    blocks.clear()
    gc.collect()
    heap, kept = Heap(), weigh()
    heap.note_body(LARGE_BYTES - 1)
    await asyncio.sleep(1.5)
    assert weigh() > kept - BLOCKS * BLOCK_BYTES // 4
    heap.note_body(LARGE_BYTES)
    for _ in range(100):
        await asyncio.sleep(0.1)
        if weigh() < kept - BLOCKS * BLOCK_BYTES // 2:
            break
    assert weigh() < kept - BLOCKS * BLOCK_BYTES // 2
    assert len(last) == BLOCK_BYTES
