"""Runs a host that is killed, and looks at what is left."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from pydantic import SecretStr

from muniment.plugin.domain.item import ItemOwner, SearchQuery
from muniment.plugin.stores.remote.store import RemoteStore
from tests.kill_points import Switch
from tests.plugin_sync.devices import NOON, list_all
from tests.plugin_sync.killed import make_numbered, open_store

ROOT = Path(__file__).parents[2]
NEVER = -1  # the number of no statement


async def run_host(file: Path, url: str, token: str, tenant: str, last: int) -> tuple[int | None, list[list[str]]]:
    """Return the exit code of a host that is killed at a statement or request, and what it said was done."""
    command = [sys.executable, "-m", "tests.plugin_sync.killed", str(file), url, token, tenant, str(last)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE, stderr=PIPE)
    shown, complaint = await process.communicate()
    assert process.returncode in (0, -9), complaint.decode()
    return process.returncode, [line.split() for line in shown.decode().splitlines()]


async def list_steps(file: Path, url: str, token: str, tenant: str) -> list[str]:
    """Return the statements and requests of a host that is not killed."""
    _, said = await run_host(file, url, token, tenant, NEVER)
    assert said[-2] == ["sent", "True"]
    labels: list[str] = json.loads(" ".join(said[-1]))
    return labels


async def check_file(file: Path, url: str, token: str, tenant: str, said: list[list[str]]) -> None:
    """Everything acknowledged is there, a search is answered, and the server agrees after one more meeting."""
    owner = ItemOwner(user="ana", tenant=tenant)
    numbers = {
        word: {int(each[1]) for each in said if each[0] == word}
        for word in ("written", "pinned", "forgetting", "forgotten")
    }
    store = open_store(file, url, token, Switch(NEVER))
    wanted = {make_numbered(number).id for number in numbers["written"] - numbers["forgetting"]}
    gone = {make_numbered(number).id for number in numbers["forgotten"]}
    pinned = {make_numbered(number).id for number in numbers["pinned"]}
    there = await list_all(store, owner=owner)
    assert wanted <= set(there)
    assert not gone & set(there)
    assert all(there[id_][1] for id_ in pinned & wanted)
    for id_ in sorted(wanted)[:1]:
        query = SearchQuery(owner=owner, text=there[id_][0], at=NOON)
        assert id_ in [hit.item.id for hit in await store.search(query)]
    assert await store.sync_now(owner)
    assert not (await store.read_outbox_status()).waiting
    remote = RemoteStore(url, SecretStr(token), timeout_seconds=30)
    there, server = await list_all(store, owner=owner), await list_all(remote, limit=500, owner=owner)
    assert there == server
    assert len({content for content, _ in server.values()}) == len(server)
    assert not gone & set(server)
    await remote.close()
    await store.close()
