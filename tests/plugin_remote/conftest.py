"""A served store of items on a database of the test's own, and stores that speak with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from pydantic import SecretStr

from muniment.plugin.stores.remote.store import RemoteStore
from tests.conftest import Clones
from tests.http.conftest import Serving, make_environment, run_service

Connect = Callable[..., RemoteStore]


@pytest.fixture(scope="session")
def served(clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service of many tests, each with a user of its own."""
    folder = tmp_path_factory.mktemp("store")
    with contextmanager(clones.make)(template) as url, run_service(make_environment(url, folder), folder / "log") as it:
        yield it


@pytest.fixture
def connect(served: Serving) -> Connect:
    """What opens a store with a token: of a user, a tenant or projects."""

    def make_store(**grant: object) -> RemoteStore:
        return RemoteStore(served.url, SecretStr(served.token(**grant)), timeout_seconds=10)

    return make_store
