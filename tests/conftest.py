"""A real Postgres for every test: one throw-away cluster per session, one clone of a migrated template per test."""

import asyncio
import os
import shutil
import signal
import socket
import tempfile
import uuid
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import psutil  # type: ignore[import-untyped] # it has no types
import psycopg
import pytest
from hypothesis import settings as hypothesis_settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from muniment.memory.stores.postgres.embedded import server
from muniment.memory.stores.postgres.schema import grants, migrate
from tests import logins
from tests.citus import databases as citus

# How long an example takes says nothing on a machine that has other work.
hypothesis_settings.register_profile("untimed", deadline=None)
hypothesis_settings.load_profile("untimed")

T = TypeVar("T")
DISK, MEMORY = Path(tempfile.gettempdir()), Path("/dev/shm")
ROOM_BYTES = 4 * 2**30
PREFIX = "muniment-test-"
GIVEN = os.environ.get("MUNIMENT_TEST_DATABASE_URL")
ADDRESS = pytest.StashKey[Path]()


def alone(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it in a thread of its own: the loop of the test that asks first is none of its business."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def new_home() -> Path:
    """In memory where there is room: a database is 350 files, and every test makes and removes one."""
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM_BYTES
    home = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=MEMORY if roomy else DISK))
    home.chmod(0o711)  # the account that runs a root session's Postgres has to pass
    return home


def discard(home: Path) -> None:
    if alone(server.find_server(home)):
        alone(server.stop_server(home))
    shutil.rmtree(home)


def pytest_configure(config: pytest.Config) -> None:
    """Name the session's cluster; the first test that asks for a database starts it."""
    # Who is started in the background of a script ignores Ctrl-C, and so would every program that a test interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[ADDRESS] = Path(worker["home"])
        return
    for left in (*DISK.glob(f"{PREFIX}*"), *MEMORY.glob(f"{PREFIX}*")):
        # The sessions of others may be running right now; one whose process is gone was killed.
        owner = left.name.removeprefix(PREFIX).split("-")[0]
        if left.stat().st_uid == os.geteuid() and not psutil.pid_exists(int(owner)):
            discard(left)
    config.stash[ADDRESS] = new_home()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers of pytest-xdist share one cluster."""
    node.workerinput["home"] = str(node.config.stash[ADDRESS])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run the tests of a module that share what is made once for it: a browser, a service."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("xdist_group") is None:
            definitions = item._fixtureinfo.name2fixturedefs.values()
            if any(each[-1].scope == "module" for each in definitions):
                item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and ADDRESS in config.stash:
        discard(config.stash[ADDRESS])


@pytest.fixture(scope="session")
def cluster_url(pytestconfig: pytest.Config) -> str:
    """A superuser's address of a database server for tests; never skipped."""
    if GIVEN:
        return GIVEN
    url = alone(server.ensure_server(pytestconfig.stash[ADDRESS], fsync=False))
    with psycopg.connect(url) as admin:
        logins.lighten_login(admin)
    return url


def named(url: str, database: str) -> str:
    return make_conninfo(url, dbname=database)


@pytest.fixture(scope="session")
def template(cluster_url: str) -> str:
    """The name of a migrated database to clone, made once for each state of the migrations."""
    steps = migrate._read_folder(files("muniment.migrations"))
    made_of = "".join(step.name + step.checksum for step in steps) + citus.scripts() + grants.read_grant_script()
    name = "template_" + sha256(made_of.encode()).hexdigest()[:16]
    draft = f"{name}_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(cluster_url, autocommit=True) as conn:
        conn.execute("select pg_advisory_lock(hashtext(%s))", (name,))
        if conn.execute("select from pg_database where datname = %s", (name,)).fetchone() is None:
            for node in (cluster_url, *citus.WORKERS):
                citus.on(node, sql.SQL("create database {}").format(sql.Identifier(draft)))
            if citus.WORKERS:
                citus.join(named(cluster_url, draft))
            alone(migrate.apply_migrations(named(cluster_url, draft)))
            for node in (cluster_url, *citus.WORKERS):
                with psycopg.connect(node, autocommit=True) as admin:
                    logins.create_login(admin)
            alone(grants.grant_login(named(cluster_url, draft), logins.LOGIN))
            if citus.WORKERS:
                citus.distribute(named(cluster_url, draft))
            else:
                tidy_catalogues(named(cluster_url, draft))
            for node in (*citus.WORKERS, cluster_url):
                citus.rename(node, draft, name)
    return name


def tidy_catalogues(database_url: str) -> None:
    """Leave no dead row of the migrations in the catalogues of a database, and the file with which its next connection
    begins: each clone would have both anew. The memory's own tables stay as a migration leaves them."""
    with psycopg.connect(database_url, autocommit=True) as admin:
        catalogues = admin.execute(
            "select relname from pg_class where relkind = 'r' and not relisshared"
            " and relnamespace = 'pg_catalog'::regnamespace"
        ).fetchall()
        for (name,) in catalogues:
            admin.execute(sql.SQL("vacuum (full, freeze) {}").format(sql.Identifier("pg_catalog", name)))
    with psycopg.connect(database_url) as first:
        first.execute("select from pg_class limit 1")


class Clones:
    """Databases of one test each. A test's is dropped when the next one begins: right at its end the server would wait
    a tenth of a second for backends that are just leaving."""

    def __init__(self, cluster_url: str) -> None:
        self.cluster_url = cluster_url
        self.admins = [psycopg.connect(node, autocommit=True) for node in (cluster_url, *citus.WORKERS)]
        self.left: list[str] = []

    def make(self, template: str) -> Iterator[str]:
        self.drop()
        name = f"test_{uuid.uuid4().hex}"
        try:
            for admin in self.admins:
                citus.copy(admin, template, name)
            yield named(self.cluster_url, name)
        finally:
            self.left.append(name)

    def drop(self) -> None:
        while self.left:
            name = self.left.pop()
            for admin in self.admins:
                citus.drop(admin, name)

    def close(self) -> None:
        self.drop()
        for admin in self.admins:
            admin.close()


@pytest.fixture(scope="session")
def clones(cluster_url: str) -> Iterator[Clones]:
    with closing(Clones(cluster_url)) as made:
        yield made


@pytest.fixture
def database_url(clones: Clones, template: str) -> Iterator[str]:
    """A migrated database of this test's own."""
    yield from clones.make(template)


@pytest.fixture
def empty_database_url(clones: Clones) -> Iterator[str]:
    """A database of this test's own with nothing in it."""
    yield from clones.make("template0")


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees our keys and settings, and none reaches beyond this machine."""
    for name in list(os.environ):
        if name.startswith("MUNIMENT_") or name in {"OPENAI_API_KEY", "OPENAI_BASE_URL"}:
            monkeypatch.delenv(name)
    connect = socket.socket.connect

    def connect_here(sock: socket.socket, address: Any) -> None:
        if sock.family in {socket.AF_INET, socket.AF_INET6}:
            host = address[0]
            if host != "localhost" and not ip_address(host).is_loopback:
                pytest.fail(f"a test reaches for the network: {host}")
        connect(sock, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory for a server of this test's own, which any account may pass through."""
    home = new_home()
    yield home
    discard(home)
