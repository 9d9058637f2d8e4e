"""The accounts of the plugin in Postgres: the application works in one space, the keeper counts over a tenant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from muniment.memory.domain.plugin.account import PluginChange, PluginTally, PluginTurn
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.operation.plugin_accounts import PluginAccountStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import send_due_time

_ACCOUNTS, _ROLES, _WRITE = load_blocks("plugin_accounts"), load_blocks("roles"), load_blocks("write")
_Key = tuple[str | None, bool]  # the policy, None for all, and whether it is in shadow


class PostgresPluginAccounts(PluginAccountStore):
    """The `PluginAccountStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def open(self) -> None:
        """Connect, whatever the embedder of the database. Raises StoreDown."""
        await self._connections.open(any_model=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    async def read_switch(self, scope: Scope, session_id: str) -> bool:
        params = {"space": scope.space, "session": session_id}
        async with self._connections.reading(scope) as conn:
            row = await (await conn.execute(_ACCOUNTS["switch"], params)).fetchone()
        return row is None or bool(row["is_on"])

    async def write_switch(self, scope: Scope, session_id: str, at: datetime, *, is_on: bool) -> None:
        params = {"space": scope.space, "session": session_id, "at": at, "is_on": is_on}
        async with self._connections.sending(scope, found_at=at) as conn:
            await conn.execute(_ACCOUNTS["turn_switch"], params)

    async def record_turns(self, scope: Scope, turns: Sequence[PluginTurn], retention: timedelta) -> None:
        # In one order, or two processes would wait for each other; of two reports of a turn the later one stays.
        latest = {(turn.session_id, turn.turn_id): turn for turn in turns}
        encoded = rows.encode_rows([asdict(latest[key]) for key in sorted(latest)])
        params = _name_owner(scope) | {"turns": encoded, "at": max(turn.at for turn in turns)}
        async with self._connections.sending(scope) as conn:
            await conn.execute(_WRITE["found_unless_erased"], params)
            await conn.execute(_ACCOUNTS["record_turns"], params)
            await send_due_time(conn, scope, min(turn.at for turn in turns), retention)

    async def record_change(self, scope: Scope, change: PluginChange, retention: timedelta) -> None:
        params = asdict(change) | {"space": scope.space, "id": uuid4()}
        async with self._connections.sending(scope, found_at=change.at) as conn:
            await conn.execute(_ACCOUNTS["record_change"], params)
            await send_due_time(conn, scope, change.at, retention)

    async def count_written(self, scope: Scope, since: datetime) -> int:
        params = {"space": scope.space, "since": since}
        async with self._connections.reading(scope) as conn:
            row = await (await conn.execute(_ACCOUNTS["written"], params)).fetchone()
        return int(require_row(row)["written"])

    async def read_last_turn(self, scope: Scope, session_id: str) -> PluginTurn | None:
        params = {"space": scope.space, "session": session_id}
        async with self._connections.reading(scope) as conn:
            row = await (await conn.execute(_ACCOUNTS["last_turn"], params)).fetchone()
        return None if row is None else PluginTurn(**row | {"item_ids": tuple(row["item_ids"])})

    async def read_tallies(self, scope: Scope, since: datetime, *, whole_tenant: bool = False) -> Sequence[PluginTally]:
        params = {"space": scope.space, "tenant": scope.tenant, "since": since}
        if not whole_tenant:
            async with self._connections.reading(scope) as conn:
                return await _read_tallies(conn, "space", params)
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            return await _read_tallies(conn, "tenant", params)

    async def list_changes(self, scope: Scope, limit: int) -> Sequence[PluginChange]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_ACCOUNTS["changes"], {"space": scope.space, "limit": limit})
            return [PluginChange(**row) for row in await cursor.fetchall()]


async def _read_tallies(conn: Connection, range_name: str, params: dict[str, Any]) -> list[PluginTally]:
    counts, refusals, durations = [
        await (await conn.execute(_ACCOUNTS[f"{range_name}_{what}"], params)).fetchall()
        for what in ("counts", "refusals", "durations")
    ]
    by_reason: dict[_Key, dict[str, int]] = defaultdict(dict)
    for row in refusals:
        by_reason[row["policy"], row["is_shadow"]][row["key"]] = row["value"]
    by_step: dict[_Key, dict[str, tuple[float, float]]] = defaultdict(dict)
    for row in durations:
        median, p95 = row["value"]
        by_step[row["policy"], row["is_shadow"]][row["key"]] = median, p95
    return [
        PluginTally(
            **row,
            refusals=by_reason[row["policy"], row["is_shadow"]],
            milliseconds=by_step[row["policy"], row["is_shadow"]],
        )
        for row in counts
    ]


def _name_owner(scope: Scope) -> dict[str, Any]:
    names = {"tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type}
    return {"space": scope.space, **names}
