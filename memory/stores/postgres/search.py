"""What is near a question or a statement in a space of Postgres: snapshots and neighbours.

A snapshot is a search, and what a brief shows beside it.

The statement of a search is put together from the blocks of `search.sql`, one text for each shape of a query. A filter
that is not set is not in the text: a plan is made once for each text and connection, and a scan tests nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import lru_cache
from itertools import chain
from math import isnan
from operator import attrgetter
from time import monotonic
from typing import Any, LiteralString

from pgvector import HalfVector
from psycopg import AsyncCursor
from psycopg.rows import DictRow, tuple_row

from muniment.memory.domain.ids import NO_VECTOR, MemoryId, Revision, SpaceId
from muniment.memory.domain.journal import Delta
from muniment.memory.domain.memory import Kind, Neighbour
from muniment.memory.domain.query import Filters
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import LOWEST_MEANING, NeighbourProbe, Search, SearchSnapshot
from muniment.memory.rules.language import tokens
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.beside import SharedReads
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.schema import large_spaces
from muniment.memory.stores.postgres.schema.large_spaces import SpaceIndexes
from muniment.memory.stores.postgres.sql import load_blocks

_SEARCH, _LARGE, _READ, _CONSENT = (load_blocks(name) for name in ("search", "large_spaces", "read", "consent"))
# Blocks of `large_spaces.sql` that replace those of `search.sql` in a large space.
_OPEN: tuple[LiteralString, ...] = ("met", "base", "scope", "df", "reached")
# Its blocks for a query about the user, and for one with a period.
_OWN: tuple[LiteralString, ...] = ("own_late", "own_posted", "own_lists", "own_met")
_DATED: tuple[LiteralString, ...] = (
    "dated_late_met", "dated_late", "dated_posted", "dated_lists", "dated_near", "dated_met",
)  # fmt: skip
_FILTERS = tuple(field.name for field in fields(Filters) if field.name != "user_id")
_get_filters = attrgetter(*_FILTERS)
_WEIGHTS = ("floor", "ceiling", "semantic", "keyword", "actor", "own", "timely", "before", "after")
_MAX_CHANGES = 1_000  # memories whose changes a delta lists: a header has room for three, and some come to nothing
_MAX_LIMITED = 10_000  # spaces of which is remembered that they have limited memories
_MAX_WORDS = 10_000  # words of a space with which typing errors are compared
_PARAMETER = re.compile(r"%\((\w+)\)[sb]")


class PostgresSearches:
    """Reads snapshots and neighbours. A search uses the indexes of the space where it has them, and a scan where they
    fall short."""

    def __init__(self, connections: PostgresConnections, indexes: SpaceIndexes, model: str) -> None:
        self._connections, self._model = connections, model
        self._indexed_spaces = indexes.indexed_spaces
        self._shared = SharedReads(self._send, _send_words, self._note_indexes, self._indexed_spaces)
        self._limited_spaces: set[SpaceId] = set()

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
        """Send the search and the reads of stable memories and changes, of shared spaces too, in one round trip."""
        scope, now = reader.scope, monotonic()
        # A revision is that of the own space. The read itself asks whether a space is shared, a while after a no again.
        closed, beside = self._shared.closed, reader.beside if as_of is None or reader.then is not None else ()
        closings = [(one, closed.get((one.space, one.space)), closed.get((scope.space, one.space))) for one in beside]
        beside = tuple(one for one, of_all, of_one in closings if max(of_all or now, of_one or now) <= now)
        space = build_reader_params(reader, as_of) | {"limited": scope.space in self._limited_spaces}
        # The indexes are of the memories as they are, not as they were, and begin with those that are near by vector.
        scan = as_of is not None or scope.space not in self._indexed_spaces
        scan = scan or (search is not None and search.vector is NO_VECTOR)
        if search and not stable and not thread and not beside and not search.beginnings:
            return SearchSnapshot(**rows.parse_search(search, await self._search(space, search, scan=scan), as_of))
        stable_params = space | {"categories": list(stable), "limit": stable_limit}
        delta_params = space | {"thread": thread, "horizon": horizon, "changes": _MAX_CHANGES}
        async with self._connections.reading(scope, reader.allowed) as conn:
            rev = None if search else await conn.execute(_READ["rev"], space)  # the rows of a search have it
            found = await self._send(conn, space, search, scan=scan) if search else None
            words = await _send_words(conn, space, search) if search and search.beginnings else None
            lasting = await _send_as_of(conn, "stable", stable_params) if stable else None
            approved_fields = _CONSENT["profile" if as_of is None else "profile_then"]
            approved = await conn.execute(approved_fields, space) if "profile" in stable else None
            changes = await _send_as_of(conn, "delta", delta_params) if thread else None
            if search and found and not scan:
                is_complete = self._note_indexes(space, await found.fetchmany(1))
                await found.scroll(0, mode="absolute")
                found = found if is_complete else await self._send(conn, space, search, scan=True)
            sent = [await self._shared.send_reads(conn, reader, one, search, stable_params) for one in beside]
        # All of it was sent in one round trip; what is fetched from here on has arrived.
        parts: dict[str, Any] = {"rev": _cut_revision(await rev.fetchone(), as_of)} if rev else {}
        if search and found:
            hits = await found.fetchall()
            self._note_indexes(space, hits)
            if scope.space in self._limited_spaces and not space["limited"]:
                view: dict[str, Any] = {"stable": stable, "stable_limit": stable_limit, "thread": thread}
                return await self.read_snapshot(reader, search, **view, horizon=horizon, as_of=as_of)
            parts = rows.parse_search(search, hits, as_of) | parts
        if changes:
            events = await changes.fetchall()
            told = (rows.parse_entry(row) for row in events if row["rev"] is not None and row["text"] is not None)
            parts["delta"] = Delta(since=Revision(events[0]["since"]), rev=parts["rev"], entries=tuple(told))
        own = SearchSnapshot(
            **parts,
            words=tuple(row["word"] for row in await words.fetchall()) if words else (),
            stable=tuple(map(rows.parse_memory, await lasting.fetchall())) if lasting else (),
            profile=tuple(map(rows.parse_consent, await approved.fetchall())) if approved else (),
        )
        return await self._shared.join_reads(own, search, sent) if sent else own

    async def _search(self, space: Mapping[str, Any], search: Search, *, scan: bool) -> list[rows.SearchRow]:
        """Return the rows of a search that is one transaction and one round trip: the statement enters the space
        itself."""
        async with self._connections.statement() as conn:
            cursor = await self._send(conn, space, search, scan=scan)
        hits = await cursor.fetchall()
        is_complete = self._note_indexes(space, hits)
        if space["space"] in self._limited_spaces and not space["limited"]:
            return await self._search({**space, "limited": True}, search, scan=scan)
        return hits if is_complete or scan else await self._search(space, search, scan=True)

    async def find_neighbours(
        self, scope: Scope, probes: Sequence[NeighbourProbe], limit: int
    ) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
        has_vectors = bool(probes) and not any(probe.vector is NO_VECTOR for probe in probes)
        params = {
            "space": scope.space,
            "kinds": [probe.kind for probe in probes],
            "keys": [probe.stable_key for probe in probes],
            "attributes": [probe.attribute for probe in probes],
            "places": [probe.place for probe in probes],
            "vectors": [HalfVector(probe.vector) for probe in probes] if has_vectors else None,
            "model": self._model if has_vectors else "",
            "limit": limit if has_vectors else 0,  # of what is near by vector
        }
        async with self._connections.statement() as conn:
            cursor = await conn.execute(_READ["near"], params, prepare=True)
        head, *neighbours = await cursor.fetchall()
        return Revision(head["now"]), _parse_neighbours(neighbours, len(probes))

    async def find_neighbours_by_words(
        self, scope: Scope, probes: Sequence[tuple[Kind, str | None, str]], limit: int
    ) -> list[tuple[Neighbour, ...]]:
        params = {
            "space": scope.space,
            "kinds": [kind for kind, _, _ in probes],
            "places": [place for _, place, _ in probes],
            "words": [rows.encode_sparse_vector(tokens.compute_weights(text)).to_text() for _, _, text in probes],
            "limit": limit,
        }
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_READ["near_in_words"], params)
            return _parse_neighbours(await cursor.fetchall(), len(probes))

    def build(self, space: Mapping[str, Any], search: Search, *, scan: bool) -> tuple[LiteralString | bytes, list[Any]]:
        """Return the text of a search and its parameters."""
        category = search.filters.category
        if category in search.categories:  # the lists of a large space count words by category
            search = replace(search, categories=(category,), filters=replace(search.filters, category=None))
        limits = (space["limits"],) if space["limited"] else ()
        set_filters = zip(_FILTERS, _get_filters(search.filters), strict=True)
        text, names = _build_statement(
            (*(f"by_{name}" for name, value in set_filters if value is not None), *limits),
            speakers=bool(search.speakers),
            timely=bool(search.periods),
            explain=search.explain,
            watched=search.watched is not None,
            rivals=search.with_rivals,
            then=space["as_of"] is not None,
            owned=bool(search.weights.own),
            chosen=space["allowed"] != list(search.categories),
            shared="shared" in space,
            listed=search.is_listing,
            scan=scan,
        )
        model, dimensions = self._model, len(search.vector)
        params = {**space, **_build_params(search), "model": model}
        values = [params[name] for name in names]
        if scan:
            return text, values
        return large_spaces.fill_search_text(text, space["space"], model, dimensions, search.candidates), values

    async def _send(
        self, conn: Connection, space: Mapping[str, Any], search: Search, *, scan: bool
    ) -> AsyncCursor[rows.SearchRow]:
        """Send a search, without waiting for it in a pipeline."""
        text, values = self.build(space, search, scan=scan)
        return await conn.raw_cursor(conn, row_factory=tuple_row).execute(text, values, prepare=True, binary=True)

    def _note_indexes(self, space: Mapping[str, Any], hits: Sequence[rows.SearchRow]) -> bool:
        """Remember from the rows of a search whether the space has indexes and limited memories; return whether an
        index left out none of the rows."""
        head = rows.SearchHead._make(hits[0][: rows.HEAD])
        (self._indexed_spaces.add if head.is_indexed else self._indexed_spaces.discard)(space["space"])
        if head.is_limited:
            if len(self._limited_spaces) >= _MAX_LIMITED:
                self._limited_spaces.clear()
            self._limited_spaces.add(space["space"])
        return head.is_complete


def _cut_revision(row: DictRow | None, as_of: Revision | None) -> Revision:
    """Return the revision of a row, and no later one than is asked for."""
    latest = require_row(row)["rev"]
    return Revision(latest if as_of is None else min(latest, as_of))


def _build_params(search: Search) -> dict[str, Any]:
    terms = [[tokens.hash_lexeme(form) for form in tokens.list_verb_forms(term)] for term in search.terms]
    words = list(chain.from_iterable(terms))
    return {
        **dict(zip(_FILTERS, _get_filters(search.filters), strict=True)),
        "said_in": search.filters.said_in or search.filters.said_in_or_documents,
        "without_tags": list(search.filters.without_tags or ()),  # a tuple would be a row
        **{name: getattr(search.weights, name) for name in _WEIGHTS},
        "speakers": list(search.speakers),
        "highest": tokens.WEIGHT_CEILING,
        "lowest": LOWEST_MEANING,
        "background": tokens.BACKGROUND_SIZE,
        **rows.OF_USER,
        "hints": list(search.hints),
        "vector": None if search.vector is NO_VECTOR else HalfVector(search.vector),
        "categories": list(search.categories),
        "units": rows.encode_unit_vectors(terms),
        "words": words,
        "of_term": [n for n, forms in enumerate(terms, 1) for _ in forms],
        "heard": rows.encode_sparse_vector(dict.fromkeys(words, 1.0)),
        "traits": rows.encode_sparse_vector(search.weights.traits),
        "since": [start.timestamp() for start, _ in search.periods],
        "until": [end.timestamp() for _, end in search.periods],
        "candidates": search.candidates,
        "watched": search.watched,
    }


async def _send_words(conn: Connection, space: Mapping[str, Any], search: Search) -> AsyncCursor[DictRow]:
    """Send the `words` block, over the memories that the search is made among."""
    text = _SEARCH["words"].replace("{source}", _SEARCH["current" if space["as_of"] is None else "then"])
    set_filters = zip(_FILTERS, _get_filters(search.filters), strict=True)
    narrowing = (*(f"by_{name}" for name, value in set_filters if value is not None), space["limits"])
    text = text.replace("{narrowed}", " ".join(_SEARCH[name] for name in narrowing))
    pattern = rf"\m(?:{'|'.join(search.beginnings)})[[:alpha:]]{{4,}}"
    return await conn.execute(text, {**space, **_build_params(search), "pattern": pattern, "limit": _MAX_WORDS})


def build_reader_params(reader: Reader, as_of: Revision | None) -> dict[str, Any]:
    """Return the parameters that say who reads what, where and when; `limits` names the block of where and when."""
    scope = reader.scope
    return {
        "space": scope.space,
        "owner": scope.owner,
        "project": scope.project,
        "session": scope.session,
        "at": reader.at,
        "allowed": sorted(reader.allowed),
        "as_of": as_of,
        "limits": "by_limits" if as_of is None else "by_limits_then",
    }


async def _send_as_of(conn: Connection, block: str, params: Mapping[str, Any]) -> AsyncCursor[DictRow]:
    """Send a block of `search.sql` over the memories as they are, or as they were at `as_of`."""
    text = _SEARCH[block].replace("{source}", _SEARCH["current" if params["as_of"] is None else "then"])
    return await conn.execute(text.replace("{limited}", _SEARCH[params["limits"]]), params)


@lru_cache(maxsize=256)
def _build_statement(
    narrowing: tuple[str, ...],
    *,
    speakers: bool,
    timely: bool,
    explain: bool,
    watched: bool,
    rivals: bool,
    then: bool,
    owned: bool,
    chosen: bool,
    shared: bool,
    listed: bool,
    scan: bool,
) -> tuple[LiteralString, tuple[str, ...]]:
    """Return the text with numbered parameters, and their names in order."""
    text = _SEARCH["newest" if listed else "search"].replace("{entered}", _SEARCH["shared" if shared else "entered"])
    text = text.replace("{ranks}", _SEARCH["ranks" if explain else "unranked"])
    text = text.replace("{rivals}", _SEARCH["rivals" if rivals else "no_rivals"])
    text = text.replace("{ranked}", _SEARCH["ranked"] if explain else "")
    text = text.replace("{places}", f" {_SEARCH['places']}" if explain else "")
    text = text.replace("{tied_then}", f" {_SEARCH['tied_then']}" if then else "")
    for name in _OPEN:
        text = text.replace(f"{{{name}}}", _SEARCH[name] if scan else _LARGE[name])
    for name in _OWN:
        text = text.replace(f"{{{name}}}", _LARGE[name] if owned else "")
    for name in _DATED:
        text = text.replace(f"{{{name}}}", _LARGE[name] if timely else "")
    looked = _SEARCH["looked"].replace("{standing}", _SEARCH["standing"])
    looked = looked.replace("{dense}", " {cosine} as cosine," if explain or scan else "")
    # A scan computes the cosine in a subquery of its own, and its rows have it as a column.
    text = text.replace("{looked}", looked.replace("{cosine}", "m.cosine") if scan else looked)
    text = text.replace("{likeness}", "{cosine}")
    text = text.replace("{passing}", f" {_LARGE['passing']}" if narrowing else "")
    text = text.replace("{watched}", f" {_SEARCH['watched']}" if watched else "")
    text = text.replace("{chosen}", f" {_SEARCH['chosen']}" if chosen else "")
    text = text.replace("{narrowed}", "".join(f" {_SEARCH[name]}" for name in narrowing))
    text = text.replace("{standing}", _SEARCH["standing"])
    text = text.replace("{dense}", " {cosine} as cosine," if explain else "")
    text = text.replace("{speaker}", _SEARCH["speaker" if speakers else "nobody"])
    text = text.replace("{owned}", f" {_SEARCH['owned']}" if owned else "")
    text = text.replace("{timely}", f" {_SEARCH['timely']}" if timely else "")
    text = text.replace("{source}", _SEARCH["then" if then else "current"])
    names: dict[str, int] = {}
    numbered = _PARAMETER.sub(
        lambda match: f"${names.setdefault(match[1], len(names) + 1)}", text.replace("{cosine}", _SEARCH["cosine"])
    )
    return numbered, tuple(names)


def _parse_neighbours(neighbours: Sequence[DictRow], probes: int) -> list[tuple[Neighbour, ...]]:
    """Parse the rows of neighbours by the number of their probe, from 1: each memory once, the closest first."""
    groups: list[dict[MemoryId, list[DictRow]]] = [{} for _ in range(probes)]
    for row in neighbours:
        groups[row["n"] - 1].setdefault(row["memory_id"], []).append(row)
    parsed = []
    for group in groups:
        near = []
        for same in group.values():
            # The cosine of a vector without a direction is no number: such a one is near nothing.
            sims = [row["sim"] for row in same if row["sim"] is not None and not isnan(row["sim"])]
            sim = 1.0 if any(row["same_key"] for row in same) else sims[-1] if sims else 0.0
            near.append(Neighbour(memory=rows.parse_memory(same[-1]), sim=sim))
        parsed.append(tuple(sorted(near, key=lambda neighbour: -neighbour.sim)))
    return parsed
