"""A host that is killed while it writes, sends or compacts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from muniment.plugin.domain.item import SearchQuery
from muniment.plugin.stores.remote.store import RemoteStore
from tests.http.conftest import Serving, make_environment, run_service
from tests.plugin_sync.devices import NOON, list_all
from tests.plugin_sync.killed import OWNER, Switch, make_numbered, open_store

KILLS = int(os.environ.get("MUNIMENT_TEST_SYNC_KILLS", "4"))  # 100 by switch
ROOT = Path(__file__).parents[2]


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Serving]:
    """`muniment serve` on a database of the test's own."""
    with run_service(make_environment(database_url, tmp_path / "home"), tmp_path / "serve.log") as service:
        yield service


def run_host(file: Path, service: Serving, token: str, last: int) -> tuple[int, list[list[str]]]:
    """Exit code and what the host said was done."""
    command = [sys.executable, "-m", "tests.plugin_sync.killed", str(file), service.url, token, str(last)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, -9), done.stderr
    return done.returncode, [line.split() for line in done.stdout.splitlines()]


@pytest.mark.timeout(1800)
async def test_a_host_that_is_killed_loses_nothing(service: Serving, tmp_path: Path) -> None:
    """P-92, P-84: at each point, what was acknowledged is in the file; what waits is sent after a restart, once."""
    _, said = run_host(tmp_path / "whole.sqlite", service, service.token(tenant="whole"), -1)
    count = int(said[-1][1])
    assert count > 200
    assert said[-2] == ["sent", "True"]
    for number in range(KILLS):
        last = 1 + (2 * number + 1) * count // (2 * KILLS)
        token, file = service.token(tenant=f"kill{number}"), tmp_path / f"{number}.sqlite"
        code, said = run_host(file, service, token, last)
        assert code == -9, last
        await check_file(file, service, token, said)


async def check_file(file: Path, service: Serving, token: str, said: list[list[str]]) -> None:
    """Everything acknowledged is there, a search is answered, and the server agrees after one more meeting."""
    numbers = {
        word: {int(each[1]) for each in said if each[0] == word} for word in ("written", "forgetting", "forgotten")
    }
    store = open_store(file, service.url, token, Switch(-1))
    wanted = {make_numbered(number).id for number in numbers["written"] - numbers["forgetting"]}
    gone = {make_numbered(number).id for number in numbers["forgotten"]}
    pinned = {make_numbered(int(each[1])).id for each in said if each[0] == "pinned"}
    there = await list_all(store)
    assert wanted <= set(there)
    assert not gone & set(there)
    assert all(there[id_][1] for id_ in pinned & wanted)
    if wanted:
        text = there[min(wanted)][0]
        assert min(wanted) in [hit.item.id for hit in await store.search(SearchQuery(owner=OWNER, text=text, at=NOON))]
    assert await store.sync_now(OWNER)
    remote = RemoteStore(service.url, SecretStr(token), timeout_seconds=30)
    there, server = await list_all(store), await list_all(remote, limit=500)
    assert there == server
    assert len({content for content, _ in server.values()}) == len(server)
    assert not gone & set(server)
    await remote.close()
    await store.close()
