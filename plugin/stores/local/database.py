"""One SQLite file that several processes use: connections, transactions in threads, and what a broken one becomes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, local
from typing import TypeVar

from muniment.memory.errors import StoreDown
from muniment.plugin.problems import Problem
from muniment.plugin.stores.local.failures import is_broken, is_read_only, translate_failures
from muniment.plugin.stores.local.files import (
    create_file,
    find_network_mount,
    get_identity,
    hold_lock,
    move_aside,
)
from muniment.plugin.stores.local.migrations import SchemaPart, apply_migrations

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
_READERS = 2
_PRAGMAS = (
    "synchronous = full",
    "foreign_keys = on",
    "secure_delete = on",
    "temp_store = memory",
    "cache_size = -16384",  # KiB: the rows of some 10,000 items stay in memory
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """Where the file is, whether it can only be read, and the files that were put aside because they were broken."""

    path: Path
    is_read_only: bool = False
    put_aside: tuple[Path, ...] = ()


@dataclass(slots=True)
class _Opened:
    """A connection, and which file it has open."""

    connection: sqlite3.Connection
    identity: tuple[int, int] | None


class LocalDatabase:
    """A file in WAL mode, opened by the first call. Writes follow one another in a thread of their own, and reads run
    beside them in others; nothing of it runs on the event loop.

    Another process may use the file at the same time. A file that is broken is put aside, and a new one is made in its
    place; what was asked of the broken one is asked again of the new one."""

    def __init__(
        self,
        path: Path,
        parts: Sequence[SchemaPart],
        *,
        busy_seconds: float = 5.0,
        on_replaced: Callable[[], None] = lambda: None,
    ) -> None:
        """`busy_seconds` is how long a call waits for a lock of another process before it raises Busy. `on_replaced` is
        called, in any thread, when another file has taken the place of the one that was used."""
        self.path = path
        self._parts = tuple(parts)
        self._busy_seconds = busy_seconds
        self._on_replaced = on_replaced
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="muniment-local-write")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="muniment-local-read")
        self._of_thread = local()
        self._opened: list[_Opened] = []
        self._opening = Lock()
        self._migrated: tuple[int, int] | None = None  # the file whose tables are known to be up to date
        self._is_read_only = False
        self._put_aside: list[Path] = []
        self._is_closed = False

    @property
    def status(self) -> FileStatus:
        """Return the state of the file, as far as this process knows it."""
        return FileStatus(path=self.path, is_read_only=self._is_read_only, put_aside=tuple(self._put_aside))

    def list_problems(self) -> Sequence[Problem]:
        """Return what was wrong with the file in this process, or is."""
        name = self.path.name
        found = [Problem("file", f"{name} was broken, and is kept as {aside.name}") for aside in self._put_aside]
        return [*found, Problem("file", f"{name} can only be read")] if self._is_read_only else found

    @property
    def is_open(self) -> bool:
        """Return whether the file was used by this process."""
        return bool(self._opened)

    async def read(self, work: Work[T]) -> T:
        """Return the result of `work` in one snapshot. Raises StoreDown, StoreFull, Busy and other StoreErrors."""
        return await self._run(self._readers, lambda: self._attempt(work, "begin"))

    async def write(self, work: Work[T]) -> T:
        """Return the result of `work` in one transaction, which is on the disk when this returns, or has not happened
        where it raises. Raises as `read`."""
        return await self._run(self._writer, lambda: self._attempt(work, "begin immediate"))

    async def run_outside_transaction(self, work: Work[T]) -> T:
        """Return the result of `work` in the writer's thread without a transaction: for checkpoints and the like.
        Raises as `read`."""
        return await self._run(self._writer, lambda: self._attempt(work, None))

    async def close(self) -> None:
        """Finish what is under way, and close all connections."""
        self._is_closed = True
        await asyncio.to_thread(self._close_all)

    def _close_all(self) -> None:
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        for opened in self._opened:
            opened.connection.close()
        self._opened.clear()

    async def _run(self, pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        if self._is_closed:
            raise StoreDown(f"{self.path.name}: the store is closed")
        return await asyncio.get_running_loop().run_in_executor(pool, call)

    def _attempt(self, work: Work[T], begin: str | None) -> T:
        """Do the work, and once more with a new file where this one is broken."""
        with translate_failures(self.path):
            try:
                return self._do(work, begin)
            except sqlite3.DatabaseError as error:
                if not is_broken(error):
                    raise
            self._replace_broken()
            return self._do(work, begin)

    def _do(self, work: Work[T], begin: str | None) -> T:
        if begin != "begin" and self._is_read_only:
            self._forget_connection()  # it may be writable meanwhile
        connection = self._connect()
        if begin != "begin" and self._is_read_only:
            raise StoreDown(f"{self.path.name}: can only be read")
        if begin is None:
            return work(connection)
        connection.execute(begin)
        try:
            result = work(connection)
        except BaseException:
            _roll_back(connection)
            raise
        try:
            connection.execute("commit")
        except sqlite3.Error:
            _roll_back(connection)
            raise
        return result

    def _connect(self) -> sqlite3.Connection:
        """Return the connection of this thread to the file that is at the path, where another process may have put the
        former one aside."""
        opened: _Opened | None = getattr(self._of_thread, "opened", None)
        if opened is not None:
            if opened.identity == get_identity(self.path):
                return opened.connection
            self._forget_connection()
            self._on_replaced()
        with self._opening:
            opened = self._open()
            self._opened.append(opened)
        self._of_thread.opened = opened
        return opened.connection

    def _forget_connection(self) -> None:
        opened: _Opened | None = getattr(self._of_thread, "opened", None)
        if opened is not None:
            self._of_thread.opened = None
            with self._opening:
                if opened in self._opened:
                    self._opened.remove(opened)
            opened.connection.close()

    def _open(self) -> _Opened:
        if mount := find_network_mount(self.path):
            raise StoreDown(f"{self.path.name}: is on a network file system ({mount}), where its locks do not hold")
        try:
            opened = self._open_writable()
            self._is_read_only = False
        except (sqlite3.OperationalError, OSError) as error:
            if not is_read_only(error):
                raise
            opened = _Opened(connection=self._open_read_only(), identity=get_identity(self.path))
            self._is_read_only = True
        return opened

    def _open_writable(self) -> _Opened:
        """Open the file, and its log, while no process replaces them: the log is found by its name alone."""
        create_file(self.path)
        with hold_lock(self.path, self._busy_seconds):
            create_file(self.path)  # another process may just have put the former one aside
            identity = self._of_thread.identity = get_identity(self.path)
            connection = self._make_connection(str(self.path))
            try:
                if self._migrated != identity:
                    connection.execute("pragma journal_mode = wal")
                    apply_migrations(connection, self._parts)
                connection.execute("select 1 from sqlite_schema limit 1").fetchone()
            except BaseException:
                connection.close()
                raise
        self._migrated = identity
        return _Opened(connection=connection, identity=identity)

    def _open_read_only(self) -> sqlite3.Connection:
        """Open a file that cannot be written, nor its folder: one that was closed well has no log to be read."""
        address = self.path.absolute().as_uri()
        for query in ("?mode=ro", "?mode=ro&immutable=1"):
            try:
                return self._make_connection(address + query)
            except sqlite3.OperationalError as error:
                if "immutable" in query or not is_read_only(error):
                    raise
        raise StoreDown(f"{self.path.name}: cannot be opened")

    def _make_connection(self, address: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            address,
            timeout=self._busy_seconds,
            isolation_level=None,  # transactions are begun by name: a deferred one could not become a writing one
            check_same_thread=False,  # they are used by one thread each, and closed by another one
            uri=address.startswith("file:"),
        )
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"pragma {pragma}")
            if "mode=ro" in address:
                connection.execute("select 1 from sqlite_schema limit 1").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _replace_broken(self) -> None:
        """Put the broken file aside, unless another thread or process has done it."""
        broken = getattr(self._of_thread, "identity", None)  # of the file that this thread has opened last
        self._forget_connection()
        with self._opening, hold_lock(self.path, self._busy_seconds):
            if broken is None or broken != get_identity(self.path):
                return
            aside = move_aside(self.path, datetime.now(UTC))
            self._put_aside.append(aside)
        self._on_replaced()
        _log.error("%s is broken: it is put aside as %s, and a new one is made", self.path.name, aside.name)


def _roll_back(connection: sqlite3.Connection) -> None:
    # Some errors have rolled back already, and a broken file may refuse.
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("rollback")
