"""A switch of the embedder: rows without a vector of the next model, samples, and progress."""

from __future__ import annotations

from dataclasses import dataclass, field

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class UnembeddedRow:
    """A memory, or a former version of it (`since`: the revision it is from, else 0), without a vector of the next model."""

    id: MemoryId
    since: Revision
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryText:
    """A memory as a comparison shows it."""

    id: MemoryId
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchComparison:
    """What one question finds by its vector alone, under the model in use and under the next: the share that is the same,
    and what only one of them has."""

    scope: Scope
    number: int  # of the question, from 1
    question: str = field(repr=False)
    overlap: float
    only_used: tuple[MemoryText, ...] = ()
    only_next: tuple[MemoryText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchProgress:
    """The database's embedders: the one in use, the one of a switch under way, and how far that is.

    `rows` are memories and former versions; `done` have a vector of the next model, or of the one in use when there is no
    next; `untidy` have a vector in the column of the next model that is of the one in use, or of no use any more."""

    used: str | None
    next: str | None
    rows: int
    done: int
    untidy: int
