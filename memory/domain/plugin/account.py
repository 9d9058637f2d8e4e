"""What is kept of the plugin's work in a space: numbers, ids and reasons, never a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginTurn:
    """What the plugin decided, did and cost in one turn of a session."""

    session_id: str
    turn_id: str
    at: datetime
    project_id: str | None = None
    policy: str = "default"
    is_shadow: bool = False
    recall: bool = False  # whether it was let through to memory
    recall_reason: str = ""
    is_hit: bool | None = None  # whether something was found; None without a search
    item_ids: tuple[str, ...] = ()  # that were put before the model
    tokens: int = 0
    written: int = 0
    duplicates: int = 0
    refusals: Mapping[str, int] = field(default_factory=dict, hash=False)
    remote_reads: int = 0
    remote_writes: int = 0
    queue_length: int = 0
    milliseconds: Mapping[str, float] = field(default_factory=dict, hash=False)  # by store and step


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChange:
    """What a person has changed by a command."""

    session_id: str
    at: datetime
    action: str
    project_id: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginTally:
    """What was counted of turns: of one policy, or without a name of all."""

    policy: str | None
    is_shadow: bool
    turns: int
    searched: int
    hits: int
    tokens: int
    written: int
    duplicates: int
    remote_reads: int
    remote_writes: int
    queue_length: int  # at the last turn
    refusals: Mapping[str, int] = field(default_factory=dict, hash=False)
    milliseconds: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)  # median and p95
