"""New memories in bulk: rows packed as Postgres sends them itself, an array of them as one parameter.

`copy` is refused under row-level security. An array of a table's own row type is read by the same functions and as fast."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from operator import attrgetter
from struct import Struct, error, pack
from typing import Any

from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from muniment.memory.errors import BadInput, StoreError
from muniment.memory.plan import Change, Parcel, WritePlan
from muniment.memory.records import Fact, Turn, Vector
from muniment.memory.rules import words
from muniment.memory.rules.traits import indexed
from muniment.memory.stores.pool import Connection, Sessions, one as one_row
from muniment.memory.stores.sql import blocks
from muniment.memory.stores.translate import translated

_BULK, _SWITCH = blocks("bulk"), blocks("switch")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_TEXTS = (
    "kind", "category", "text", "stable_key", "trust", "state", "agent_id", "run_id", "actor_id", "role", "session_id",
    "thread_id", "context",
)  # fmt: skip
_TIMES = ("event_time", "created_at", "updated_at", "purge_at")
_FACT = tuple(Fact.__dataclass_fields__)
_SAID = {"role": "role", "actor": "actor", "text": "text", "source": "source", "path": "path", "session": "session_id",
         "thread": "thread_id"}  # fmt: skip
_of_texts, _of_times, _of_said = attrgetter(*_TEXTS), attrgetter(*_TIMES), attrgetter(*_SAID)
_SIZE, _SMALL, _LONG, _REAL = Struct(">i").pack, Struct(">h").pack, Struct(">q").pack, Struct(">f").pack
_TEXT, _UUID, _BIGINT = 25, 2950, 20  # type oids, the same in every database
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_STALE = "42804"  # the SQL state of rows that are not as their table is


@dataclass(frozen=True, slots=True)
class Shape:
    """A table's row type: where its columns are, and what stands before each of them."""

    array: bytes  # what stands before the rows of an array, its length left out
    places: dict[str, int]
    heads: tuple[bytes, ...]
    nulls: tuple[bytes, ...]

    @classmethod
    def of(cls, columns: Sequence[Mapping[str, Any]]) -> Shape:
        """From the catalogue: each column's `name` and `type`, and the `row` type that they make."""
        heads = tuple(pack(">I", column["type"]) for column in columns)
        return cls(
            array=pack(">iiI", 1, 0, columns[0]["row"]),
            places={column["name"]: n for n, column in enumerate(columns, 1)},
            heads=(b"", *heads),
            nulls=(_SIZE(len(columns)), *(head + b"\xff\xff\xff\xff" for head in heads)),
        )

    def row(self, values: Mapping[str, bytes]) -> bytes:
        """One row with its length; a column that is not named is null."""
        cells = list(self.nulls)
        for name, value in values.items():
            place = self.places[name]
            cells[place] = self.heads[place] + _SIZE(len(value)) + value
        found = b"".join(cells)
        return _SIZE(len(found)) + found

    def rows(self, found: Sequence[bytes]) -> Rows:
        """Rows as one parameter."""
        return Rows(self.array + pack(">ii", len(found), 1) + b"".join(found))


@dataclass(frozen=True, slots=True)
class Rows:
    """An array of rows, packed."""

    packed: bytes


class _Dumper(Dumper):
    """Gives the driver what is packed already."""

    format = Format.BINARY

    def dump(self, obj: Rows) -> Buffer | None:
        return obj.packed


@dataclass(frozen=True, slots=True)
class Shapes:
    """The tables that are written in bulk."""

    memories: Shape
    versions: Shape
    turns: Shape


