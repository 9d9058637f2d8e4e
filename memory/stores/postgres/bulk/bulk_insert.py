"""New memories in bulk: rows in the binary format of Postgres, an array of them as one parameter.

Row-level security refuses `copy`. The same functions read an array of a table's own row type, as fast."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from math import isfinite
from operator import attrgetter, itemgetter
from struct import Struct, error
from typing import Any
from uuid import UUID

from muniment.memory.domain.ids import NO_VECTOR, Revision, TurnId, Vector
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Change, PackedRow, WritePlan
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, NotStorable, StoreError
from muniment.memory.rules.language import tokens
from muniment.memory.rules.retrieval import intents
from muniment.memory.stores.postgres.bulk.binary_rows import (
    NULL,
    OF_BIGINT,
    OF_TEXT,
    OF_UUID,
    RowType,
    encode_array,
    encode_cell,
    encode_time,
    fill_frame,
    open_cursor,
)
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.memory_columns import CONTENT, SEARCH_COLUMNS
from muniment.memory.stores.postgres.rows import encode_rows
from muniment.memory.stores.postgres.sql import load_blocks

_BULK, _SWITCH = load_blocks("bulk"), load_blocks("embedder_switch")
_SHARED = tuple(column for column in CONTENT if column.is_shared)
_OWN = tuple(column for column in CONTENT if not column.is_shared)
# The columns of a turn: name, type and field; those that most turns of a write have in common, and the others.
_SHARED_OF_TURN = (
    ("role", "text", "role"), ("actor", "text", "actor"), ("source", "text", "source"), ("path", "text", "path"),
    ("session_id", "text", "session"), ("thread_id", "text", "thread"), ("tags", "text[]", "tags"),
    ("kind", "text", "kind"), ("visible", "boolean", "visible"),
)  # fmt: skip
_OWN_OF_TURN = (
    ("turn_id", "uuid", "id"), ("text", "text", "text"), ("at", "timestamptz", "at"),
    ("recalled", "bigint[]", "recalled"), ("payload", "jsonb", "payload"),
)  # fmt: skip
_FRAMES = 256
_TABLES = ("memories", "memory_versions", "journal", "turns", "relations")
_FACT = tuple(Fact.__dataclass_fields__)
_VECTOR = Struct(">iHH").pack
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
STALE = "42804"  # the SQL state of rows that are not as their table is


Column = tuple[str, str, str]  # name, type, field


class RowEncoder:
    """Encodes the rows of one table. What most rows of a write have in common is encoded once, as their frame."""

    def __init__(
        self,
        table: RowType,
        shared: Sequence[Column],
        own: Sequence[Column],
        constants: Mapping[str, bytes],
        extra: Sequence[str],
    ) -> None:
        self.table = table
        self._shared, self._constants = shared, constants
        self._get_shared = attrgetter(*(field for _, _, field in shared))
        self._get_own = attrgetter(*(field for _, _, field in own))
        self._own_encoders = [ENCODERS[type_] for _, type_, _ in own]
        names = [*(name for name, _, _ in own), *extra]
        self._order = sorted(range(len(names)), key=lambda n: table.places[names[n]])
        self._names = [names[n] for n in self._order]
        # Typed: 1, 1.0 and True are equal, and only one of them is a number as the table has it.
        self._build_frame = lru_cache(maxsize=_FRAMES, typed=True)(self._encode_frame)

    def encode_row(self, record: object, extra: Sequence[bytes] = ()) -> bytes:
        """Return the row of a record; `extra` are the cells of the extra columns. Raises BadInput for a bad value."""
        frame = self._build_frame(*self._get_shared(record))
        own = zip(self._own_encoders, self._get_own(record), strict=True)
        cells = [*(NULL if value is None else encode_cell(encode(value)) for encode, value in own), *extra]
        return fill_frame(frame, [cells[n] for n in self._order])

    def _encode_frame(self, *values: Any) -> tuple[bytes, ...]:
        columns = zip(self._shared, values, strict=True)
        shared = {name: ENCODERS[type_](value) for (name, type_, _), value in columns if value is not None}
        return self.table.build_frame({**shared, **self._constants}, self._names)


class BulkTables:
    """The tables that are written in bulk: encodes their rows as Postgres sends them.

    `splits_inserts`: the server plans no insert inside another statement, as Citus does not."""

    def __init__(self, tables: Mapping[str, RowType], *, model: str, splits_inserts: bool = False) -> None:
        self.tables, self.model = tables, model
        self.splits_inserts = splits_inserts
        shared, own = ([(column.name, column.type, column.field) for column in part] for part in (_SHARED, _OWN))
        constants = {"embedding_model": model.encode()}
        self._memories = RowEncoder(tables["memories"], shared, own, constants, SEARCH_COLUMNS)
        self._turns = RowEncoder(tables["turns"], _SHARED_OF_TURN, _OWN_OF_TURN, {}, ())

    def encode_memory(self, change: Change) -> bytes:
        """Return the row of a new memory. Raises BadInput for what cannot be one."""
        after = change.after
        if change.vector is None or change.vector is NO_VECTOR or change.before is not None:
            raise BadInput("only a new memory with its vector is brought")
        return self._memories.encode_row(
            after, encode_search_cells(after.text, after.context, after.aliases, change.vector)
        )

    def encode_turn(self, turn: Turn) -> bytes:
        """Return the row of a turn. Raises BadInput for what cannot be one."""
        return self._turns.encode_row(turn)


async def load_tables(connections: PostgresConnections, model: str) -> BulkTables:
    """Read the row types of the tables that are written in bulk from the catalogue; their vectors are of this model."""
    async with connections.statement() as conn:
        columns = await (await conn.execute(_BULK["row_types"], {"tables": list(_TABLES)})).fetchall()
        splits_inserts = require_row(await (await conn.execute(_BULK["splits_inserts"])).fetchone())["apart"]
    tables = {table: RowType.from_catalogue(list(part)) for table, part in groupby(columns, key=itemgetter("table"))}
    return BulkTables(tables, model=model, splits_inserts=splits_inserts)


async def insert_rows(
    connections: PostgresConnections, tables: BulkTables, plan: WritePlan, packed_rows: Sequence[PackedRow]
) -> int:
    """Write packed rows in one transaction, without those whose turns are all consumed; return how many."""
    scope, new = plan.scope, list(packed_rows)
    params: dict[str, Any] = {"space": scope.space, "node": plan.node, "thread": scope.thread, "actor": scope.actor}
    params |= {"agent": scope.agent, "project": scope.project, "app": scope.app}
    turns = {id_: turn for row in reversed(packed_rows) for id_, turn in row.turns.items()}
    async with connections.sending(scope, plan.at) as conn:
        cursor = open_cursor(conn)
        await cursor.execute(_BULK["plan_once"])
        locked = await conn.execute(_BULK["lock"], params)
        await conn.execute(_SWITCH["expect"], {"model": tables.model})
        params["most"] = len(packed_rows)
        if turns:
            turn_params = params | {"at": plan.at, "turns": tables.tables["turns"].pack_rows(list(turns.values()))}
            await cursor.execute(_BULK["sessions"], turn_params)
            consumed = await _consume_turns(cursor, turn_params, len(turns), split=tables.splits_inserts)
            if consumed is not None:
                replayed = turns.keys() - consumed
                new = [row for row in packed_rows if not row.turns or not replayed >= row.turns.keys()]
        if new:
            params |= {"expected": require_row(await locked.fetchone())["rev"], "changes": len(new)}
            await cursor.execute(_BULK["bump"], params)
            if len(new) < len(packed_rows):
                await cursor.execute(_BULK["renumber_turns"], params)
            params["memories"] = tables.tables["memories"].pack_rows([row.memory for row in new])
            await _insert_memories(cursor, params, split=tables.splits_inserts)
            await cursor.execute(_BULK["seal"], params)
            if slots := _number_slots(new, params["expected"]):
                await cursor.execute(_BULK["project"], params | {"slots": encode_rows(slots)})
    return len(new)


def _number_slots(new: Sequence[PackedRow], expected: int) -> list[dict[str, Any]]:
    """Return what the memories say in their slots, with the revision that each of them has."""
    return [
        {"memory_id": row.slots[0].memory, "slots": [replace(slot, rev=Revision(rev)) for slot in row.slots]}
        for rev, row in enumerate(new, expected + 1)
        if row.slots
    ]


async def analyze_tables(connections: PostgresConnections) -> None:
    """Let the planner measure tables that have just been filled. A failure is no loss: autovacuum does so soon."""
    with suppress(StoreError):
        async with connections.statement() as conn:
            await conn.execute(_BULK["analyze"])


async def _consume_turns(
    cursor: Any, params: Mapping[str, Any], count: int, *, split: bool
) -> Collection[TurnId] | None:
    """Return those of the turns that were not consumed before; None for all of them."""
    if not split:
        await cursor.execute(_BULK["turns"], {**params, "said": count})
        consumed: Collection[TurnId] | None = require_row(await cursor.fetchone())["consumed"]
        return consumed
    await cursor.execute(_BULK["turns_alone"], params)
    return {row["turn_id"] for row in await cursor.fetchall()}


async def _insert_memories(cursor: Any, params: Mapping[str, Any], *, split: bool) -> None:
    if not split:
        await cursor.execute(_BULK["memories"], params)
        return
    await cursor.execute(_BULK["memories_alone"], params)
    added = await cursor.fetchall()
    columns = {"ids": "memory_id", "revs": "rev", "ats": "created_at", "categories": "category"}
    lists = {name: [row[column] for row in added] for name, column in columns.items()}
    await cursor.execute(_BULK["lines_alone"], {**params, **lists})
    await cursor.execute(_BULK["note_limits"], params)


def encode_search_cells(
    text: str, context: str | None, aliases: Sequence[str], embedding: Vector
) -> tuple[bytes, bytes]:
    """Return the cells of the columns that a search reads, in the order of `SEARCH_COLUMNS`."""
    places, values = intents.list_dimensions(text, context, aliases)
    size, length = len(places), len(embedding)
    return (
        _VECTOR(4 + 2 * length, length, 0) + embedding.astype(">f2").tobytes(),
        _sparse_packer(size)(12 + 8 * size, tokens.DIMENSIONS, size, 0, *[place - 1 for place in places], *values),
    )


@lru_cache(maxsize=1_024)
def _sparse_packer(size: int) -> Callable[..., bytes]:
    return Struct(f">4i{size}i{size}f").pack


def _encode_text(text: str) -> bytes:
    if "\0" in text:
        raise NotStorable("a name or a text has a NUL")
    return text.encode()


def _encode_object(value: Fact | Mapping[str, Any]) -> bytes:
    fields = {name: getattr(value, name) for name in _FACT} if isinstance(value, Fact) else value
    try:
        return b"\x01" + _JSON.encode(fields).encode()
    except ValueError:
        raise NotStorable("a number is none") from None


def _encode_number(layout: str) -> Callable[[float], bytes]:
    packer = Struct(layout).pack

    def encode(value: float) -> bytes:
        try:
            cell = packer(value)
        except (error, OverflowError):
            raise NotStorable("a number is too large, or none") from None
        if not isfinite(value):
            raise NotStorable("a number is none")
        return cell

    return encode


def _encode_list(type_: int, encode: Callable[[Any], bytes]) -> Callable[[Sequence[Any]], bytes]:
    return lambda values: encode_array(type_, [encode_cell(encode(value)) for value in values])


def _encode_id(value: UUID) -> bytes:
    return value.bytes


_encode_long = _encode_number(">q")
# By SQL type: a value that is not null as the bytes of its cell.
ENCODERS: Mapping[str, Callable[[Any], bytes]] = {
    "uuid": _encode_id,
    "text": _encode_text,
    "jsonb": _encode_object,
    "smallint": _encode_number(">h"),
    "int": _encode_number(">i"),
    "bigint": _encode_long,
    "real": _encode_number(">f"),
    "boolean": lambda value: b"\x01" if value else b"\x00",
    "timestamptz": encode_time,
    "text[]": _encode_list(OF_TEXT, _encode_text),
    "uuid[]": _encode_list(OF_UUID, _encode_id),
    "bigint[]": _encode_list(OF_BIGINT, _encode_long),
}
