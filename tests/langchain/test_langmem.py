"""LangMem's tools and its manager on our store."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from muniment.langchain import MunimentStore
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.testing.openai_server import ScriptedOpenAI, tool_call


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


def find_facts(body: dict[str, Any]) -> dict[str, Any]:
    """A model that keeps where somebody lives, and corrects the memory that it is shown."""
    system, asked = (str(message["content"]) for message in body["messages"])
    city = asked.split("I live in ")[1].split(maxsplit=1)[0].strip(".")
    text = f"The user lives in {city}."
    if shown := re.search(r"instance id=(\w+)", system):
        patch = {"op": "replace", "path": "/content", "value": text}
        return tool_call("PatchDoc", {"json_doc_id": shown[1], "planned_edits": "the city", "patches": [patch]})
    return tool_call("Memory", {"content": text})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LangMem imports what LangGraph has moved
async def test_its_manager_keeps_and_corrects(memory: Memory) -> None:
    """What a model finds is kept, and in the next conversation it is shown that and corrects it; another user's is not
    shown it."""
    import langmem

    stores = {owner: MunimentStore(memory, Scope(owner=owner)) for owner in ("ana", "bob")}

    async def hear(owner: str, text: str) -> list[str]:
        manager = langmem.create_memory_store_manager(model, namespace=("facts",), store=stores[owner])
        await manager.ainvoke({"messages": [{"role": "user", "content": text}]})
        return [item.value["content"]["content"] for item in await stores[owner].asearch(("facts",))]

    with ScriptedOpenAI(find_facts) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"))
        assert await hear("ana", "I live in Porto.") == ["The user lives in Porto."]
        assert await hear("bob", "I live in Graz.") == ["The user lives in Graz."]
        assert await hear("ana", "I live in Faro now.") == ["The user lives in Faro."]
    assert ["Porto" in str(request.body["messages"][0]) for request in server.requests] == [False, False, True]
