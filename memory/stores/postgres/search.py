"""What a turn or a query reads: the search, the lasting memories, and what a thread has not seen.

The statement of a search is put together from the blocks of `search.sql`, one text for each shape of a query. A filter
that is not asked for is not in the text: a plan is made once for each text and connection, and a scan tests nothing in
vain."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any, LiteralString, NamedTuple

from pgvector import HalfVector
from psycopg import AsyncCursor, AsyncRawCursor
from psycopg.rows import DictRow, tuple_row

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.journal import Delta
from muniment.memory.domain.query import Filters
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import LOWEST_MEANING, Search, SearchSnapshot
from muniment.memory.rules.language import irregular_verbs, tokens
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, require_row
from muniment.memory.stores.postgres.consents import parse_consent, send_profile_query
from muniment.memory.stores.postgres.schema import large_spaces
from muniment.memory.stores.postgres.schema.large_spaces import PostgresIndexes
from muniment.memory.stores.postgres.sql import load_blocks

_READ, _SEARCH, _LARGE = load_blocks("read"), load_blocks("search"), load_blocks("large")
# Where a large space is searched otherwise.
_OPEN: tuple[LiteralString, ...] = ("met", "base", "scope", "df", "reached")
# Where it looks for what is told of the user.
_OWN: tuple[LiteralString, ...] = ("own_late", "own_posted", "own_lists", "own_met")
# Where it looks for what happened in a period of the query.
_DATED: tuple[LiteralString, ...] = (
    "dated_late_met", "dated_late", "dated_posted", "dated_lists", "dated_near", "dated_met",
)  # fmt: skip
_FILTERS: tuple[LiteralString, ...] = (
    "agent_id", "run_id", "actor_id", "role", "category", "pinned", "importance_min", "importance_max",
    "updated_after", "updated_before",
)  # fmt: skip
_WEIGHTS = ("floor", "ceiling", "semantic", "keyword", "actor", "own", "timely", "before", "after")
_PARAMETER = re.compile(r"%\((\w+)\)[sb]")
# Of a search: its head, the columns of a memory (all null where none was found), and what it was found by.
_Row = tuple[Any, ...]


class _SearchHead(NamedTuple):
    """What a search says of the whole."""

    rev: int
    speakers: Sequence[str] | None
    corpus_size: int | None
    missing_places: Sequence[int]  # places of the terms, from 1, that no memory has
    is_complete: bool
    is_indexed: bool


_HEAD = len(_SearchHead._fields)
_CHANGES = 1_000  # memories whose changes a delta tells: a header has room for three, and of many some come to nothing


class PostgresSearch(PostgresIndexes):
    """Everything that is read at one revision."""

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
        """See `Store.look`. A search alone is one statement, which sees one snapshot by itself."""
        space = {
            "space": reader.scope.space,
            "owner": reader.scope.owner,
            "allowed": sorted(reader.allowed),
            "as_of": as_of,
        }
        if search and not stable and not thread:
            found = await self._search_alone(space, search)
            return SearchSnapshot(rev=_clamp_revision(_parse_head(found).rev, as_of), **_parse_hits(search, found))
        async with self._read_transaction(reader.scope, reader.allowed) as conn:
            rev = await conn.execute(_READ["rev"], space)
            hits = await self._send_search(conn, space, search, scan=not self._uses_index(space)) if search else None
            lasting = (
                await conn.execute(
                    _select_source(_SEARCH["stable"], as_of),
                    space | {"categories": list(stable), "limit": stable_limit},
                )
                if stable
                else None
            )
            approved = await send_profile_query(conn, space) if "profile" in stable else None
            unseen = (
                await conn.execute(
                    _select_source(_SEARCH["delta"], as_of),
                    space | {"thread": thread, "horizon": horizon, "changes": _CHANGES},
                )
                if thread
                else None
            )
            if search and hits and self._uses_index(space):
                hits = await self._complete_hits(conn, space, search, hits)
        # All of it was asked in one round trip; what is fetched from here on is there.
        now = _clamp_revision(require_row(await rev.fetchone())["rev"], as_of)
        found = await hits.fetchall() if hits else []
        if found:
            self._note_indexes(space, _parse_head(found))
        return SearchSnapshot(
            rev=now,
            **(_parse_hits(search, found) if search else {}),
            stable=tuple(map(rows.parse_memory, await lasting.fetchall())) if lasting else (),
            delta=_parse_delta(await unseen.fetchall(), now) if unseen else None,
            profile=tuple(map(parse_consent, await approved.fetchall())) if approved else (),
        )

    async def find_revision_at(self, scope: Scope, moment: datetime) -> Revision:
        """See `Store.revision_at`."""
        async with self._read_transaction(scope, None) as conn:
            found = await conn.execute(_SEARCH["revision_at"], {"space": scope.space, "moment": moment})
            return Revision(require_row(await found.fetchone())["rev"])

    async def _search_alone(self, space: Mapping[str, Any], search: Search) -> list[_Row]:
        """The statement enters the space by itself: alone it is one transaction and one round trip."""
        for scan in (not self._uses_index(space), True):
            async with self._statement_connection() as conn:
                hits = await self._send_search(conn, space, search, scan=scan)
            found = await hits.fetchall()
            if self._note_indexes(space, _parse_head(found)):
                break
        return found

    async def _complete_hits(
        self, conn: Connection, space: Mapping[str, Any], search: Search, hits: AsyncCursor[_Row]
    ) -> AsyncCursor[_Row]:
        """The answer, or a scan's where the indexes have left something out."""
        head = _parse_head(await hits.fetchmany(1))
        await hits.scroll(0, mode="absolute")
        return hits if self._note_indexes(space, head) else await self._send_search(conn, space, search, scan=True)

    def _uses_index(self, space: Mapping[str, Any]) -> bool:
        """What was is in no index."""
        return space["space"] in self._indexed_spaces and space["as_of"] is None

    def _note_indexes(self, space: Mapping[str, Any], head: _SearchHead) -> bool:
        """Remember whether the space has indexes; whether the rows are all that there is."""
        (self._indexed_spaces.add if head.is_indexed else self._indexed_spaces.discard)(space["space"])
        return head.is_complete

    async def _send_search(
        self, conn: Connection, space: Mapping[str, Any], search: Search, *, scan: bool
    ) -> AsyncCursor[_Row]:
        text, asked = self._build_search(space, search, scan=scan)
        return await AsyncRawCursor(conn, row_factory=tuple_row).execute(text, asked, prepare=True, binary=True)

    def _build_search(
        self, space: Mapping[str, Any], search: Search, *, scan: bool
    ) -> tuple[LiteralString | bytes, list[Any]]:
        """What is sent: the text, and its parameters."""
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
        whole = (
            text
            if scan
            else large_spaces.fill_search_text(text, space["space"], self._model, len(search.vector), search.candidates)
        )
        asked = {**space, **self._build_search_params(search)}
        return whole, [asked[name] for name in names]

    def _build_search_params(self, search: Search) -> dict[str, Any]:
        terms = [[tokens.hash_lexeme(form) for form in irregular_verbs.list_verb_forms(term)] for term in search.terms]
        heard = list(chain.from_iterable(terms))
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
            "model": self._model,
            "categories": list(search.categories),
            "units": ";".join(map(rows.encode_unit_vector, terms)),
            "words": heard,
            "of_term": [n for n, forms in enumerate(terms, 1) for _ in forms],
            "heard": rows.encode_sparse_vector(dict.fromkeys(heard, 1.0)),
            "traits": rows.encode_sparse_vector(search.weights.traits),
            "since": [start.timestamp() for start, _ in search.periods],
            "until": [end.timestamp() for _, end in search.periods],
            "candidates": search.candidates,
            "watched": search.watched,
        }


