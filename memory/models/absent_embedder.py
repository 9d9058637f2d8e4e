"""An embedder that is away: for memories whose vectors come from what this process does not have."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.ids import Vector
from muniment.memory.errors import ModelUnavailable
from muniment.memory.ports.embedders import Embedder


class AbsentEmbedder(Embedder):
    """The `Embedder` port with a name and nothing else: memories are found by their words meanwhile."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def embed_documents(self, _: Sequence[str]) -> list[Vector]:
        raise self._refuse()

    async def embed_query(self, _: str) -> Vector:
        raise self._refuse()

    async def close(self) -> None:
        """Nothing is open."""

    def _refuse(self) -> ModelUnavailable:
        return ModelUnavailable("the embedder of this memory is not configured any more", model=self._name, sent=False)
