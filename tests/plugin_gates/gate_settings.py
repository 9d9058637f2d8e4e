"""The gates' settings as they are shipped, and changes of them."""

from __future__ import annotations

from typing import Any

from muniment.memory.config.plugin import GateSettings, PluginSettings
from muniment.memory.config.settings import load_settings

PLUGIN: PluginSettings = load_settings({"HOME": "/nonexistent"}).plugin
GATES: GateSettings = PLUGIN.gates


def change_gates(**changes: Any) -> GateSettings:
    """Return the shipped gates with changes, which are checked."""
    return GateSettings.model_validate(GATES.model_dump() | changes)
