"""A Citus cluster on this machine: a coordinator and workers, each a server that can be killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psycopg

WORKERS = 2
ROLE = "postgres"
ACCOUNTS = ("postgres", "nobody")  # who runs Postgres where this is a session of root
PATIENCE_SECONDS = 60.0
# A database of a test has a daemon on each node, and each node a connection to each other one.
SETTINGS = {
    "shared_preload_libraries": "citus",
    "citus.node_conn_info": "sslmode=disable",
    "citus.enable_statistics_collection": "off",
    "wal_level": "logical",
    "max_connections": "400",
    "max_prepared_transactions": "400",
    "max_worker_processes": "128",
    "max_locks_per_transaction": "256",
    "max_replication_slots": "32",
    "max_wal_senders": "32",
    "shared_buffers": "256MB",
    "jit": "off",
    "listen_addresses": "",
    "fsync": "off",  # a process is killed, not the machine
    "full_page_writes": "off",
    "log_checkpoints": "off",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A server of its own; its socket is in the folder that all nodes share."""

    name: str
    port: int
    data: Path
    sockets: Path
    binaries: Path
    account: dict[str, Any]

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}@/postgres?host={self.sockets}&port={self.port}"

    @property
    def socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{self.port}"

    def start(self) -> None:
        """Start the server, and return when it answers."""
        # What a killed server left behind names a process that may be a zombie, which Postgres takes for a server.
        for left in (self.data / "postmaster.pid", self.socket, self.socket.with_name(f"{self.socket.name}.lock")):
            left.unlink(missing_ok=True)
        self.run("pg_ctl", "start", "-D", ".", "-w", "-t", str(int(PATIENCE_SECONDS)), "-l", "server.log")

    def stop(self) -> None:
        """Stop the server; what was not written is lost, which is all the same to a test."""
        pid = self.find_pid()
        if pid is not None and _is_alive(pid):
            self.run("pg_ctl", "stop", "-D", ".", "-m", "immediate", "-w")

    def kill(self) -> None:
        """End every process of the server at once, as the end of its machine does."""
        pid = self.find_pid()
        assert pid is not None
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        for process in (pid, *map(int, children)):
            _signal(process)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(_is_alive(process) for process in (pid, *map(int, children))):
            assert time.monotonic() < deadline, f"{self.name} does not end"
            time.sleep(0.01)

    def find_pid(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
        except FileNotFoundError:
            return None

    def run(self, program: str, *args: str) -> None:
        done = subprocess.run(
            [str(self.binaries / program), *args],
            cwd=self.data,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            **self.account,
        )
        if done.returncode:
            log = self.data / "server.log"
            told = log.read_text(encoding="utf-8", errors="replace")[-1_000:] if log.exists() else ""
            raise SystemExit(f"{program} of {self.name}: {done.stderr}{told}")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes that know of each other as soon as a database is joined; the first is the coordinator."""

    nodes: tuple[Node, ...]

    @property
    def environment(self) -> dict[str, str]:
        """What the tests read: where the coordinator and the workers are."""
        coordinator, *workers = self.nodes
        return {
            "MUNIMENT_TEST_DATABASE_URL": coordinator.url,
            "MUNIMENT_TEST_CITUS_WORKERS": " ".join(worker.url for worker in workers),
        }


@contextmanager
def start_cluster(binaries: Path, folder: Path) -> Iterator[Cluster]:
    """Run a cluster below `folder` for the time of a block."""
    home = Path(mkdtemp(prefix="citus-", dir=folder))
    home.chmod(0o711)
    account = _choose_account()
    sockets = _make_folder(home / "run", account)
    names = ["coordinator", *(f"worker{n}" for n in range(1, WORKERS + 1))]
    nodes = tuple(
        Node(name, 1 + n, _make_folder(home / name, account), sockets, binaries, account)
        for n, name in enumerate(names)
    )
    try:
        for node in nodes:
            node.run("initdb", "-D", ".", "-U", ROLE, "-A", "trust", "-E", "UTF8", "--no-sync", *LOCALE)
            _configure(node)
            node.start()
            _check_version(node)
        yield Cluster(nodes)
    finally:
        for node in nodes:
            node.stop()
        shutil.rmtree(home)


LOCALE = ("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8")


def _configure(node: Node) -> None:
    own = {"port": str(node.port), "unix_socket_directories": str(node.sockets), "unix_socket_permissions": "0700"}
    own["citus.local_hostname"] = str(node.sockets)
    with (node.data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in (SETTINGS | own).items())


def _check_version(node: Node) -> None:
    with psycopg.connect(node.url) as conn:
        row = conn.execute(
            "select default_version from pg_available_extensions where name in ('citus', 'vector') order by name"
        ).fetchall()
    assert len(row) == 2, f"{node.name} has {row} of Citus and pgvector"


def _choose_account() -> dict[str, Any]:
    """Return who runs the servers, for `subprocess.run`."""
    if os.geteuid() != 0:
        return {}
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise SystemExit(f"root cannot run Postgres, and there is no account {' or '.join(ACCOUNTS)}")


def _make_folder(path: Path, account: dict[str, Any]) -> Path:
    path.mkdir(mode=0o700)
    if account:
        os.chown(path, account["user"], account["group"])
    return path


def _signal(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
