"""What a write does in its transaction: an item is added, changes one, is known already, or was forgotten."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from muniment.memory.errors import DuplicateMemory
from muniment.plugin.domain.item import ItemOwner, MemoryItem, Outcome, StoredItem
from muniment.plugin.item_codec import MAX_WORDS
from muniment.plugin.stores.local.rows import (
    SQL,
    ItemRow,
    bind_item,
    digest_content,
    digest_sameness,
    get_place,
    parse_row,
    to_microseconds,
)
from muniment.plugin.stores.local.searching import read_rows, read_space
from muniment.plugin.stores.local.vectors import (
    NearQuery,
    RowFilter,
    SpaceState,
    VectorCache,
    VectorMatrix,
    encode_vector,
)

if TYPE_CHECKING:
    from muniment.memory.domain.ids import Vector

_NEAREST = 5  # items that an item is compared with by their words
_BLOCK = 64  # items whose vectors are compared at once


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenItem:
    """An item that is to be written, with its vector where a model has made one."""

    item: MemoryItem
    vector: Vector | None = None
    model: str | None = None


@dataclass(slots=True, kw_only=True)
class _Block:
    """Items that are compared with the space at once, when the first of them has to be: what the cache has that is near
    to each."""

    items: Sequence[GivenItem]
    near: list[dict[int, float]] | None = None


@dataclass(slots=True, kw_only=True)
class ItemWriter:
    """The writes of one transaction, which all get one revision in each space."""

    connection: sqlite3.Connection
    cache: VectorCache
    duplicate_similarity: float
    model: str | None  # whose vectors are compared
    fetched_at: datetime | None = None
    has_erased: bool = False  # a text that was here is gone, and has to leave the index and the log
    _salt: bytes = b""
    _states: dict[tuple[str, str], SpaceState] = field(default_factory=dict)
    _revisions: dict[int, int] = field(default_factory=dict)
    _written: defaultdict[int, VectorMatrix] = field(default_factory=lambda: defaultdict(VectorMatrix))  # by space

    def __post_init__(self) -> None:
        self._salt = self.connection.execute(SQL["read_salt"]).fetchone()[0]

    def upsert_items(self, given: Sequence[GivenItem]) -> list[StoredItem]:
        """Write items in order, and return what became of each."""
        stored = []
        for start in range(0, len(given), _BLOCK):
            block = _Block(items=given[start : start + _BLOCK])
            stored += [self._upsert_item(each, block, at) for at, each in enumerate(block.items)]
        return stored

    def forget_items(self, owner: ItemOwner, ids: Sequence[str], at: datetime) -> list[str]:
        """Forget items, and return the ids of those that were there."""
        state = read_space(self.connection, owner)
        if state is None:
            return []
        gone = []
        for id_ in dict.fromkeys(ids):
            row = self._find_row(state.space, id_, owner)
            if row is not None and not row.item.deleted:
                self._forget_row(state.space, row, at)
                gone.append(id_)
        return gone

    def pin_item(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        """Pin or unpin an item, and return whether it was there."""
        state = read_space(self.connection, owner)
        row = None if state is None else self._find_row(state.space, item_id, owner)
        if state is None or row is None or row.item.deleted:
            return False
        values = {"n": row.n, "pinned": pinned, "revision": self._get_revision(state.space)}
        self.connection.execute(SQL["pin_item"], values)
        return True

    def remove_row(self, space: int, row: ItemRow) -> None:
        """Remove a row for good, without a tombstone."""
        if row.words:
            self.connection.execute(SQL["remove_words"], (row.n, row.words))
        self.connection.execute(SQL["remove_item"], (row.n,))
        self._get_revision(space)
        self.connection.execute(SQL["mark_removed"], (space,))
        self._written[space].remove_row(row.n)
        self.has_erased = True

    def merge_rows(self, space: int, kept: ItemRow, gone: ItemRow) -> None:
        """Let one of two rows that say the same stay, with what the other one adds to it."""
        self.remove_row(space, gone)
        self._replace_row(space, kept, _combine_items(kept.item, gone.item))

    def _upsert_item(self, given: GivenItem, block: _Block, at: int) -> StoredItem:
        item = given.item
        owner = ItemOwner(user=item.user_id, tenant=item.tenant_id)
        space = self._ensure_space(owner).space
        standing = self._find_row(space, item.id, owner)
        if item.deleted:
            return self._take_tombstone(space, item, standing)
        if self._was_forgotten(space, item):
            return StoredItem(given_id=item.id, id=item.id, outcome="forgotten")
        if standing is not None:
            return self._update_row(space, standing, given)
        same = self._find_same(space, owner, block, at)
        if same is not None:
            return StoredItem(given_id=item.id, id=same.item.id, outcome=self._merge_into(space, same, given))
        self._add_row(space, given)
        return StoredItem(given_id=item.id, id=item.id, outcome="added")

    def _ensure_space(self, owner: ItemOwner) -> SpaceState:
        key = owner.tenant, owner.user
        if key not in self._states:
            self.connection.execute(SQL["add_space"], key)
            state = read_space(self.connection, owner)
            assert state is not None, "the space was added"  # noqa: S101 - for the type checker
            self._states[key] = state
            if self.model is not None:
                # Before the first write: what this transaction changes is not in the cache until it is committed.
                self.cache.refresh_space(self.connection, state, self.model)
        return self._states[key]

    def _get_revision(self, space: int) -> int:
        """Return the revision of this transaction in a space."""
        if space not in self._revisions:
            self._revisions[space] = self.connection.execute(SQL["advance_revision"], (space,)).fetchone()[0]
        return self._revisions[space]

    def _find_row(self, space: int, id_: str, owner: ItemOwner) -> ItemRow | None:
        values = self.connection.execute(SQL["find_item"], (space, id_)).fetchone()
        return None if values is None else parse_row(values, owner)

    def _was_forgotten(self, space: int, item: MemoryItem) -> bool:
        values = {"space": space, "id": item.id, "digest": digest_content(self._salt, item.content)}
        return self.connection.execute(SQL["find_tombstone"], values).fetchone() is not None

    def _take_tombstone(self, space: int, item: MemoryItem, standing: ItemRow | None) -> StoredItem:
        """Forget here what was forgotten elsewhere, and never make it."""
        if standing is not None and not standing.item.deleted:
            self._forget_row(space, standing, item.updated_at or item.created_at)
        else:
            digest = digest_content(self._salt, item.content) if item.content else None
            self.connection.execute(SQL["add_tombstone"], {"space": space, "id": item.id, "digest": digest})
        return StoredItem(given_id=item.id, id=item.id, outcome="forgotten")

    def _forget_row(self, space: int, row: ItemRow, at: datetime) -> None:
        digest = digest_content(self._salt, row.item.content)
        self.connection.execute(SQL["add_tombstone"], {"space": space, "id": row.item.id, "digest": digest})
        if row.words:
            self.connection.execute(SQL["remove_words"], (row.n, row.words))
        self.connection.execute(SQL["remove_vector"], (row.n,))
        values = {"n": row.n, "at": to_microseconds(at), "revision": self._get_revision(space)}
        self.connection.execute(SQL["wipe_item"], values)
        self._written[space].remove_row(row.n)
        self.has_erased = True

    def _find_same(self, space: int, owner: ItemOwner, block: _Block, at: int) -> ItemRow | None:
        """Return the item that says the same: in equal words, or near by its vector and told apart by no rule."""
        item = block.items[at].item
        if (twin := self._find_twin(space, digest_sameness(self._salt, item), item)) is not None:
            return twin
        return next((row for row in self._list_near(owner, block, at) if says_same(item, row.item)), None)

    def _find_twin(self, space: int, digest: bytes, item: MemoryItem) -> ItemRow | None:
        """Return the item of the type, place and words of a digest. One that has expired when `item` was written is
        removed, so that this begins anew."""
        values = self.connection.execute(SQL["find_same"], (space, digest)).fetchone()
        if values is None:
            return None
        row = parse_row(values, ItemOwner(user=item.user_id, tenant=item.tenant_id))
        expires_at = row.item.expires_at
        if expires_at is None or expires_at > (item.updated_at or item.created_at):
            return row
        self.remove_row(space, row)
        return None

    def _list_near(self, owner: ItemOwner, block: _Block, at: int) -> list[ItemRow]:
        """Return the items of the type and place whose vectors are as near as those of duplicates, the nearest first.

        The cache has the space as it was when the transaction began; what it has written since is compared beside."""
        query = self._make_near_query(block.items[at])
        if query is None:
            return []
        if block.near is None:
            block.near = self._compare_block(block)
        written = self._written[self._ensure_space(owner).space]
        near = {n: cosine for n, cosine in block.near[at].items() if n not in written.at_row}
        near |= written.find_near([query])[0]
        rows_by_number = {row.n: row for row in read_rows(self.connection, list(near), owner)} if near else {}
        ordered = sorted((n for n in near if n in rows_by_number), key=lambda n: (-near[n], n))
        return [rows_by_number[n] for n in ordered]

    def _compare_block(self, block: _Block) -> list[dict[int, float]]:
        """Return for each item of a block the rows of the cache that are near: one product for each owner."""
        results = [dict[int, float]() for _ in block.items]
        queries: dict[ItemOwner, list[tuple[int, NearQuery]]] = {}
        for at, given in enumerate(block.items):
            owner = ItemOwner(user=given.item.user_id, tenant=given.item.tenant_id)
            if (query := self._make_near_query(given)) is not None:
                queries.setdefault(owner, []).append((at, query))
        for owner, asked in queries.items():
            assert self.model is not None, "there is a query"  # noqa: S101 - for the type checker
            state = self._ensure_space(owner)
            found = self.cache.find_near(self.connection, state, self.model, [query for _, query in asked])
            for (at, _), near in zip(asked, found, strict=True):
                results[at] = near
        return results

    def _make_near_query(self, given: GivenItem) -> NearQuery | None:
        """Return what looks for duplicates of an item by its vector; None where no vector can be compared."""
        item = given.item
        if given.vector is None or self.model is None or given.model != self.model:
            return None
        return NearQuery(
            vector=given.vector,
            rows=RowFilter(places=(get_place(item),), types=(item.type,), at=to_microseconds(item.created_at)),
            most=_NEAREST,
            least=self.duplicate_similarity,
        )

    def _update_row(self, space: int, standing: ItemRow, given: GivenItem) -> StoredItem:
        """Change an item that is there, unless what is there is the same or was said later, or another one says it."""
        new, old = given.item, standing.item
        plain = replace(new, embedding=None, embedding_model=None, last_accessed_at=old.last_accessed_at)
        if plain == old or (new.updated_at or new.created_at) < (old.updated_at or old.created_at):
            return StoredItem(given_id=new.id, id=new.id, outcome="known")
        digest = digest_sameness(self._salt, new)
        if digest != standing.sameness and self._find_twin(space, digest, new) is not None:
            return StoredItem(given_id=new.id, id=new.id, outcome="refused", reason=str(DuplicateMemory()))
        self._replace_row(space, standing, new, given)
        return StoredItem(given_id=new.id, id=new.id, outcome="updated")

    def _merge_into(self, space: int, row: ItemRow, given: GivenItem) -> Outcome:
        merged = _combine_items(row.item, given.item)
        if merged == row.item:
            return "known"
        self._replace_row(space, row, merged)
        return "merged"

    def _add_row(self, space: int, given: GivenItem) -> None:
        values = bind_item(given.item, self._salt, fetched_at=self.fetched_at)
        values |= {"space": space, "revision": self._get_revision(space)}
        n = self.connection.execute(SQL["add_item"], values).lastrowid
        assert n is not None, "the row was added"  # noqa: S101 - for the type checker
        self._write_index(space, n, values, given)

    def _replace_row(self, space: int, row: ItemRow, item: MemoryItem, given: GivenItem | None = None) -> None:
        """Change a row to an item. Without `given` its content, and so its vector, are as they were."""
        fetched_at = row.fetched_at if given is None else self.fetched_at
        values = bind_item(item, self._salt, fetched_at=fetched_at)
        values |= {"n": row.n, "revision": self._get_revision(space)}
        if row.words:
            self.connection.execute(SQL["remove_words"], (row.n, row.words))
        self.connection.execute(SQL["replace_item"], values)
        if item.content != row.item.content:
            self.connection.execute(SQL["remove_vector"], (row.n,))
        self._write_index(space, row.n, values, given or GivenItem(item=item))

    def _write_index(self, space: int, n: int, values: dict[str, Any], given: GivenItem) -> None:
        if values["words"]:
            self.connection.execute(SQL["add_words"], (n, values["words"]))
        if given.vector is not None:
            data = encode_vector(given.vector)
            self.connection.execute(SQL["put_vector"], {"n": n, "model": given.model, "data": data})
            if given.model == self.model:
                self._written[space].put_row(n, values["type"], values["place"], values["expires"], given.vector)


def says_same(new: MemoryItem, old: MemoryItem) -> bool:
    """Whether two items with near vectors are one fact: their owners, numbers, names and negations do not differ."""
    if new.type != old.type or get_place(new) != get_place(old):
        return False
    # Half of a store's import: only items with near vectors are compared by their words.
    from muniment.memory.rules.merging.wording import compare_texts  # noqa: PLC0415
    from muniment.memory.rules.statements.parse import parse_statement  # noqa: PLC0415

    return compare_texts(parse_statement(new.content), parse_statement(old.content), is_vouched=True) == "same"


def _combine_items(kept: MemoryItem, other: MemoryItem) -> MemoryItem:
    """Return an item with what another one that says the same adds: its words, its weight, and its time."""
    last = max(kept.updated_at or kept.created_at, other.updated_at or other.created_at)
    ends = (kept.expires_at, other.expires_at)
    expires_at = None if None in ends else max(end for end in ends if end is not None)
    return replace(
        kept,
        summary=kept.summary or other.summary,
        tags=_unite(kept.tags, other.tags),
        keywords=_unite(kept.keywords, other.keywords),
        confidence=max(kept.confidence, other.confidence),
        importance=max(kept.importance, other.importance),
        updated_at=last if last > (kept.updated_at or kept.created_at) else kept.updated_at,
        ttl=None if expires_at is None else expires_at - kept.created_at,
        pinned=kept.pinned or other.pinned,
    )


def _unite(words: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*words, *others)))[:MAX_WORDS]
