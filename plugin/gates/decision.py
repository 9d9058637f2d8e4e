"""What a gate says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a gate lets something through, with the reason in a few words, and the numbers it rests on.

    A reason is one of a fixed set, so that decisions can be counted by it; it holds no text of a message."""

    allowed: bool
    reason: str
    facts: Mapping[str, float] = field(default_factory=dict, hash=False)
