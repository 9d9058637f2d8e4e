"""The store port over one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from muniment.memory.rules.language.tokens import clear_text_caches, is_legible
from muniment.plugin.domain.item import (
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ListQuery,
    MemoryHit,
    MemoryItem,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.embedding import TextEmbedder, guard_embedder
from muniment.plugin.item_codec import check_item
from muniment.plugin.problems import Problem
from muniment.plugin.stores.local.compaction import Compaction
from muniment.plugin.stores.local.database import FileStatus, LocalDatabase
from muniment.plugin.stores.local.migrations import ITEMS, SchemaPart
from muniment.plugin.stores.local.rows import to_microseconds
from muniment.plugin.stores.local.searching import QueryVector, list_items, search_items
from muniment.plugin.stores.local.upkeep import Upkeep
from muniment.plugin.stores.local.vectors import VectorCache
from muniment.plugin.stores.local.writing import GivenItem, ItemWriter
from muniment.plugin.stores.scoring import Weights, make_weights

if TYPE_CHECKING:
    from muniment.memory.config.schema import EmbedderProfile
    from muniment.memory.config.settings import Settings
    from muniment.memory.ports.embedders import Embedder

T = TypeVar("T")
FILE_NAME = "plugin.sqlite"  # in the home folder
_After = Callable[[sqlite3.Connection, T], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """How a local store works.

    `profile` says what the cosines of the embedder mean. `parts` are further tables that another package keeps in the
    file."""

    weights: Weights = field(default_factory=Weights)
    profile: EmbedderProfile | None = None
    duplicate_similarity: float = 0.92
    query_seconds: float = 0.25  # for the vector of a query
    busy_seconds: float = 5.0  # for a lock of another process
    cache_megabytes: float = 128.0  # of vectors in memory
    parts: tuple[SchemaPart, ...] = ()


def open_local_store(
    settings: Settings, embedder: Embedder | TextEmbedder | None = None, *, parts: tuple[SchemaPart, ...] = ()
) -> LocalStore:
    """Return the local store that the settings describe; its file is opened by the first call.

    Without an embedder items are found by words alone. `parts` are further tables in the file."""
    plugin = settings.plugin
    options = LocalOptions(
        weights=make_weights(plugin),
        profile=None if embedder is None else settings.find_profile(embedder.name),
        duplicate_similarity=plugin.gates.duplicate_similarity,
        query_seconds=plugin.recall_seconds / 2,
        parts=parts,
    )
    path = settings.home / FILE_NAME if plugin.file is None else Path(plugin.file).expanduser()
    return LocalStore(path, embedder=embedder, options=options)


class LocalStore:
    """Keeps items in one SQLite file, which several processes may use. The first call opens it.

    With an embedder items are found by their meaning, too; where it fails, by words alone, and what was written
    meanwhile gets its vectors later. A write that has returned is on the disk."""

    def __init__(
        self,
        path: Path,
        *,
        embedder: Embedder | TextEmbedder | None = None,
        options: LocalOptions | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._options = options or LocalOptions()
        self._now = now
        self._embedder: TextEmbedder | None = None
        if embedder is not None and self._options.profile is not None:
            self._embedder = guard_embedder(embedder)
        self._cache = VectorCache(self._options.cache_megabytes)
        self.database = LocalDatabase(
            path,
            (ITEMS, *self._options.parts),
            busy_seconds=self._options.busy_seconds,
            on_replaced=self._forget_file,
        )
        self._upkeep = Upkeep(self.database, self._embedder)

    @property
    def status(self) -> FileStatus:
        """Return the state of the file, as far as this process knows it."""
        return self.database.status

    def list_problems(self) -> Sequence[Problem]:
        """Return what of the file or the embedder does not work."""
        found = [*self.database.list_problems()]
        return found if self._embedder is None else [*found, *self._embedder.list_problems()]

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return the items that are found where the owner is, best first. Raises StoreDown, Busy."""
        query_vector = await self._embed_query(query)
        found = await self.database.read(
            lambda connection: search_items(
                connection, query, cache=self._cache, weights=self._options.weights, query_vector=query_vector
            )
        )
        self._upkeep.note_hits((n for n, _ in found), to_microseconds(query.at))
        self._upkeep.start(can_embed=query_vector is not None)
        return [hit for _, hit in found]

    async def upsert(
        self,
        items: Sequence[MemoryItem],
        *,
        fetched_at: datetime | None = None,
        also: _After[Sequence[StoredItem]] | None = None,
    ) -> Sequence[StoredItem]:
        """Write items, each once for its id and content, and return what became of each, in order.

        `fetched_at` is when they were found on a server. `also` is called in the same transaction with the outcome.
        Raises BadInput for an item that cannot be kept, StoreFull, StoreDown, Busy; then nothing is written."""
        for item in items:
            check_item(item)
        given = await _embed_items(self._embedder, items)

        def work(writer: ItemWriter) -> Sequence[StoredItem]:
            return writer.upsert_items(given)

        stored = await self._write(work, also, fetched_at=fetched_at)
        self._upkeep.start(can_embed=any(each.vector is not None for each in given))
        return stored

    async def forget(
        self, owner: ItemOwner, ids: Sequence[str], *, also: _After[Sequence[str]] | None = None
    ) -> Sequence[str]:
        """Forget items, and return the ids of those that were there. Their texts leave the file, and only keyed digests
        stay, by which they are known should they come back. Raises StoreFull, StoreDown, Busy."""
        gone = await self._write(lambda writer: writer.forget_items(owner, ids, self._now()), also)
        if gone:
            clear_text_caches()
            self._upkeep.start(can_embed=False)
        return gone

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool, also: _After[bool] | None = None) -> bool:
        """Pin or unpin an item, and return whether it was there. Raises StoreFull, StoreDown, Busy."""
        return await self._write(lambda writer: writer.pin_item(owner, item_id, pinned=pinned), also)

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Remove what the policy says of all items of the owner, and return how many. Raises StoreFull, StoreDown,
        Busy; what was removed until then stays removed."""
        await self._upkeep.fill_vectors()
        compaction = Compaction(
            database=self.database,
            upkeep=self._upkeep,
            cache=self._cache,
            owner=owner,
            policy=policy,
            model=self._model,
        )
        return await compaction.run()

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        """Return items, newest change first. Raises StoreDown, Busy."""
        return await self.database.read(lambda connection: list_items(connection, query))

    async def close(self) -> None:
        """Write what waits, and close the file."""
        await self._upkeep.finish()
        if self._embedder is not None:
            await self._embedder.close()
        await self.database.close()

    @property
    def _model(self) -> str | None:
        return None if self._embedder is None else self._embedder.name

    async def _write(
        self, work: Callable[[ItemWriter], T], also: _After[T] | None, *, fetched_at: datetime | None = None
    ) -> T:
        def transact(connection: sqlite3.Connection) -> tuple[T, bool]:
            writer = ItemWriter(
                connection=connection,
                cache=self._cache,
                duplicate_similarity=self._options.duplicate_similarity,
                model=self._model,
                fetched_at=fetched_at,
            )
            result = work(writer)
            if writer.has_erased:
                self._upkeep.request_erasure(connection)
            self._upkeep.write_hits(connection)
            if also is not None:
                also(connection, result)
            return result, writer.has_erased

        try:
            result, has_erased = await self.database.write(transact)
        except BaseException:
            self._cache.drop_all()  # it may have seen what was rolled back
            raise
        if has_erased:
            self._upkeep.expect_erasure()
        return result

    def _forget_file(self) -> None:
        """Drop what is known of a file that another one has replaced."""
        self._cache.drop_all()
        self._upkeep.forget_hits()

    async def _embed_query(self, query: SearchQuery) -> QueryVector | None:
        """Return the vector of a query, as it was given or by the embedder; None where words alone are compared."""
        profile, model = self._options.profile, self._model
        if self._embedder is None or profile is None or model is None or not is_legible(profile.scripts, query.text):
            return None
        if query.vector is not None and query.vector_model == model:
            return QueryVector(vector=query.vector, model=model, profile=profile)
        vector = await self._embedder.embed_query(query.text, self._options.query_seconds)
        return None if vector is None else QueryVector(vector=vector, model=model, profile=profile)


async def _embed_items(embedder: TextEmbedder | None, items: Sequence[MemoryItem]) -> Sequence[GivenItem]:
    """Return the items with their vectors: those that they have by the same model, and else the embedder's."""
    if embedder is None:
        return [GivenItem(item=item) for item in items]
    model = embedder.name
    given = [
        GivenItem(item=item, vector=item.embedding if item.embedding_model == model else None, model=model)
        for item in items
    ]
    missing = [at for at, each in enumerate(given) if each.vector is None and each.item.content]
    vectors = await embedder.embed_documents([given[at].item.content for at in missing])
    for at, vector in zip(missing, vectors, strict=True):
        given[at] = replace(given[at], vector=vector)
    return given
