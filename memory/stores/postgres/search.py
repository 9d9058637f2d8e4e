"""The statement of a search, and its rows.

The statement is put together from the blocks of `search.sql`, one text for each shape of a query. A filter
that is not set is not in the text: a plan is made once for each text and connection, and a scan tests nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, LiteralString, NamedTuple

from pgvector import HalfVector
from psycopg import AsyncCursor, AsyncRawCursor
from psycopg.rows import tuple_row

from muniment.memory.domain.query import Filters
from muniment.memory.domain.search import LOWEST_MEANING, Search
from muniment.memory.rules.language import irregular_verbs, tokens
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections
from muniment.memory.stores.postgres.schema import large_spaces
from muniment.memory.stores.postgres.schema.large_spaces import SpaceIndexes
from muniment.memory.stores.postgres.sql import load_blocks

_SEARCH, _LARGE = load_blocks("search"), load_blocks("large_spaces")
# Blocks of `large_spaces.sql` that replace those of `search.sql` in a large space.
_OPEN: tuple[LiteralString, ...] = ("met", "base", "scope", "df", "reached")
# Its blocks for a query about the user.
_OWN: tuple[LiteralString, ...] = ("own_late", "own_posted", "own_lists", "own_met")
# Its blocks for a query with a period.
_DATED: tuple[LiteralString, ...] = (
    "dated_late_met", "dated_late", "dated_posted", "dated_lists", "dated_near", "dated_met",
)  # fmt: skip
_FILTERS: tuple[LiteralString, ...] = (
    "agent_id", "run_id", "actor_id", "role", "category", "pinned", "importance_min", "importance_max",
    "updated_after", "updated_before",
)  # fmt: skip
_WEIGHTS = ("floor", "ceiling", "semantic", "keyword", "actor", "own", "timely", "before", "after")
_PARAMETER = re.compile(r"%\((\w+)\)[sb]")
# A row of a search: its head, the columns of a memory (all null without a hit), and its signals.
SearchRow = tuple[Any, ...]


class _SearchHead(NamedTuple):
    """What every row of a search begins with."""

    rev: int
    speakers: Sequence[str] | None
    corpus_size: int | None
    missing_places: Sequence[int]  # places, from 1, of the terms that no memory has
    is_complete: bool
    is_indexed: bool


_HEAD = len(_SearchHead._fields)


class SearchStatements:
    """Sends the statement of a search, by the indexes of the space where it has them, and by a scan where they fall
    short."""

    def __init__(self, connections: PostgresConnections, indexes: SpaceIndexes) -> None:
        self._connections = connections
        self._indexed_spaces = indexes.indexed_spaces

    async def search(self, space: Mapping[str, Any], search: Search) -> list[SearchRow]:
        """Return the rows of a search that is one transaction and one round trip: the statement enters the space
        itself."""
        for scan in (not self._uses_index(space), True):
            async with self._connections.statement() as conn:
                cursor = await self._send(conn, space, search, scan=scan)
            hits = await cursor.fetchall()
            if self._note_indexes(space, parse_head(hits)):
                break
        return hits

    async def send(self, conn: Connection, space: Mapping[str, Any], search: Search) -> AsyncCursor[SearchRow]:
        """Send a search in the caller's transaction and pipeline, without waiting for it."""
        return await self._send(conn, space, search, scan=not self._uses_index(space))

    async def complete(
        self, conn: Connection, space: Mapping[str, Any], search: Search, cursor: AsyncCursor[SearchRow]
    ) -> AsyncCursor[SearchRow]:
        """Return the cursor that `send` returned, or that of a scan where the indexes left something out."""
        if not self._uses_index(space):
            return cursor
        head = parse_head(await cursor.fetchmany(1))
        await cursor.scroll(0, mode="absolute")
        return cursor if self._note_indexes(space, head) else await self._send(conn, space, search, scan=True)

    def note_indexes(self, space: Mapping[str, Any], hits: Sequence[SearchRow]) -> None:
        """Remember from the rows of a search whether the space has indexes."""
        self._note_indexes(space, parse_head(hits))

    def build(self, space: Mapping[str, Any], search: Search, *, scan: bool) -> tuple[LiteralString | bytes, list[Any]]:
        """Return the text of a search and its parameters."""
        search = _narrow_category(search)
        text, names = _build_statement(
            _list_filters(search.filters),
            speakers=bool(search.speakers),
            timely=bool(search.periods),
            explain=search.explain,
            watched=search.watched is not None,
            then=space["as_of"] is not None,
            owned=bool(search.weights.own),
            chosen=space["allowed"] != list(search.categories),
            scan=scan,
        )
        params = {**space, **_build_params(search, self._connections.model)}
        values = [params[name] for name in names]
        if scan:
            return text, values
        model, dimensions = self._connections.model, len(search.vector)
        return large_spaces.fill_search_text(text, space["space"], model, dimensions, search.candidates), values

    async def _send(
        self, conn: Connection, space: Mapping[str, Any], search: Search, *, scan: bool
    ) -> AsyncCursor[SearchRow]:
        text, values = self.build(space, search, scan=scan)
        return await AsyncRawCursor(conn, row_factory=tuple_row).execute(text, values, prepare=True, binary=True)

    def _uses_index(self, space: Mapping[str, Any]) -> bool:
        # The indexes are of the memories as they are, not as they were.
        return space["space"] in self._indexed_spaces and space["as_of"] is None

    def _note_indexes(self, space: Mapping[str, Any], head: _SearchHead) -> bool:
        """Remember whether the space has indexes; return whether the rows are all that there is."""
        (self._indexed_spaces.add if head.is_indexed else self._indexed_spaces.discard)(space["space"])
        return head.is_complete


