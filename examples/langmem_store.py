"""LangMem on Muniment's store: its tools and its manager keep their items in the space of one user.

It runs as it is, without a key: the model is a script on this machine. Put your own model in its place.
Needs `pip install langmem`."""

from __future__ import annotations

import asyncio

from langchain_openai import ChatOpenAI
from langmem import create_manage_memory_tool, create_memory_store_manager, create_search_memory_tool
from pydantic import SecretStr

from muniment import Scope, open_memory
from muniment.langchain import MunimentStore
from muniment.testing import ScriptedOpenAI, tool_call


async def main() -> None:
    """Keep and find by the tools; then let the manager find what a conversation says."""
    with ScriptedOpenAI([tool_call("Memory", {"content": "The user lives in Porto."}), "Done."]) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"))
        async with open_memory() as memory:
            store = MunimentStore(memory, Scope(owner="example"))
            manage = create_manage_memory_tool(namespace=("notes",), store=store)
            search = create_search_memory_tool(namespace=("notes",), store=store)
            await manage.ainvoke({"content": "Ana likes green tea", "action": "create"})
            print(await search.ainvoke({"query": "what does she drink?", "limit": 1}))

            manager = create_memory_store_manager(model, namespace=("facts",), store=store)
            await manager.ainvoke({"messages": [{"role": "user", "content": "I live in Porto."}]})
            print([item.value["content"] for item in await store.asearch(("facts",), query="where do I live?")])


if __name__ == "__main__":
    asyncio.run(main())