class Bulk(Sessions):
    """Many new memories in one write."""

    _shapes: Shapes | None = None

    async def pack(self, plan: WritePlan) -> tuple[Parcel, ...]:
        """See `Store.pack`."""
        shapes = await self._shaped()
        said = {turn.id: turn for turn in reversed(plan.turns)}
        with translated():
            return tuple(
                Parcel(
                    memory=shapes.memories.row(_memory(change, self._model)),
                    turns={id_: shapes.turns.row(_turn(said[id_])) for id_ in change.after.turns if id_ in said},
                )
                for change in plan.changes
            )

    async def bring(self, plan: WritePlan, parcels: Sequence[Parcel]) -> int:
        """See `Store.bring`. Raises BadInput when another active memory has the stable key of one of them."""
        try:
            added = await self._bring(plan, parcels)
        except StoreError as failed:
            if failed.data.get("constraint") == "memories_by_key":
                raise BadInput("two memories that say the same, or one that is known already") from None
            if failed.data.get("sqlstate") == _STALE:
                self._shapes = None
            raise
        await self._measure()
        return added

    async def _measure(self) -> None:
        with suppress(StoreError):  # what was written is written; autovacuum comes soon
            async with self._calling(once=True) as conn:
                await conn.execute(_BULK["measure"])

    async def _bring(self, plan: WritePlan, parcels: Sequence[Parcel]) -> int:
        shapes, scope, new = await self._shaped(), plan.scope, list(parcels)
        named: dict[str, Any] = {"space": scope.space, "node": plan.node, "thread": scope.thread, "actor": scope.actor}
        turns = {id_: row for one in reversed(parcels) for id_, row in one.turns.items()}
        async with self._sending(scope, plan.at) as conn:
            cursor = carrying(conn)
            await cursor.execute(_BULK["generic"])
            locked = await conn.execute(_BULK["lock"], named)
            await conn.execute(_SWITCH["expect"], {"model": self._model})
            named["most"] = len(parcels)
            if turns:
                await cursor.execute(_BULK["turns"], named | {"turns": shapes.turns.rows(list(turns.values()))})
                known = turns.keys() - one_row(await cursor.fetchone())["consumed"]
                new = [one for one in parcels if not one.turns or not known >= one.turns.keys()]
            if new:
                named |= {"expected": one_row(await locked.fetchone())["rev"], "changes": len(new)}
                await cursor.execute(_BULK["bump"], named)
                if len(new) < len(parcels):
                    await cursor.execute(_BULK["fewer"], named)
                rows = shapes.memories.rows([one.memory for one in new])
                await cursor.execute(_BULK["memories"], named | {"memories": rows})
        return len(new)

    async def _shaped(self) -> Shapes:
        if self._shapes is None:
            await self._ready()
            async with self._connected() as conn:
                found = [
                    Shape.of(await (await conn.execute(_BULK["shape"], {"table": table})).fetchall())
                    for table in ("muniment.memories", "muniment.memory_versions", "muniment.turns")
                ]
            self._shapes = Shapes(*found)
        return self._shapes


def carrying(conn: Connection) -> Any:
    """A cursor that takes `Rows`."""
    cursor = conn.cursor()
    cursor.adapters.register_dumper(Rows, _Dumper)
    return cursor


def vectors(text: str, context: str | None, embedding: Vector, model: str) -> dict[str, bytes]:
    """The columns that a search reads."""
    weights = indexed(text, context)
    places, size = [place - 1 for place in weights], len(weights)
    return {
        "embedding": pack(">HH", len(embedding), 0) + embedding.astype(">f2").tobytes(),
        "embedding_model": model.encode(),
        "words": pack(f">3i{size}i{size}f", words.DIMENSIONS, size, 0, *places, *weights.values()),
    }


def _memory(change: Change, model: str) -> dict[str, bytes]:
    after = change.after
    if change.vector is None or change.before is not None:
        raise BadInput("only a new memory with its vector is brought")
    found = vectors(after.text, after.context, change.vector, model)
    texts = _of_texts(after)
    for name, value in zip(_TEXTS, texts, strict=True):
        if value is not None:
            found[name] = value.encode()
    _no_nul(texts + after.tags)
    for name, at in zip(_TIMES, _of_times(after), strict=True):
        if at is not None:
            found[name] = _moment(at)
    if after.fact is not None:
        found["fact"] = b"\x01" + _json({name: getattr(after.fact, name) for name in _FACT})
    if after.superseded_by is not None:
        found["superseded_by"] = after.superseded_by.bytes
    found["memory_id"] = after.id.bytes
    found["importance"] = _number(_SMALL, after.importance)
    found["confidence"] = _number(_REAL, after.confidence)
    found["pinned"] = b"\x01" if after.pinned else b"\x00"
    found["tags"] = _list(_TEXT, [tag.encode() for tag in after.tags])
    found["turns"] = _list(_UUID, [turn.bytes for turn in after.turns])
    return found


def _turn(turn: Turn) -> dict[str, bytes]:
    said = _of_said(turn)
    _no_nul(said + turn.tags)
    found = {column: value.encode() for column, value in zip(_SAID.values(), said, strict=True) if value is not None}
    found["turn_id"] = turn.id.bytes
    found["at"] = _moment(turn.at)
    found["tags"] = _list(_TEXT, [tag.encode() for tag in turn.tags])
    found["recalled"] = _list(_BIGINT, [_number(_LONG, one) for one in turn.recalled])
    return found


def _no_nul(texts: Iterable[str | None]) -> None:
    if "\0" in "".join(filter(None, texts)):
        raise BadInput("a name or a text has a NUL")


@lru_cache(maxsize=1_024)
def _moment(value: datetime) -> bytes:
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return _LONG((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def _number(packer: Any, value: float) -> bytes:
    try:
        found: bytes = packer(value)
    except (error, OverflowError):
        raise BadInput("a number is too large, or none") from None
    if not isfinite(value):
        raise BadInput("a number is none")
    return found


def _json(value: Any) -> bytes:
    try:
        return _JSON.encode(value).encode()
    except ValueError:
        raise BadInput("a number is none") from None


def _list(type_: int, values: Sequence[bytes]) -> bytes:
    if not values:
        return pack(">iiI", 0, 0, type_)
    sized = b"".join(part for value in values for part in (_SIZE(len(value)), value))
    return pack(">iiIii", 1, 0, type_, len(values), 1) + sized
