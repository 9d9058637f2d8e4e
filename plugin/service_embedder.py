"""An embedder on another machine: of what a person says it is given the words, and no sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from muniment.memory.domain.ids import NO_VECTOR
from muniment.memory.ports.embedders import Embedder
from muniment.plugin.stores.remote.search_words import list_search_words

if TYPE_CHECKING:
    from muniment.memory.domain.ids import Vector


class ServiceEmbedder(Embedder):
    """The embedder of a service. A message is embedded by the words by which a service is searched; an item, which is
    a distilled statement, as it is. It is given open, and closed with this one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector for each text. Raises ModelError."""
        return await self._embedder.embed_documents(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the unit vector of the words of a message; zero where no word says anything. Raises ModelError."""
        words = await asyncio.to_thread(list_search_words, text)
        return await self._embedder.embed_query(words) if words else NO_VECTOR

    async def close(self) -> None:
        """Close the embedder."""
        await self._embedder.close()
