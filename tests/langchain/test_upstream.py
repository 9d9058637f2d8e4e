"""LangGraph's own tests of stores, run against `MunimentStore`.

They are in no wheel: MUNIMENT_TEST_LANGGRAPH names a checkout of its repository, and without it they are skipped."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from muniment.faces.langchain.loop import get_memory_loop, start_background_loop
from muniment.langchain import MunimentStore
from muniment.memory import bootstrap
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.scope import Scope
from muniment.memory.models.hash_embedder import HashEmbedder
from tests import engine

SOURCE = os.environ.get("MUNIMENT_TEST_LANGGRAPH")
BASE = "libs/checkpoint/tests/test_store.py"
POSTGRES = "libs/checkpoint-postgres/tests/test_store.py"
POSTGRES_ASYNC = "libs/checkpoint-postgres/tests/test_async_store.py"
OTHER_CLASS = "tests LangGraph's AsyncBatchedBaseStore, not a store"
OWN_INDEX = "reads `index_config` or `embeddings` of LangGraph's stores; ours has the embedder of the space"
OWN_SQL = "tests functions, columns or connections of PostgresStore"
BUILDS = "makes a PostgresStore of its own, by its address"
LEFT_OUT: Mapping[tuple[str, str], str] = {
    (BASE, "test_async_batch_store_resilience"): OTHER_CLASS,
    (BASE, "test_async_batch_store"): OTHER_CLASS,
    (BASE, "test_async_batch_store_handles_cancellation"): OTHER_CLASS,
    (BASE, "test_async_batch_store_deduplication"): OTHER_CLASS,
    (BASE, "test_async_batched_vector_search_concurrent"): OTHER_CLASS,
    (BASE, "test_cannot_put_empty_namespace"): OTHER_CLASS,
    (BASE, "test_vector_store_initialization"): OWN_INDEX,
    (POSTGRES, "test_vector_store_initialization"): OWN_INDEX,
    (POSTGRES, "test_escape_like_literal"): OWN_SQL,
    (POSTGRES, "test_namespace_match_pattern"): OWN_SQL,
    (POSTGRES, "test_nonnull_migrations"): OWN_SQL,
    (POSTGRES, "test_store_ttl"): OWN_SQL,
    (POSTGRES, "test_omit_expired_filters_read_paths"): OWN_SQL,
    (POSTGRES, "test_omit_expired_disabled_preserves_expired_rows"): OWN_SQL,
    (POSTGRES, "test_omit_expired_refresh_ttl_only_refreshes_live_rows"): OWN_SQL,
    (POSTGRES, "test_omit_expired_search_pagination"): OWN_SQL,
    (POSTGRES, "test_search"): BUILDS,
    (POSTGRES, "test_embed_with_path_sync"): BUILDS,
    (POSTGRES, "test_embed_with_path_operation_config"): BUILDS,
    (POSTGRES, "test_scores"): BUILDS,
    (POSTGRES, "test_non_ascii"): BUILDS,
    (POSTGRES_ASYNC, "test_no_running_loop"): "expects the error of a class that refuses every call in a loop's thread",
    (POSTGRES_ASYNC, "test_large_batches"): "calls synchronous methods in a thread for each version of PostgresStore",
    (POSTGRES_ASYNC, "test_large_batches_async"): "60,000 calls at once, each a transaction of its own here: minutes",
    (POSTGRES_ASYNC, "test_abatch_uses_single_pool_checkout"): OWN_SQL,
    (POSTGRES_ASYNC, "test_vector_store_initialization"): OWN_INDEX,
    (POSTGRES_ASYNC, "test_embed_with_path"): BUILDS,
    (POSTGRES_ASYNC, "test_search_sorting"): BUILDS,
    (POSTGRES_ASYNC, "test_store_ttl"): OWN_SQL,
    (POSTGRES_ASYNC, "test_omit_expired_filters_read_paths"): OWN_SQL,
    (POSTGRES_ASYNC, "test_omit_expired_disabled_preserves_expired_rows"): OWN_SQL,
    (POSTGRES_ASYNC, "test_omit_expired_refresh_ttl_only_refreshes_live_rows"): OWN_SQL,
    (POSTGRES_ASYNC, "test_omit_expired_search_pagination"): OWN_SQL,
}


class Characters(HashEmbedder):
    """The embedder of LangGraph's tests in the place of a memory's."""

    def __init__(self, embeddings: Any) -> None:
        super().__init__()
        self._embeddings = embeddings

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [np.asarray(each, dtype=np.float32) for each in self._embeddings.embed_documents(list(texts))]

    async def embed_query(self, text: str) -> Vector:
        return np.asarray(self._embeddings.embed_query(text), dtype=np.float32)


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_tests(file: str) -> ModuleType:
    """A module of tests, with what it imports of its own `tests` package in the place of ours."""
    assert SOURCE is not None
    path = Path(SOURCE) / file
    helpers = load(path.with_name("embed_test_utils.py"), "upstream_embed")
    conftest, mock = ModuleType("tests.conftest"), ModuleType("pytest_mock")
    vars(conftest).update(
        CharacterEmbeddings=vars(helpers)["CharacterEmbeddings"], DEFAULT_URI="", VECTOR_TYPES=["vector"]
    )
    vars(mock).update(MockerFixture=object)
    stand_ins = {"tests.conftest": conftest, "tests.embed_test_utils": helpers, "pytest_mock": mock}
    with pytest.MonkeyPatch.context() as patch:
        for name, module in stand_ins.items():
            patch.setitem(sys.modules, name, module)
        found = load(path, f"upstream_{path.stem}_{len(file)}")
    vars(found)["CharacterEmbeddings"] = vars(helpers)["CharacterEmbeddings"]
    return found


MODULES = {file: load_tests(file) for file in (BASE, POSTGRES, POSTGRES_ASYNC)} if SOURCE else {}
CASES = [(file, name) for file, module in MODULES.items() for name in vars(module) if name.startswith("test_")]


@pytest.fixture
def make_store(database_url: str) -> Iterator[Callable[..., MunimentStore]]:
    """Make stores as LangGraph's InMemoryStore is made, each with a space of its own; without an index no vectors."""
    embeddings = vars(MODULES[BASE])["CharacterEmbeddings"](dims=500)
    memory = bootstrap.create_memory(engine.settings(database_url), embedder=Characters(embeddings))
    loop = get_memory_loop(memory)
    loop.settle(start_background_loop())

    def make(*, index: Mapping[str, Any] | None = None) -> MunimentStore:
        fields = () if index is None else tuple(index.get("fields") or ("$",))
        return MunimentStore(memory, Scope(owner=str(uuid4())), fields=fields)

    yield make
    loop.run_sync(memory.close)


@pytest.mark.skipif(SOURCE is None, reason="MUNIMENT_TEST_LANGGRAPH names no checkout of langchain-ai/langgraph")
@pytest.mark.parametrize(("file", "name"), CASES)
@pytest.mark.parametrize("refresh", [True, False])
def test_as_langgraph_tests_it(
    file: str, name: str, refresh: bool, make_store: Callable[..., MunimentStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test of LangGraph passes with our store in the place of its own."""
    if reason := LEFT_OUT.get((file, name)):
        pytest.skip(reason)
    module = MODULES[file]
    monkeypatch.setattr(module, "InMemoryStore", make_store, raising=False)
    function = vars(module)[name]
    own: dict[str, Callable[[], Any]] = {
        "store": make_store,
        "vector_store": lambda: make_store(index={}),
        "fake_embeddings": lambda: vars(module)["CharacterEmbeddings"](dims=500),
        "refresh_ttl": lambda: refresh,
    }
    wanted = inspect.signature(function).parameters
    assert set(wanted) <= set(own), f"a new kind of test: {name}{inspect.signature(function)}"
    result = function(**{each: own[each]() for each in wanted})
    if inspect.iscoroutine(result):
        asyncio.run(result)
