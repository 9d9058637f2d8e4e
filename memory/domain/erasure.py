"""Erasure: the traces of a memory, and receipts for what was removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.layers.observation import ObservationId
from muniment.memory.domain.memory import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatement:
    """What a memory says, and what is kept beside it, now (`since` is 0) or from a revision on."""

    id: MemoryId
    since: Revision
    kind: Kind
    text: str
    context: str | None = None
    aliases: tuple[str, ...] = ()
    fact: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    source: str | None = None
    turns: tuple[TurnId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """The traces of a memory, or of a whole space, at one revision; `texts` are its texts, present and former."""

    rev: Revision
    threads: frozenset[str] = frozenset()  # threads in which it was said or recalled
    turns: tuple[TurnId, ...] = ()  # turns of the ledger that support it or say it
    built_on: tuple[MemoryStatement, ...] = ()  # other memories that say it, or come from these turns
    former: tuple[MemoryStatement, ...] = ()  # former texts of others that say it
    around: tuple[MemoryStatement, ...] = ()  # others that say it beside their text only: what stays of them
    sessions: tuple[str, ...] = ()  # sessions whose metadata or end say it
    observations: tuple[ObservationId, ...] = ()  # that say it
    texts: tuple[str, ...] = field(default=(), repr=False)
    derived: tuple[str, ...] = field(default=(), repr=False)  # texts of other memories that are erased with it
    shingle_hashes: tuple[int, ...] = field(default=(), repr=False)  # of all these texts


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """A receipt of an erasure: the numbers of removed rows by table, and none of their content."""

    id: UUID
    what: Literal["memory", "user", "purge"]
    at: datetime
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyBounds:
    """The bounds of a survey, from the settings of consolidation and the profile of the embedder."""

    pool: int
    recent: datetime
    importance: int
    retrieved: float
    partners: datetime
    most: int  # partners, those changed last: bounds the cost in a space of any size
    checked: datetime
    tries: int  # after so many, a pair without an answer counts as checked
    asks: bool  # there is a model: a pair that the rules were unsure of is not checked
    closest: int
    fallback: float
    worded: float
    foreign: bool  # the embedder knows Latin letters only: other texts are compared by words


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubResult:
    """The result of rewriting the database's files without deleted rows."""

    tables: int
    statistics: bool  # the planner's statistics are new
    log: bool  # the old write-ahead log is gone; else it is overwritten in time
    held: int = 0  # deleted rows that a transaction still sees: scrub again

    def __add__(self, other: ScrubResult) -> ScrubResult:
        """Add the results of two databases."""
        return ScrubResult(
            tables=self.tables + other.tables,
            statistics=self.statistics and other.statistics,
            log=self.log and other.log,
            held=self.held + other.held,
        )
