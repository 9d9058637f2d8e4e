"""The port of items: values that a program keeps under a namespace and a key, verbatim, beside the memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypeAlias
from uuid import UUID

from muniment.memory.domain.ids import Vector
from muniment.memory.domain.scope import Scope

Operator = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "object"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """An item, and how alike it is to the question of a search; None for one that is not searched by meaning."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCondition:
    """What the value of an item has to have at a path; `object` wants an object there, whatever is in it."""

    path: tuple[str, ...]
    op: Operator
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemGet:
    """Read one item; `refresh` lets it live as long again as when it was put."""

    namespace: tuple[str, ...]
    key: str
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSearch:
    """Read items below a namespace that meet all conditions; with a question those first that are most alike."""

    prefix: tuple[str, ...]
    conditions: tuple[ItemCondition, ...] = ()
    limit: int = 10
    offset: int = 0
    question: str | None = None
    vector: Vector | None = None  # of the question; None without one, or without the embedder
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPut:
    """Write an item, or delete it: then its value is None. `paths` say which texts of it are searched by meaning."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None
    paths: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()  # of these paths
    vectors: tuple[Vector, ...] = ()  # of these texts; none: they are made later
    ttl: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceList:
    """List namespaces whose beginning or end is one of these paths, in which `*` stands for any label."""

    matches: tuple[tuple[Literal["prefix", "suffix"], tuple[str, ...]], ...] = ()
    depth: int | None = None
    limit: int = 100
    offset: int = 0


ItemOperation: TypeAlias = ItemGet | ItemSearch | ItemPut | NamespaceList
ItemResult: TypeAlias = StoredItem | list[StoredItem] | list[tuple[str, ...]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleItem:
    """An item that waits for vectors of the space's embedder."""

    id: UUID
    value: dict[str, Any]
    paths: tuple[str, ...]
    updated_at: datetime


class ItemStore(Protocol):
    """The items of a space. `model` names the embedder of the vectors; each method raises WrongEmbedder where the space
    has another one."""

    async def run_operations(
        self, scope: Scope, operations: Sequence[ItemOperation], model: str, now: datetime
    ) -> list[ItemResult]:
        """Return the results in the order of the operations, which are one transaction: reads see what was there before
        its puts, and of several puts of one key the last holds."""
        ...

    async def list_stale(
        self, scope: Scope, prefix: tuple[str, ...], model: str, now: datetime, limit: int
    ) -> list[StaleItem]:
        """Return items below a namespace that have no vectors of this embedder, by id."""
        ...

    async def write_vectors(
        self, scope: Scope, pairs: Sequence[tuple[StaleItem, Sequence[Vector]]], model: str
    ) -> None:
        """Write the vectors of such items. One that was put anew stays as it is."""
        ...

    async def delete_expired(self, scope: Scope, now: datetime) -> int:
        """Delete the items that have expired; return how many."""
        ...
