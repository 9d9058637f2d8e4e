"""`Configuration`: the settings by stages, and what changes them while processes run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muniment.memory.codec import check_calls
from muniment.memory.config.changes import SettingChange, SettingsView, Stage
from muniment.memory.config.stages import SettingKey
from muniment.memory.engine import Engine


@check_calls
class Configuration:
    """The settings of all processes of this database. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def read_settings(self, stage: Stage | None = None) -> SettingsView:
        """Return the settings in force of a stage, or of all six, and their revision. Raises StoreError."""
        return await self.engine.live_settings.read_view(stage)

    async def change_settings(
        self,
        values: Mapping[str, Any],
        resets: Sequence[str] = (),
        *,
        by: str,
        expected_rev: int | None = None,
    ) -> Sequence[SettingChange]:
        """Change settings, and let those of `resets` be as the file of each process says; all at once.

        Every process follows within half a minute, this one at once. With `expected_rev` the settings have to be at
        this revision. Raises BadInput that names the key and what is allowed, Conflict, StoreError."""
        return await self.engine.live_settings.change_settings(values, resets, by=by, expected_rev=expected_rev)

    async def read_history(self, stage: Stage | None = None, limit: int = 100) -> Sequence[SettingChange]:
        """Return the latest changes, the newest first, of a stage or of all. Raises StoreError."""
        return await self.engine.live_settings.read_history(stage, limit)

    def parse_value(self, key: str, text: str) -> Any:
        """Return the value of a key that a person has typed. Raises BadInput for a key of no stage."""
        return self.engine.live_settings.parse_value(key, text)

    def list_keys(self, stage: Stage | None = None) -> Sequence[SettingKey]:
        """Return the settings of a stage, or of all, with the type of each and what it allows."""
        return self.engine.live_settings.list_keys(stage)
