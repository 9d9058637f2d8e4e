"""The supervisor graph with a tool and a subagent of its own: tokens, tool calls and events, as they come.

It runs as it is, without a key: the model is a script on this machine. Put your own model in its place."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from muniment import open_memory
from muniment.graph.supervisor import Subagent, build
from muniment.nodes.state import Input, Who
from muniment.testing import ScriptedOpenAI, tool_call


@tool
def list_shops(city: str) -> str:
    """The shops of a city that sell flour."""
    return f"Two in {city}: the mill, and the market."


BAKER = Subagent(
    name="baker",
    description="bread and what goes into it",
    instructions="You are a baker. Say what to bake, and with what.",
    tools=[list_shops],
)


def answer_chat(body: dict[str, Any]) -> Any:
    """The script: the supervisor hands over, the baker looks into memory and for a shop, and the supervisor replies."""
    names = [offered["function"]["name"] for offered in body["tools"]]
    said = str(body["messages"][-1]["content"])
    if "transfer_to_baker" in names:
        is_done = "Report of the baker" in said or "bake" not in said
        return "I see." if is_done else tool_call("transfer_to_baker", {"task": "Choose a bread."}, call_id="c1")
    found = [message for message in body["messages"] if message["role"] == "tool"]
    calls = [("memory_query", {"query": "allergies"}), ("list_shops", {"city": "Porto"})]
    return (
        "Rye bread, without nuts."
        if len(found) == len(calls)
        else tool_call(*calls[len(found)], call_id=f"d{len(found)}")
    )


def show_part(kind: str, part: Any) -> None:
    """Print what a run shows of itself."""
    if kind == "custom":
        print(f"  {part['event']}")
    elif isinstance(part[0], ToolMessage):
        print(f"  {part[0].name} -> {part[0].text}")
    elif isinstance(part[0], AIMessage) and part[0].text:
        print(f"  {part[1]['langgraph_node']}: {part[0].text!r}")


async def main() -> None:
    """Tell it something in one conversation, and let it work in another."""
    with ScriptedOpenAI(answer_chat) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"), stream_usage=True)
        async with open_memory(agents={"baker": ["constraints", "preferences"]}) as memory:
            graph = build(memory, model, subagents=[BAKER]).compile(checkpointer=InMemorySaver())
            for thread, text in (("first", "I am allergic to peanuts."), ("second", "What shall I bake?")):
                print(f"> {text}")
                async for kind, part in graph.astream(
                    Input(messages=[HumanMessage(text)]),
                    {"configurable": {"thread_id": thread}},
                    context=Who(user="example"),
                    stream_mode=["messages", "custom"],
                ):
                    show_part(kind, part)


if __name__ == "__main__":
    asyncio.run(main())
