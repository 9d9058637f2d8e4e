"""Loading an embedder before the first text, which would wait for it otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

from muniment.memory.ports.embedders import Embedder


@runtime_checkable
class Loadable(Protocol):
    """An embedder with a model in this process."""

    def load_model(self) -> object:
        """Load the model, unless it is loaded, and return it. Blocking. Raises BadConfig where it cannot be had."""
        ...


async def load_embedder(embedder: Embedder) -> None:
    """Load the model of an embedder that has one in this process. Raises BadConfig."""
    if isinstance(embedder, Loadable):
        await asyncio.to_thread(embedder.load_model)


@asynccontextmanager
async def load_in_background(embedder: Embedder) -> AsyncIterator[None]:
    """Load the model of an embedder while the block runs, so that a service answers at once and its first question does
    not wait. A model that cannot be had is reported to the first question, which asks for it again."""
    loading = asyncio.create_task(load_embedder(embedder))
    try:
        yield
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
