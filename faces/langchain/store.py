"""`MunimentStore`: LangGraph's `BaseStore` over the items of a space, which are no memories: they stay as put."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from muniment.faces.langchain.identity import resolve_caller
from muniment.faces.langchain.loop import get_memory_loop
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.ports.items import (
    ItemCondition,
    ItemGet,
    ItemOperation,
    ItemPut,
    ItemResult,
    ItemSearch,
    NamespaceList,
    Operator,
    StoredItem,
)

_OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
_ALL = ("$",)  # the whole value
_MAX_BATCHES = 4  # at once: others use the connections of the memory, too


class MunimentStore(BaseStore):
    """Items of programs, each in the space of one owner, which row-level security keeps from all others.

    With a `scope` all items are in its space. Without one they are in that of the run's user, whom its context, its
    config or the login of LangGraph's server names; outside of a run an operation then raises BadInput. `fields` are
    the paths of a value whose texts are searched by meaning where a put names none; without any, nothing is."""

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        scope: Scope | None = None,
        *,
        fields: Sequence[str] = _ALL,
        ttl: TTLConfig | None = None,
    ) -> None:
        self._memory, self._scope, self._fields = memory, scope, tuple(fields)
        self._loop = get_memory_loop(memory)
        self._room = asyncio.Semaphore(_MAX_BATCHES)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations in a thread; reads see what was there before the puts among them."""
        scope, operations = self._find_scope(), [self._translate(op) for op in ops]
        return _translate_results(self._loop.run_sync(lambda: self._run(scope, operations)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations as one transaction; reads see what was there before the puts among them.

        Raises BadInput without an owner, ValueError for an operator that there is not, StoreError."""
        scope, operations = self._find_scope(), [self._translate(op) for op in ops]
        return _translate_results(await self._loop.run(lambda: self._run(scope, operations)))

    async def _run(self, scope: Scope, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        async with self._room:
            return await self._memory.engine.engines.run(
                scope, lambda engine: engine.items.run_operations(scope, operations, read_texts)
            )

    def _find_scope(self) -> Scope:
        if self._scope is not None:
            return self._scope
        try:
            config = get_config()
        except RuntimeError:  # no run
            config = RunnableConfig()
        try:
            return resolve_caller(self._memory.engine.settings, config)
        except BadInput as error:
            raise BadInput(f"the store cannot tell {error}; or give MunimentStore a scope") from None

    def _translate(self, op: Op) -> ItemOperation:
        validate_op_namespace(op)
        match op:
            case GetOp():
                return ItemGet(namespace=tuple(op.namespace), key=op.key, refresh=op.refresh_ttl)
            case SearchOp():
                return ItemSearch(
                    prefix=tuple(op.namespace_prefix),
                    conditions=tuple(_translate_filter(op.filter or {}, ())),
                    limit=op.limit,
                    offset=op.offset,
                    question=op.query or None,
                    refresh=op.refresh_ttl,
                )
            case PutOp():
                return self._translate_put(op)
            case ListNamespacesOp():
                matches = tuple((each.match_type, tuple(each.path)) for each in op.match_conditions or ())
                return NamespaceList(matches=matches, depth=op.max_depth, limit=op.limit, offset=op.offset)
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _translate_put(self, op: PutOp) -> ItemPut:
        namespace = tuple(op.namespace)
        if op.value is None:
            return ItemPut(namespace=namespace, key=op.key, value=None)
        try:
            value = json.loads(json.dumps(op.value, allow_nan=False))  # as it will be read, whatever the caller changes
        except (TypeError, ValueError, RecursionError) as error:
            raise BadInput(f"a value has to be JSON ({type(error).__name__})") from None
        paths = () if op.index is False else self._fields if op.index is None else tuple(op.index)
        ttl = None if op.ttl is None else timedelta(minutes=op.ttl)
        return ItemPut(
            namespace=namespace, key=op.key, value=value, paths=paths, texts=tuple(read_texts(value, paths)), ttl=ttl
        )


def read_texts(value: Mapping[str, Any], paths: Sequence[str]) -> list[str]:
    """The texts of a value at these paths, as LangGraph names them (`$`, `a.b`, `a[*].b`)."""
    found = [text for path in paths for text in get_text_at_path(value, path if path == "$" else tokenize_path(path))]
    return [text for text in dict.fromkeys(found) if text.strip()]


def _translate_filter(given: Mapping[str, Any], path: tuple[str, ...]) -> Iterable[ItemCondition]:
    """What a filter wants at each path: a value as it is, an object with more inside, or a comparison.

    Raises ValueError for an operator that there is not."""
    for key, wanted in given.items():
        place = (*path, str(key))
        if not isinstance(wanted, Mapping):
            yield ItemCondition(path=place, op="$eq", value=wanted)
        elif any(str(name).startswith("$") for name in wanted):
            for operator, value in wanted.items():
                if operator not in _OPERATORS:
                    raise ValueError(f"Unsupported operator: {operator}")
                yield ItemCondition(path=place, op=cast("Operator", operator), value=value)
        else:
            yield ItemCondition(path=place, op="object")
            yield from _translate_filter(wanted, place)


def _translate_results(results: Sequence[ItemResult]) -> list[Result]:
    return [_translate_result(result) for result in results]


def _translate_result(result: ItemResult) -> Result:
    if isinstance(result, StoredItem):
        return Item(**_list_fields(result))
    if isinstance(result, list) and result and isinstance(result[0], StoredItem):
        return [SearchItem(**_list_fields(item), score=item.score) for item in result]
    return cast("Result", result)


def _list_fields(item: StoredItem) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("namespace", "key", "value", "created_at", "updated_at")}
