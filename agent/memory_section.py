"""The section `memory` of an agent's configuration: which layers of memory it has.

No error, warning or status has a value of the section in it, since any of them may be the key in a wrong place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from muniment.memory.domain.gateway.config import SCOPES, GatewayConfig
from muniment.memory.domain.gateway.user_key import UserKey
from muniment.memory.domain.tokens.fields import is_base_url
from muniment.memory.errors import BadConfig

Mode: TypeAlias = Literal["curated", "hybrid"]
USER_KEY = "userKey"
_CREDENTIALS = ("baseUrl", "userId", USER_KEY)
_KEYS = ("mode", "gateway")
_MAX_TOP_K = 100
_MAX_TEXT = 4_096  # characters of an id or a key
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")  # of an app or a project, as the gateway takes it
_SHOWABLE_KEY = re.compile(r"[A-Za-z_]{1,40}")
_UNSENDABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """Which layers an agent has. The curated files are there in both modes.

    `explicit` is whether the mode was written. `gateway` is None in the mode `curated` and where the implicit mode has
    no gateway to speak to: then `degraded` says why, and `warnings` has that one warning."""

    mode: Mode
    explicit: bool
    gateway: GatewayConfig | None = None
    degraded: str | None = None
    warnings: tuple[str, ...] = ()


def parse_memory_section(raw: Mapping[str, Any] | None) -> MemoryConfig:
    """Return the section, checked whole; None is an absent one. Raises BadConfig that names the key and what is allowed
    there."""
    outcome = _try_section(raw)
    del raw  # a traceback with the values of its frames has no key
    if isinstance(outcome, BadConfig):
        raise outcome
    return outcome


def copy_refusal(error: BadConfig) -> BadConfig:
    """Return the error without its traceback, whose frames hold what was read."""
    return BadConfig(str(error), **error.data)


def refuse_key(path: str, problem: str) -> NoReturn:
    """Raise BadConfig that names a key and the problem."""
    raise BadConfig(f"{path}: {problem}", key=path)


def check_keys(raw: Mapping[str, Any], allowed: Collection[str], path: str) -> None:
    """Raise BadConfig for a key that is not allowed."""
    for name in raw:
        if name not in allowed:
            prefix = f"{path}." if path else ""
            refuse_key(f"{prefix}{show_key(name)}", f"unknown key; allowed: {', '.join(allowed)}")


def show_key(name: object) -> str:
    """Return the name of a key as an error may show it: one of letters, since a secret in its place has digits."""
    return name if isinstance(name, str) and _SHOWABLE_KEY.fullmatch(name) else "(a name that is not shown)"


def _try_section(raw: Mapping[str, Any] | None) -> MemoryConfig | BadConfig:
    try:
        return _read_section(raw)
    except BadConfig as error:
        return copy_refusal(error)


def _read_section(raw: Mapping[str, Any] | None) -> MemoryConfig:
    if raw is None:
        return _degrade("the section memory is missing")
    if not isinstance(raw, Mapping):
        refuse_key("memory", "allowed: an object")
    check_keys(raw, _KEYS, "memory")
    explicit = "mode" in raw
    mode = raw.get("mode", "hybrid")
    if mode == "curated":
        return MemoryConfig(mode="curated", explicit=True)
    if mode != "hybrid":
        refuse_key("memory.mode", "allowed: curated, hybrid")
    gateway = raw.get("gateway")
    if gateway is None:
        gateway = {}
    if not isinstance(gateway, Mapping):
        refuse_key("memory.gateway", "allowed: an object")
    check_keys(gateway, _RULES, "memory.gateway")
    missing = [name for name in _CREDENTIALS if _is_blank(gateway.get(name))]
    if missing and explicit:
        refuse_key(f"memory.gateway.{missing[0]}", 'is missing; the mode "hybrid" needs it, "curated" does not')
    values = _read_values({name: value for name, value in gateway.items() if name not in missing})
    if missing:
        paths = [f"memory.gateway.{name}" for name in missing]
        return _degrade(f"{', '.join(paths)} {'is' if len(paths) == 1 else 'are'} missing")
    return MemoryConfig(mode="hybrid", explicit=explicit, gateway=GatewayConfig(**values))


def _degrade(reason: str) -> MemoryConfig:
    warning = f"The memory gateway is off, and the curated files are on: {reason}."
    return MemoryConfig(mode="hybrid", explicit=False, degraded=reason, warnings=(warning,))


def _is_blank(value: object) -> bool:
    if isinstance(value, UserKey):
        return not value.reveal_value().strip()
    return value is None or (isinstance(value, str) and not value.strip())


def _read_values(gateway: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are written, by the names of GatewayConfig's fields."""
    values: dict[str, Any] = {}
    for name, value in gateway.items():
        field, is_allowed, allowed = _RULES[name]
        if not is_allowed(value):
            refuse_key(f"memory.gateway.{name}", f"allowed: {allowed}")
        values[field] = value
    if "base_url" in values:
        values["base_url"] = values["base_url"].rstrip("/")
    if "user_key" in values:
        values["user_key"] = wrap_key(values["user_key"])
    if "scope" in values:
        values["scope"] = tuple(values["scope"])
    if "timeout_seconds" in values:
        values["timeout_seconds"] = float(values["timeout_seconds"])
    return values


def wrap_key(value: str | UserKey) -> UserKey:
    """Return a key as the type that is not shown."""
    return value if isinstance(value, UserKey) else UserKey(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_TEXT and not _UNSENDABLE.search(value)


def _is_key(value: object) -> bool:
    return _is_text(value.reveal_value() if isinstance(value, UserKey) else value)


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and is_base_url(value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_scope(value: object) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(each, str) and each in SCOPES for each in value) and len({*value}) == len(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_TOP_K


def _is_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value <= sys.float_info.max  # a whole number may be larger than any float


_RULES: Mapping[str, tuple[str, Callable[[object], bool], str]] = {
    "baseUrl": ("base_url", _is_address, "an http or https address with a host, without a user, query or fragment"),
    "userId": ("user_id", _is_text, f"text of at most {_MAX_TEXT:,} characters without controls"),
    USER_KEY: ("user_key", _is_key, f"text of at most {_MAX_TEXT:,} characters without controls"),
    "appId": ("app_id", _is_name, "1 to 128 of A-Z a-z 0-9 _ . -"),
    "projectId": ("project_id", _is_name, "1 to 128 of A-Z a-z 0-9 _ . -"),
    "scope": ("scope", _is_scope, f"a list of one or more of {', '.join(SCOPES)}, each once"),
    "topK": ("top_k", _is_count, f"a whole number from 1 to {_MAX_TOP_K}"),
    "timeoutSeconds": ("timeout_seconds", _is_time, "seconds, more than 0"),
}
