"""Two machines with a file each, and one server. `muniment serve` runs, and a token says whose memory it is.

muniment token create --user example
MUNIMENT_PLUGIN_TOKEN=mun_… python two_machines.py"""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from uuid import uuid4

from muniment import load_settings
from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem
from muniment.plugin.stores.hybrid.opening import open_hybrid_store
from muniment.plugin.stores.hybrid.store import HybridStore

USER = "example"
OWNER = ItemOwner(user=USER, tenant=load_settings().tenant)  # those of the token


def open_machine(name: str) -> HybridStore:
    """Open the store of a machine: its own file, and the server that both have."""
    settings = load_settings()
    url = os.environ.get("MUNIMENT_URL", "http://127.0.0.1:8377")
    changes = {"store": "hybrid", "url": url, "file": str(settings.home / f"{name}.sqlite")}
    return open_hybrid_store(
        settings.model_copy(update={"plugin": settings.plugin.model_copy(update=changes)}), is_automatic=False
    )


async def describe(store: HybridStore) -> str:
    """Return what a machine knows."""
    items = await store.list(ListQuery(owner=OWNER, at=datetime.now(UTC), everywhere=True))
    return "; ".join(item.content for item in items) or "nothing"


async def main() -> None:
    """Write on the laptop, forget on the desktop, and let both meet the server in between."""
    laptop, desktop = open_machine("laptop"), open_machine("desktop")
    rule = MemoryItem(
        id=str(uuid4()),
        tenant_id=OWNER.tenant,
        user_id=USER,
        type="rule",
        content="The team uses pnpm, never npm.",
        created_at=datetime.now(UTC),
    )
    await laptop.upsert([rule])  # the file has it; the server need not be there
    await laptop.sync_now(OWNER)
    await desktop.sync_now(OWNER)
    print("desktop knows:", await describe(desktop))
    await desktop.forget(OWNER, [rule.id])
    await laptop.pin(OWNER, rule.id, pinned=True)  # it does not know yet
    for machine in (desktop, laptop):
        await machine.sync_now(OWNER)
    print("laptop knows:", await describe(laptop))
    await laptop.close()
    await desktop.close()


if __name__ == "__main__":
    asyncio.run(main())
