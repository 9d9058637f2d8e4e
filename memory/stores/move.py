"""Whole spaces in and out of Postgres, and new vectors for old texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from pgvector import HalfVector
from psycopg.types.json import Jsonb

from muniment.memory.errors import BadInput, Conflict, StoreError
from muniment.memory.ports import Dump
from muniment.memory.records import Revision, Scope, Vector
from muniment.memory.rules import words
from muniment.memory.stores import rows
from muniment.memory.stores.pool import Sessions
from muniment.memory.stores.sql import blocks

_MOVE = blocks("move")
# SQL states of a row that does not fit its table: not supported, data, integrity, of another type, too long.
_UNFIT = ("0A", "22", "23", "42804", "54")


class Moves(Sessions):
    """Export, restore, re-embedding."""

    async def dump(self, scope: Scope) -> Dump:
        """See `Store.dump`."""
        async with self._reading(scope, None) as conn:
            found = [row["row"] for row in await (await conn.execute(_MOVE["dump"], {"space": scope.space})).fetchall()]
        return Dump(rev=Revision(found[0]["rev"] if found else 0), rows=tuple(found))

    async def load(self, scope: Scope, dump: Dump, vectors: Sequence[Vector]) -> None:
        """See `Store.load`. Raises BadInput when the rows are no whole space; then nothing of it is kept."""
        try:
            await self._load(scope, dump, vectors)
        except StoreError as error:
            if str(error.data.get("sqlstate") or "").startswith(_UNFIT):
                raise BadInput(f"the rows are no export of a space: {error}") from None
            raise

    async def _load(self, scope: Scope, dump: Dump, vectors: Sequence[Vector]) -> None:
        space, vector = {"space": scope.space}, iter(vectors)
        created = next((row["created_at"] for row in dump.rows if row["type"] == "space"), None)
        async with self._writing(scope, datetime.fromisoformat(created) if created else None) as conn:
            bumped = await conn.execute(_MOVE["load_space"], space | {"rev": dump.rev, "created_at": created})
            if not bumped.rowcount:
                raise Conflict("the space is not empty")
            async with conn.pipeline():
                for row in dump.rows:
                    if row["type"] != "space":
                        await conn.execute(_MOVE[f"load_{row['type']}"], space | self._loaded(row, vector))
            flaws = await (await conn.execute(_MOVE["flaws"], space)).fetchall()
            if flaws:
                raise BadInput(f"the rows are no export of a space: {flaws[0]['flaw']}")

    async def strangers(self, scope: Scope, limit: int) -> list[str]:
        """See `Store.strangers`."""
        async with self._reading(scope, None) as conn:
            cursor = await conn.execute(
                _MOVE["strangers"], {"space": scope.space, "model": self._model, "limit": limit}
            )
            return [row["text"] for row in await cursor.fetchall()]

    async def revector(self, scope: Scope, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """See `Store.revector`."""
        async with self._writing(scope) as conn, conn.pipeline():
            for text, vector in zip(texts, vectors, strict=True):
                named = {"space": scope.space, "model": self._model, "text": text, "embedding": HalfVector(vector)}
                await conn.execute(_MOVE["revector"], named)
                await conn.execute(_MOVE["revector_versions"], named)

    async def adopt(self) -> None:
        """See `Store.adopt`."""
        named = {"model": self._model}
        async with self._connected() as conn, conn.transaction():
            await conn.execute(_MOVE["retire_embedders"], named)
            await conn.execute(_MOVE["adopt_embedder"], named)

    def _loaded(self, row: dict[str, Any], vectors: Iterator[Vector]) -> dict[str, Any]:
        found: dict[str, Any] = {"row": Jsonb({key: value for key, value in row.items() if key != "type"})}
        if row["type"] in ("memory", "version"):
            found |= {
                "embedding": HalfVector(next(vectors)).to_text(),
                "model": self._model,
                "words": rows.sparse(words.weights(row["text"], row.get("context"))).to_text(),
            }
        return found
