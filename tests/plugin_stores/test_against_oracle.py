"""Random operations on a store and on a dictionary: every answer is the same.

MUNIMENT_TEST_PLUGIN_OPERATIONS is their number: 600, or 10,000 for the long run."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from muniment.plugin.domain.item import CompactPolicy, ItemOwner, ItemScope, ItemType, MemoryItem
from muniment.plugin.ports import MemoryStore
from tests.plugin_stores.items import START, ask, everything, make_id, make_item
from tests.plugin_stores.oracle import PlainStore

OPERATIONS = int(os.environ.get("MUNIMENT_TEST_PLUGIN_OPERATIONS", "600"))
SEED = 20
OWNERS = [
    ItemOwner(user=user, tenant=tenant, project=project, session=session)
    for tenant in ("acme", "other")
    for user in ("ana", "ben")
    for project in (None, "shop")
    for session in ("s1", "s2")
]
WORDS = (
    "auth", "cache", "deploy", "queue", "token", "schema", "index",
    "retry", "branch", "review", "认证", "缓存", "部署", "令牌",
)  # fmt: skip
TYPES: tuple[ItemType, ...] = ("decision", "rule", "todo")
SCOPES: tuple[ItemScope, ...] = ("global", "project", "session")
MOST = 50  # items that compacting leaves: no channel of a store then leaves any of them out


# The engine's times are those of its own clock, and importance is a step there: neither is what the dictionary keeps.
@pytest.mark.parametrize("store", ["local", "hybrid"], indirect=True)
@pytest.mark.timeout(900)
async def test_random_operations(store: MemoryStore) -> None:
    """P-64 to P-79, P-84, P-88, P-94."""
    random, plain = Random(SEED), PlainStore()
    ids = [make_id(number) for number in range(1, 400)]
    for number in range(OPERATIONS):
        days = number / 50
        owner = random.choice(OWNERS)
        kind = random.choices(("upsert", "search", "list", "forget", "pin", "compact"), (40, 30, 10, 3, 7, 3))[0]
        label = f"operation {number}: {kind}"
        if kind == "upsert":
            items = [_make(random, owner, ids, days) for _ in range(random.randint(1, 3))]
            stored = await store.upsert(items)
            assert list(stored) == [plain.upsert_item(item) for item in items], label
        elif kind == "search":
            query = ask(
                " ".join(random.choices(WORDS, k=random.randint(1, 5))),
                owner=owner,
                days=days,
                top_k=random.randint(1, 9),
            )
            hits = [(hit.item.id, round(hit.score, 9)) for hit in await store.search(query)]
            assert hits == [(id_, round(score, 9)) for id_, score in plain.search(query)], label
        elif kind == "list":
            listing = everything(
                owner=owner, days=days, everywhere=random.random() < 0.5, pinned=random.choice((None, True))
            )
            listed = [replace(item, last_accessed_at=None) for item in await store.list(listing)]
            assert listed == plain.list_items(listing), label
        elif kind == "forget":
            given = random.choices(ids, k=3)
            assert sorted(await store.forget(owner, given)) == sorted(plain.forget_items(owner, given)), label
        elif kind == "pin":
            id_, pinned = random.choice(ids), random.random() < 0.3
            assert await store.pin(owner, id_, pinned=pinned) == plain.pin_item(owner, id_, pinned=pinned), label
        else:
            policy = CompactPolicy(at=START + timedelta(days=days), merge_similarity=None, max_items=MOST)
            report = replace(
                await store.compact(owner, policy), purged=0
            )  # a dictionary keeps no rows of what is forgotten
            assert report == plain.compact_items(owner, policy), label


def _make(random: Random, owner: ItemOwner, ids: list[str], days: float) -> MemoryItem:
    scope = random.choice(SCOPES) if owner.project else "global"
    return make_item(
        " ".join(random.choices(WORDS, k=random.randint(1, 3))) + random.choice((".", "")),
        owner=owner,
        days=round(days, 3),
        id=random.choice(ids),
        type=random.choice(TYPES),
        scope=scope,
        tags=tuple(random.choices(("ops", "web"), k=random.randint(0, 1))),
        importance=random.randint(0, 10) / 10,
        confidence=random.randint(5, 10) / 10,
        ttl=random.choice((None, None, timedelta(days=1))),
        pinned=random.random() < 0.05,
    )
