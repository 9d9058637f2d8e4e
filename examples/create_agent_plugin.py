"""An agent of LangChain with memory in a file: no Postgres, and commands that no model sees.

It runs as it is, without a key: the model is a script on this machine. Put your own model in its place."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from muniment import load_settings
from muniment.chain import Host
from muniment.langchain import ChainMiddleware, CompactingSummarization
from muniment.plugin import open_plugin
from muniment.testing import ScriptedOpenAI


def answer_chat(body: dict[str, Any]) -> str:
    """The script: it repeats what stands before it, so that you see what a model sees."""
    return "\n".join(f"  {message['role']}: {message['content']}" for message in body["messages"])


async def main() -> None:
    """Tell it something in one thread, ask in another, and list what is kept."""
    settings = load_settings()
    settings = settings.model_copy(update={"plugin": settings.plugin.model_copy(update={"enabled": True})})
    with ScriptedOpenAI(answer_chat) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"))
        async with open_plugin(settings) as plugin, Host([plugin]) as host:
            chain = ChainMiddleware(host, user="example")
            summing = CompactingSummarization(model, chain=chain, trigger=("tokens", 4_000))
            agent = create_agent(model, middleware=[chain, summing], checkpointer=InMemorySaver())
            for thread, text in (
                ("first", "Use pnpm, conventional commits, short answers."),
                ("second", "Set up the frontend."),
                ("second", "/memory"),
            ):
                config: RunnableConfig = {"configurable": {"thread_id": thread}}
                state = await agent.ainvoke({"messages": [HumanMessage(text)]}, config)
                print(f"> {text}\n{state['messages'][-1].text}")
                await host.drain(10)  # a program that goes on need not wait


if __name__ == "__main__":
    asyncio.run(main())
