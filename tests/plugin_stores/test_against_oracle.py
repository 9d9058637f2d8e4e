"""Random operations on a store and on a dictionary: every answer is the same.

MUNIMENT_TEST_PLUGIN_OPERATIONS is their number in each store; without it a database has fewer than a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from muniment.plugin.domain.item import CompactPolicy, ItemOwner, ItemScope, ItemType, MemoryItem, StoredItem
from tests.plugin_stores.aligned import TENANTS, AlignedStore, open_aligned
from tests.plugin_stores.conftest import STORES
from tests.plugin_stores.items import START, ask, everything, make_id, make_item
from tests.plugin_stores.oracle import PlainStore, find_change

OPERATIONS = os.environ.get("MUNIMENT_TEST_PLUGIN_OPERATIONS")
USUAL = {"local": 600, "hybrid": 600, "engine": 120, "remote": 120}
SEED = 20
OWNERS = [
    ItemOwner(user=user, tenant=tenant, project=project, session=session)
    for tenant in TENANTS
    for user in ("ana", "ben")
    for project in (None, "shop")
    for session in ("s1", "s2")
]
WORDS = (
    "auth", "cache", "deploy", "queue", "login", "schema", "index",
    "retry", "branch", "review", "认证", "缓存", "部署", "日志",
)  # fmt: skip
# Two with other numbers are never the same by meaning.
STATEMENTS = [f"Step {number}: {' '.join(Random(number).choices(WORDS, k=3))}" for number in range(240)]
IDS = [make_id(number) for number in range(1, 400)]
TYPES: tuple[ItemType, ...] = ("decision", "rule", "todo")
SCOPES: tuple[ItemScope, ...] = ("global", "project", "session")
MOST = 30  # items that compacting leaves: no channel of a store then leaves any of them out
KINDS = {"upsert": 40, "search": 30, "list": 10, "forget": 2, "pin": 7, "compact": 6}


@dataclass
class Comparison:
    """The same random operations on a store and on a dictionary."""

    aligned: AlignedStore
    random: Random = field(default_factory=lambda: Random(SEED))
    days: float = 0.0
    label: str = ""
    other_ids: set[tuple[str, str, str]] = field(default_factory=set)  # that lead to an item with another id

    def __post_init__(self) -> None:
        self.store, self.plain = self.aligned.store, PlainStore(self.aligned.differences)

    async def run_operation(self, number: int) -> None:
        """Carry out the operation of a number on both."""
        self.days = number / 50
        self.aligned.set_days(self.days)
        owner = self.random.choice(OWNERS)
        kind = self.random.choices(list(KINDS), list(KINDS.values()))[0]
        self.label = f"operation {number}: {kind}"
        await getattr(self, f"compare_{kind}")(owner)

    async def compare_upsert(self, owner: ItemOwner) -> None:
        items = {item.id: item for item in (self._make_item(owner) for _ in range(self.random.randint(1, 3)))}
        for item, found in zip(items.values(), await self.store.upsert(list(items.values())), strict=True):
            wanted = self.plain.upsert_item(item)
            assert found == wanted, (self.label, item)
            self._note_id(owner, wanted)

    async def compare_search(self, owner: ItemOwner) -> None:
        text = " ".join(self.random.choices(WORDS, k=self.random.randint(1, 3)))
        query = ask(text, owner=owner, days=self.days, top_k=self.random.randint(1, 9))
        hits = [(hit.item.id, round(hit.score, 9)) for hit in await self.store.search(query)]
        assert hits == [(id_, round(score, 9)) for id_, score in self.plain.search(query)], self.label

    async def compare_list(self, owner: ItemOwner) -> None:
        given = {"everywhere": self.random.random() < 0.5, "pinned": self.random.choice((None, True))}
        query = everything(owner=owner, days=self.days, **given)
        listed = [_strip_times(item) for item in await self.store.list(query)]
        wanted = [_strip_times(item) for item in self.plain.list_items(query)]
        assert sorted(listed, key=_order) == wanted, self.label
        assert [item.updated_at for item in listed] == [item.updated_at for item in wanted], self.label

    async def compare_forget(self, owner: ItemOwner) -> None:
        given = [self._choose_id(owner), *self._choose_standing(owner)]
        assert sorted(await self.store.forget(owner, given)) == sorted(self.plain.forget_items(owner, given)), (
            self.label
        )

    async def compare_pin(self, owner: ItemOwner) -> None:
        id_ = self.random.choice([self._choose_id(owner), *self._choose_standing(owner)])
        pinned = self.random.random() < 0.3
        at = START + timedelta(days=self.days)
        found = await self.store.pin(owner, id_, pinned=pinned)
        assert found == self.plain.pin_item(owner, id_, at, pinned=pinned), self.label

    async def compare_compact(self, owner: ItemOwner) -> None:
        policy = CompactPolicy(at=START + timedelta(days=self.days), merge_similarity=None, max_items=MOST)
        report = await self.store.compact(owner, policy)
        # A dictionary keeps no rows of what is forgotten.
        assert replace(report, purged=0) == self.plain.compact_items(owner, policy), self.label

    def _make_item(self, owner: ItemOwner) -> MemoryItem:
        text = self.random.choice(STATEMENTS)
        return make_item(
            self.random.choice((text, f"{text}.", text.lower())),
            owner=owner,
            days=self.days,
            id=self._choose_id(owner),
            type=self.random.choice(TYPES),
            scope=self.random.choice(SCOPES) if owner.project else "global",
            tags=tuple(self.random.choices(("ops", "web"), k=self.random.randint(0, 1))),
            importance=self.random.randint(0, 4) / 4,
            confidence=self.random.randint(7, 10) / 10,
            ttl=self.random.choice((None, None, timedelta(days=1))),
            pinned=self.random.random() < 0.05,
        )

    def _choose_id(self, owner: ItemOwner) -> str:
        while True:
            id_ = self.random.choice(IDS)
            if (owner.tenant, owner.user, id_) not in self.other_ids:
                return id_

    def _choose_standing(self, owner: ItemOwner) -> list[str]:
        """Return an id of an item that is there, if there is any."""
        there = sorted(self.plain.items.get((owner.tenant, owner.user), {}))
        return [self.random.choice(there)] if there else []

    def _note_id(self, owner: ItemOwner, stored: StoredItem) -> None:
        if self.aligned.differences.keeps_other_ids and stored.id != stored.given_id:
            self.other_ids.add((owner.tenant, owner.user, stored.given_id))


def _strip_times(item: MemoryItem) -> MemoryItem:
    return replace(item, last_accessed_at=None, updated_at=find_change(item))


def _order(item: MemoryItem) -> tuple[float, str]:
    return -find_change(item).timestamp(), item.id


@pytest.mark.parametrize("name", STORES)
@pytest.mark.timeout(3600)
async def test_random_operations(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """P-64 to P-79, P-84, P-88, P-94."""

    def find_database() -> str:
        return str(request.getfixturevalue("database_url"))

    async with open_aligned(name, tmp_path, find_database) as aligned:
        comparison = Comparison(aligned)
        for number in range(int(OPERATIONS or USUAL[name])):
            await comparison.run_operation(number)
