"""The read side of a store in plain Python, from the documented rules: what the SQL of a search has to agree with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume

from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.journal import Delta, JournalEntry
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Filters
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import LOWEST_MEANING, Search, SearchHit, SearchSnapshot
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.ports.store import Store
from muniment.memory.rules.language import tokens
from muniment.memory.rules.projections.types import PROFILE, project_memory
from muniment.memory.rules.retrieval import intents
from muniment.memory.rules.retrieval.intents import is_user_statement

# The database multiplies in single precision. Below this a difference means nothing, and data with one is not judged.
NOISE = 2e-6
HUBS = 10
TRUST = ("user", "tool", "document", "agent")  # the most trusted first
Exact = npt.NDArray[np.float64]


def halved(vector: Vector) -> Exact:
    """A vector as `halfvec` keeps it."""
    return vector.astype(np.float16).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A memory as it is kept; without a vector when that is of another model."""

    memory: StoredMemory
    vector: Exact | None

    @property
    def like(self) -> tuple[Any, ...]:
        """What a search looks at: rows that have it in common get the same score, to the bit."""
        return self.memory.text, self.memory.context, self.memory.actor_id, self.memory.event_time, self.vector is None


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the journal."""

    memory: MemoryId
    action: Any
    at: datetime


@dataclass(kw_only=True)
class World:
    """A space as it was at each revision, from 0, with the journal line of each from 1; edges came after the last."""

    scope: Scope
    states: list[dict[MemoryId, Row]] = field(default_factory=lambda: [{}])
    lines: list[Line] = field(default_factory=list)
    edges: dict[tuple[MemoryId, MemoryId], float] = field(default_factory=dict)

    @property
    def rev(self) -> Revision:
        return Revision(len(self.lines))


def wanted(memory: StoredMemory, filters: Filters) -> bool:
    """Whether a memory passes the filters (S-67)."""
    named = ("agent_id", "run_id", "actor_id", "role", "category", "pinned")
    lowest, highest = filters.importance_min, filters.importance_max
    after, before = filters.updated_after, filters.updated_before
    return (
        all(getattr(filters, name) in (None, getattr(memory, name)) for name in named)
        and (lowest is None or memory.importance >= lowest)
        and (highest is None or memory.importance <= highest)
        and (after is None or memory.updated_at >= after)
        and (before is None or memory.updated_at <= before)
    )


def in_scope(rows: Mapping[MemoryId, Row], reader: Reader, search: Search) -> list[Row]:
    """What the search may look at: active, of the asked categories and the allowed ones, and past the filters."""
    readable = reader.allowed & set(search.categories)
    return [
        row
        for row in rows.values()
        if row.memory.state == "active" and row.memory.category in readable and wanted(row.memory, search.filters)
    ]


@dataclass(frozen=True, kw_only=True)
class Channels:
    """What the rows in scope come to together: the IDF is theirs, and so are the speakers."""

    rows: Sequence[Row]
    share: Mapping[MemoryId, float]  # of the query's BM25 ceiling
    said: Mapping[MemoryId, tuple[str, ...]]  # of the query's terms
    unheard: frozenset[str]
    speakers: frozenset[str]


def channels(rows: Sequence[Row], search: Search) -> Channels:
    weights = {
        row.memory.id: intents.index_text(row.memory.text, row.memory.context, row.memory.aliases) for row in rows
    }
    size = len(rows) + tokens.BACKGROUND_SIZE

    def weight(id_: MemoryId, term: str) -> float:
        return sum(
            float(np.float32(weights[id_].get(tokens.hash_lexeme(form), 0.0))) for form in tokens.list_verb_forms(term)
        )

    def met(term: str) -> list[MemoryId]:
        return [id_ for id_ in weights if weight(id_, term)]

    def idf(term: str) -> float:
        return float(np.log(1 + (size - len(met(term)) + 0.5) / (len(met(term)) + 0.5)))

    unheard = {term for term in search.terms if not met(term)}
    reached = dict.fromkeys(weights, 0.0)
    said: dict[MemoryId, tuple[str, ...]] = dict.fromkeys(weights, ())
    for term in search.terms:
        for id_ in met(term):
            reached[id_] += idf(term) * weight(id_, term)
            said[id_] = (*said[id_], term)
    ceiling = sum(map(idf, search.terms)) * tokens.WEIGHT_CEILING
    return Channels(
        rows=rows,
        share={id_: min(1.0, total / ceiling) if ceiling else 0.0 for id_, total in reached.items()},
        said=said,
        unheard=frozenset(unheard),
        speakers=frozenset((row.memory.actor_id or "").lower() for row in rows) & set(search.speakers),
    )


def cosine(row: Row, search: Search) -> float | None:
    """The cosine of two vectors of length 1."""
    return None if row.vector is None else float(row.vector @ halved(search.vector))


def nearness(moment: datetime | None, search: Search) -> float:
    """1 within a period that the query names, 0 from so many seconds outside of each."""
    if moment is None:
        return 0.0
    after, before = search.weights.after, search.weights.before
    far = [
        max(0.0, (moment - end).total_seconds() / after, (start - moment).total_seconds() / before)
        for start, end in search.periods
    ]
    return max(0.0, 1 - min(far, default=1.0))


def merit(row: Row, all_: Channels, search: Search, owner: str) -> float:
    """By what candidates are picked (`looks.Weights`)."""
    by, memory = search.weights, row.memory
    near = cosine(row, search)
    meaning = 0.0 if near is None else max(LOWEST_MEANING, min(1.0, (near - by.floor) / (by.ceiling - by.floor)))
    named = len(all_.speakers) == 1 and (memory.actor_id or "").lower() in all_.speakers
    return (
        by.semantic * meaning
        + by.keyword * all_.share[memory.id]
        + by.actor * named
        + by.own * is_user_statement(memory.text, by_user=memory.actor_id in (None, owner))
        + by.timely * nearness(memory.event_time, search)
        + sum(
            by.traits.get(one, 0.0) * float(np.float32(value))
            for one, value in intents.index_text(memory.text, memory.context).items()
        )
    )


def best(all_: Channels, search: Search, owner: str) -> tuple[set[MemoryId], set[MemoryId]]:
    """The candidates, and those of them whose edges count; of equals the smaller id."""
    scored = sorted(((merit(row, all_, search, owner), row) for row in all_.rows), key=_first)
    for edge in (HUBS, search.candidates):
        if edge < len(scored):
            (above, inside), (below, outside) = scored[edge - 1 : edge + 1]
            assume(above - below > NOISE or inside.like == outside.like)
    ids = [row.memory.id for _, row in scored[: search.candidates]]
    return set(ids), set(ids[:HUBS])


def _first(scored: tuple[float, Row]) -> tuple[float, MemoryId]:
    return -scored[0], scored[1].memory.id


def found(world: World, rev: Revision, all_: Channels, search: Search) -> dict[MemoryId, SearchHit]:
    """The candidates and what an edge ties to the best ten of them, twice as many at most, with their signals."""
    candidates, hubs = best(all_, search, world.scope.owner)
    picked: dict[MemoryId, SearchHit] = {}
    tied = world.edges if rev == world.rev else {}
    edges_of: dict[MemoryId, dict[MemoryId, float]] = {}
    for row in all_.rows:
        id_ = row.memory.id
        ends = [(b if a == id_ else a, strength) for (a, b), strength in tied.items() if id_ in (a, b)]
        edges_of[id_] = {end: strength for end, strength in ends if end in hubs}
    beside = [id_ for id_, edges in edges_of.items() if edges and id_ not in candidates]
    beside = sorted(beside, key=lambda id_: (-max(edges_of[id_].values()), id_))[: 2 * search.candidates]
    for row in all_.rows:
        id_, its = row.memory.id, intents.index_text(row.memory.text)
        edges = edges_of[id_]
        if id_ in candidates or id_ in beside:
            picked[id_] = SearchHit(
                memory=replace(row.memory, context=None),
                cosine=cosine(row, search),
                keyword=all_.share[id_],
                edges=edges,
                traits=(its.get(intents.DATED, 0), its.get(intents.ASKING, 0), its.get(intents.NAMING, 0)),
            )
    return picked


def agreed(mine: Mapping[MemoryId, SearchHit], theirs: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
    """What both found, with the database's last bits. Fails where they differ by more."""
    assert {one.memory.id for one in theirs} == mine.keys()
    assert len(theirs) == len(mine)
    for one in theirs:
        own = mine[one.memory.id]
        assert one.memory == own.memory
        assert one.edges == own.edges
        assert (one.cosine is None) == (own.cosine is None)
        signals = zip(
            (one.cosine or 0.0, one.keyword, *one.traits), (own.cosine or 0.0, own.keyword, *own.traits), strict=True
        )
        assert all(abs(its - wanted) < NOISE for its, wanted in signals)
    seen = {one.memory.id: one for one in theirs}
    return tuple(replace(seen[id_], memory=own.memory, edges=own.edges) for id_, own in mine.items())


