"""A value that each setting takes, other than its default, and one that it refuses."""

from __future__ import annotations

import json
from typing import Any

from muniment.memory.config.stages import SettingKey, get_value, list_settings, load_default

_OBJECTS: dict[str, Any] = {
    "recall.without_tags": {"user": ["draft"], "user:ana": ["legacy", "旧"]},
    "recall.profiles": {"terse": {"top_k": 3, "threshold": 0.3}},
    "recall.agents": {"executor": "terse"},
    "forgetting.categories": {"tasks": 30, "knowledge": None},
}
# What a good value of a key needs beside it.
NEEDED = {"recall.agents": {"recall.profiles": _OBJECTS["recall.profiles"]}}
_STEP = 0.001  # within the order of an embedder's bands


def list_values() -> dict[str, tuple[Any, Any]]:
    """For each key of each stage a good value and a bad one."""
    default = load_default()
    found = list_settings(default)
    return {key: (_find_good(each, get_value(default, each.path)), _find_bad(each)) for key, each in found.items()}


def type_value(value: Any) -> str:
    """A value as a person types it."""
    return ",".join(value) if isinstance(value, list) else value if isinstance(value, str) else json.dumps(value)


def _find_good(setting: SettingKey, value: Any) -> Any:
    schema = next(each for each in setting.schema.get("anyOf", [setting.schema]) if each.get("type") != "null")
    if "enum" in schema:
        return next(each for each in schema["enum"] if each != value)
    match schema["type"]:
        case "object":
            return _OBJECTS[setting.key]
        case "boolean":
            return not value
        case "array":
            return [] if value else [schema["items"]["enum"][0]]
        case "integer":
            if value is None:
                return 7
            return value + 1 if value < schema.get("maximum", 10**9) else value - 1
        case "number":
            if value is None:
                return 0.5
            lower = setting.path[-1] in ("check", "fallback", "floor") and setting.path[0] == "embedders"
            is_full = value >= schema.get("maximum", 10**9)
            return round(value - _STEP if lower or is_full else value + _STEP, 6)
    raise AssertionError(setting)


def _find_bad(setting: SettingKey) -> Any:
    kinds = {each.get("type") for each in setting.schema.get("anyOf", [setting.schema])}
    return ["nonsense"] if "array" in kinds else -1 if kinds & {"integer", "number"} else "nonsense"
