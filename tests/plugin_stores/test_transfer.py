"""Items from one store into another."""

from __future__ import annotations

from pathlib import Path

from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.stores.local.store import LocalStore
from muniment.plugin.stores.transfer import transfer_items
from tests.plugin_stores.items import ANA, START, everything, make_item


async def test_items_move_between_stores(tmp_path: Path) -> None:
    """P-94: all fields, of all projects and sessions; a second run adds nothing, a dry one writes nothing."""
    source, target = LocalStore(tmp_path / "a.sqlite"), LocalStore(tmp_path / "b.sqlite")
    items = [
        make_item("Use pnpm.", tags=("build",), pinned=True),
        make_item("The shop ships on Tuesdays.", scope="project", type="rule", importance=0.25),
        make_item("Fix the login first.", scope="session", type="todo"),
    ]
    await source.upsert(items)
    dry = await transfer_items(source, target, ANA, START, is_dry=True)
    assert (dry.read, dry.outcomes) == (3, {})
    assert not await target.list(everything(everywhere=True))
    assert (await transfer_items(source, target, ANA, START)).outcomes == {"added": 3}
    assert (await transfer_items(source, target, ANA, START)).outcomes == {"known": 3}
    assert await target.list(everything(everywhere=True)) == await source.list(everything(everywhere=True))
    await target.forget(ItemOwner(user=ANA.user, tenant=ANA.tenant), [items[0].id])
    assert (await transfer_items(source, target, ANA, START)).outcomes == {"forgotten": 1, "known": 2}
    await source.close()
    await target.close()