def _clamp_revision(now: int, as_of: Revision | None) -> Revision:
    """What was read: a revision that is not reached yet cannot be."""
    return Revision(now if as_of is None else min(now, as_of))


def _parse_head(found: Sequence[_Row]) -> _SearchHead:
    """What the rows of a search begin with: the first one is there even when nothing was found."""
    return _SearchHead(*found[0][:_HEAD])


def _parse_hits(search: Search, found: Sequence[_Row]) -> dict[str, Any]:
    """What the rows of a search say of a Sight."""
    head = _parse_head(found)
    unheard = frozenset(search.terms[n - 1] for n in head.missing_places)
    return {
        "hits": tuple(rows.parse_hit(row[_HEAD:], search.terms) for row in found if row[_HEAD] is not None),
        "missing_terms": unheard,
        "speakers": tuple(head.speakers or ()),
        "corpus_size": head.corpus_size or 0,
    }


def _parse_delta(found: Sequence[DictRow], rev: Revision) -> Delta:
    lines = tuple(rows.parse_entry(row) for row in found if row["rev"] is not None and row["text"] is not None)
    return Delta(since=Revision(found[0]["since"]), rev=rev, entries=lines)


def _select_source(text: LiteralString, as_of: Revision | None) -> LiteralString:
    """The text reading the memories as they are, or as they were."""
    return text.replace("{source}", _SEARCH["current" if as_of is None else "then"])


def _narrow_category(search: Search) -> Search:
    """A filter of one category as a list of one, of which the lists of a large space know how common a word is."""
    only = search.filters.category
    if only not in search.categories:
        return search
    return replace(search, categories=(only,), filters=replace(search.filters, category=None))


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
    """The text, its parameters numbered, and their names in order: nobody has to read it again for each search."""
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
        lambda found: f"${names.setdefault(found[1], len(names) + 1)}", text.replace("{cosine}", _SEARCH["cosine"])
    )
    return numbered, tuple(names)
