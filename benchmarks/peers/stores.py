"""LangGraph's stores, and LangMem's tools on one of them, in this process: they are installed beside Muniment."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any
from uuid import uuid4

from langgraph.store.base import BaseStore, IndexConfig, PutOp
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool

from benchmarks.contestants import open_store
from benchmarks.peers.peer import Found, Item, NotOffered, Timed
from benchmarks.peers.vectors import Langchain, Vectors

_PUTS = 500  # operations a batch


class Store:
    """A store of LangGraph: a namespace for each user, a new key for each statement."""

    def __init__(self, name: str, store: BaseStore) -> None:
        self.name = name
        self._store = store

    async def load(self, user: str, items: Sequence[Item]) -> Timed[int]:
        """`BaseStore.abatch`."""
        puts = [PutOp(("memories", user), str(uuid4()), {"text": item.text, "key": item.key}) for item in items]
        started = perf_counter()
        for start in range(0, len(puts), _PUTS):
            await self._store.abatch(puts[start : start + _PUTS])
        return Timed(len(puts), perf_counter() - started)

    async def add(self, user: str, item: Item) -> Timed[str]:
        """`BaseStore.aput`."""
        id_ = str(uuid4())
        started = perf_counter()
        await self._store.aput(("memories", user), id_, {"text": item.text, "key": item.key})
        return Timed(id_, perf_counter() - started)

    async def search(self, user: str, text: str, k: int) -> Timed[list[Found]]:
        """`BaseStore.asearch`."""
        started = perf_counter()
        found = await self._store.asearch(("memories", user), query=text, limit=k)
        seconds = perf_counter() - started
        return Timed([Found(one.key, one.value["key"], one.value["text"]) for one in found], seconds)

    async def change(self, user: str, id_: str, text: str) -> None:
        """`BaseStore.aput` under the same key."""
        await self._store.aput(("memories", user), id_, {"text": text, "key": ""})

    async def history(self, user: str, id_: str) -> list[str]:  # noqa: ARG002 - as every peer is called
        """Raise NotOffered: a store has no history."""
        raise NotOffered("history: BaseStore has no such call")

    async def delete(self, user: str, id_: str) -> None:
        """`BaseStore.adelete`."""
        await self._store.adelete(("memories", user), id_)

    async def erase(self, user: str, id_: str) -> None:
        """`BaseStore.adelete`: there is no other."""
        await self.delete(user, id_)


class Tools:
    """LangMem's tools on LangGraph's Postgres store, called as a model calls them."""

    name = "LangMem, its tools"

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        self._keys: dict[str, str] = {}
        self._tools: dict[str, tuple[Any, Any]] = {}

    async def load(self, user: str, items: Sequence[Item]) -> Timed[int]:
        """One after the other: LangMem has no call for many without a model."""
        seconds = sum([(await self.add(user, item)).seconds for item in items])
        return Timed(len(items), seconds)

    async def add(self, user: str, item: Item) -> Timed[str]:
        """`manage_memory` with `create`."""
        manage, _ = self._make_tools(user)
        started = perf_counter()
        said = await manage.ainvoke({"content": item.text, "action": "create"})
        seconds = perf_counter() - started
        id_ = str(said).rsplit(" ", 1)[-1]
        self._keys[id_] = item.key
        return Timed(id_, seconds)

    async def search(self, user: str, text: str, k: int) -> Timed[list[Found]]:
        """`search_memory`."""
        _, search = self._make_tools(user)
        started = perf_counter()
        said = await search.ainvoke({"query": text, "limit": k})
        seconds = perf_counter() - started
        hits = json.loads(said)
        return Timed(
            [Found(one["key"], self._keys.get(one["key"], ""), one["value"]["content"]) for one in hits], seconds
        )

    async def change(self, user: str, id_: str, text: str) -> None:
        """`manage_memory` with `update`."""
        await self._make_tools(user)[0].ainvoke({"content": text, "action": "update", "id": id_})

    async def history(self, user: str, id_: str) -> list[str]:  # noqa: ARG002 - as every peer is called
        """Raise NotOffered: the tools have no history."""
        raise NotOffered("history: LangMem's tools have no such action")

    async def delete(self, user: str, id_: str) -> None:
        """`manage_memory` with `delete`."""
        await self._make_tools(user)[0].ainvoke({"action": "delete", "id": id_})

    async def erase(self, user: str, id_: str) -> None:
        """`manage_memory` with `delete`: there is no other."""
        await self.delete(user, id_)

    def _make_tools(self, user: str) -> tuple[Any, Any]:
        if user not in self._tools:
            namespace = ("memories", user)
            self._tools[user] = (
                create_manage_memory_tool(namespace=namespace, store=self._store),
                create_search_memory_tool(namespace=namespace, store=self._store),
            )
        return self._tools[user]


@asynccontextmanager
async def open_postgres(dsn: str, vectors: Vectors, dims: int) -> AsyncIterator[Store]:
    """LangGraph's store on Postgres, with its vector index."""
    async with open_store(dsn, Langchain(vectors), dims) as opened:
        yield Store("LangGraph AsyncPostgresStore", opened.store)


@asynccontextmanager
async def open_tools(dsn: str, vectors: Vectors, dims: int) -> AsyncIterator[Tools]:
    """LangMem on a Postgres store of its own."""
    async with open_store(dsn, Langchain(vectors), dims, "content") as opened:
        yield Tools(opened.store)


def make_in_memory(vectors: Vectors, dims: int) -> Store:
    """LangGraph's store in the memory of this process: nothing of it outlasts it."""
    index: IndexConfig = {"dims": dims, "embed": Langchain(vectors), "fields": ["text"]}
    return Store("LangGraph InMemoryStore", InMemoryStore(index=index))
