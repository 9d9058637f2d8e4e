"""New memories in bulk: rows packed as Postgres sends them itself, an array of them as one parameter.

`copy` is refused under row-level security. An array of a table's own row type is read by the same functions and as fast."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from math import isfinite
from operator import attrgetter, itemgetter
from struct import Struct, error
from typing import Any
from uuid import UUID

from muniment.memory.domain.ids import TurnId, Vector
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Change, PackedRow, WritePlan
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, StoreError
from muniment.memory.rules.language import tokens
from muniment.memory.rules.retrieval import traits
from muniment.memory.stores.postgres.bulk.binary_rows import (
    NULL,
    OF_BIGINT,
    OF_TEXT,
    OF_UUID,
    SIZE,
    TIME_SIZE,
    UUID_SIZE,
    RowType,
    encode_array,
    encode_cell,
    encode_time,
    fill_frame,
    open_cursor,
)
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_BULK, _SWITCH = load_blocks("bulk"), load_blocks("switch")
# What most memories of a write have in common, and the same of turns: packed once for all that have it.
_SHARED = (
    "kind", "category", "trust", "state", "agent_id", "run_id", "actor_id", "role", "session_id", "thread_id", "tags",
    "importance", "pinned", "purge_at", "superseded_by",
)  # fmt: skip
_SAID = ("role", "actor", "source", "path", "session", "thread", "tags")
SEARCH_COLUMNS = ("embedding", "words")
# What each has of its own, in the order of the table.
_OWN = (
    "memory_id", "text", "fact", "stable_key", "confidence", "event_time", "created_at", "updated_at", "context", "turns",
    *SEARCH_COLUMNS,
)  # fmt: skip
_OWN_SAID = ("turn_id", "text", "at", "recalled")
_FRAMES = 256
_TABLES = ("memories", "memory_versions", "journal", "turns", "relations")
_FACT = tuple(Fact.__dataclass_fields__)
_get_shared, _get_turn_shared = attrgetter(*_SHARED), attrgetter(*_SAID)
_SMALL, _LONG, _REAL = Struct(">h").pack, Struct(">q").pack, Struct(">f").pack
_VECTOR = Struct(">iHH").pack
_NUMBER = SIZE(4)
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
STALE = "42804"  # the SQL state of rows that are not as their table is


class BulkTables:
    """The tables that are written in bulk: encodes their rows as Postgres sends them.

    `splits_inserts`: the server plans no insert inside another statement, as Citus does not."""

    def __init__(self, tables: Mapping[str, RowType], *, model: str, splits_inserts: bool = False) -> None:
        self.tables, self.memories, self.turns = tables, tables["memories"], tables["turns"]
        self.splits_inserts = splits_inserts
        self._model = model.encode()
        # Typed: 1, 1.0 and True are equal, and only one of them is a number as the table has it.
        self._memory_frame = lru_cache(maxsize=_FRAMES, typed=True)(self._build_memory_frame)
        self._turn_frame = lru_cache(maxsize=_FRAMES, typed=True)(self._build_turn_frame)

    def encode_memory(self, change: Change) -> bytes:
        """The row of a new memory. Raises BadInput for what cannot be one."""
        after = change.after
        if change.vector is None or change.before is not None:
            raise BadInput("only a new memory with its vector is brought")
        _refuse_nul((after.text, after.stable_key, after.context))
        frame = self._memory_frame(*_get_shared(after))
        fact = (
            None if after.fact is None else b"\x01" + _encode_json({name: getattr(after.fact, name) for name in _FACT})
        )
        own = (
            UUID_SIZE + after.id.bytes,
            encode_cell(after.text.encode()),
            _encode_optional(fact),
            _encode_text(after.stable_key),
            _NUMBER + _encode_number(_REAL, after.confidence),
            _encode_time(after.event_time),
            _encode_time(after.created_at),
            _encode_time(after.updated_at),
            _encode_text(after.context),
            _encode_ids(after.turns),
            *encode_search_cells(after.text, after.context, change.vector),
        )
        return fill_frame(frame, own)

    def encode_turn(self, turn: Turn) -> bytes:
        """The row of a turn."""
        _refuse_nul((turn.text,))
        frame = self._turn_frame(*_get_turn_shared(turn))
        recalled = encode_array(OF_BIGINT, [TIME_SIZE + _encode_number(_LONG, one) for one in turn.recalled])
        return fill_frame(
            frame,
            (UUID_SIZE + turn.id.bytes, encode_cell(turn.text.encode()), _encode_time(turn.at), encode_cell(recalled)),
        )

    def _build_memory_frame(self, *shared: Any) -> tuple[bytes, ...]:
        named = dict(zip(_SHARED, shared, strict=True))
        found = _encode_texts(named) | {
            "embedding_model": self._model,
            "importance": _encode_number(_SMALL, named["importance"]),
            "pinned": b"\x01" if named["pinned"] else b"\x00",
        }
        if named["purge_at"] is not None:
            found["purge_at"] = encode_time(named["purge_at"])
        if named["superseded_by"] is not None:
            found["superseded_by"] = named["superseded_by"].bytes
        return self.memories.build_frame(found, _OWN)

    def _build_turn_frame(self, *shared: Any) -> tuple[bytes, ...]:
        found = _encode_texts(dict(zip(_SAID, shared, strict=True)))
        named = {
            {"session": "session_id", "thread": "thread_id"}.get(name, name): value for name, value in found.items()
        }
        return self.turns.build_frame(named, _OWN_SAID)


async def load_tables(connections: PostgresConnections) -> BulkTables:
    """Read the row types of the tables that are written in bulk from the catalogue."""
    async with connections.statement() as conn:
        columns = await (await conn.execute(_BULK["shapes"], {"tables": list(_TABLES)})).fetchall()
        splits_inserts = require_row(await (await conn.execute(_BULK["apart"])).fetchone())["apart"]
    tables = {table: RowType.from_catalogue(list(part)) for table, part in groupby(columns, key=itemgetter("table"))}
    return BulkTables(tables, model=connections.model, splits_inserts=splits_inserts)


async def insert_rows(
    connections: PostgresConnections, tables: BulkTables, plan: WritePlan, packed_rows: Sequence[PackedRow]
) -> int:
    """Write packed rows in one transaction, without those whose turns are all consumed; return how many."""
    scope, new = plan.scope, list(packed_rows)
    params: dict[str, Any] = {"space": scope.space, "node": plan.node, "thread": scope.thread, "actor": scope.actor}
    turns = {id_: turn for row in reversed(packed_rows) for id_, turn in row.turns.items()}
    async with connections.sending(scope, plan.at) as conn:
        cursor = open_cursor(conn)
        await cursor.execute(_BULK["generic"])
        locked = await conn.execute(_BULK["lock"], params)
        await conn.execute(_SWITCH["expect"], {"model": connections.model})
        params["most"] = len(packed_rows)
        if turns:
            turn_params = params | {"turns": tables.turns.pack_rows(list(turns.values()))}
            consumed = await _consume_turns(cursor, turn_params, len(turns), split=tables.splits_inserts)
            if consumed is not None:
                replayed = turns.keys() - consumed
                new = [row for row in packed_rows if not row.turns or not replayed >= row.turns.keys()]
        if new:
            params |= {"expected": require_row(await locked.fetchone())["rev"], "changes": len(new)}
            await cursor.execute(_BULK["bump"], params)
            if len(new) < len(packed_rows):
                await cursor.execute(_BULK["fewer"], params)
            params["memories"] = tables.memories.pack_rows([row.memory for row in new])
            await _insert_memories(cursor, params, split=tables.splits_inserts)
    return len(new)


async def analyze_tables(connections: PostgresConnections) -> None:
    """Let the planner measure tables that have just been filled. A failure is no loss: autovacuum does so soon."""
    with suppress(StoreError):
        async with connections.statement() as conn:
            await conn.execute(_BULK["measure"])


async def _consume_turns(
    cursor: Any, params: Mapping[str, Any], count: int, *, split: bool
) -> Collection[TurnId] | None:
    """Return those of the turns that were not consumed before; None for all of them."""
    if not split:
        await cursor.execute(_BULK["turns"], {**params, "said": count})
        consumed: Collection[TurnId] | None = require_row(await cursor.fetchone())["consumed"]
        return consumed
    await cursor.execute(_BULK["turns_apart"], params)
    return {row["turn_id"] for row in await cursor.fetchall()}


async def _insert_memories(cursor: Any, params: Mapping[str, Any], *, split: bool) -> None:
    if not split:
        await cursor.execute(_BULK["memories"], params)
        return
    await cursor.execute(_BULK["memories_apart"], params)
    added = await cursor.fetchall()
    columns = {"ids": "memory_id", "revs": "rev", "ats": "created_at"}
    lists = {name: [row[column] for row in added] for name, column in columns.items()}
    await cursor.execute(_BULK["lines_apart"], {**params, **lists})


def encode_search_cells(text: str, context: str | None, embedding: Vector) -> tuple[bytes, bytes]:
    """The cells that a search reads, in the order of `SEARCHED`."""
    places, values = traits.list_dimensions(text, context)
    size, length = len(places), len(embedding)
    return (
        _VECTOR(4 + 2 * length, length, 0) + embedding.astype(">f2").tobytes(),
        _sparse_packer(size)(12 + 8 * size, tokens.DIMENSIONS, size, 0, *[place - 1 for place in places], *values),
    )


@lru_cache(maxsize=1_024)
def _sparse_packer(size: int) -> Callable[..., bytes]:
    return Struct(f">4i{size}i{size}f").pack


def _encode_optional(value: bytes | None) -> bytes:
    return NULL if value is None else encode_cell(value)


def _encode_text(value: str | None) -> bytes:
    return NULL if value is None else encode_cell(value.encode())


def _encode_time(value: datetime | None) -> bytes:
    return NULL if value is None else TIME_SIZE + encode_time(value)


def _encode_ids(ids: Sequence[UUID]) -> bytes:
    return encode_cell(encode_array(OF_UUID, [UUID_SIZE + one.bytes for one in ids]))


def _encode_texts(named: Mapping[str, Any]) -> dict[str, bytes]:
    """Those of the values that are texts, and the list of tags."""
    said = {name: value for name, value in named.items() if isinstance(value, str)}
    _refuse_nul((*said.values(), *named["tags"]))
    tags = encode_array(OF_TEXT, [encode_cell(tag.encode()) for tag in named["tags"]])
    return {name: value.encode() for name, value in said.items()} | {"tags": tags}


def _refuse_nul(texts: Iterable[str | None]) -> None:
    if "\0" in "".join(filter(None, texts)):
        raise BadInput("a name or a text has a NUL")


def _encode_number(packer: Any, value: float) -> bytes:
    try:
        found: bytes = packer(value)
    except (error, OverflowError):
        raise BadInput("a number is too large, or none") from None
    if not isfinite(value):
        raise BadInput("a number is none")
    return found


def _encode_json(value: Any) -> bytes:
    try:
        return _JSON.encode(value).encode()
    except ValueError:
        raise BadInput("a number is none") from None