def placed(all_: Channels, search: Search, one: SearchHit) -> None:
    """Fails where a found memory's places in the channels are not those among all in scope, or it tells other words."""
    assert one.words == all_.said[one.memory.id]
    near = [cosine(row, search) for row in all_.rows]
    signals: dict[str, tuple[float | None, Sequence[float | None]]]
    signals = {"dense": (one.cosine, near), "keyword": (one.keyword or None, list(all_.share.values()))}
    for channel, (own, others) in signals.items():
        if own is None:
            assert channel not in one.ranks
            continue
        ahead = [sum(other is not None and other > own + noise for other in others) for noise in (NOISE, -NOISE)]
        assert ahead[0] + 1 <= one.ranks[channel] <= max(ahead[1], 1)


class PlainStore:
    """The reads of a query and a brief, checked against a real store as they are made."""

    def __init__(self, store: Store, world: World) -> None:
        self._store, self._world = store, world
        self.reads = self.usage = self

    def __getattr__(self, port: str) -> Any:
        """The other ports are those of the real store."""
        return getattr(self._store, port)

    async def read_snapshot(
        self,
        reader: Reader,
        search: Search | None,
        *,
        stable: Sequence[str] = (),
        stable_limit: int = 100,
        thread: str | None = None,
        horizon: datetime | None = None,
        as_of: Revision | None = None,
    ) -> SearchSnapshot:
        """See `Store.look`. Fails where the real store sees anything else."""
        theirs = await self._store.reads.read_snapshot(
            reader, search, stable=stable, stable_limit=stable_limit, thread=thread, horizon=horizon, as_of=as_of
        )
        rev = self._world.rev if as_of is None else min(self._world.rev, as_of)
        rows = self._world.states[rev]
        seen: tuple[SearchHit, ...] = ()
        if search is not None and search.is_listing:
            listed = sorted(in_scope(rows, reader, search), key=lambda row: (row.memory.updated_at, row.memory.rev))
            newest = [row.memory.id for row in reversed(listed)][: search.candidates]
            assert ([hit.memory.id for hit in theirs.hits], theirs.corpus_size) == (newest, len(listed))
            seen = theirs.hits
        elif search is not None:
            all_ = channels(in_scope(rows, reader, search), search)
            seen = agreed(found(self._world, Revision(rev), all_, search), theirs.hits)
            assert (theirs.missing_terms, theirs.corpus_size) == (all_.unheard, len(all_.rows))
            assert frozenset(theirs.speakers) == all_.speakers
            for one in theirs.hits if search.explain else ():
                placed(all_, search, one)
        return SearchSnapshot(
            rev=Revision(rev),
            hits=seen,
            missing_terms=theirs.missing_terms,
            speakers=theirs.speakers,
            corpus_size=theirs.corpus_size,
            stable=self._stable(rows, reader, stable, stable_limit, is_now=as_of is None),
            delta=self._delta(rows, reader, horizon, Revision(rev)) if thread and horizon else None,
        )

    async def find_revision_at(self, scope: Scope, moment: datetime) -> Revision:
        return Revision(max((n for n, line in enumerate(self._world.lines, 1) if line.at <= moment), default=0))

    async def record_events(self, scope: Scope, events: Sequence[OpsEvent]) -> None:
        return None

    def _stable(
        self, rows: Mapping[MemoryId, Row], reader: Reader, names: Sequence[str], limit: int, *, is_now: bool
    ) -> tuple[StoredMemory, ...]:
        shown = reader.allowed & set(names)
        active = [row.memory for row in rows.values() if row.memory.state == "active"]
        spoken_for = _find_spoken_for(active, shown) if is_now else frozenset()
        lasting = [replace(one, context=None) for one in active if one.category in shown and one.id not in spoken_for]
        lasting.sort(key=lambda one: (not one.pinned, -one.importance, one.created_at, one.id))
        return tuple(lasting[:limit])

    def _delta(self, rows: Mapping[MemoryId, Row], reader: Reader, horizon: datetime, rev: Revision) -> Delta:
        """The changes since the horizon, for a thread that never looked."""
        lines = list(enumerate(self._world.lines, 1))
        since = min((n - 1 for n, line in lines if line.at >= horizon), default=self._world.rev)
        entries = []
        for n, line in lines[since:rev]:
            memory, then = rows[line.memory].memory, self._world.states[n][line.memory].memory
            if {memory.category, then.category} <= reader.allowed and memory.state not in ("pending", "rejected"):
                entries.append(
                    JournalEntry(
                        rev=Revision(n),
                        memory_id=memory.id,
                        action=line.action,
                        ts=line.at,
                        category=memory.category,
                        text=memory.text,
                        importance=memory.importance,
                        pinned=memory.pinned,
                    )
                )
        return Delta(since=Revision(since), rev=rev, entries=tuple(entries))


def _find_spoken_for(active: Iterable[StoredMemory], shown: frozenset[str]) -> frozenset[MemoryId]:
    """The memories that say in the profile what a more trusted or a later one says, or that it says otherwise."""
    slots: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for memory in active:
        for one in project_memory(memory):
            if one.type == PROFILE:
                order = (TRUST.index(memory.trust), -memory.updated_at.timestamp(), -memory.rev, memory.id)
                slots[one.key].append((order, memory, one.data))
    spoken_for = set()
    for said in slots.values():
        (_, best, values), *others = sorted(said, key=lambda each: each[0])
        if best.category in shown:
            spoken_for |= {one.id for _, one, data in others if data == values or one.trust != best.trust}
    return frozenset(spoken_for)
