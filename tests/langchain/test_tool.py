"""`memory_tool`: what a model may ask, whose memory it reads, and from where it may be called."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime, ServerInfo

from muniment import open_memory
from muniment.faces.langchain.identity import resolve_caller
from muniment.faces.langchain.loop import get_memory_loop, start_background_loop
from muniment.langchain import conversation_tool, memory_tool
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadConfig, BadInput, Denied
from muniment.memory.models.hash_embedder import HashEmbedder
from tests.engine import said, scope, statement

ANA: Any = {"configurable": {"user": "ana"}}
GOAL = "The user wants to run a marathon in Lisbon"


@dataclass
class Context:
    user_id: str


def found(answer: str) -> list[str]:
    """The texts of a fenced answer."""
    body = json.loads(next(line for line in answer.splitlines() if line.startswith("{")))
    return [hit["text"] for hit in body["results"]]


@pytest.fixture
async def tool(memory: Memory) -> BaseTool:
    for owner, text in (("ana", GOAL), ("bob", "The user wants to learn the cello")):
        await memory.keep_candidates(scope(owner), [statement(text)])
    return memory_tool(memory, "mybot")


async def test_a_model_reads_within_the_agents_categories(tool: BaseTool) -> None:
    """The categories of the agent are in the schema, no owner and no agent is, and another category is refused."""
    schema = cast("dict[str, Any]", tool.args_schema)
    assert schema["properties"]["categories"]["items"]["enum"] == ["goals", "preferences"]
    assert not {"user", "user_id", "agent", "tenant", "space"} & set(schema["properties"])
    assert tool.name == "memory_query"
    assert found(await tool.ainvoke({"query": "marathon", "top_k": 1}, ANA)) == [f"[goals] {GOAL}"]
    answer = await tool.ainvoke({"query": "marathon", "filters": {"importance_min": 5}}, ANA)
    assert found(answer) == []
    for wrong in ({"query": "x", "categories": ["profile"]}, {"query": "x", "user": "bob"}, {"query": "x", "self": 1}):
        assert (await tool.ainvoke(wrong, ANA)).startswith("Error: ")


async def test_a_context_of_any_class_names_the_user(tool: BaseTool) -> None:
    """In a graph the context says whose memory it is, and an error of the model is a message for it."""
    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    agent = graph.compile()
    calls = [
        {"name": "memory_query", "args": {"query": "cello marathon", "user_id": "ana"}, "id": "1", "type": "tool_call"},
        {"name": "memory_query", "args": {"query": "cello"}, "id": "2", "type": "tool_call"},
    ]
    ask: Any = {"messages": [AIMessage("", tool_calls=cast("Any", calls))]}
    state = await agent.ainvoke(ask, context=Context(user_id="bob"))
    wrong, right = (message for message in state["messages"] if isinstance(message, ToolMessage))
    assert (wrong.status, right.status) == ("error", "success")
    assert "unknown argument 'user_id'" in str(wrong.content)
    assert found(str(right.content)) == ["[goals] The user wants to learn the cello"]


async def test_without_a_user_a_sentence_says_what_is_missing(tool: BaseTool, memory: Memory) -> None:
    """The program is told, not the model; a program with one user names it once."""
    with pytest.raises(BadInput, match=r"memory_query cannot tell whose memory it is: name the user, as in .*context="):
        await tool.ainvoke({"query": "marathon"})
    single = memory_tool(memory, "mybot", user="ana")
    assert found(await single.ainvoke({"query": "marathon"})) == [f"[goals] {GOAL}"]
    with pytest.raises(BadConfig, match="there is no agent 'nobody'; allowed: executor, mybot"):
        memory_tool(memory, "nobody")


def test_a_login_takes_precedence(settings: Settings) -> None:
    """The user of LangGraph's server is the one whose memory is read, and no context can name another."""

    class Login(dict[str, str]):
        identity = "ana"

    login = ServerInfo(assistant_id="a", graph_id="g", user=cast("Any", Login(tenant="acme")))
    who = resolve_caller(settings, {}, Runtime(server_info=login), user="only")
    assert (who.owner, who.tenant) == ("ana", "acme")
    with pytest.raises(Denied):
        resolve_caller(settings, {}, Runtime(context=Context(user_id="bob"), server_info=login))


async def test_a_thread_may_call_it(tool: BaseTool) -> None:
    """A synchronous caller in a thread waits for the loop of the memory; on the loop itself it is refused."""
    assert found(await asyncio.to_thread(tool.invoke, {"query": "marathon"}, ANA)) == [f"[goals] {GOAL}"]
    with pytest.raises(BadInput, match="await the asynchronous method"):
        tool.invoke({"query": "marathon"}, ANA)


def test_a_program_without_a_loop_may_call_it(settings: Settings) -> None:
    """A memory that nothing asynchronous has opened works on a loop in the background."""
    memory = bootstrap.create_memory(settings, embedder=HashEmbedder())
    tool = memory_tool(memory, "mybot", user="ana")
    loop = get_memory_loop(memory)
    try:
        loop.run_sync(lambda: memory.keep_candidates(scope(), [statement(GOAL)]))
        assert found(tool.invoke({"query": "marathon"})) == [f"[goals] {GOAL}"]
        assert found(asyncio.run(tool.ainvoke({"query": "marathon"}))) == [f"[goals] {GOAL}"]
    finally:
        loop.run_sync(memory.close)
    assert start_background_loop().is_running()


async def test_an_agent_is_named_in_code(database_url: str, settings: Settings) -> None:
    """`open_memory` takes agents with their categories, beside those of the settings."""
    own = {"mybot": ["goals"], "planner": ["tasks"]}
    async with open_memory(settings, embedder=HashEmbedder(), agents=own) as memory:
        allowlists = memory.engine.settings.allowlists
        assert (allowlists["mybot"], allowlists["planner"]) == (("goals",), ("tasks",))
        assert allowlists["executor"] == settings.allowlists["executor"]
    for wrong, message in (
        ({"mybot": ["gaols"]}, "agents: mybot: there is no category gaols; did you mean goals?"),
        ({"mybot": "goals"}, "agents: mybot: is text of 5 characters; allowed: a name with a list of categories"),
    ):
        with pytest.raises(BadConfig) as caught:
            async with open_memory(settings, agents=cast("Any", wrong)):
                pass
        assert str(caught.value) == message


async def test_a_model_finds_what_was_said(memory: Memory) -> None:
    """An agent that the settings name searches the turns of its user alone; another one gets no such tool."""
    ledger = memory.engine.settings.session_ledger.model_copy(update={"search_agents": ("mybot",)})
    named = memory.engine.settings.model_copy(update={"session_ledger": ledger})
    with pytest.raises(BadConfig, match="search_agents"):
        conversation_tool(memory, "mybot")
    async with bootstrap.create_memory(named, embedder=HashEmbedder()) as opened:
        for owner, text in (("ana", "We decided to use pnpm."), ("bob", "pnpm is not for me.")):
            await opened.conversation.record(scope(owner), [said(text)])
        tool = conversation_tool(opened, "mybot")
        assert found(await tool.ainvoke({"query": "pnpm"}, ANA)) == ["We decided to use pnpm."]
        assert found(await tool.ainvoke({"query": "pnpm", "session": "B", "top_k": 3}, ANA)) == []
        for wrong in ({"query": 7}, {"query": "x", "user": "bob"}, {"query": "x", "top_k": True}):
            assert (await tool.ainvoke(wrong, ANA)).startswith("Error: ")
        with pytest.raises(BadConfig, match="search_agents"):
            conversation_tool(opened, "planner")
