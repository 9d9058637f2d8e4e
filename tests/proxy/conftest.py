"""One proxy for the tests that break nothing, with a token for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Clones
from tests.proxy.hosting import Host, run_host


@pytest.fixture(scope="session")
def host(clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A proxy of many tests."""
    folder = tmp_path_factory.mktemp("hosted") / "proxy"
    with contextmanager(clones.make)(template) as url, run_host(folder, url) as it:
        yield it


@pytest.fixture
def own_host(database_url: str, tmp_path: Path) -> Iterator[Host]:
    """A proxy of this test's own, which it may end."""
    with run_host(tmp_path / "proxy", database_url) as it:
        yield it
