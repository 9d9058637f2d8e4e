"""A host that is killed while it writes, sends or compacts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.conftest import Serving, make_environment, run_service
from tests.kill_points import choose_points
from tests.plugin_sync.kills import check_file, list_steps, run_host

KILLS = int(os.environ.get("MUNIMENT_TEST_SYNC_KILLS", "4"))  # 60 by switch


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Serving]:
    """`muniment serve` on a database of the test's own."""
    with run_service(make_environment(database_url, tmp_path / "home"), tmp_path / "serve.log") as service:
        yield service


@pytest.mark.timeout(1800)
async def test_a_host_that_is_killed_loses_nothing(service: Serving, tmp_path: Path) -> None:
    """P-92, P-84: at each point, what was acknowledged is in the file; what waits is sent after a restart, once."""
    steps = await list_steps(tmp_path / "whole.sqlite", service.url, service.token(tenant="whole"), "whole")
    assert len(steps) > 200
    assert len(set(steps)) > 60
    for number, last in enumerate(choose_points(steps, KILLS)):
        token, file = service.token(tenant=f"kill{number}"), tmp_path / f"{number}.sqlite"
        code, said = await run_host(file, service.url, token, f"kill{number}", last)
        assert code == -9, (last, steps[last - 1])
        await check_file(file, service.url, token, f"kill{number}", said)
