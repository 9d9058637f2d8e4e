"""The embedded Postgres: one server for each home, shared by all its processes.

It listens on a Unix socket only, and outlives the process that started it until `stop_server`."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Never

import psycopg
from psycopg.pq import PGconn, Ping

from muniment.memory.errors import BadConfig, StoreDown, StoreFull
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.embedded import cluster_dir
from muniment.memory.stores.postgres.embedded.cluster_dir import (
    FALLBACK_DIR,
    MAJOR,
    PORT,
    ROLE,
    ClusterDir,
    translate_os_errors,
)

DATABASE = "muniment"
PATIENCE_SECONDS = 120.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.1
# The server does not inherit the environment: it may have keys of model providers.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
# Defaults of a new cluster, in its postgresql.conf, where they may be changed. The last three keep memory text out
# of the server's log: by default it would quote failing rows and statements.
TUNING = {
    "jit": "off",
    "shared_buffers": "128MB",
    "max_connections": "200",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
}
NO_SPACE = ("No space left on device", "Disk quota exceeded")
LOG_LIMIT_BYTES = 16 * 2**20


async def ensure_server(home: Path, *, fsync: bool = True, fallback_dir: Path = FALLBACK_DIR) -> str:
    """Start the server of this home, or attach to it, and return a connection URI of its database `muniment`.

    `fsync=False` is for data that may be lost, as in tests. `fallback_dir` holds the data of a root process whose home
    the server's account cannot enter. Raises BadConfig (extra not installed, home not usable, data of another major
    version), StoreFull (disk) and StoreDown (it does not start), each with what to do about it."""
    return await asyncio.to_thread(_start_or_attach, home, fsync, fallback_dir)


async def stop_server(home: Path) -> bool:
    """Stop the server of this home and end its connections. Returns False when none was running."""
    return await asyncio.to_thread(_stop_server, home)


async def find_server(home: Path) -> dict[str, Any] | None:
    """Return the running server's `pid`, `socket` (directory), `port`, `version` ("18.4") and `data`; None without
    one."""
    return await asyncio.to_thread(_read_server, home)


def _start_or_attach(home: Path, fsync: bool, fallback_dir: Path) -> str:
    home = home.absolute()
    with translate_os_errors(home):
        place = cluster_dir.find_cluster_dir(home)
        if place is None:
            cluster_dir.create_directory(home, cluster_dir.get_private_mode())
        with lock_home(home):
            place = cluster_dir.find_cluster_dir(home) or cluster_dir.create_cluster_dir(home, fallback_dir)
            if _ping_server(place) is not Ping.OK:
                binaries = cluster_dir.find_binaries(place.account, fallback_dir)
                _check_version(place)
                if not place.data.exists():
                    _init_cluster(place, binaries, fsync)
                cluster_dir.prepare_sockets(place)
                _start_until_ready(place, binaries, fsync)
            _create_database(place)
    return place.build_dsn(DATABASE)


def _stop_server(home: Path) -> bool:
    home = home.absolute()
    with translate_os_errors(home):
        if cluster_dir.find_cluster_dir(home) is None:
            return False
        with lock_home(home):
            place = cluster_dir.find_cluster_dir(home)
            pid = None if place is None else _find_postmaster(place)
            if place is not None and pid is None and _ping_server(place) is not Ping.OK:
                _remove_sockets(place)  # of a server that was killed
            if place is None or pid is None:
                return False
            # Postgres ends the connections and shuts down on the first, and shuts down at once on the second.
            for order in (signal.SIGINT, signal.SIGQUIT):
                with suppress(ProcessLookupError):
                    os.kill(pid, order)
                if _wait_until_gone(place, monotonic() + STOP_SECONDS):
                    _remove_sockets(place)
                    return True
    raise StoreDown(f"the embedded Postgres of {home} does not stop: {_read_last_line(place)}")


def _remove_sockets(place: ClusterDir) -> None:
    """Remove the socket of a server that does not run, and its directory."""
    with suppress(OSError):  # something else is there, or nothing
        for path in (place.socket, place.socket.with_name(f"{place.socket.name}.lock")):
            path.unlink(missing_ok=True)
        place.sockets.rmdir()


def _wait_until_gone(place: ClusterDir, deadline: float) -> bool:
    while _find_postmaster(place) is not None:
        if monotonic() > deadline:
            return False
        sleep(POLL_SECONDS)
    return True


def _read_server(home: Path) -> dict[str, Any] | None:
    with translate_os_errors(home):
        place = cluster_dir.find_cluster_dir(home.absolute())
        pid = None if place is None else _find_postmaster(place)
        if place is None or pid is None or _ping_server(place) is not Ping.OK:
            return None
        with connect(place) as conn:
            version = conn.info.parameter_status("server_version")
    return {"pid": pid, "socket": str(place.sockets), "port": PORT, "version": version, "data": str(place.data)}


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Hold the home's lock, which the kernel releases with its process."""
    deadline = monotonic() + PATIENCE_SECONDS + 60
    with os.fdopen(os.open(home / "postgres.lock", os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() > deadline:
                    raise StoreDown(f"another process has been starting the Postgres of {home} for too long") from None
                sleep(POLL_SECONDS)
        yield


def _check_version(place: ClusterDir) -> None:
    if not place.data.exists():
        return
    major = (place.data / "PG_VERSION").read_text().strip()
    if major != str(MAJOR):
        raise BadConfig(
            f"the data in {place.data} is of PostgreSQL {major}, the server is {MAJOR}: dump it with {major} and load "
            "it into another home, or set MUNIMENT_DATABASE_URL to a server of that version"
        )
    if not place.passfile.exists():
        raise BadConfig(f"{place.passfile} is gone and {place.data} cannot be opened without it: restore it")


def _init_cluster(place: ClusterDir, binaries: Path, fsync: bool) -> None:
    """Make the cluster under another name and rename it when it is complete: an interrupted one is never used."""
    secret = secrets.token_urlsafe(32)
    secret_file = place.base / "password.new"
    for leftover in place.base.glob("data.new.*"):
        shutil.rmtree(leftover, ignore_errors=True)
    # A new name each time: the initdb of a killed process may still run, and removes its directory when it fails.
    draft = Path(tempfile.mkdtemp(prefix="data.new.", dir=place.base))
    secret_file.unlink(missing_ok=True)
    place.passfile.unlink(missing_ok=True)
    cluster_dir.set_owner(draft, place.account)
    write_private_file(place.passfile, f"*:*:*:{ROLE}:{secret}\n")
    try:
        write_private_file(secret_file, secret)
        cluster_dir.set_owner(secret_file, place.account)
        args = [
            str(binaries / "initdb"), "-D", str(draft), "-U", ROLE, "-A", "scram-sha-256", "--pwfile", str(secret_file),
            "-E", "UTF8", "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8",
            *(part for name, value in TUNING.items() for part in ("--set", f"{name}={value}")),
        ]  # fmt: skip
        done = _run_binary(place, args if fsync else [*args, "--no-sync"])
    finally:
        secret_file.unlink(missing_ok=True)
    if done.returncode:
        _raise_failure(place, done.stdout)
    draft.rename(place.data)


def write_private_file(path: Path, text: str) -> None:
    """Write a new file that its owner alone may read. Raises FileExistsError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _start_until_ready(place: ClusterDir, binaries: Path, fsync: bool) -> None:
    """Start the server until it answers: processes and shared memory of a killed one take a moment to end."""
    deadline = monotonic() + PATIENCE_SECONDS
    while (answer := _ping_server(place)) is not Ping.OK:
        if monotonic() > deadline:
            raise StoreDown(
                f"the embedded Postgres of {place.home} does not start: {_read_last_line(place)} ({place.log})"
            )
        if answer is Ping.NO_RESPONSE and _find_postmaster(place) is None:
            # Postgres takes any process with the pid in this file for a server, also a zombie or another program.
            # A server that still writes to the data is found by its shared memory, without these files.
            for stale in (
                place.data / "postmaster.pid",
                place.socket,
                place.socket.with_name(f"{place.socket.name}.lock"),
            ):
                stale.unlink(missing_ok=True)
            _start_server(place, binaries, fsync)
        else:
            sleep(POLL_SECONDS)


def _start_server(place: ClusterDir, binaries: Path, fsync: bool) -> None:
    if place.log.exists() and place.log.stat().st_size > LOG_LIMIT_BYTES:
        place.log.replace(place.log.with_suffix(".old"))
    before = place.log.stat().st_size if place.log.exists() else 0
    # On the command line, where ALTER SYSTEM cannot change them: no TCP, and a socket for its owner only.
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": '"' + str(place.sockets).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
        **({} if fsync else {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}),
    }
    options = shlex.join([part for name, value in settings.items() for part in ("-c", f"{name}={value}")])
    # The log's path is relative: pg_ctl puts it between double quotes of a shell without escapes.
    control = [str(binaries / "pg_ctl"), "start", "-D", "."]
    done = _run_binary(place, [*control, "-w", "-t", "20", "-l", place.log.name, "-o", options], place.data)
    if done.returncode:
        text = _read_log_tail(place, before)
        if any(sign in text for sign in NO_SPACE):
            _raise_failure(place, text)
        sleep(POLL_SECONDS)


def _run_binary(place: ClusterDir, args: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    account: dict[str, Any] = {}
    if place.account is not None:
        account = {"user": place.account.uid, "group": place.account.gid, "extra_groups": []}
    try:
        return subprocess.run(  # noqa: S603 - our own arguments, and no shell
            args,
            check=False,
            cwd=folder or place.base,
            env=ENVIRONMENT,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
            timeout=PATIENCE_SECONDS,
            **account,
        )
    except subprocess.TimeoutExpired:
        raise StoreDown(f"{Path(args[0]).name} of the embedded Postgres of {place.home} does not end") from None


def _find_postmaster(place: ClusterDir) -> int | None:
    """Return the pid of the running server of these files, None without one: the file may name another process."""
    import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - it comes with the extra only

    try:
        pid = int((place.data / "postmaster.pid").read_text().split("\n", 1)[0])
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or Path(process.cwd()) != place.data:
            return None
    except (FileNotFoundError, ValueError, psutil.Error):
        return None
    return pid


def _ping_server(place: ClusterDir) -> Ping:
    return Ping(PGconn.ping(f"host='{_escape_path(place.sockets)}' port={PORT} connect_timeout=3".encode()))


def _escape_path(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace("'", "\\'")


@contextmanager
def connect(place: ClusterDir) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """Connect to the database `postgres` of a running server, as the role that owns it. Raises StoreDown."""
    with (
        translate_errors(f"the embedded Postgres of {place.home}"),
        psycopg.connect(place.build_dsn("postgres"), autocommit=True, connect_timeout=10) as conn,
    ):
        yield conn


def _create_database(place: ClusterDir) -> None:
    with connect(place) as conn:
        if conn.execute("select from pg_database where datname = %s", (DATABASE,)).fetchone() is None:
            conn.execute("create database muniment")


def _raise_failure(place: ClusterDir, text: str) -> Never:
    message = f"the embedded Postgres of {place.home} cannot be made or started: {_pick_error_line(text)}"
    if any(sign in text for sign in NO_SPACE):
        raise StoreFull(f"{message}; make room on the disk of {place.base}")
    raise StoreDown(message)


def _read_last_line(place: ClusterDir) -> str:
    return _pick_error_line(_read_log_tail(place, 0))


def _read_log_tail(place: ClusterDir, since: int) -> str:
    if not place.log.exists():
        return ""
    with place.log.open("rb") as file:
        file.seek(max(since, place.log.stat().st_size - 8192))
        return file.read().decode(errors="replace")


def _pick_error_line(text: str) -> str:
    """Return the last line with an error, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    worst = [line for line in lines if any(word in line for word in ("FATAL", "PANIC", "error:"))]
    return (worst or lines or ["it said nothing"])[-1]
