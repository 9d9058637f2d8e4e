"""A host that writes, sends and compacts, and is killed at the statement or request whose number it is given."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

from pydantic import SecretStr

from muniment.plugin.domain.item import CompactPolicy, ItemOwner, MemoryItem
from muniment.plugin.domain.operation import ChangePage, Operation, OperationAnswer
from muniment.plugin.stores.hybrid.store import HybridStore
from muniment.plugin.stores.remote.store import RemoteStore
from tests.kill_points import Switch
from tests.plugin_sync.devices import ANA, CONTENTS, NOON, Clock, make_item, open_device

WRITES = 12


class CountedRemote(RemoteStore):
    """A remote store whose requests and answers count."""

    switch: Switch

    async def apply_operations(self, operations: Sequence[Operation]) -> Sequence[OperationAnswer]:
        self.switch.step("apply_operations begins")
        answers = await super().apply_operations(operations)
        self.switch.step("apply_operations has ended")
        return answers

    async def read_changes(self, owner: ItemOwner, since: int, limit: int = 100) -> ChangePage:
        self.switch.step("read_changes begins")
        page = await super().read_changes(owner, since, limit)
        self.switch.step("read_changes has ended")
        return page


def make_numbered(number: int, owner: ItemOwner = ANA) -> MemoryItem:
    """An item of an owner that is like no other."""
    content = f"{CONTENTS[number % len(CONTENTS)][:-1]} since {1950 + number}."
    return make_item(number, content, tenant_id=owner.tenant)


def open_store(path: Path, url: str, token: str, switch: Switch) -> HybridStore:
    """A store that sends when it is told to."""
    remote = CountedRemote(url, SecretStr(token), timeout_seconds=30)
    remote.switch = switch
    return open_device(path, remote, Clock())


def acknowledge(*words: object) -> None:
    """Say that something is done, before anything else is."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def work(store: HybridStore, owner: ItemOwner, random: Random) -> None:
    """Write, pin, forget, send and compact, and say what was done."""
    there: list[int] = []
    for number in range(WRITES):
        await store.upsert([make_numbered(number, owner)])
        acknowledge("written", number)
        there.append(number)
        if number % 3 == 1:
            chosen = random.choice(there)
            await store.pin(owner, make_numbered(chosen).id, pinned=True)
            acknowledge("pinned", chosen)
        if number % 4 == 3:
            chosen = there.pop(random.randrange(len(there)))
            acknowledge("forgetting", chosen)
            await store.forget(owner, [make_numbered(chosen).id])
            acknowledge("forgotten", chosen)
        if number % 3 == 2:
            await store.sync_now(owner)
        if number == WRITES // 2:
            await store.compact(owner, CompactPolicy(at=NOON + timedelta(days=60), forgotten_days=0))
    acknowledge("sent", await store.sync_now(owner))


def main(path: str, url: str, token: str, tenant: str, last: str) -> None:
    """Work until the switch ends it; say what its steps were if it does not."""
    switch = Switch(int(last))
    switch.count_statements()

    async def run() -> None:
        store = open_store(Path(path), url, token, switch)
        await work(store, ItemOwner(user="ana", tenant=tenant), Random(3))
        await store.close()

    asyncio.run(run())
    acknowledge(json.dumps(switch.labels))


if __name__ == "__main__":
    main(*sys.argv[1:])
