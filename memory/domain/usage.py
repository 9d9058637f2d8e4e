"""What was done and what it cost: operational events, charges, settlements and counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.journal import JournalEntry, Node
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.turn import Source

Op = Literal["classify", "search", "create", "update", "merge", "delete", "link", "ttl"]
Status = Literal["ok", "error", "skipped"]
Purpose = Literal["reply", "extract", "insight", "consolidate", "path", "bisect"]
CONTENT_REASONS = ("more than ", "recalled", "contradicts ")  # starts of reasons that are not about a statement's form


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsEvent:
    """One line of operational tracking: a search, a skip or a failure. Mutations are in the journal."""

    node: Node
    op: Op
    status: Status
    ts: datetime
    thread_id: str | None = None
    memory_id: MemoryId | None = None
    category: str | None = None
    sim: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one request to a model costs, or may cost: tokens, and money in millionths of the configured currency."""

    purpose: Purpose
    model: str
    input_tokens: int
    output_tokens: int
    micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The settlement of a charge: the reserved one is replaced by the used one, or given back where `used` is None."""

    day: date
    reserved: Charge | None = None
    used: Charge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySpending:
    """What a tenant spent on one purpose and model in a day (UTC)."""

    day: date
    purpose: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCount:
    """How often a node did something with a status on a day (UTC)."""

    day: date
    node: str
    op: str
    status: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionStats:
    """Counts of the extractions by one source; of repairs and refusals by reason."""

    source: Source
    looks: int
    found: int
    written: int
    repaired: dict[str, int]
    refused: dict[str, int]

    @property
    def first_pass_share(self) -> float | None:
        """The share of candidates that were neither repaired nor refused for their form, or None without candidates."""
        if not self.found:
            return None
        refused = sum(count for reason, count in self.refused.items() if not reason.startswith(CONTENT_REASONS))
        return max(0.0, 1 - (sum(self.repaired.values()) + refused) / self.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyReport:
    """The active memories that were imported from a former design: how many there are, how many of them a later change
    has confirmed, and some that none has, oldest first."""

    total: int
    confirmed: int
    waiting: tuple[StoredMemory, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceActivity:
    """The events of a space since a day (UTC), and its latest changes, newest first."""

    since: date
    counts: tuple[EventCount, ...]
    extracted: tuple[ExtractionStats, ...]
    changes: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """A tenant's spending since a day (UTC).

    The tokens and micros of `days` may exceed those of `lines`: a request under way, or whose worker died, is in no
    line."""

    since: date
    lines: tuple[DailySpending, ...]
    days: dict[date, tuple[int, int]]  # day -> tokens and micros charged
    facts: int  # that the model's extraction has written
