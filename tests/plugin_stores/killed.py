"""A process that writes, pins, forgets and compacts in a local file, and is killed at the statement whose number it is
given. It says what is done once the store has said so."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path

from muniment.plugin.domain.item import CompactPolicy
from muniment.plugin.stores.local.store import LocalStore
from tests.kill_points import Switch
from tests.plugin_stores.items import ANA, START, ask, make_id, make_item

WRITES = 24


def acknowledge(*words: object) -> None:
    """Say that something is done, or begun, before anything else is."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def work(path: Path) -> None:
    """Every second item stays; others are unimportant, expire, or are forgotten."""
    store, at = LocalStore(path), START + timedelta(days=60)
    for number in range(1, WRITES + 1):
        stays = number % 2 == 1
        ttl = timedelta(days=1) if number % 4 == 0 else None
        content = f"Statement number {number} is about servers."
        item = make_item(content, id=make_id(number), importance=0.9 if stays else 0.0, ttl=ttl)
        await store.upsert([item])
        acknowledge("written" if stays else "passing", number)
        if number % 6 == 3:
            await store.pin(ANA, item.id, pinned=True)
            acknowledge("pinned", number)
        if number % 6 == 5:
            acknowledge("forgetting", number)
            await store.forget(ANA, [item.id])
            acknowledge("forgotten", number)
        if number % 7 == 0:
            await store.search(ask(f"statement {number}"))
        if number % 8 == 0:
            await store.compact(ANA, CompactPolicy(at=at, forgotten_days=0, max_items=WRITES // 2))
    await store.close()


def main(path: str, last: str) -> None:
    """Work until the switch ends it; say what its steps were if it does not."""
    switch = Switch(int(last))
    switch.count_statements()
    asyncio.run(work(Path(path)))
    acknowledge(json.dumps(switch.labels))


if __name__ == "__main__":
    main(*sys.argv[1:])
