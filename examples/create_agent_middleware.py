"""An agent of LangChain with memory: the middleware recalls before the model, and learns behind the reply.

It runs as it is, without a key: the model is a script on this machine. Put your own model in its place."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from muniment import open_memory
from muniment.langchain import MemoryMiddleware
from muniment.testing import ScriptedOpenAI


@dataclass
class Context:
    """Who speaks. Your server says it, never the model."""

    user: str


def answer_chat(body: dict[str, Any]) -> str:
    """The script: it repeats what stands before it, so that you see what a model sees."""
    return "\n".join(f"  {message['role']}: {message['content']}" for message in body["messages"])


async def main() -> None:
    """Tell it something in one thread, and ask for it in another."""
    with ScriptedOpenAI(answer_chat) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"))
        async with open_memory() as memory:
            middleware = MemoryMiddleware(memory)
            agent = create_agent(model, middleware=[middleware], context_schema=Context, checkpointer=InMemorySaver())
            for thread, text in (("first", "I am allergic to peanuts."), ("second", "What can I cook tonight?")):
                state = await agent.ainvoke(
                    {"messages": [HumanMessage(text)]},
                    {"configurable": {"thread_id": thread}},
                    context=Context(user="example"),
                )
                print(f"> {text}\n{state['messages'][-1].text}")
                await middleware.finish_learning()  # a program that goes on need not wait


if __name__ == "__main__":
    asyncio.run(main())
