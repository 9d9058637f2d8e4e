"""The port of the plugin's accounts: switches of sessions, what turns cost, and what a person has changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from muniment.memory.domain.plugin.account import PluginChange, PluginTally, PluginTurn
from muniment.memory.domain.scope import Scope


class PluginAccountStore(Protocol):
    """The accounts of the plugin, space by space. Nothing older than the erasure of its space is written."""

    async def read_switch(self, scope: Scope, session_id: str) -> bool:
        """Return whether the plugin is on in a session; it is where nobody has said otherwise."""
        ...

    async def write_switch(self, scope: Scope, session_id: str, at: datetime, *, is_on: bool) -> None:
        """Switch the plugin on or off in a session."""
        ...

    async def record_turns(self, scope: Scope, turns: Sequence[PluginTurn], retention: timedelta) -> None:
        """Write turns, which are due for removal after `retention`; a later report of a turn replaces the former."""
        ...

    async def record_change(self, scope: Scope, change: PluginChange, retention: timedelta) -> None:
        """Write what a person has changed, which is due for removal after `retention`."""
        ...

    async def count_written(self, scope: Scope, since: datetime) -> int:
        """Return how many items were written in the space since then."""
        ...

    async def read_last_turn(self, scope: Scope, session_id: str) -> PluginTurn | None:
        """Return the newest turn of a session."""
        ...

    async def read_tallies(self, scope: Scope, since: datetime, *, whole_tenant: bool = False) -> Sequence[PluginTally]:
        """Return what was counted since then by policy, and first without one of all: in the space, or in all of the
        scope's tenant."""
        ...

    async def list_changes(self, scope: Scope, limit: int) -> Sequence[PluginChange]:
        """Return what was changed in the space, newest first."""
        ...
