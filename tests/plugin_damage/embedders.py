"""Embedders that fail in ways of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from muniment.memory.domain.ids import Vector


class FailingEmbedder:
    """An embedder that answers until `trouble` is set, and then does what that does. `calls` counts both."""

    name = "hash-256"

    def __init__(self) -> None:
        self.trouble: Callable[[], Any] | None = None
        self.calls = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, by its length."""
        self.calls += 1
        if self.trouble is not None:
            return [await _give(self.trouble)]
        return [_make_vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """A vector by the text's length."""
        self.calls += 1
        return _make_vector(text) if self.trouble is None else await _give(self.trouble)

    async def close(self) -> None:
        """There is nothing to close."""


def raise_error(error: BaseException) -> Callable[[], None]:
    """What raises an error."""

    def trouble() -> None:
        raise error

    return trouble


async def hang() -> None:
    """Do not come back."""
    await asyncio.sleep(3_600)


async def _give(trouble: Callable[[], Any]) -> Any:
    found = trouble()
    return await found if asyncio.iscoroutine(found) else found


def _make_vector(text: str) -> Vector:
    vector = np.zeros(256, dtype=np.float32)
    vector[len(text) % 256] = 1.0
    return vector
