"""Items of programs: kept verbatim, and found by meaning with the embedder of the space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from muniment.memory.domain.ids import NO_VECTOR
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.process_state import AvailableEmbedder
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.items import ItemOperation, ItemPut, ItemResult, ItemSearch, ItemStore

_MAX_STALE = 200  # items whose vectors are made before a search

ReadTexts: TypeAlias = Callable[[Mapping[str, Any], Sequence[str]], Sequence[str]]  # the texts of a value at paths


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """Runs batches of operations on items. Without the embedder they are kept and found by namespace and fields, and a
    later search makes their vectors."""

    available_embedder: AvailableEmbedder
    clock: Clock
    embedder: Embedder
    item_store: ItemStore

    async def run_operations(
        self, scope: Scope, operations: Sequence[ItemOperation], read_texts: ReadTexts
    ) -> list[ItemResult]:
        """Return the results in the order of the operations: reads see what was there before the puts among them.

        Raises WrongEmbedder, StoreError."""
        for search in operations:
            if isinstance(search, ItemSearch) and search.question:
                await self._embed_stale(scope, search.prefix, read_texts)
        ready = [await self._embed_operation(operation) for operation in operations]
        return await self.item_store.run_operations(scope, ready, self.embedder.name, self.clock.now())

    async def _embed_operation(self, operation: ItemOperation) -> ItemOperation:
        if isinstance(operation, ItemSearch) and operation.question:
            vector = await self.available_embedder.embed_query(operation.question)
            return operation if vector is NO_VECTOR else replace(operation, vector=vector)
        if isinstance(operation, ItemPut) and operation.texts:
            vectors = await self.available_embedder.embed_documents(operation.texts)
            is_away = any(vector is NO_VECTOR for vector in vectors)
            return operation if is_away else replace(operation, vectors=tuple(vectors))
        return operation

    async def _embed_stale(self, scope: Scope, prefix: tuple[str, ...], read_texts: ReadTexts) -> None:
        """Make vectors for items that were put without the embedder, or with another one."""
        name, now = self.embedder.name, self.clock.now()
        stale = await self.item_store.list_stale(scope, prefix, name, now, _MAX_STALE)
        texts = [list(read_texts(item.value, item.paths)) for item in stale]
        vectors = await self.available_embedder.embed_documents([text for each in texts for text in each])
        if any(vector is NO_VECTOR for vector in vectors):
            return
        rest = iter(vectors)
        pairs = [(item, [next(rest) for _ in each]) for item, each in zip(stale, texts, strict=True)]
        if pairs:
            await self.item_store.write_vectors(scope, pairs, name)
