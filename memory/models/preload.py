"""Loading an embedder before the first text, which would wait for it otherwise."""

from __future__ import annotations

import asyncio
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
