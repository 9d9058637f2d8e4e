"""LangMem's tools on our store."""

from __future__ import annotations

from typing import cast

import pytest

from muniment.langchain import MunimentStore
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LangMem imports what LangGraph has moved
async def test_its_tools_keep_and_find(memory: Memory) -> None:
    """What its managing tool writes, its search tool finds, and a deleted memory is gone."""
    import langmem

    store = MunimentStore(memory, Scope(owner="ana"))
    manage = langmem.create_manage_memory_tool(namespace=("memories", "ana"), store=store)
    search = langmem.create_search_memory_tool(namespace=("memories", "ana"), store=store)
    await manage.ainvoke({"content": "Ana likes green tea", "action": "create"})
    await manage.ainvoke({"content": "Ana has a red car", "action": "create"})
    assert "green tea" in cast("str", await search.ainvoke({"query": "tea", "limit": 1}))
    (tea,) = await store.asearch(("memories",), filter={"content": "Ana likes green tea"})
    await manage.ainvoke({"id": tea.key, "action": "delete"})
    assert "green tea" not in cast("str", await search.ainvoke({"query": "tea"}))
