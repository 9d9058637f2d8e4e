"""Items in Postgres: each batch is one transaction in one space."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from pgvector import HalfVector
from psycopg.types.json import Json, Jsonb

from muniment.memory.domain.ids import Vector
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.items import (
    ItemGet,
    ItemOperation,
    ItemPut,
    ItemResult,
    ItemSearch,
    ItemStore,
    NamespaceList,
    StaleItem,
    StoredItem,
)
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections
from muniment.memory.stores.postgres.rows import UNEMBEDDED
from muniment.memory.stores.postgres.sql import load_blocks

_ITEMS = load_blocks("items")
_DEEPEST = 2**31 - 1
_UNFIT = re.compile("[\x00\ud800-\udfff]")  # what jsonb cannot hold


class PostgresItems(ItemStore):
    """The `ItemStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def run_operations(
        self, scope: Scope, operations: Sequence[ItemOperation], model: str, now: datetime
    ) -> list[ItemResult]:
        puts = {(each.namespace, each.key): each for each in operations if isinstance(each, ItemPut)}
        params = {"space": scope.space, "model": model, "now": now}
        if not puts and not any(isinstance(each, ItemGet | ItemSearch) and each.refresh for each in operations):
            async with self._connections.reading(scope) as conn:
                return [await _read(conn, each, scope, params) for each in operations]
        founded = now if any(put.value is not None for put in puts.values()) else None
        async with self._connections.writing(scope, founded) as conn:
            results = [await _read(conn, each, scope, params) for each in operations]
            if puts:
                await conn.execute(_ITEMS["sweep"], params)
            for put in puts.values():
                await conn.execute(*_build_put(put, scope, params))
            return results

    async def list_stale(
        self, scope: Scope, prefix: tuple[str, ...], model: str, now: datetime, limit: int
    ) -> list[StaleItem]:
        params = {"space": scope.space, "prefix": list(prefix), "model": model, "now": now, "limit": limit}
        async with self._connections.reading(scope) as conn:
            page = await (await conn.execute(_ITEMS["stale"], params)).fetchall()
        return [StaleItem(**row | {"paths": tuple(row["paths"])}) for row in page]

    async def write_vectors(
        self, scope: Scope, pairs: Sequence[tuple[StaleItem, Sequence[Vector]]], model: str
    ) -> None:
        async with self._connections.writing(scope) as conn:
            for item, vectors in pairs:
                params = {"space": scope.space, "id": item.id, "updated_at": item.updated_at, "model": model}
                await conn.execute(_ITEMS["write_vectors"], params | {"vectors": _encode_vectors(vectors)})

    async def delete_expired(self, scope: Scope, now: datetime) -> int:
        async with self._connections.writing(scope) as conn:
            return (await conn.execute(_ITEMS["sweep"], {"space": scope.space, "now": now})).rowcount


async def _read(conn: Connection, operation: ItemOperation, scope: Scope, params: dict[str, Any]) -> ItemResult:
    """The result of an operation that reads; None for one that writes."""
    if isinstance(operation, ItemGet):
        given = params | {"id": _derive_id(scope, operation.namespace, operation.key)}
        row = await (await conn.execute(_ITEMS["get"], given)).fetchone()
        if row is not None and operation.refresh:
            await conn.execute(_ITEMS["refresh"], given | {"ids": [given["id"]]})
        return _parse_item(row) if row else None
    if isinstance(operation, ItemSearch):
        rows = await (await conn.execute(_ITEMS["search"], params | _build_search(operation))).fetchall()
        ids = [row.pop("item_id") for row in rows]
        if ids and operation.refresh:
            await conn.execute(_ITEMS["refresh"], params | {"ids": ids})
        return [_parse_item(row) for row in rows]
    if isinstance(operation, NamespaceList):
        matches = [{"type": kind, "path": list(path)} for kind, path in operation.matches]
        given = {"conditions": Jsonb(matches), "limit": operation.limit, "offset": operation.offset}
        given["depth"] = _DEEPEST if operation.depth is None else operation.depth
        rows = await (await conn.execute(_ITEMS["namespaces"], params | given)).fetchall()
        return [tuple(row["namespace"]) for row in rows]
    return None


def _build_search(operation: ItemSearch) -> dict[str, Any]:
    conditions = [{"path": each.path, "op": each.op, "value": _fit(each.value)} for each in operation.conditions]
    return {
        "prefix": list(operation.prefix),
        "conditions": Jsonb(conditions),
        "vector": None if operation.vector is None else HalfVector(operation.vector),
        "limit": operation.limit,
        "offset": operation.offset,
    }


def _build_put(put: ItemPut, scope: Scope, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    params = params | {"id": _derive_id(scope, put.namespace, put.key)}
    if put.value is None:
        return _ITEMS["delete"], params
    return _ITEMS["put"], params | {
        "namespace": list(put.namespace),
        "key": put.key,
        "value": Json(put.value),
        "fields": Jsonb(_fit(put.value)),
        "paths": list(put.paths),
        "vectors": _encode_vectors(put.vectors),
        "model": params["model"] if put.vectors or not put.texts else UNEMBEDDED,
        "ttl": put.ttl,
    }


def _derive_id(scope: Scope, namespace: tuple[str, ...], key: str) -> UUID:
    return uuid5(scope.space, json.dumps([*namespace, key]))


def _fit(value: Any) -> Any:
    """A JSON value without what jsonb cannot hold."""
    if isinstance(value, str):
        return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {_fit(str(key)): _fit(each) for key, each in value.items()}
    return [_fit(each) for each in value] if isinstance(value, list | tuple) else value


def _encode_vectors(vectors: Sequence[Vector]) -> list[HalfVector]:
    return [HalfVector(vector) for vector in vectors]


def _parse_item(row: dict[str, Any]) -> StoredItem:
    return StoredItem(**row | {"namespace": tuple(row["namespace"])})
