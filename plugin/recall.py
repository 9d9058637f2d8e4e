"""What is put before a model: the stable part of a session, and what is found for a message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING

from muniment.plugin.domain.item import ItemOwner, ItemType, ListQuery, MemoryHit, MemoryItem, SearchQuery
from muniment.plugin.gates.budget import pack_hits
from muniment.plugin.gates.references import Reference
from muniment.plugin.rendering import render_block
from muniment.plugin.sessions import FoundBlock, StableBlock

if TYPE_CHECKING:
    from muniment.memory.config.plugin import GateSettings
    from muniment.memory.config.schema import EmbedderProfile
    from muniment.memory.domain.ids import Vector
    from muniment.plugin.embedding import TextEmbedder
    from muniment.plugin.ports import MemoryStore

_STABLE_TYPES: tuple[ItemType, ...] = ("preference", "rule")
_WORK_TYPES: tuple[ItemType, ...] = ("todo", "decision", "fix")
_READ = 50  # items from which the stable part is chosen
_PINNED = 8
_STABLE_SHARE = 0.625  # of the items and tokens of a turn: five of eight
_EMBED_SECONDS = 0.15  # for the vector of a message; later it is searched for by its words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageEmbedder:
    """The embedder beside a conversation, and what its cosines mean."""

    embedder: TextEmbedder
    profile: EmbedderProfile

    async def embed_message(self, text: str) -> Vector | None:
        """Return the vector of a message, or None: then it is compared by its words."""
        return await self.embedder.embed_query(text, _EMBED_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recall:
    """Reads a store for a turn."""

    store: MemoryStore
    embedder: MessageEmbedder | None

    async def read_stable(self, owner: ItemOwner, at: datetime) -> list[MemoryItem]:
        """Return what a person said about how to work, and what is pinned: pinned first, then by importance, then the
        newest."""
        pinned, lasting = await asyncio.gather(
            self.store.list(ListQuery(owner=owner, at=at, pinned=True, limit=_PINNED)),
            self.store.list(ListQuery(owner=owner, at=at, types=_STABLE_TYPES, limit=_READ)),
        )
        items = {item.id: item for item in (*pinned, *lasting) if item.pinned or item.source == "user"}
        return sorted(items.values(), key=_rank_stable)

    async def search(
        self,
        owner: ItemOwner,
        text: str,
        at: datetime,
        gates: GateSettings,
        *,
        reference: Reference | None = None,
        vector: Vector | None = None,
    ) -> tuple[MemoryHit, ...]:
        """Return what is found for a redacted message, best first. A reference to earlier work finds what is to do and
        what was decided; one without words finds the newest of them."""
        is_work = reference is not None and reference.kind == "resumption"
        if is_work and reference is not None and not reference.words:
            newest = await self.store.list(ListQuery(owner=owner, at=at, types=_WORK_TYPES[:2], limit=gates.items))
            return tuple(MemoryHit(item=item, score=1.0, parts={}, store="local") for item in newest)
        query = SearchQuery(
            owner=owner,
            text=text,
            at=at,
            top_k=gates.items,
            min_score=gates.min_score,
            types=_WORK_TYPES if is_work else (),
            vector=vector,
            vector_model=self.embedder.embedder.name if self.embedder and vector is not None else None,
        )
        return tuple(await self.store.search(query))


def make_stable_block(items: Sequence[MemoryItem], at: datetime, gates: GateSettings) -> StableBlock:
    """Return the stable part of a session within its share of the budget."""
    share = gates.model_copy(
        update={"items": max(1, int(gates.items * _STABLE_SHARE)), "tokens": int(gates.tokens * _STABLE_SHARE)}
    )
    hits = [MemoryHit(item=item, score=1.0, parts={}, store="local") for item in items]
    packed = pack_hits(hits, share, lambda shown: render_block(shown, at, "stable"))
    return StableBlock(
        text=render_block(packed.hits, at, "stable"),
        items=tuple(hit.item for hit in packed.hits),
        tokens=packed.tokens,
    )


def make_found_block(hits: Sequence[MemoryHit], stable: StableBlock, at: datetime, gates: GateSettings) -> FoundBlock:
    """Return what was found within what the stable part leaves of the budget."""
    others = [hit for hit in hits if hit.item.id not in stable.item_ids]
    if not others:
        return FoundBlock()
    rest = gates.model_copy(
        update={"items": gates.items - len(stable.item_ids), "tokens": max(0, gates.tokens - stable.tokens)}
    )
    packed = pack_hits(others, rest, lambda shown: render_block(shown, at, "found"))
    ids = tuple(hit.item.id for hit in packed.hits)
    return FoundBlock(text=render_block(packed.hits, at, "found"), item_ids=ids, tokens=packed.tokens)


class Stopwatch:
    """Adds up milliseconds by name."""

    def __init__(self, counted: dict[str, float], name: str) -> None:
        self._counted, self._name = counted, name

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = 1_000 * (perf_counter() - self._began)
        self._counted[self._name] = self._counted.get(self._name, 0.0) + spent


def _rank_stable(item: MemoryItem) -> tuple[bool, float, float, str]:
    changed = item.updated_at or item.created_at
    return not item.pinned, -item.importance, -changed.timestamp(), item.id
