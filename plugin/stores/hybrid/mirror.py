"""The local store of a hybrid one: it also takes items as a server has them, under the server's ids."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from muniment.plugin.domain.item import ItemOwner, MemoryItem, Outcome
from muniment.plugin.stores.hybrid.outbox import SQL
from muniment.plugin.stores.local.rows import SQL as ITEM_SQL, ItemRow, digest_sameness, parse_row
from muniment.plugin.stores.local.searching import read_space
from muniment.plugin.stores.local.store import LocalStore
from muniment.plugin.stores.local.writing import GivenItem, ItemWriter

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class MirrorWriter(ItemWriter):
    """The writes of one transaction, among them those that a server has decided."""

    def place_item(self, item: MemoryItem) -> Outcome:
        """Write an item as a server has it, under its id, whatever its times are and whatever else says the same.

        What was forgotten here is not made again: the outcome is `forgotten`, also for its content under another id."""
        owner = _get_owner(item)
        space = self._ensure_space(owner).space
        if self._was_forgotten(space, item):
            return "forgotten"
        standing = self._find_row(space, item.id, owner)
        if standing is None:
            self._add_row(space, GivenItem(item=item))
            return "added"
        placed = replace(item, last_accessed_at=standing.item.last_accessed_at)
        if placed == standing.item and standing.fetched_at == self.fetched_at:
            return "known"
        self._replace_row(space, standing, placed, GivenItem(item=placed))
        return "updated"

    def remove_item(self, owner: ItemOwner, item_id: str) -> None:
        """Remove an item that a server has no more, if it is there. It may come back with a later change."""
        space = self._ensure_space(owner).space
        row = self._find_row(space, item_id, owner)
        if row is not None and not row.item.deleted:
            self.remove_row(space, row)

    def leave_tombstone(self, owner: ItemOwner, item_id: str) -> None:
        """Let an id be that of something forgotten, whatever it said."""
        space = self._ensure_space(owner).space
        self.connection.execute(ITEM_SQL["add_tombstone"], {"space": space, "id": item_id, "digest": None})

    def rename_item(self, owner: ItemOwner, item_id: str, server_id: str) -> None:
        """Let an item have the id that a server has for it; where that is here already, it stays alone. What was
        forgotten under one id is forgotten under both."""
        space = self._ensure_space(owner).space
        row = self._find_row(space, item_id, owner)
        if self.is_forgotten(owner, item_id):
            self.remove_item(owner, server_id)
            self.leave_tombstone(owner, server_id)
        elif row is not None and self._find_row(space, server_id, owner) is not None:
            self.remove_row(space, row)
        elif row is not None:
            values = {"n": row.n, "id": server_id, "revision": self._get_revision(space)}
            self.connection.execute(SQL["rename_item"], values)

    def is_forgotten(self, owner: ItemOwner, item_id: str) -> bool:
        """Return whether an item was forgotten here under this id."""
        space = self._ensure_space(owner).space
        return self.connection.execute(SQL["find_tombstone"], (space, item_id)).fetchone() is not None

    def is_content_forgotten(self, item: MemoryItem) -> bool:
        """Return whether an item was forgotten here, under its id or under another one."""
        return self._was_forgotten(self._ensure_space(_get_owner(item)).space, item)

    def find_item(self, owner: ItemOwner, item_id: str) -> ItemRow | None:
        """Return the row of an item; None where there never was one."""
        return self._find_row(self._ensure_space(owner).space, item_id, owner)

    def find_standing(self, item: MemoryItem) -> ItemRow | None:
        """Return the row that has the id of an item, or else one that says the same in the same words."""
        owner = _get_owner(item)
        space = self._ensure_space(owner).space
        row = self._find_row(space, item.id, owner)
        if row is not None:
            return row
        same = self.connection.execute(ITEM_SQL["find_same"], (space, digest_sameness(self._salt, item))).fetchone()
        return None if same is None else parse_row(same, owner)


class MirrorStore(LocalStore):
    """A local store whose file can be changed by any work of one transaction."""

    async def apply_work(self, work: Callable[[MirrorWriter], T], *, fetched_at: datetime | None = None) -> T:
        """Return the result of `work` in one transaction, which is on the disk when this returns. `fetched_at` is when
        what it writes was found on a server. Raises StoreFull, StoreDown, Busy; then nothing is written."""

        def do_work(writer: ItemWriter) -> T:
            mirror = MirrorWriter(
                connection=writer.connection,
                cache=writer.cache,
                duplicate_similarity=writer.duplicate_similarity,
                model=writer.model,
                fetched_at=writer.fetched_at,
            )
            result = work(mirror)
            writer.has_erased = mirror.has_erased
            return result

        return await self._write(do_work, None, fetched_at=fetched_at)

    def read_item(self, connection: sqlite3.Connection, owner: ItemOwner, item_id: str) -> MemoryItem | None:
        """Return an item within a transaction; None where there never was one."""
        state = read_space(connection, owner)
        if state is None:
            return None
        values = connection.execute(ITEM_SQL["find_item"], (state.space, item_id)).fetchone()
        return None if values is None else parse_row(values, owner).item


def _get_owner(item: MemoryItem) -> ItemOwner:
    return ItemOwner(tenant=item.tenant_id, user=item.user_id)
