"""What the JSON file of an agent says beside its `memory` section: whose it is, its files, its skills, its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment.agent.memory_section import check_keys, refuse_key
from muniment.agent.parts import DEFAULT_TOOL_LIMIT, DEFAULT_USER
from muniment.agent.skills import Skill, load_skills
from muniment.memory.codec import is_storable
from muniment.memory.domain.tokens.fields import is_base_url
from muniment.memory.errors import BadConfig

AGENT_KEYS = ("curatedFolder", "instructions", "model", "skillsFolder", "toolLimit", "user")
_MODEL_KEYS = ("baseUrl", "name")
_MAX_NAME = 200
_MAX_INSTRUCTIONS = 20_000
_MAX_TOOL_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The model of an agent and its endpoint; None for those of the environment."""

    name: str | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """An agent without its memories. Without a folder the curated files are where the settings have them."""

    user: str = DEFAULT_USER
    instructions: str = ""
    curated_folder: Path | None = None
    skills: tuple[Skill, ...] = ()
    tool_limit: int = DEFAULT_TOOL_LIMIT
    model: ModelChoice = ModelChoice()


def parse_agent_settings(raw: Mapping[str, Any], folder: Path) -> AgentSettings:
    """Return what an agent's file says in these keys; others are not looked at. Paths begin at `folder`, that of the
    file.

    Raises BadConfig, which names the key and what is allowed, and never a value."""
    skills = _read(raw, "skillsFolder", _is_name, "the path of a folder", "")
    curated = _read(raw, "curatedFolder", _is_name, "the path of a folder", "")
    limit = f"a whole number from 1 to {_MAX_TOOL_LIMIT}"
    return AgentSettings(
        user=_read(raw, "user", _is_name, f"a name of 1 to {_MAX_NAME} characters", DEFAULT_USER),
        instructions=_read(raw, "instructions", _is_text, f"at most {_MAX_INSTRUCTIONS:,} characters", ""),
        curated_folder=_find_folder(folder, curated) if curated else None,
        skills=load_skills(_find_folder(folder, skills)) if skills else (),
        tool_limit=_read(raw, "toolLimit", _is_limit, limit, DEFAULT_TOOL_LIMIT),
        model=_parse_model(raw.get("model", {})),
    )


def _parse_model(raw: Any) -> ModelChoice:
    if not isinstance(raw, Mapping):
        refuse_key("model", "allowed: an object with name and baseUrl")
    check_keys(raw, _MODEL_KEYS, "model")
    return ModelChoice(
        name=_read(raw, "name", _is_name, "the name of a model", None, "model."),
        base_url=_read(raw, "baseUrl", _is_address, "an http:// or https:// URL without a login", None, "model."),
    )


def _read(
    raw: Mapping[str, Any], key: str, valid: Callable[[Any], bool], allowed: str, default: Any, place: str = ""
) -> Any:
    if key not in raw:
        return default
    if not valid(raw[key]):
        refuse_key(f"{place}{key}", f"allowed: {allowed}")
    return raw[key]


def _find_folder(base: Path, given: str) -> Path:
    try:
        return (base / Path(given).expanduser()).absolute()
    except RuntimeError:  # what pathlib raises when `~` has no home
        raise BadConfig("a folder begins with ~ but there is no home folder of that name") from None


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= _MAX_NAME and is_storable(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_INSTRUCTIONS and is_storable(value)


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_TOOL_LIMIT


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and is_base_url(value)
