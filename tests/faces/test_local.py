"""`local import` and `local export`: items between the local file and the database."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem
from muniment.plugin.stores.local.store import LocalStore
from tests.faces.conftest import Muniment
from tests.plugin_stores.items import make_item

ME = ItemOwner(user="me")
TEXTS = ["The release branch is cut on Mondays.", "Backups of Frankfurt are kept for 30 days."]


async def _write(path: Path, texts: list[str]) -> None:
    store = LocalStore(path)
    await store.upsert([make_item(text, owner=ME, type="decision") for text in texts])
    await store.close()


async def _read(path: Path) -> list[MemoryItem]:
    store = LocalStore(path)
    try:
        return list(await store.list(ListQuery(owner=ME, at=datetime.now(UTC), everywhere=True)))
    finally:
        await store.close()


def test_there_and_back(muniment: Muniment, tmp_path: Path) -> None:
    """P-94: what is exported and imported into a new file is what there was; a second run adds nothing."""
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    with asyncio.Runner() as runner:
        runner.run(_write(first, TEXTS))
    dry = muniment("local", "export", "--file", str(first), "--dry-run", "--json").json
    assert dry == {"user": "me", "read": 2, "outcomes": {}, "dry_run": True}
    assert muniment("local", "export", "--file", str(first), "--json").json["outcomes"] == {"added": 2}
    again = muniment("local", "export", "--file", str(first), "--json").json["outcomes"]
    assert "added" not in again
    assert "2 items read" in muniment("local", "import", "--file", str(second)).out
    with asyncio.Runner() as runner:
        there, back = runner.run(_read(first)), runner.run(_read(second))
    assert {item.content for item in back} == {item.content for item in there}
    assert {item.type for item in back} == {"decision"}


def test_what_is_refused(muniment: Muniment) -> None:
    assert muniment("local", "export", "--user", " ").code == 2
    assert muniment("local", "import", "--file", "").code == 2
