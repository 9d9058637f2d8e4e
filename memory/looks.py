"""What a search is made of, and what it finds, before anything is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from muniment.memory.records import Filters, Memory, MemoryId, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """By what the store picks its candidates: `semantic * meaning + keyword * share + actor + timely * nearness + traits`.

    Meaning is the cosine between `floor` (0) and `ceiling` (1); `actor` is for the memories of the one speaker whom the
    query names; nearness is 1 within a period that it names, and 0 from `before` and `after` seconds outside of it."""

    floor: float
    ceiling: float
    semantic: float
    keyword: float
    kindred: float  # of a word that stands in for one of the query
    actor: float
    timely: float
    before: float
    after: float
    traits: dict[int, float]  # dimension (`rules/traits.py`) -> weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query made ready for the store: no text analysis is left to do."""

    vector: Vector
    terms: tuple[str, ...]
    categories: tuple[str, ...]
    filters: Filters
    candidates: int  # so many of the best by `weights`; what an edge ties to them comes on top
    weights: Weights
    kindred: tuple[
        tuple[str, int], ...
    ] = ()  # words that stand in for a term that no memory has, each with its place, from 1
    speakers: tuple[str, ...] = ()  # words of the query, folded, that may be a speaker's name
    periods: tuple[tuple[datetime, datetime], ...] = ()  # that the query names: from, to before
    explain: bool = False  # with the rank in each channel
    watched: MemoryId | None = None  # looked at too, wherever it stands


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A memory from one or more channels, with raw signals and no judgement."""

    memory: Memory
    cosine: float | None = None
    keyword: float = 0.0  # share of the query's BM25 ceiling that the memory reaches, [0, 1]
    edges: dict[MemoryId, float] = field(default_factory=dict)  # to the best of the others, with their strengths
    # Only when asked to explain: the place in each channel, from 1, and the words of the query that the memory has, each with
    # itself or with those that stand in for it.
    ranks: dict[str, int] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    traits: tuple[float, ...] = (0.0, 0.0, 0.0)  # DATED, ASKING, NAMING of `rules/traits.py`
