"""Erasure: the traces of a memory, and receipts for what was removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatement:
    """What a memory says, as it is (`since` is 0) or as it was from a revision on."""

    id: MemoryId
    since: Revision
    kind: Kind
    text: str
    context: str | None = None
    turns: tuple[TurnId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Where a memory, or all of a space, left traces, at one revision; `texts` are what the memory says and has said."""

    rev: Revision
    threads: frozenset[str] = frozenset()  # in which it was said or recalled, as the scope names them
    turns: tuple[TurnId, ...] = ()  # of the ledger, that support it or say it
    built_on: tuple[MemoryStatement, ...] = ()  # other memories that say it, or were made of those turns
    former: tuple[MemoryStatement, ...] = ()  # former texts of others that say it
    around: tuple[MemoryStatement, ...] = ()  # others that say it in the words around them only
    texts: tuple[str, ...] = field(default=(), repr=False)
    derived: tuple[str, ...] = field(default=(), repr=False)  # texts of others that go with it
    shingle_hashes: tuple[int, ...] = field(
        default=(), repr=False
    )  # of all these texts, as turns keep what was recalled


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """A receipt: what was removed for good, counted by the names of its tables; no word of it."""

    id: UUID
    what: Literal["memory", "user", "purge"]
    at: datetime
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyBounds:
    """Where a survey looks, in the embedder's terms: see `Consolidation` and `Profile`."""

    pool: int
    recent: datetime
    importance: int
    retrieved: float
    partners: datetime
    most: int  # partners, the latest to change: what a survey costs is bounded in a space of any size
    checked: datetime
    tries: int  # after which a pair without an answer counts as checked, too
    asks: bool  # there is a model: what the rules alone doubted does not count as checked
    closest: int
    fallback: float
    worded: float
    foreign: bool  # the embedder knows Latin letters alone: other texts are compared by their words


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubResult:
    """How far the database's files were rewritten: tables without their dead rows, and what was written ahead of them."""

    tables: int
    statistics: bool  # what the planner remembers of the columns
    log: bool  # the write-ahead log of before is gone; else only time overwrites it
    held: int = 0  # dead rows that somebody still sees, and that were written anew with the rest: scrub again

    def __add__(self, other: ScrubResult) -> ScrubResult:
        """As if two databases were one."""
        return ScrubResult(
            tables=self.tables + other.tables,
            statistics=self.statistics and other.statistics,
            log=self.log and other.log,
            held=self.held + other.held,
        )
