"""The spaces that are shared with a reader: read in the transaction of the own one, and joined with what it has.

Each is entered by itself, after the database has said that it is shared, so that row-level security shows its rows
alone. What was not shared a moment ago is not asked for again at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from time import monotonic
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from muniment.memory.domain.ids import NO_VECTOR, SpaceId
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Search, SearchSnapshot
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_READ, _SEARCH = load_blocks("read"), load_blocks("search")
_CLOSED_SECONDS = 10.0  # after which somebody who was not allowed to read a space is asked about again
_MAX_CLOSED = 10_000
SendSearch = Callable[..., Awaitable[AsyncCursor[rows.SearchRow]]]
SendWords = Callable[[Connection, Mapping[str, Any], Search], Awaitable[AsyncCursor[DictRow]]]
NoteIndexes = Callable[[Mapping[str, Any], Sequence[rows.SearchRow]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRead:
    """What was sent for one space, and the answers to it as they arrive."""

    reader: Scope
    shared: Scope
    told: AsyncCursor[DictRow]
    found: AsyncCursor[rows.SearchRow] | None
    stable: AsyncCursor[DictRow] | None
    words: AsyncCursor[DictRow] | None


class SharedReads:
    """Reads shared spaces beside the own one. `closed` has until when a space counts as not shared: with a reader, or
    under its own id with anybody."""

    def __init__(
        self,
        send_search: SendSearch,
        send_words: SendWords,
        note_indexes: NoteIndexes,
        indexed_spaces: set[SpaceId],
    ) -> None:
        self._send_search, self._send_words = send_search, send_words
        self._note_indexes, self._indexed_spaces = note_indexes, indexed_spaces
        self.closed: dict[tuple[SpaceId, SpaceId], float] = {}

    async def send_reads(
        self, conn: Connection, reader: Reader, shared: Scope, search: Search | None, stable: Mapping[str, Any]
    ) -> SentRead:
        """Enter a shared space, and send the search and the read of its stable memories there."""
        scope, allowed = reader.scope, sorted(reader.allowed)
        readers = {"readers": [scope.space, scope.tenant_space], "tenant": scope.tenant}
        params = {**readers, "wanted": shared.space, "allowed": allowed}
        told = await conn.execute(_READ["enter_shared"], params)
        space = {**stable, "space": shared.space, "shared": True, "limited": True}
        if reader.then is not None:  # its revision at that time: what was sent before has to be answered first
            revision = await conn.execute(_READ["revision_then"], {"space": shared.space, "then": reader.then})
            space["as_of"] = require_row(await revision.fetchone())["rev"]
        scan = shared.space not in self._indexed_spaces or (search is not None and search.vector is NO_VECTOR)
        scan = scan or reader.then is not None
        found = await self._send_search(conn, space, search, scan=scan) if search else None
        words = await self._send_words(conn, space, search) if search and search.beginnings else None
        text = _SEARCH["stable"].replace("{source}", _SEARCH["current" if reader.then is None else "then"])
        text = text.replace("{limited}", _SEARCH[space["limits"]])
        lasting = await conn.execute(text, space) if stable["categories"] else None
        if search and found and not scan:
            is_complete = self._note_indexes(space, await found.fetchmany(1))
            await found.scroll(0, mode="absolute")
            found = found if is_complete else await self._send_search(conn, space, search, scan=True)
        return SentRead(reader=scope, shared=shared, told=told, found=found, stable=lasting, words=words)

    async def join_reads(self, own: SearchSnapshot, search: Search | None, sent: Sequence[SentRead]) -> SearchSnapshot:
        """Return the snapshot of the own space with what was found in those that are shared."""
        parts: dict[Scope, SearchSnapshot] = {}
        stable: list[Any] = []
        for read in sent:
            told = require_row(await read.told.fetchone())["told"]
            if told != "granted":
                self._close(read, told)
                continue
            hits = await read.found.fetchall() if read.found else []
            if search and hits:
                self._note_indexes({"space": read.shared.space}, hits)
                words = tuple(row["word"] for row in await read.words.fetchall()) if read.words else ()
                parts[read.shared] = SearchSnapshot(**rows.parse_search(search, hits, None), words=words)
            else:
                parts[read.shared] = SearchSnapshot(rev=own.rev)
            lasting = await read.stable.fetchall() if read.stable else []
            stable += [(read.shared, rows.parse_memory(row)) for row in lasting]
        return replace(_join_snapshots(own, parts), shared_stable=tuple(stable))

    def _close(self, read: SentRead, told: str) -> None:
        if len(self.closed) >= _MAX_CLOSED:
            self.closed.clear()
        reader = read.reader.space if told == "denied" else read.shared.space
        self.closed[reader, read.shared.space] = monotonic() + _CLOSED_SECONDS


def _join_snapshots(own: SearchSnapshot, parts: Mapping[Scope, SearchSnapshot]) -> SearchSnapshot:
    """Return all of them as one, as if one space had been searched; the revision stays the own one."""
    every = (own, *parts.values())
    sizes = [part.corpus_size for part in every]
    mean, spread = _pool_cosines([part for part in every if part.corpus_size])
    shared = (replace(hit, shared=scope) for scope, part in parts.items() for hit in part.hits)
    return replace(
        own,
        hits=(*own.hits, *shared),
        missing_terms=frozenset.intersection(*(part.missing_terms for part in every)),
        speakers=tuple(dict.fromkeys(name for part in every for name in part.speakers)),
        corpus_size=sum(sizes),
        mean_cosine=mean,
        cosine_spread=spread,
        words=tuple(dict.fromkeys(word for part in every for word in part.words)),
        beside=tuple(parts),
    )


def _pool_cosines(parts: Sequence[SearchSnapshot]) -> tuple[float | None, float | None]:
    """Return the mean and the deviation of the cosines of all; None where an index chose some of the candidates."""
    means = [part.mean_cosine for part in parts if part.mean_cosine is not None and part.cosine_spread is not None]
    if not means or len(means) < len(parts):
        return None, None
    size = sum(part.corpus_size for part in parts)
    mean = sum(part.corpus_size * one for part, one in zip(parts, means, strict=True)) / size
    around = [(part.cosine_spread or 0.0) ** 2 + (one - mean) ** 2 for part, one in zip(parts, means, strict=True)]
    return mean, sqrt(sum(part.corpus_size * one for part, one in zip(parts, around, strict=True)) / size)
