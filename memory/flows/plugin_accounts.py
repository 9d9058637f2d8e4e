"""Accounts of the plugin in this database: they live as long as other events, and go with the erasure of a space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from muniment.memory.domain.plugin.account import PluginChange, PluginTally, PluginTurn
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.operation.plugin_accounts import PluginAccountStore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PluginAccounts:
    """The accounts of all spaces. What is written is kept for `retention`; a switch as long as its space."""

    store: PluginAccountStore
    clock: Clock
    retention: timedelta

    async def read_switch(self, scope: Scope, session_id: str) -> bool:
        """Return whether the plugin is on in a session. Raises StoreError."""
        return await self.store.read_switch(scope, session_id)

    async def write_switch(self, scope: Scope, session_id: str, *, is_on: bool) -> None:
        """Switch the plugin on or off in a session, for good. Raises StoreError."""
        await self.store.write_switch(scope, session_id, self.clock.now(), is_on=is_on)

    async def record_turns(self, scope: Scope, turns: Sequence[PluginTurn]) -> None:
        """Write turns; a later report of a turn takes the place of the former. Raises StoreError."""
        if turns:
            await self.store.record_turns(scope, turns, self.retention)

    async def record_change(self, scope: Scope, change: PluginChange) -> None:
        """Write what a person has changed. Raises StoreError."""
        await self.store.record_change(scope, change, self.retention)

    async def count_written(self, scope: Scope, since: datetime) -> int:
        """Return how many items were written in the space since then. Raises StoreError."""
        return await self.store.count_written(scope, since)

    async def read_last_turn(self, scope: Scope, session_id: str) -> PluginTurn | None:
        """Return the newest turn of a session. Raises StoreError."""
        return await self.store.read_last_turn(scope, session_id)

    async def read_tallies(self, scope: Scope, since: datetime, *, whole_tenant: bool = False) -> Sequence[PluginTally]:
        """Return what was counted since then, first of all turns, then by policy. Raises StoreError."""
        return await self.store.read_tallies(scope, since, whole_tenant=whole_tenant)

    async def list_changes(self, scope: Scope, limit: int = 100) -> Sequence[PluginChange]:
        """Return what was changed by persons, newest first. Raises StoreError."""
        return await self.store.list_changes(scope, limit)
