"""The bounds of the file, which the plugin keeps behind replies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from muniment.plugin.domain.item import CompactPolicy, CompactReport, ItemOwner, MemoryItem, StoredItem
from muniment.plugin.sessions import make_owner
from muniment.plugin.stores.local.store import LocalStore
from tests.plugin.hosts import DAY, make_settings, open_session

SAID = ("Always use pnpm.", "Never commit to main.", "I prefer short answers.", "I prefer dark themes.")


class Watched(LocalStore):
    """A local store that counts what compacts it, and may take long for it or for a write."""

    policies: tuple[CompactPolicy, ...] = ()
    compact_seconds = 0.0
    write_seconds = 0.0

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        self.policies += (policy,)
        await asyncio.sleep(self.compact_seconds)
        return await super().compact(owner, policy)

    async def upsert(self, items: Sequence[MemoryItem], **given: Any) -> Sequence[StoredItem]:
        await asyncio.sleep(self.write_seconds)
        return await super().upsert(items, **given)


async def test_the_least_important_go_and_what_is_pinned_stays(tmp_path: Path) -> None:
    """`plugin.max_items`, through the plugin: at the first turn of a process."""
    async with open_session(make_settings(tmp_path)) as session:
        for text in SAID:
            await session.say(text)
        items = await session.list_items()
        assert len(items) >= 4
        assert session.plugin.store is not None
        for n, item in enumerate(items):  # the first is the least important, and pinned
            await session.plugin.store.upsert([replace(item, importance=(n + 1) / 10, updated_at=session.at)])
        assert await session.plugin.store.pin(make_owner(session.identity), items[0].id, pinned=True)
    later = DAY + timedelta(hours=1)
    async with open_session(make_settings(tmp_path, max_items=2), session="two", at=later) as session:
        await session.say("thanks")
    async with open_session(make_settings(tmp_path), session="three", at=later) as session:
        kept = {item.id for item in await session.list_items()}
    assert kept == {items[0].id, items[-1].id}


async def test_it_is_done_at_opening_and_after_a_day_or_many_writes(tmp_path: Path) -> None:
    store = Watched(tmp_path / "plugin.sqlite")
    async with open_session(make_settings(tmp_path, max_items=2), store=store) as session:
        await session.say("thanks")
        await session.say("ok")
        assert [len(store.policies)] == [1]
        assert (store.policies[0].max_items, store.policies[0].merge_similarity) == (2, 0.92)
        await session.say(SAID[0])
        await session.say(SAID[1])
        assert [len(store.policies)] == [2]
        assert session.plugin.upkeep is not None
        await session.plugin.upkeep.close()  # one is under way at a time
        session.at += timedelta(days=1)
        await session.say("thanks")
        assert [len(store.policies)] == [3]
    await store.close()


async def test_no_turn_waits_for_it_and_it_ends_in_time(tmp_path: Path) -> None:
    """`plugin.after_seconds` bounds it."""
    store = Watched(tmp_path / "plugin.sqlite")
    store.compact_seconds = 60.0
    begun = time.monotonic()
    async with open_session(make_settings(tmp_path, after_seconds=2.0), store=store) as session:
        await session.say(SAID[0])
        assert [len(store.policies)] == [1]
        await session.say(SAID[1])
        assert len(await session.list_items()) >= 2
    assert time.monotonic() - begun < 20
    await store.close()


async def test_a_write_behind_a_reply_ends_in_time(tmp_path: Path) -> None:
    """`plugin.after_seconds` bounds it, too, and the turn is counted."""
    store = Watched(tmp_path / "plugin.sqlite")
    store.write_seconds = 60.0
    async with open_session(make_settings(tmp_path, after_seconds=1.0), store=store) as session:
        await session.say(SAID[0])
        assert (await session.read_report()).refusals == {"memory failed": 1}
        assert await session.list_items() == []
    await store.close()
