"""The restoring of whole spaces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, LiteralString

from muniment.memory.domain.ids import Vector
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Conflict
from muniment.memory.ports.writes import SpaceRows
from muniment.memory.stores.postgres.bulk.binary_rows import OF_BIGINT, OF_TEXT, encode_array, fill_frame, open_cursor
from muniment.memory.stores.postgres.bulk.bulk_insert import (
    BulkTables,
    encode_search_cells,
)
from muniment.memory.stores.postgres.bulk.columns import Cells, pack_columns
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.layers.projections import project_space
from muniment.memory.stores.postgres.memory_columns import SEARCH_COLUMNS, STORE_COLUMNS
from muniment.memory.stores.postgres.sql import load_blocks

_get_type = itemgetter("type")
_TRANSFER, _BULK, _SWITCH, _WRITE = map(load_blocks, ("transfer", "bulk", "embedder_switch", "write"))
# SQL states of a row that does not fit its table: not supported, data, integrity, of another type, too long.
UNFIT = ("0A", "22", "23", "42804", "54")
_AT_ONCE = 128  # rows of a statement
_IGNORED = frozenset({"type", *STORE_COLUMNS})  # what the restoring store fills itself, whatever a row says
_UNREFERENCED = ("journal", "turn")  # they refer to the space, and to no other row of it
# Older exports lack these.
_MISSING_JSON: dict[str, dict[str, Any]] = {
    "turn": {"source": "user", "tags": [], "recalled": [], "kind": "message", "visible": True},
    "memory": {"aliases": [], "reach": "user"},
    "version": {"aliases": [], "reach": "user"},
}
_MISSING_CELLS = {
    "turn": {
        "source": b"user",
        "tags": encode_array(OF_TEXT, ()),
        "recalled": encode_array(OF_BIGINT, ()),
        "kind": b"message",
        "visible": b"\x01",
    },
    "memory": {"aliases": encode_array(OF_TEXT, ()), "reach": b"user"},
    "version": {"aliases": encode_array(OF_TEXT, ()), "reach": b"user"},
}
_INSERTS = ("insert_packed", "insert_over_packed", "insert_json")
_TABLES = {
    "memory": "memories",
    "version": "memory_versions",
    "journal": "journal",
    "turn": "turns",
    "session": "sessions",
    "relation": "relations",
    "thread": "thread_revision",
    "consent": "consent_requests",
    "observation": "observations",
}
_REFERENCED = tuple(kind for kind in _TABLES if kind not in _UNREFERENCED)


async def load_rows(
    connections: PostgresConnections, tables: BulkTables, scope: Scope, dump: SpaceRows, vectors: Iterable[Vector]
) -> None:
    """Restore a dump in one transaction; what it takes does not grow with the dump.

    Raises Conflict when the space is not empty, BadInput when the rows are no whole space."""
    space, completion = {"space": scope.space}, _Completion(dump)
    vector = iter(vectors)
    created = next((row["created_at"] for row in dump.read_rows(("space",))), None)
    async with connections.writing(scope, datetime.fromisoformat(created) if created else None) as conn:
        bumped = await conn.execute(_TRANSFER["load_space"], space | {"rev": dump.rev, "created_at": created})
        if not bumped.rowcount:
            raise Conflict("the space is not empty")
        await conn.execute(_SWITCH["expect"], {"model": tables.model})
        cursor = open_cursor(conn)
        await conn.execute(_BULK["plan_once"])
        statements = (_build_load(scope, kind, batch, vector, tables) for kind, batch in _split_rows(dump, completion))
        async with conn.pipeline():
            # Rows are read and packed beside the loop.
            while statement := await asyncio.to_thread(next, statements, None):
                await cursor.execute(*statement)
        if completion.lacks_positions:
            await conn.execute(_WRITE["number_turns"], space | {"now": None})
        await conn.execute(_BULK["plan_each"])
        await conn.execute(_BULK["note_limits"], space)
        flaws = await (await conn.execute(_TRANSFER["flaws"], space)).fetchall()
        if flaws:
            raise build_unfit_error(flaws[0]["flaw"])
        await conn.execute(_TRANSFER["seal_space"], space)
        await project_space(conn, scope)


def build_unfit_error(flaw: object) -> BadInput:
    """Return the error for rows that are no whole space."""
    return BadInput(
        f"the rows are no export of a space: {flaw}; nothing was kept: take the file as `muniment export` wrote it"
    )


def _build_load(
    scope: Scope, kind: str, batch: Sequence[dict[str, Any]], vectors: Iterator[Vector], tables: BulkTables
) -> tuple[LiteralString, dict[str, Any]]:
    """Return the statement that restores rows and its parameters: packed rows as exported, else JSON."""
    constants: dict[str, bytes] = {"space_id": scope.space.bytes}
    search_cells: dict[str, Cells] = {}
    if kind in ("memory", "version"):
        constants |= {"embedding_model": tables.model.encode()}
        cells = [
            encode_search_cells(row["text"], row.get("context"), row.get("aliases") or (), next(vectors))
            for row in batch
        ]
        search_cells = {
            name: list(column) for name, column in zip(SEARCH_COLUMNS, zip(*cells, strict=True), strict=True)
        }
    name = _TABLES[kind]
    insert_packed, insert_over_packed, insert_json = (_TRANSFER[block].replace("{table}", name) for block in _INSERTS)
    table = tables.tables.get(name)
    if table is not None:
        defaults = _MISSING_CELLS.get(kind, {})
        rows = pack_columns(
            table, batch, constants=constants, defaults=defaults, extra_cells=search_cells, ignored=_IGNORED
        )
        if rows is not None:
            return insert_packed, {"rows": rows}
    if table is None or not search_cells:
        base = _MISSING_JSON.get(kind, {}) | {"space_id": str(scope.space)}
        return insert_json, {"rows": _encode_json([_strip_row(row) for row in batch]), "base": _encode_json(base)}
    # Packed rows have the columns that no export has, and the JSON completes them. Null is left out: most columns are.
    frame = table.build_frame(constants, SEARCH_COLUMNS)
    bare = table.pack_rows([fill_frame(frame, cells) for cells in zip(*search_cells.values(), strict=True)])
    fields = [{key: value for key, value in _strip_row(row).items() if value is not None} for row in batch]
    return insert_over_packed, {"rows": _encode_json(fields), "bare": bare}


class _Completion:
    """Completes the rows of older exports while they are read, and notes what only the whole space can complete."""

    def __init__(self, dump: SpaceRows) -> None:
        self._dump = dump
        self.lacks_positions = False  # of turns

    def complete_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with a category where it is a line of the journal: that of its memory then, or else now."""
        if row["type"] == "turn" and "position" not in row:
            self.lacks_positions = True
        if row["type"] != "journal" or "category" in row:
            return row
        then, now = self._categories
        memory = row["memory_id"]
        return row | {"category": then.get((memory, row["rev"])) or now.get(memory)}

    @cached_property
    def _categories(self) -> tuple[dict[tuple[str, int], str], dict[str, str]]:
        """The category of each memory from a revision on, and that of now."""
        versions = self._dump.read_rows(("version",))
        then = {(row["memory_id"], row["from_rev"]): row["category"] for row in versions}
        return then, {row["memory_id"]: row["category"] for row in self._dump.read_rows(("memory",))}


def _split_rows(dump: SpaceRows, completion: _Completion) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the kind and rows of each statement, in order. Rows that no other refers to go between those that take long
    to pack, so that the server has work meanwhile."""
    loose = _cut_batches(map(completion.complete_row, dump.read_rows(_UNREFERENCED)))
    for kind, batch in _cut_batches(dump.read_rows(_REFERENCED)):
        yield kind, batch
        yield from islice(loose, len(_UNREFERENCED))
    yield from loose


def _cut_batches(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for kind, same in groupby(rows, key=_get_type):
        while batch := list(islice(same, _AT_ONCE)):
            yield kind, batch


def _strip_row(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in row if key not in _IGNORED}


def _encode_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
