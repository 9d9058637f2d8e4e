"""A graph of your own with memory: each message is learned from, and the model may call `memory_query`.

It runs as it is, without a key: the model is a script on this machine. Put your own model in its place."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from pydantic import SecretStr

from muniment import Memory, Scope, Turn, load_settings, open_memory
from muniment.langchain import memory_tool
from muniment.testing import ScriptedOpenAI, tool_call


@dataclass
class Context:
    """Who speaks. Your server says it, never the model."""

    user: str


def build_graph(
    memory: Memory, model: BaseChatModel, tenant: str
) -> StateGraph[MessagesState, Context, MessagesState, MessagesState]:
    """A loop of model and tools, and beside it a node that learns from what the user says."""
    tools = [memory_tool(memory, agent="concierge")]

    async def reply(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    async def learn(state: MessagesState, runtime: Runtime[Context]) -> None:
        said = state["messages"][-1]
        turn = Turn.make(session="example", key=str(said.id), role="user", text=str(said.text), at=memory.now())
        await memory.learn(Scope(owner=runtime.context.user, tenant=tenant), turn)

    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("reply", reply)
    graph.add_node("learn", learn)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "learn")
    graph.add_edge(START, "reply")
    graph.add_conditional_edges("reply", tools_condition)
    graph.add_edge("tools", "reply")
    return graph


def answer_chat(body: dict[str, Any]) -> str | dict[str, Any]:
    """The script: it looks into memory for a question, and says what it has found."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return f"This is what I know: {last['content']}"
    return tool_call("memory_query", {"query": last["content"]}) if "?" in last["content"] else "Good to know."


async def main() -> None:
    """Tell it something in one conversation, and ask for it in another."""
    with ScriptedOpenAI(answer_chat) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"))
        settings = load_settings()
        async with open_memory(settings, agents={"concierge": ["constraints", "preferences"]}) as memory:
            graph = build_graph(memory, model, settings.tenant).compile()
            for text in ("I am allergic to peanuts.", "What must I not eat, with my allergies?"):
                state = await graph.ainvoke({"messages": [HumanMessage(text)]}, context=Context(user="example"))
                print(f"> {text}\n{state['messages'][-1].text}")


if __name__ == "__main__":
    asyncio.run(main())
