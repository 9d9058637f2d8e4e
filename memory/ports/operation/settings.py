"""The settings port: overrides of settings, and their history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.config.changes import OverrideSet, SettingChange


class SettingStore(Protocol):
    """The overrides of the installation's settings."""

    async def look_up(self, known: int | None) -> OverrideSet | None:
        """Return all overrides, or None where the settings are still at the revision that is known.

        A look opens nothing: while the store is closed or the database away, it raises StoreDown."""
        ...

    async def read_overrides(self) -> OverrideSet:
        """Return all overrides, and open the store for that."""
        ...

    async def apply_changes(self, expected_rev: int, changes: Sequence[SettingChange]) -> None:
        """Write changes of one revision, which follows `expected_rev`, all or none. Raises Conflict where the settings
        are at another one."""
        ...

    async def read_history(self, keys: Sequence[str], limit: int) -> Sequence[SettingChange]:
        """Return the latest changes of these keys, the newest first."""
        ...
