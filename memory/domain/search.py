"""A search as the store runs it, and what it finds before anything is ranked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.journal import Delta
from muniment.memory.domain.memory import Kind, Memory
from muniment.memory.domain.query import Filters

# Below the floor meaning goes on falling, down to this: the floor says what is relevant, not what comes first.
LOWEST_MEANING = -0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """By what the store picks its candidates: `semantic * meaning + keyword * share + actor + own + timely * nearness + traits`.

    Meaning is the cosine between `floor` (0) and `ceiling` (1), and less below it, down to LOWEST; `actor` is for the memories of
    the one speaker whom the query names, `own` for what is told of the user, where the query is about them; nearness is 1 within
    a period that it names, and 0 from `before` and `after` seconds outside of it."""

    floor: float
    ceiling: float
    semantic: float
    keyword: float
    actor: float
    own: float
    timely: float
    before: float
    after: float
    traits: dict[int, float]  # dimension (`rules/traits.py`, or of a word that tells what is asked) -> weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query made ready for the store: no text analysis is left to do."""

    vector: Vector
    terms: tuple[str, ...]
    categories: tuple[str, ...]
    filters: Filters
    candidates: int  # so many of the best by `weights`; what an edge ties to them comes on top
    weights: Weights
    speakers: tuple[str, ...] = ()  # words of the query, folded, that may be a speaker's name
    periods: tuple[tuple[datetime, datetime], ...] = ()  # that the query names: from, to before
    hints: frozenset[int] = frozenset()  # dimensions of words that tell what a question about the user asks for
    explain: bool = False  # with the rank in each channel
    watched: MemoryId | None = None  # looked at too, wherever it stands


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A memory from one or more channels, with raw signals and no judgement."""

    memory: Memory
    cosine: float | None = None
    keyword: float = 0.0  # share of the query's BM25 ceiling that the memory reaches, [0, 1]
    edges: dict[MemoryId, float] = field(default_factory=dict)  # to the best of the others, with their strengths
    # Only when asked to explain: the place in each channel, from 1, and the words of the query that the memory has.
    ranks: dict[str, int] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    traits: tuple[float, ...] = (0.0, 0.0, 0.0)  # DATED, ASKING, NAMING of `rules/traits.py`


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourProbe:
    """A candidate as the store looks for its neighbours."""

    vector: Vector
    kind: Kind
    stable_key: str | None = None
    attribute: str | None = None  # start of the stable keys that speak of the same attribute of the same subject


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSnapshot:
    """What one read transaction saw: all parts are of the same revision."""

    rev: Revision
    hits: tuple[SearchHit, ...] = ()
    missing_terms: frozenset[str] = frozenset()  # terms of the search that no memory in its scope has
    speakers: tuple[str, ...] = ()  # of the words that may name one, those that do; in lower case
    corpus_size: int = 0  # memories that the search was made among
    stable: tuple[Memory, ...] = ()
    delta: Delta | None = None
    profile: tuple[Consent, ...] = ()  # the approved values of the structured profile