def _build_params(search: Search, model: str) -> dict[str, Any]:
    terms = [[tokens.hash_lexeme(form) for form in irregular_verbs.list_verb_forms(term)] for term in search.terms]
    words = list(chain.from_iterable(terms))
    return {
        **{name: getattr(search.filters, name) for name in _list_filters(search.filters)},
        **{name: getattr(search.weights, name) for name in _WEIGHTS},
        "speakers": list(search.speakers),
        "highest": tokens.WEIGHT_CEILING,
        "lowest": LOWEST_MEANING,
        "background": tokens.BACKGROUND_SIZE,
        **rows.OF_USER,
        "hints": list(search.hints),
        "vector": HalfVector(search.vector),
        "model": model,
        "categories": list(search.categories),
        "units": ";".join(map(rows.encode_unit_vector, terms)),
        "words": words,
        "of_term": [n for n, forms in enumerate(terms, 1) for _ in forms],
        "heard": rows.encode_sparse_vector(dict.fromkeys(words, 1.0)),
        "traits": rows.encode_sparse_vector(search.weights.traits),
        "since": [start.timestamp() for start, _ in search.periods],
        "until": [end.timestamp() for _, end in search.periods],
        "candidates": search.candidates,
        "watched": search.watched,
    }


def parse_head(hits: Sequence[SearchRow]) -> _SearchHead:
    """Parse the columns that every row of a search begins with; a search without a hit has one row."""
    return _SearchHead(*hits[0][:_HEAD])


def parse_hits(search: Search, hits: Sequence[SearchRow]) -> dict[str, Any]:
    """Parse the rows of a search as the fields of a SearchSnapshot."""
    head = parse_head(hits)
    return {
        "hits": tuple(rows.parse_hit(row[_HEAD:], search.terms) for row in hits if row[_HEAD] is not None),
        "missing_terms": frozenset(search.terms[place - 1] for place in head.missing_places),
        "speakers": tuple(head.speakers or ()),
        "corpus_size": head.corpus_size or 0,
    }


def _narrow_category(search: Search) -> Search:
    """Turn a filter of one category into a list of one: the lists of a large space count words by category."""
    category = search.filters.category
    if category not in search.categories:
        return search
    return replace(search, categories=(category,), filters=replace(search.filters, category=None))


def _list_filters(filters: Filters) -> tuple[LiteralString, ...]:
    return tuple(name for name in _FILTERS if getattr(filters, name) is not None)


@lru_cache(maxsize=256)
def _build_statement(
    filters: tuple[LiteralString, ...],
    *,
    speakers: bool,
    timely: bool,
    explain: bool,
    watched: bool,
    then: bool,
    owned: bool,
    chosen: bool,
    scan: bool,
) -> tuple[LiteralString, tuple[str, ...]]:
    """Return the text with numbered parameters, and their names in order."""
    text = _SEARCH["search"].replace("{ranks}", _SEARCH["ranks" if explain else "unranked"])
    text = text.replace("{ranked}", f" {_SEARCH['ranked']}" if explain else "")
    text = text.replace("{places}", f" {_SEARCH['places']}" if explain else "")
    text = text.replace("{tied_then}", f" {_SEARCH['tied_then']}" if then else "")
    for name in _OPEN:
        text = text.replace(f"{{{name}}}", _SEARCH[name] if scan else _LARGE[name])
    for name in _OWN:
        text = text.replace(f"{{{name}}}", _LARGE[name] if owned else "")
    for name in _DATED:
        text = text.replace(f"{{{name}}}", _LARGE[name] if timely else "")
    text = text.replace("{looked}", _SEARCH["looked"])
    text = text.replace("{passing}", f" {_LARGE['passing']}" if filters else "")
    text = text.replace("{watched}", f" {_SEARCH['watched']}" if watched else "")
    text = text.replace("{chosen}", f" {_SEARCH['chosen']}" if chosen else "")
    text = text.replace("{narrowed}", "".join(" " + _SEARCH[f"by_{name}"] for name in filters))
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
