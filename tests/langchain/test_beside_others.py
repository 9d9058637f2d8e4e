"""`MemoryMiddleware` beside middlewares of others, among calls of several tools at once, and without its database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from muniment import load_settings, open_memory
from muniment.langchain import MemoryMiddleware, memory_tool
from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.stores.postgres.embedded import server
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.engine import scope
from tests.langchain.conftest import make_patient

THREAD: Any = {"configurable": {"thread_id": "A"}}


class Broken(AgentMiddleware[Any, Any, Any]):
    """Another's middleware that fails in one of its hooks, once."""

    def __init__(self, hook: str) -> None:
        super().__init__()
        self.hook, self.left = hook, 1

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        self.fail("before_agent")

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        self.fail("before_model")

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        answer = await handler(request)
        self.fail("wrap_model_call")
        return answer

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        self.fail("after_model")

    def fail(self, hook: str) -> None:
        if hook == self.hook and self.left:
            self.left = 0
            raise RuntimeError("theirs")


@pytest.fixture
def scripted() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI("Fine.") as started:
        yield started


def make_agent(server: ScriptedOpenAI, *middleware: AgentMiddleware[Any, Any, Any], tools: Any = ()) -> Any:
    model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=cast("Any", "none"), max_retries=0)
    return create_agent(model, tools=list(tools), middleware=list(middleware), checkpointer=InMemorySaver())


def say(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


def prompts(server: ScriptedOpenAI) -> list[list[dict[str, Any]]]:
    return [request.body["messages"] for request in server.requests]


@pytest.mark.parametrize("hook", ["before_agent", "before_model", "wrap_model_call", "after_model"])
@pytest.mark.parametrize("is_first", [True, False])
async def test_one_of_others_fails(memory: Memory, hook: str, is_first: bool) -> None:
    """Its error ends the run and nothing is learned. The next message of the thread is answered and learned, and the
    retries of a third middleware get the same prompt."""
    await memory.remember(scope(), "I am lactose intolerant")
    ours, theirs, retry = make_patient(memory, "ana"), Broken(hook), ModelRetryMiddleware(initial_delay=0)
    answered = hook in ("wrap_model_call", "after_model")  # the first run, before it failed
    with ScriptedOpenAI("Fine.", fail=[None, "server_error"] if answered else ["server_error"]) as server:
        agent = make_agent(server, *([theirs, ours, retry] if is_first else [ours, theirs, retry]))
        with pytest.raises(RuntimeError, match="theirs"):
            await agent.ainvoke(say("I am allergic to peanuts."), THREAD)
        assert "peanuts" not in " ".join(each.text for each in await memory.list(scope()))
        state = await agent.ainvoke(say("I am allergic to walnuts."), THREAD)
        await ours.finish_learning()
        before, after = prompts(server)[-2:]
    assert state["messages"][-1].content == "Fine."
    assert "walnuts" in " ".join(each.text for each in await memory.list(scope()))
    assert before == after
    assert "lactose" in before[0]["content"]


async def test_calls_in_parallel(memory: Memory) -> None:
    """Three calls of one answer, one of which fails and is tried again, each have their own result, and what memory
    answers is learned by none."""
    await memory.remember(scope(), "I am lactose intolerant")
    await memory.remember(scope(), "My goal is to sail to Zanzibar")
    tries: list[str] = []

    @tool
    def weather(place: str) -> str:
        """The weather of a place."""
        tries.append(place)
        if len(tries) == 1:
            raise ValueError("no answer")
        return f"Sunny in {place}"

    answer = tool_call("memory_query", {"query": "goals"}, call_id="1")
    for number, (name, arguments) in enumerate(
        [("weather", {"place": "Faro"}), ("memory_query", {"query": "lactose"})]
    ):
        answer["tool_calls"] += tool_call(name, arguments, call_id=str(number + 2))["tool_calls"]
    ours, retry = make_patient(memory, "ana"), ToolRetryMiddleware(initial_delay=0)
    with ScriptedOpenAI([answer, "You want to sail to Zanzibar, without cheese."]) as server:
        agent = make_agent(server, ours, retry, tools=[weather, memory_tool(memory, "supervisor", user="ana")])
        await agent.ainvoke(say("What do you know?"), THREAD)
        await ours.finish_learning()
        results = {each["tool_call_id"]: each["content"] for each in prompts(server)[-1] if each["role"] == "tool"}
    assert ["Zanzibar" in results["1"], results["2"], "lactose" in results["3"]] == [True, "Sunny in Faro", True]
    found = await memory.query(scope(), "supervisor", Query(text="Zanzibar lactose cheese", threshold=0.0, top_k=20))
    assert len(found.hits) == len(await memory.list(scope())) == 2


async def test_without_its_database(home: Path, scripted: ScriptedOpenAI) -> None:
    """While the server is down the agent answers without memory; what was said then is learned when it is back."""
    url = await server.ensure_server(home, fsync=False)
    async with open_memory(load_settings({"MUNIMENT_DATABASE_URL": url, "MUNIMENT_EMBEDDER": "hash-256"})) as memory:
        await memory.remember(scope(), "I am lactose intolerant")
        ours = MemoryMiddleware(memory, user="ana")
        agent = make_agent(scripted, ours)
        assert await server.stop_server(home)
        state = await agent.ainvoke(say("I am allergic to peanuts."), THREAD)
        assert state["messages"][-1].content == "Fine."
        assert "lactose" not in json.dumps(prompts(scripted)[-1])
        await server.ensure_server(home, fsync=False)
        await agent.ainvoke(say("Thanks"), THREAD)
        await ours.finish_learning()
        assert "lactose" in json.dumps(prompts(scripted)[-1])
        assert "peanuts" in " ".join(each.text for each in await memory.list(scope()))
