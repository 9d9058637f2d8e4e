"""Overrides of settings in Postgres: read by every process, written by the keeper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from psycopg.types.json import Jsonb

from muniment.memory.config.changes import Override, OverrideSet, SettingChange
from muniment.memory.errors import Conflict
from muniment.memory.ports.operation.settings import SettingStore
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SETTINGS, _ROLES = load_blocks("settings"), load_blocks("roles")
_LOCK = 0x73657474696E67  # the advisory lock of whoever changes settings: "setting"
_CHANGED = "somebody else has changed the settings meanwhile: look at them again, and repeat what you still want"


class PostgresSettings(SettingStore):
    """The `SettingStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def look_up(self, known: int | None) -> OverrideSet | None:
        async with self._connections.looking() as conn:
            return await _fetch_overrides(conn, known)

    async def read_overrides(self) -> OverrideSet:
        async with self._connections.statement() as conn:
            return await _fetch_overrides(conn, None) or OverrideSet()

    async def apply_changes(self, expected_rev: int, changes: Sequence[SettingChange]) -> None:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            await conn.execute(_SETTINGS["wait"], {"lock": _LOCK})
            rev = require_row(await (await conn.execute(_SETTINGS["revision"])).fetchone())["rev"]
            if rev != expected_rev:
                raise Conflict(_CHANGED, rev=rev)
            for change in changes:
                params = asdict(change) | {"former": Jsonb(change.former), "value": Jsonb(change.value)}
                await conn.execute(_SETTINGS["drop" if change.is_reset else "put"], params)
                await conn.execute(_SETTINGS["note"], params)

    async def read_history(self, keys: Sequence[str], limit: int) -> Sequence[SettingChange]:
        async with self._connections.statement() as conn:
            page = await conn.execute(_SETTINGS["history"], {"keys": list(keys), "limit": limit})
            return [SettingChange(**row) for row in await page.fetchall()]


async def _fetch_overrides(conn: Connection, known: int | None) -> OverrideSet | None:
    rows = await (await conn.execute(_SETTINGS["overrides"], {"known": known})).fetchall()
    if not rows:
        return None
    found = [
        Override(**{name: row[name] for name in ("key", "value", "rev", "by", "at")}) for row in rows if row["key"]
    ]
    return OverrideSet(rows[0]["at_rev"], tuple(found))
