"""Policies: named sets of what the gates decide by, of which a session has one for good."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from pydantic import ValidationError

from muniment.memory.config.plugin import GateSettings, PluginSettings
from muniment.memory.errors import BadConfig

DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the gates of a session decide by. In its shadow nothing is shown or written."""

    name: str
    gates: GateSettings
    is_shadow: bool = False


def choose_policy(session: str, settings: PluginSettings) -> Policy:
    """Return the policy of a session: the other one for a share of the sessions, by a hash of the session's name.

    Raises BadConfig for a policy that the settings do not have, or a value that a gate does not take."""
    other = settings.other_policy
    is_other = other is not None and draw_share(session) < settings.other_share
    name = other if other is not None and is_other else settings.policy
    return Policy(name=name, gates=resolve_gates(name, settings), is_shadow=settings.shadow)


def resolve_gates(name: str, settings: PluginSettings) -> GateSettings:
    """Return what the gates decide by under a policy. Raises as `choose_policy` does."""
    if name != DEFAULT and name not in settings.policies:
        raise BadConfig(f"plugin.policies has no {name!r}", key="plugin.policies")
    changes = settings.policies.get(name)
    if not changes:
        return settings.gates
    gates = settings.gates.model_dump()
    for field, value in changes.items():
        gates[field] = int(value) if isinstance(gates.get(field), int) and value.is_integer() else value
    try:
        return GateSettings.model_validate(gates)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        key = f"plugin.policies.{name}.{field}"
        raise BadConfig(f"{key}: {first['msg']}", key=key) from None


def draw_share(session: str) -> float:
    """Return a number in [0, 1) that is the same for the same session in every process and on every machine."""
    return int.from_bytes(blake2b(session.encode("utf-8", "replace"), digest_size=8).digest(), "big") / 2**64
