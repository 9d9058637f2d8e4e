"""The configuration of an agent: a JSON file, checked whole before anything is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment.agent.memory_section import (
    USER_KEY,
    MemoryConfig,
    check_keys,
    copy_refusal,
    parse_memory_section,
    refuse_key,
    show_key,
    wrap_key,
)
from muniment.agent.settings import AGENT_KEYS, AgentSettings, parse_agent_settings
from muniment.memory.errors import BadConfig

__all__ = ["AgentConfig", "MemoryConfig", "load_agent_config", "parse_memory_section"]

_MAX_BYTES = 1_000_000
_SECTIONS = ("memory", *AGENT_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """What an agent is made of: its layers of memory, and what it is beside them."""

    memory: MemoryConfig
    agent: AgentSettings


def load_agent_config(path: Path | None) -> AgentConfig:
    """Return the configuration in a file; without one every section is absent. Raises BadConfig that names the file,
    the key and what is allowed there."""
    outcome = _try_file(path)
    if isinstance(outcome, BadConfig):
        raise outcome
    return outcome


def _try_file(path: Path | None) -> AgentConfig | BadConfig:
    """It returns a refusal, so that no frame of its traceback holds what was read."""
    try:
        if path is None:
            return _read_sections({}, Path())
        return _read_sections(_parse_file(path), path.parent)
    except BadConfig as error:
        refusal = copy_refusal(error)
    return BadConfig(f"{path}: {refusal}", **refusal.data, file=str(path))


def _read_sections(sections: Mapping[str, Any], folder: Path) -> AgentConfig:
    check_keys(sections, _SECTIONS, "")
    if "memory" in sections and sections["memory"] is None:
        refuse_key("memory", "allowed: an object")
    memory = parse_memory_section(sections.get("memory"))
    return AgentConfig(memory=memory, agent=parse_agent_settings(sections, folder))


def _parse_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise BadConfig(f"cannot be read ({error.strerror})") from None
    if len(content) > _MAX_BYTES:
        raise BadConfig(f"is longer than {_MAX_BYTES:,} bytes")
    try:
        tree = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_build_object)
    except UnicodeDecodeError:
        raise BadConfig("is not UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadConfig(f"line {error.lineno}, column {error.colno}: is not JSON") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, brackets within brackets without end
        raise BadConfig("is not JSON that can be read") from None
    if not isinstance(tree, dict):
        raise BadConfig("is no JSON object")
    return tree


def _build_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the file, in which the key of a user is hidden from the start. Raises BadConfig for a key that comes
    twice: the first would be lost."""
    built: dict[str, Any] = {}
    for name, value in pairs:
        if name in built:
            raise BadConfig(f"{show_key(name)}: comes twice", key=show_key(name))
        built[name] = wrap_key(value) if name == USER_KEY and isinstance(value, str) else value
    return built
