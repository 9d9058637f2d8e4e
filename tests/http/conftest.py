"""`muniment serve` as an installed program, on a database of the test's own, and clients of it over real HTTP."""

import copy
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from muniment.memory.bootstrap import open_tokens
from muniment.memory.config.settings import load_settings
from tests.conftest import Clones, alone
from tests.http.declared import check_declared
from tests.logins import build_login_url

PROGRAM = str(Path(sys.executable).with_name("muniment"))
START_SECONDS = 120.0  # on a machine with other work; the time of a test is bounded anyway


@dataclass
class Serving:
    """A process of the service."""

    environment: dict[str, str]
    log_path: Path
    arguments: tuple[str, ...] = ()
    command: str = "serve"
    tenant: str = "acme"
    url: str = ""
    process: subprocess.Popen[str] = field(init=False)

    def start(self) -> None:
        with self.log_path.open("a") as log:
            self.process = subprocess.Popen(
                [PROGRAM, self.command, "--port", "0", *self.arguments], env=self.environment, stderr=log, text=True
            )
        until = time.monotonic() + START_SECONDS
        while not self.url:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < until, self.log
            self.url = next((line.split()[1] for line in self.log.splitlines() if "http://" in line), "")
            time.sleep(0.05)
        while True:
            assert time.monotonic() < until, self.log
            try:
                if httpx.get(f"{self.url}/ready").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)

    def wait(self, seconds: float) -> None:
        """Wait while the service goes on."""
        time.sleep(seconds)

    @property
    def log(self) -> str:
        return self.log_path.read_text() if self.log_path.exists() else ""

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def token(self, **grant: Any) -> str:
        """A new token, made beside the service."""

        async def issue() -> str:
            async with open_tokens(load_settings(self.environment), as_owner=True) as tokens:
                token, _ = await tokens.issue_token(**{"tenant": self.tenant, "owner": "ana"} | grant)
                return token.get_secret_value()

        return alone(issue())

    def revoke_all(self) -> None:
        """Revoke every token of the tenant, beside the service."""

        async def revoke() -> None:
            async with open_tokens(load_settings(self.environment), as_owner=True) as tokens:
                for grant in await tokens.list_grants(self.tenant):
                    await tokens.revoke_token(grant.id)

        alone(revoke())

    def client(self, token: str | None = None, **headers: str) -> httpx.Client:
        given = {"Authorization": f"Bearer {token}"} if token else {}
        hooks = {"response": [check_declared]}
        return httpx.Client(base_url=self.url, headers=given | headers, timeout=30, event_hooks=hooks)


def make_environment(database_url: str, home: Path) -> dict[str, str]:
    """What the process sees: this database, an embedder that needs no model, a home that is nobody's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OPENAI_"))}
    return kept | {
        "MUNIMENT_DATABASE_URL": build_login_url(database_url),
        "MUNIMENT_OWNER_URL": database_url,
        "MUNIMENT_EMBEDDER": "hash-256",
        "MUNIMENT_HOME": str(home),
    }


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a process on a database of the test's own."""
    return make_environment(database_url, tmp_path / "home")


@contextmanager
def run_service(environment: dict[str, str], log_path: Path) -> Iterator[Serving]:
    """A service that runs without a worker."""
    service = Serving(environment, log_path, ("--no-worker",))
    try:
        service.start()
        yield service
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()
    assert "Traceback" not in service.log


@pytest.fixture(scope="session")
def shared(clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service of many tests."""
    folder = tmp_path_factory.mktemp("serving")
    with contextmanager(clones.make)(template) as url, run_service(make_environment(url, folder), folder / "log") as it:
        yield it


@pytest.fixture(scope="module")
def operated(clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service of one module, whose tests change the settings of all; it is asked by its own tenant."""
    folder = tmp_path_factory.mktemp("operated")
    with contextmanager(clones.make)(template) as url, run_service(make_environment(url, folder), folder / "log") as it:
        it.tenant = "default"
        yield it


def wait_until(holds: Callable[[], bool], seconds: float = 40) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture
def serving(shared: Serving) -> Serving:
    """A service with a tenant of this test's own."""
    own = copy.copy(shared)
    own.tenant = f"tenant-{uuid4().hex}"
    return own


@pytest.fixture
def own_serving(environment: dict[str, str], tmp_path: Path) -> Iterator[Serving]:
    """A service of this test's own, which it may end."""
    with run_service(environment, tmp_path / "log") as service:
        yield service


@pytest.fixture
def ana(serving: Serving) -> Iterator[httpx.Client]:
    """A client with a token of the user ana."""
    with serving.client(serving.token()) as client:
        yield client
