"""What is kept of a turn and of a person's commands: numbers, ids and reasons, never a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from muniment.plugin.domain.item import ItemOwner

AuditAction: TypeAlias = Literal["pin", "unpin", "forget", "off", "on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """What the plugin decided, did and cost in one turn."""

    turn_id: str
    owner: ItemOwner
    at: datetime
    policy: str = "default"
    is_shadow: bool = False  # it decided and counted, and neither showed nor wrote anything
    recall: bool = False  # whether the recall gate let the turn through
    recall_reason: str = ""
    is_hit: bool | None = None  # whether something was found; None without a search
    item_ids: tuple[str, ...] = ()  # that were put before the model
    tokens: int = 0  # that were added to the prompt, as rendered
    written: int = 0
    duplicates: int = 0  # that were known already
    refusals: Mapping[str, int] = field(default_factory=dict, hash=False)  # by reason
    remote_reads: int = 0
    remote_writes: int = 0
    queue_length: int = 0  # operations that wait to be sent
    milliseconds: Mapping[str, float] = field(default_factory=dict, hash=False)  # by store and step, as `local search`


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """What a person has changed by a command."""

    owner: ItemOwner
    at: datetime
    action: AuditAction
    item_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginStats:
    """What was counted of the turns since a time. Shares are in [0, 1]; None where nothing was counted."""

    turns: int = 0
    searched: int = 0
    hits: int = 0
    tokens: int = 0
    written: int = 0
    duplicates: int = 0
    refusals: Mapping[str, int] = field(default_factory=dict, hash=False)
    remote_reads: int = 0
    remote_writes: int = 0
    queue_length: int = 0  # at the last turn
    milliseconds: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)  # median and p95
    policies: Mapping[str, PluginStats] = field(default_factory=dict, hash=False)

    @property
    def hit_share(self) -> float | None:
        """The share of searches that found something."""
        return self.hits / self.searched if self.searched else None

    @property
    def duplicate_share(self) -> float | None:
        """The share of what was to be written that was known already."""
        total = self.written + self.duplicates
        return self.duplicates / total if total else None

    @property
    def remote_calls_per_100_turns(self) -> float | None:
        """How many requests went to the server per 100 turns."""
        return 100 * (self.remote_reads + self.remote_writes) / self.turns if self.turns else None
