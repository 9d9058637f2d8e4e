"""Whole spaces in and out of Postgres."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, LiteralString

from muniment.memory.domain.ids import Revision, Vector
from muniment.memory.domain.plan import Dump
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Conflict, StoreError
from muniment.memory.stores.postgres.bulk.binary_rows import OF_BIGINT, OF_TEXT, carrying, filled, listed
from muniment.memory.stores.postgres.bulk.bulk_insert import SEARCHED, STALE, Bulk, Shapes, searched
from muniment.memory.stores.postgres.bulk.columns import Cells, packed
from muniment.memory.stores.postgres.sql import blocks

_kind = itemgetter("type")
_MOVE, _BULK, _SWITCH = blocks("move"), blocks("bulk"), blocks("switch")
# SQL states of a row that does not fit its table: not supported, data, integrity, of another type, too long.
_UNFIT = ("0A", "22", "23", "42804", "54")
_AT_ONCE = 128  # rows of a statement
_WHOLE = "nothing was kept: take the file as `muniment export` wrote it"
# What the restoring store says itself, whatever a row says.
_OWN = frozenset({"type", "space_id", "embedding", "embedding_model", "words", "next_embedding", "next_model"})
_LOOSE = ("journal", "turn")  # of a space, and of nothing else in it
# In older exports.
_UNSAID: dict[str, dict[str, Any]] = {"turn": {"source": "user", "tags": [], "recalled": []}}
_MISSING = {"turn": {"source": b"user", "tags": listed(OF_TEXT, ()), "recalled": listed(OF_BIGINT, ())}}
_TABLES = {
    "memory": "memories",
    "version": "memory_versions",
    "journal": "journal",
    "turn": "turns",
    "relation": "relations",
}


class Moves(Bulk):
    """Export and restore."""

    async def dump(self, scope: Scope) -> Dump:
        """See `Store.dump`."""
        async with self._reading(scope, None) as conn:
            found = [row["row"] for row in await (await conn.execute(_MOVE["dump"], {"space": scope.space})).fetchall()]
        return Dump(rev=Revision(found[0]["rev"] if found else 0), rows=tuple(found))

    async def content(self, scope: Scope) -> tuple[dict[str, Any], ...]:
        """See `Store.content`."""
        async with self._reading(scope, None) as conn:
            found = await (await conn.execute(_MOVE["content"], {"space": scope.space})).fetchall()
        return tuple(row["row"] for row in found)

    async def corrected(self, scope: Scope, texts: Sequence[str], before: Revision) -> frozenset[str]:
        """See `Store.corrected`."""
        asked = {"space": scope.space, "texts": list(texts), "before": before}
        async with self._reading(scope, None) as conn:
            return frozenset(row["text"] for row in await (await conn.execute(_MOVE["corrected"], asked)).fetchall())

    async def load(self, scope: Scope, dump: Dump, vectors: Sequence[Vector]) -> None:
        """See `Store.load`. Raises BadInput when the rows are no whole space; then nothing of it is kept."""
        try:
            await self._load(scope, dump, vectors)
        except StoreError as error:
            if error.data.get("sqlstate") == STALE:
                self._shapes = None
            if str(error.data.get("sqlstate") or "").startswith(_UNFIT):
                raise BadInput(f"the rows are no export of a space: {error}; {_WHOLE}") from None
            raise
        await self._measure()

    async def _load(self, scope: Scope, dump: Dump, found: Sequence[Vector]) -> None:
        space, vector, shapes = {"space": scope.space}, iter(found), await self._shaped()
        created = next((row["created_at"] for row in dump.rows if row["type"] == "space"), None)
        async with self._writing(scope, datetime.fromisoformat(created) if created else None) as conn:
            bumped = await conn.execute(_MOVE["load_space"], space | {"rev": dump.rev, "created_at": created})
            if not bumped.rowcount:
                raise Conflict("the space is not empty")
            await conn.execute(_SWITCH["expect"], {"model": self._model})
            cursor = carrying(conn)
            await conn.execute(_BULK["generic"])
            async with conn.pipeline():
                for kind, some in _parts(dump.rows):
                    await cursor.execute(*self._loaded(scope, kind, some, vector, shapes))
            await conn.execute(_BULK["custom"])
            flaws = await (await conn.execute(_MOVE["flaws"], space)).fetchall()
            if flaws:
                raise BadInput(f"the rows are no export of a space: {flaws[0]['flaw']}; {_WHOLE}")

    def _loaded(
        self, scope: Scope, kind: str, some: Sequence[dict[str, Any]], found: Iterator[Vector], shapes: Shapes
    ) -> tuple[LiteralString, dict[str, Any]]:
        """The statement that restores these rows, and its parameters: packed if all is as it was exported, else as JSON."""
        given: dict[str, bytes] = {"space_id": scope.space.bytes}
        own: dict[str, Cells] = {}
        if kind in ("memory", "version"):
            given |= {"embedding_model": self._model.encode()}
            cells = [searched(row["text"], row.get("context"), next(found)) for row in some]
            own = {name: list(column) for name, column in zip(SEARCHED, zip(*cells, strict=True), strict=True)}
        table = shapes.tables.get(_TABLES.get(kind, ""))
        if table is not None:
            rows = packed(table, some, given=given, unsaid=_MISSING.get(kind, {}), own=own, left_out=_OWN)
            if rows is not None:
                return _MOVE[f"whole_{kind}"], {"rows": rows}
        if table is None or not own:
            base = _UNSAID.get(kind, {}) | {"space_id": str(scope.space)}
            return _MOVE[f"load_{kind}"], {"rows": _encoded([_said(row) for row in some]), "base": _encoded(base)}
        # What no export says stands in rows that those of the export complete. Null is as unsaid: most columns are.
        frame = table.frame(given, SEARCHED)
        bare = table.rows([filled(frame, one) for one in zip(*own.values(), strict=True)])
        said = [{key: value for key, value in _said(row).items() if value is not None} for row in some]
        return _MOVE[f"load_{kind}"], {"rows": _encoded(said), "bare": bare}


def _parts(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The rows of each statement, in order, and of what kind they are. What no other row refers to goes between those
    that take long to pack: the server has work meanwhile."""
    loose = _cut(sorted((row for row in rows if row["type"] in _LOOSE), key=_kind))
    for kind, some in _cut(row for row in rows if row["type"] not in _LOOSE):
        if kind != "space":
            yield kind, some
            yield from islice(loose, len(_LOOSE))
    yield from loose


def _cut(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for kind, same in groupby(rows, key=_kind):
        while some := list(islice(same, _AT_ONCE)):
            yield kind, some


def _said(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in row if key not in _OWN}


def _encoded(said: Any) -> str:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))
