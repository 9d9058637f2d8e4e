"""A turn is answered whatever happens to the files of its memory (P-16, P-90, P-109, P-116, P-117)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from muniment.plugin.stores.local.store import LocalOptions, LocalStore
from tests.plugin.hosts import make_settings
from tests.plugin_damage.damages import fill_disk, lock_file, overwrite_file, remove_file, replace_file
from tests.plugin_damage.talks import Acknowledged, list_warnings, open_talk


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What happens to which file, and what is said of it. `is_kept`: what the file had is found meanwhile."""

    name: str
    apply: Callable[[Path], AbstractContextManager[None]]
    file: str = "plugin.sqlite"
    said: str
    is_kept: bool = True
    writes: bool = False


DAMAGES = (
    Damage(name="locked", apply=lock_file, said="another process is at it"),
    Damage(name="full", apply=fill_disk, said="no space left"),
    Damage(name="overwritten", apply=overwrite_file, said="plugin.sqlite.broken-", is_kept=False, writes=True),
    Damage(name="replaced", apply=replace_file, said="plugin.sqlite.broken-", is_kept=False, writes=True),
    Damage(name="removed", apply=remove_file, said="", is_kept=False, writes=True),
    Damage(name="book locked", apply=lock_file, file="plugin-book.sqlite", said="book failed", writes=True),
    Damage(
        name="book overwritten",
        apply=overwrite_file,
        file="plugin-book.sqlite",
        said="book.sqlite.broken-",
        writes=True,
    ),
    Damage(
        name="book replaced", apply=replace_file, file="plugin-book.sqlite", said="book.sqlite.broken-", writes=True
    ),
    Damage(name="book removed", apply=remove_file, file="plugin-book.sqlite", said="", writes=True),
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
async def test_every_turn_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, damage: Damage
) -> None:
    path, kept = tmp_path / "plugin.sqlite", Acknowledged(monkeypatch)
    settings = make_settings(tmp_path, recall_seconds=1.5)
    store = LocalStore(path, options=LocalOptions(busy_seconds=0.3))
    async with open_talk(settings, store=store, session="before") as talk:
        await talk.say("We decided to use JWT for the auth refactor.")
    async with open_talk(settings, store=store) as talk:
        await talk.say("Never commit to main.")
        await talk.say("/memory status")  # writes the report of the turn
        if not damage.is_kept:
            kept.ids.clear()
        with damage.apply(tmp_path / damage.file):
            for text in ("We decided to use Redis for the cart.", "continue the auth refactor", "Never use tabs."):
                shown = await talk.say(text)
                assert ("JWT" in shown) is damage.is_kept or "auth" not in text
            assert damage.said in await talk.say("/memory status")
            assert await talk.say("/memory")
        await talk.say("We decided to use Kafka for the orders.")
        assert len(talk.answered) == 5
    await store.close()
    statements = "".join(await kept.check_file(path, talk.at))
    for word, is_there in (("Kafka", True), ("Redis", damage.writes), ("JWT", damage.is_kept)):
        assert (word in statements) is is_there, word
    said = list_warnings(caplog)
    assert damage.said in " ".join(said)
    assert len(said) <= 3
