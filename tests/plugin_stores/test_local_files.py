"""What a local store does where its file is locked, broken, full or read-only, and what is left in it of a text."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from muniment.memory.errors import BadConfig, Busy, EditedMigration, StoreDown, StoreFull
from muniment.plugin.domain.item import CompactPolicy
from muniment.plugin.stores.local.store import LocalOptions, LocalStore
from tests.plugin_stores.items import ANA, START, ask, everything, make_item

CANARY = "zeppelinwurst"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "plugin.sqlite"


@pytest_asyncio.fixture
async def local(path: Path) -> AsyncIterator[LocalStore]:
    store = LocalStore(path, options=LocalOptions(busy_seconds=0.2))
    yield store
    await store.close()


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every account may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def _read_all(path: Path) -> bytes:
    """The bytes of the file and of all beside it."""
    return b"".join(each.read_bytes() for each in path.parent.iterdir())


async def test_a_new_process_finds_what_was_written(path: Path) -> None:
    """P-8, P-30, P-39: a file, no model, no server."""
    first = LocalStore(path)
    await first.upsert([make_item("Use pnpm.")])
    await first.close()
    second = LocalStore(path)
    assert [hit.item.content for hit in await second.search(ask("pnpm"))] == ["Use pnpm."]
    await second.close()


async def test_the_file_is_its_owners(local: LocalStore, path: Path) -> None:
    await local.upsert([make_item("Use pnpm.")])
    assert {each.stat().st_mode & 0o077 for each in path.parent.iterdir()} == {0}


async def test_a_forgotten_text_is_in_no_file(local: LocalStore, path: Path) -> None:
    """P-88: neither in the file, nor in its log, nor in the index of words; what is not forgotten stays."""
    other = make_item("Use pnpm.")
    filler = [make_item(f"Statement {number} about servers.") for number in range(300)]
    secret = make_item(f"The {CANARY} is in the fridge.", summary=f"{CANARY}!", tags=(CANARY,), origin=CANARY)
    await local.upsert([other, secret, *filler])
    assert CANARY.encode() in _read_all(path)
    await local.forget(ANA, [secret.id])
    await local.close()
    assert CANARY.encode() not in _read_all(path)
    again = LocalStore(path)
    assert len(await again.search(ask("pnpm"))) == 1
    [stored] = await again.upsert([secret])
    await again.close()
    assert stored.outcome == "forgotten"
    assert CANARY.encode() not in _read_all(path)


async def test_a_text_that_was_forgotten_before_a_kill_leaves_with_the_next_start(path: Path) -> None:
    first = LocalStore(path)
    secret = make_item(f"The {CANARY} is in the fridge.")
    await first.upsert([secret])
    await first.database.write(lambda connection: None)
    await first.forget(ANA, [secret.id])
    copy = path.parent.with_name("copy")
    shutil.copytree(path.parent, copy)  # as a kill would leave it
    await first.close()
    second = LocalStore(copy / path.name)
    await second.search(ask("pnpm"))
    await second.close()
    assert CANARY.encode() not in _read_all(copy / path.name)


async def test_what_compacting_removes_is_in_no_file(local: LocalStore, path: Path) -> None:
    await local.upsert([make_item(f"The {CANARY} is in the fridge.", importance=0), make_item("Use pnpm.")])
    assert (await local.compact(ANA, CompactPolicy(at=START, max_items=1))).dropped == 1
    assert CANARY.encode() not in _read_all(path)


async def test_a_lock_of_another_process_is_busy(local: LocalStore, path: Path) -> None:
    """P-117: reads go on meanwhile."""
    await local.upsert([make_item("Use pnpm.")])
    with _run_program(f"c = sqlite3.connect({str(path)!r}); c.execute('begin immediate'); wait()"):
        with pytest.raises(Busy):
            await local.upsert([make_item("Answer briefly.")])
        assert len(await local.search(ask("pnpm"))) == 1
    assert [each.outcome for each in await local.upsert([make_item("Answer briefly.")])] == ["added"]


class _Program:
    """A process that has done something, and waits until the block ends."""

    def __init__(self, code: str) -> None:
        text = f"import sqlite3, sys\ndef wait():\n    print('ready', flush=True)\n    sys.stdin.read()\n{code}"
        self._process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def __exit__(self, *_: object) -> None:
        self._process.communicate("")


def _run_program(code: str) -> _Program:
    return _Program(code)


@pytest.mark.parametrize("damage", ["no database", "header", "middle", "empty tables"])
async def test_a_broken_file_is_put_aside(path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    """P-116: its new name is told, nothing of it is lost, and the host goes on."""
    store = LocalStore(path)
    await store.upsert([make_item(f"Statement {number} about servers and clients.") for number in range(400)])
    await store.close()
    _damage_file(path, damage)
    broken = path.read_bytes()
    store = LocalStore(path)
    with caplog.at_level(logging.ERROR):
        await store.search(ask("servers"))
        await store.list(everything())
        [stored] = await store.upsert([make_item("Use pnpm.")])
    assert stored.outcome == "added"
    assert [hit.item.content for hit in await store.search(ask("pnpm"))] == ["Use pnpm."]
    [aside] = store.status.put_aside
    await store.close()
    assert aside.name in caplog.text
    assert aside.name.startswith("plugin.sqlite.broken-")
    assert aside.read_bytes()[:100] == broken[:100]


def _damage_file(path: Path, damage: str) -> None:
    content = bytearray(path.read_bytes())
    if damage == "no database":
        content = bytearray(b"this is no database at all\n" * 500)
    elif damage == "header":
        content[:16] = os.urandom(16)
    elif damage == "middle":
        content[4_096:] = os.urandom(len(content) - 4_096)
    else:
        content[8_192:] = bytes(len(content) - 8_192)
    path.write_bytes(content)


async def test_two_stores_put_one_broken_file_aside_once(path: Path) -> None:
    """P-116, P-117: what one of them writes into the new file is not put aside by the other."""
    store = LocalStore(path)
    await store.upsert([make_item("Use pnpm.")])
    await store.close()
    _damage_file(path, "middle")
    stores = [LocalStore(path), LocalStore(path)]
    stored = await asyncio.gather(*(store.upsert([make_item(f"New {n}.")]) for n, store in enumerate(stores)))
    assert [each.outcome for [each] in stored] == ["added", "added"]
    assert [len(await store.list(everything())) for store in stores] == [2, 2]
    assert sum(len(store.status.put_aside) for store in stores) == 1
    for store in stores:
        await store.close()


async def test_a_full_disk(path: Path) -> None:
    """What fits is kept, and reads go on. The limit of a file's size stands for the disk's end."""
    store = LocalStore(path)
    await store.upsert([make_item("Use pnpm.")])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("plugin.sqlite-wal").stat().st_size + 4_096, before[1]))
    try:
        with pytest.raises(StoreFull):
            await store.upsert([make_item(f"Statement {number} " + "x" * 3_000) for number in range(50)])
        assert len(await store.search(ask("pnpm"))) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [each.outcome for each in await store.upsert([make_item("Answer briefly.")])] == ["added"]
    assert len(await store.list(everything())) == 2
    await store.close()


async def test_a_file_that_can_only_be_read(public_folder: Path) -> None:
    """Reads work, and writes raise an error of the store. Another account than root's is needed to be refused."""
    path = public_folder / "home" / "plugin.sqlite"
    store = LocalStore(path)
    await store.upsert([make_item("Use pnpm.")])
    await store.close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    code = textwrap.dedent(f"""
        import asyncio, os, pathlib
        from muniment.memory.errors import StoreError
        from muniment.plugin.stores.local.store import LocalStore
        from tests.plugin_stores.items import ANA, ask, make_item

        async def main():
            store = LocalStore(pathlib.Path({str(path)!r}))
            print(len(await store.search(ask("pnpm"))), store.status.is_read_only)
            try:
                await store.upsert([make_item("Answer briefly.")])
            except StoreError as error:
                print(type(error).__name__)
            print(len(await store.search(ask("pnpm"))))
            await store.close()

        if os.getuid() == 0:
            os.setgroups([])
            os.setuid(65534)
        asyncio.run(main())
    """)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    path.parent.chmod(0o755)
    assert ran.stdout.split() == ["1", "True", "StoreDown", "1"], ran.stderr


async def test_a_file_of_a_newer_program_is_refused(local: LocalStore, path: Path) -> None:
    await local.upsert([make_item("Use pnpm.")])
    with sqlite3.connect(path) as connection:
        connection.execute("insert into migration values ('items', '9999_later.sql', '')")
    with pytest.raises(BadConfig, match="newer"):
        await LocalStore(path).search(ask("pnpm"))


async def test_another_version_of_a_migration_is_refused(local: LocalStore, path: Path) -> None:
    await local.upsert([make_item("Use pnpm.")])
    with sqlite3.connect(path) as connection:
        connection.execute("update migration set digest = 'other'")
    with pytest.raises(EditedMigration):
        await LocalStore(path).search(ask("pnpm"))


async def test_a_closed_store_says_so(path: Path) -> None:
    store = LocalStore(path)
    await store.close()
    with pytest.raises(StoreDown):
        await store.search(ask("pnpm"))
