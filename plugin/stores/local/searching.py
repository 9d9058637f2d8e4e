"""A search in one snapshot of the file: candidates by words and by vectors, their scores, and the best of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryHit, MemoryItem, SearchQuery
from muniment.plugin.stores.local.rows import (
    SQL,
    ItemRow,
    bind_places,
    from_microseconds,
    join_names,
    parse_row,
    to_microseconds,
)
from muniment.plugin.stores.local.vectors import NearQuery, RowFilter, SpaceState, VectorCache
from muniment.plugin.stores.scoring import (
    Score,
    Weights,
    choose_hits,
    compute_score,
    list_query_terms,
    scale_cosine,
)

if TYPE_CHECKING:
    from muniment.memory.config.schema import EmbedderProfile
    from muniment.memory.domain.ids import Vector

CANDIDATES = 64  # of each channel; the formula orders them
_FIRST_ROWS = 4 * CANDIDATES  # by words, before it is known whose they are: reading each match costs as much as bm25
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryVector:
    """The vector of a query, the model that made it, and what its cosines mean."""

    vector: Vector
    model: str
    profile: EmbedderProfile


def read_space(connection: sqlite3.Connection, owner: ItemOwner) -> SpaceState | None:
    """Return the state of the owner's space; None where nothing was ever written."""
    row = connection.execute(SQL["find_space"], (owner.tenant, owner.user)).fetchone()
    return None if row is None else SpaceState(space=row[0], revision=row[1], removed=row[2], compared=row[3])


def search_items(
    connection: sqlite3.Connection,
    query: SearchQuery,
    *,
    cache: VectorCache,
    weights: Weights,
    query_vector: QueryVector | None,
) -> Sequence[tuple[int, MemoryHit]]:
    """Return the best hits with the numbers of their rows."""
    state = read_space(connection, query.owner)
    if state is None:
        return ()
    terms = list_query_terms(query.text)
    matched = _match_words(connection, state, query, terms)
    cosines = dict[int, float]()
    if query_vector is not None:
        cosines = _list_near(connection, state, query, query_vector, cache, matched)
    scores = _score_rows(connection, query, terms, {*matched, *cosines}, cosines, weights, query_vector)
    return _make_hits(connection, query, scores)


def _match_words(
    connection: sqlite3.Connection, state: SpaceState, query: SearchQuery, terms: Sequence[str]
) -> list[int]:
    if not terms:
        return []
    values = {
        **bind_places(query.owner),
        "match": " OR ".join(f'"{term}"' for term in (term.replace('"', '""') for term in terms)),
        "space": state.space,
        "at": to_microseconds(query.at),
        "types": join_names(query.types),
        "first": _FIRST_ROWS,
        "limit": CANDIDATES,
    }
    best = connection.execute(SQL["match_best"], values).fetchall()
    found = [n for (n,) in best if n is not None][:CANDIDATES]
    if len(found) == CANDIDATES or len(best) < _FIRST_ROWS:
        return found
    # The best of the file are mostly those of others, or of other places: all that match are looked through.
    return [n for (n,) in connection.execute(SQL["match_words"], values)]


def _list_near(
    connection: sqlite3.Connection,
    state: SpaceState,
    query: SearchQuery,
    query_vector: QueryVector,
    cache: VectorCache,
    matched: Sequence[int],
) -> dict[int, float]:
    """Return the cosines of the closest rows, and of those that were found by words."""
    places = tuple(place for place in bind_places(query.owner).values() if place is not None)
    rows = RowFilter(places=places, types=query.types, at=to_microseconds(query.at))
    # Below the floor of the model a cosine says nothing.
    least = query_vector.profile.floor if not query_vector.profile.by_writing else -1.0
    near = NearQuery(vector=query_vector.vector, rows=rows, most=CANDIDATES, least=least, also=matched)
    return cache.find_near(connection, state, query_vector.model, [near])[0]


def _score_rows(
    connection: sqlite3.Connection,
    query: SearchQuery,
    terms: Sequence[str],
    candidates: set[int],
    cosines: dict[int, float],
    weights: Weights,
    query_vector: QueryVector | None,
) -> list[tuple[int, str, Score]]:
    """Return number, id and score of the candidates that are relevant."""
    profile = None if query_vector is None else query_vector.profile
    scores = []
    rows = connection.execute(SQL["read_candidates"], {"rows": json.dumps(list(candidates))})
    for n, id_, changed, words, content in rows:
        score = compute_score(
            terms=terms,
            lexemes=frozenset(words.split(" ")),
            meaning=scale_cosine(cosines.get(n), profile, query.text, content),
            at=query.at,
            changed_at=from_microseconds(changed),
            weights=weights,
        )
        if score.is_relevant and score.total >= query.min_score:
            scores.append((n, id_, score))
    return sorted(scores, key=lambda each: (-each[2].total, each[1]))


def _make_hits(
    connection: sqlite3.Connection, query: SearchQuery, scores: Sequence[tuple[int, str, Score]]
) -> Sequence[tuple[int, MemoryHit]]:
    """Return the hits of the best scores, whose rows alone are read whole."""
    best = {n: score for n, _, score in scores[:8]}
    hits = {}
    for row in read_rows(connection, list(best), query.owner):
        score = best[row.n]
        hit = MemoryHit(item=row.item, score=score.total, parts=score.parts, store="local", fetched_at=row.fetched_at)
        hits[row.item.id] = row.n, hit
    return [hits[hit.item.id] for hit in choose_hits((hit for _, hit in hits.values()), query)]


def read_rows(connection: sqlite3.Connection, rows: Sequence[int], owner: ItemOwner) -> list[ItemRow]:
    """Return rows by their numbers, in no order."""
    found = connection.execute(SQL["read_rows"], {"rows": json.dumps(list(rows))})
    return [parse_row(values, owner) for values in found]


def list_items(connection: sqlite3.Connection, query: ListQuery) -> list[MemoryItem]:
    """Return the items of a list, newest change first."""
    state = read_space(connection, query.owner)
    prefix = None if query.id_prefix is None else query.id_prefix.strip().lower().replace("-", "")
    if state is None or (prefix is not None and not (prefix and _HEX.issuperset(prefix))):
        return []
    values: dict[str, Any] = {
        **bind_places(query.owner),
        "space": state.space,
        "everywhere": query.everywhere,
        "at": to_microseconds(query.at),
        "types": join_names(query.types),
        "scopes": join_names(query.scopes),
        "pinned": query.pinned,
        "prefix": prefix,
        "limit": query.limit,
    }
    statement = SQL["list_with_deleted" if query.with_deleted else "list_items"]
    return [parse_row(row, query.owner).item for row in connection.execute(statement, values)]
