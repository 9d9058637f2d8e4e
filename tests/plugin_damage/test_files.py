"""A turn is answered whatever happens to the files of its memory (P-16, P-90, P-109, P-116, P-117)."""

from __future__ import annotations

import asyncio
import fcntl
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from muniment.plugin.stores.local.store import LocalOptions, LocalStore
from tests.plugin.hosts import make_settings
from tests.plugin_damage.damages import fill_disk, lock_file, overwrite_file, remove_file, replace_file
from tests.plugin_damage.talks import Acknowledged, list_warnings, open_talk

ROOT = Path(__file__).parents[2]


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every account may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


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


@pytest.mark.parametrize("what", ["files", "folder"])
def test_files_that_can_only_be_read(public_folder: Path, what: str) -> None:
    """What is there is found, and what cannot be kept is said once."""
    home = public_folder / "home"
    asyncio.run(teach(home))
    for path in home.iterdir():
        path.chmod(0o444 if what == "files" else 0o666)
    home.chmod(0o777 if what == "files" else 0o555)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.plugin_damage.reader", str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    home.chmod(0o755)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    continued, *_, status = answer["shown"]
    assert "JWT" in continued
    assert "plugin.sqlite can only be read" in status
    assert "The last write failed" in status
    assert len(answer["log"]) == len(set(answer["log"])) <= 4
    assert any(line.startswith("The last write failed") for line in answer["log"])


async def teach(home: Path) -> None:
    """Let a memory have something."""
    async with open_talk(make_settings(home), session="before") as talk:
        await talk.say("We decided to use JWT for the auth refactor.")


@pytest.mark.parametrize("file", ["plugin.sqlite", "plugin-book.sqlite"])
async def test_a_file_that_another_process_opens_without_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    """One that was stopped while it made the tables has the lock of the file."""
    await teach(tmp_path)
    with (tmp_path / f"{file}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = LocalStore(tmp_path / "plugin.sqlite", options=LocalOptions(busy_seconds=0.3))
        async with open_talk(make_settings(tmp_path, recall_seconds=1.0), store=store) as talk:
            assert await talk.say("continue the auth refactor") == ""
            await talk.say("Never use tabs.")
            assert "another process is at it" in await talk.say("/memory status")
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert "JWT" in await talk.say("continue the auth refactor")
        await store.close()
    assert len(list_warnings(caplog)) <= 4


async def test_a_file_of_a_newer_program(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is left as it is, and each turn and command is answered."""
    await teach(tmp_path)
    for path in tmp_path.glob("*.sqlite"):
        with sqlite3.connect(path) as connection:
            (part,) = connection.execute("select part from migration limit 1").fetchone()
            connection.execute("insert into migration values (?, '9999_later.sql', '')", (part,))
    async with open_talk(make_settings(tmp_path)) as talk:
        for text in ("continue the auth refactor", "Never use tabs.", "/memory", "/memory status"):
            await talk.say(text)
        assert talk.answered == ["continue the auth refactor", "Never use tabs."]
    assert "newer" in caplog.text
    assert len(list_warnings(caplog)) <= 3
    with sqlite3.connect(tmp_path / "plugin.sqlite") as connection:
        assert connection.execute("select count(*) from item").fetchone() == (1,)


async def test_a_session_that_is_off_stays_off_with_a_new_book(tmp_path: Path) -> None:
    """P-110: also where the file that says so was broken and put aside."""
    await teach(tmp_path)
    async with open_talk(make_settings(tmp_path)) as talk:
        await talk.say("/memory off")
        with overwrite_file(tmp_path / "plugin-book.sqlite"):
            for _ in range(2):
                assert await talk.say("continue the auth refactor") == ""
    async with open_talk(make_settings(tmp_path)) as talk:
        assert await talk.say("continue the auth refactor") == ""
