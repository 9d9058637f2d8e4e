"""The book of a host in a file, beside that of its items: several processes use it at once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muniment.memory.errors import BadInput, StoreError
from muniment.plugin.book.buffer import TurnBuffer
from muniment.plugin.book.migrations import BOOK
from muniment.plugin.book.tally import tally_turns
from muniment.plugin.domain.book import AuditLine, PluginStats, TurnReport
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.ports import PluginBook
from muniment.plugin.problems import Problem
from muniment.plugin.stores.local.database import LocalDatabase
from muniment.plugin.stores.local.statements import load_statements

_SQL = load_statements("muniment.plugin.book", "book")
_BUSY_SECONDS = 1.0  # for a lock of another process: a command is answered within the time of a hook
_MOST_TURNS = 200_000  # reports that are counted at most, the newest
_FLAGS = ("is_shadow", "recall", "is_hit")
_JSON = ("item_ids", "refusals", "milliseconds")
_COUNTS = ("tokens", "written", "duplicates", "remote_reads", "remote_writes", "queue_length")
_TEXTS = ("turn_id", "policy", "recall_reason")


def find_book_file(store_file: Path) -> Path:
    """Return the file of the book that belongs to a file of items."""
    return store_file.with_name(f"{store_file.stem}-book{store_file.suffix}")


class FileBook(PluginBook):
    """The `PluginBook` port over SQLite. A switch and an audit line are on the disk when their call returns; reports of
    turns wait a moment in a buffer. Reports and audit lines older than `days` are removed."""

    def __init__(self, path: Path, *, days: float = 90) -> None:
        self.path = path
        self._database = LocalDatabase(path, (BOOK,), busy_seconds=_BUSY_SECONDS)
        self._days = timedelta(days=days)
        self._buffer = TurnBuffer(self._write_turns)
        self._switches: dict[tuple[str, str, str], bool] = {}  # as they were known last, for a file that cannot be read

    async def read_switch(self, owner: ItemOwner) -> bool:
        """Return whether the plugin is on in the owner's session; without a session it is.

        Of a file that cannot be read it is what was read last. Raises StoreError where nothing was."""
        if owner.session is None:
            return True
        key = _make_key(owner)
        try:
            row = await self._fetch_one("read_switch", key)
        except StoreError:
            if (known := self._switches.get(_make_place(owner))) is not None:
                return known
            raise
        if row is None and self._switches.get(_make_place(owner)) is False:
            await self._write_off_again(owner)
            return False
        is_on = row is None or bool(row["is_on"])
        self._remember(owner, is_on=is_on)
        return is_on

    async def write_switch(self, owner: ItemOwner, *, is_on: bool) -> None:
        """Switch the plugin on or off in the owner's session, at once. Raises BadInput without one, StoreError."""
        if owner.session is None:
            raise BadInput("session: is missing; the plugin is switched in one session")
        values = _make_key(owner) | {"is_on": is_on, "at": datetime.now(UTC).timestamp()}
        await self._execute("write_switch", values)
        self._remember(owner, is_on=is_on)

    async def count_writes(self, owner: ItemOwner, since: datetime) -> int:
        """Return how many items were written for the user since then, also by turns whose reports cannot be written.
        Raises StoreError."""
        with suppress(StoreError):
            await self._buffer.flush()
        row = await self._fetch_one("count_written", _make_key(owner) | {"since": since.timestamp()})
        return (0 if row is None else int(row[0])) + self._buffer.count_written(owner, since)

    async def record_turn(self, report: TurnReport) -> None:
        """Take the report of a turn; a later one of the turn takes its place. It is written a moment later."""
        self._buffer.add(report)

    async def read_last_turn(self, owner: ItemOwner) -> TurnReport | None:
        """Return the report of the last turn of the owner's session. Raises StoreError."""
        await self._buffer.flush()
        row = await self._fetch_one("read_last_turn", _make_key(owner))
        return None if row is None else _parse_turn(row)

    async def record_audit(self, line: AuditLine) -> None:
        """Write what a person has changed, at once. Raises StoreError."""
        values = _make_key(line.owner) | {"project": line.owner.project, "at": line.at.timestamp()}
        await self._execute("write_audit", values | {"action": line.action, "item_id": line.item_id})

    async def read_audit(self, owner: ItemOwner, limit: int = 100) -> Sequence[AuditLine]:
        """Return what a user has changed, newest first."""
        rows = await self._fetch_all("read_audit", _make_key(owner) | {"limit": limit})
        return [
            AuditLine(owner=_parse_owner(row), at=_parse_time(row["at"]), action=row["action"], item_id=row["item_id"])
            for row in rows
        ]

    async def read_stats(self, tenant: str, user: str | None, since: datetime) -> PluginStats:
        """Return what was counted since then, of one user or of all of a tenant. Raises StoreError."""
        await self._buffer.flush()
        values = {"tenant": tenant, "user": user, "since": since.timestamp(), "limit": _MOST_TURNS}
        return tally_turns(map(_parse_turn, await self._fetch_all("read_turns", values)))

    async def close(self) -> None:
        """Write what waits, and close the file."""
        await self._buffer.close()
        await self._database.close()

    def list_problems(self) -> Sequence[Problem]:
        """Return what of the file does not work."""
        return [*self._database.list_problems(), *self._buffer.list_problems()]

    async def _write_off_again(self, owner: ItemOwner) -> None:
        """Switch a session off in the file that has taken the place of a broken one."""
        with suppress(StoreError):  # it is off in this process all the same
            await self.write_switch(owner, is_on=False)

    def _remember(self, owner: ItemOwner, *, is_on: bool) -> None:
        if len(self._switches) >= 1_000:
            self._switches.clear()
        self._switches[_make_place(owner)] = is_on

    async def _write_turns(self, reports: Sequence[TurnReport]) -> None:
        rows = [_encode_turn(report) for report in reports]
        before = {"before": (max(report.at for report in reports) - self._days).timestamp()}

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(_SQL["write_turn"], rows)
            connection.execute(_SQL["drop_turns"], before)
            connection.execute(_SQL["drop_audit"], before)

        await self._database.write(write)

    async def _execute(self, block: str, values: Mapping[str, Any]) -> None:
        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_SQL[block], values)

        await self._database.write(write)

    async def _fetch_one(self, block: str, values: Mapping[str, Any]) -> sqlite3.Row | None:
        rows = await self._fetch_all(block, values)
        return rows[0] if rows else None

    async def _fetch_all(self, block: str, values: Mapping[str, Any]) -> list[sqlite3.Row]:
        def read(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            cursor = connection.cursor()
            cursor.row_factory = sqlite3.Row
            return cursor.execute(_SQL[block], values).fetchall()

        return await self._database.read(read)


def _make_place(owner: ItemOwner) -> tuple[str, str, str]:
    return owner.tenant, owner.user, owner.session or ""


def _make_key(owner: ItemOwner) -> dict[str, Any]:
    return dict(zip(("tenant", "user", "session"), _make_place(owner), strict=True))


def _encode_turn(report: TurnReport) -> dict[str, Any]:
    values = _make_key(report.owner) | {"project": report.owner.project, "at": report.at.timestamp()}
    values |= {name: getattr(report, name) for name in (*_TEXTS, *_COUNTS, *_FLAGS)}
    return values | {
        "item_ids": json.dumps(report.item_ids),
        "refusals": json.dumps(dict(report.refusals)),
        "milliseconds": json.dumps(dict(report.milliseconds)),
    }


def _parse_turn(row: sqlite3.Row) -> TurnReport:
    flags = {name: None if row[name] is None else bool(row[name]) for name in _FLAGS}
    parsed = {name: json.loads(row[name]) for name in _JSON}
    counts = {name: row[name] for name in (*_TEXTS, *_COUNTS)}
    return TurnReport(
        owner=_parse_owner(row),
        at=_parse_time(row["at"]),
        **counts | flags | parsed | {"item_ids": tuple(parsed["item_ids"])},
    )


def _parse_owner(row: sqlite3.Row) -> ItemOwner:
    return ItemOwner(tenant=row["tenant"], user=row["user"], session=row["session"] or None, project=row["project"])


def _parse_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
