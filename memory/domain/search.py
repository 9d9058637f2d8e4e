"""A search as the store runs it, and its hits before they are ranked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.journal import Delta
from muniment.memory.domain.memory import Kind, StoredMemory
from muniment.memory.domain.query import Filters
from muniment.memory.domain.scope import Scope

# Below the floor meaning falls further, down to this: the floor decides on relevance, not on order.
LOWEST_MEANING = -0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of the store's score: semantic * meaning + keyword * share + actor + own + timely * nearness +
    traits.

    Meaning is the cosine scaled from `floor` (0) to `ceiling` (1), and lower below it, down to LOWEST_MEANING. `actor`
    is added for memories of the one speaker that the query names, `own` for memories about the user when the query is.
    Nearness is 1 within a period that the query names, and falls to 0 at `before` and `after` seconds outside of it."""

    floor: float
    ceiling: float
    semantic: float
    keyword: float
    actor: float
    own: float
    timely: float
    before: float
    after: float
    traits: dict[int, float]  # dimension (a trait, or a word that tells what is asked) -> weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query as the store runs it: all text analysis is done. With NO_VECTOR it finds by words alone."""

    vector: Vector
    terms: tuple[str, ...]
    categories: tuple[str, ...]
    filters: Filters
    candidates: int  # the best by `weights`; memories with an edge to them are added
    weights: Weights
    speakers: tuple[str, ...] = ()  # words of the query, folded, that may be a speaker's name
    periods: tuple[tuple[datetime, datetime], ...] = ()  # that the query names: from, and to (exclusive)
    hints: frozenset[int] = frozenset()  # dimensions of words that hint at what a question about the user asks
    explain: bool = False  # with the rank in each channel
    with_rivals: bool = False  # with the memories whose ids begin as that of a hit
    beginnings: tuple[str, ...] = ()  # letters: the snapshot has the words that begin with one of them
    is_listing: bool = False  # finds no words and no meaning: the newest that the filters let pass
    watched: MemoryId | None = None  # added to the candidates, whatever its score


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A memory that the search finds, with raw signals."""

    memory: StoredMemory
    cosine: float | None = None
    keyword: float = 0.0  # share of the query's BM25 ceiling that the memory reaches, [0, 1]
    edges: dict[MemoryId, float] = field(default_factory=dict)  # to the best of the others, with their strengths
    rivals: tuple[MemoryId, ...] = ()  # memories of the space whose ids have the same first eight digits
    # Only with `explain`: the rank in each channel, from 1, and the words of the query that the memory has.
    ranks: dict[str, int] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    traits: tuple[float, ...] = (0.0, 0.0, 0.0)  # DATED, ASKING, NAMING of `rules/retrieval/intents.py`
    shared: Scope | None = None  # whose space it is of; None: that of who asks


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourProbe:
    """What the store needs of a candidate to find its neighbours; with NO_VECTOR those that are near by its key."""

    vector: Vector
    kind: Kind
    stable_key: str | None = None
    attribute: str | None = None  # start of the stable keys that speak of the same attribute of the same subject
    place: str | None = None  # where it is found, as of a memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedMemories:
    """What finds the active memories of a space at a revision: a list for each of their fields, in one order.

    `vectors` has a row for each memory that `has_vector` names."""

    rev: Revision
    ids: list[MemoryId]
    kinds: list[Kind]
    places: list[str | None]
    revs: list[int]
    stable_keys: list[str | None]
    has_vector: list[bool]
    vectors: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSnapshot:
    """The result of one read transaction: all parts are of the same revision."""

    rev: Revision
    hits: tuple[SearchHit, ...] = ()
    missing_terms: frozenset[str] = frozenset()  # terms of the search that no memory in its scope has
    speakers: tuple[str, ...] = ()  # of the words that may name one, those that do; in lower case
    corpus_size: int = 0  # memories that the search was made among
    mean_cosine: float | None = None  # of these memories with the query; None where an index chose the candidates
    cosine_spread: float | None = None  # their standard deviation
    words: tuple[str, ...] = ()  # of what the search was made among, in lower case, of five letters or more
    stable: tuple[StoredMemory, ...] = ()
    delta: Delta | None = None
    profile: tuple[Consent, ...] = ()  # the approved values of the structured profile
    beside: tuple[Scope, ...] = ()  # whose shared spaces were read, too: their memories are among all of the above
    shared_stable: tuple[tuple[Scope, StoredMemory], ...] = ()  # the stable memories of these
