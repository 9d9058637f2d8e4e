"""`MemoryMiddleware` in `create_agent`, with a model behind real HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from muniment import load_settings
from muniment.langchain import MemoryMiddleware, MunimentStore, memory_tool, open_background_memory
from muniment.memory.client import Memory
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadInput
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.engine import engine, scope, statement
from tests.langchain.conftest import make_patient

CANARY = "The user wants to sail to the Zanzibar archipelago"
ASK = "What do I want to do on the sea, sail?"
THREAD: Any = {"configurable": {"thread_id": "A"}}


class Context(BaseModel):
    user: str


@tool
def weather(place: str) -> str:
    """The weather of a place."""
    return f"Sunny in {place}"


class Agents:
    """Agents with the middleware over one memory and one scripted server."""

    def __init__(self, memory: Memory, server: ScriptedOpenAI) -> None:
        self.memory, self.server = memory, server
        self.middleware = make_patient(memory)
        self.saver = InMemorySaver()

    def make(self, *others: AgentMiddleware[Any, Any, Any], **more: Any) -> Any:
        model = ChatOpenAI(model="scripted", base_url=self.server.base_url, api_key=cast("Any", "none"), max_retries=0)
        ours = [self.middleware, *others]
        return create_agent(model, middleware=ours, context_schema=Context, checkpointer=self.saver, **more)

    async def ask(self, agent: Any, text: str, user: str = "ana", **more: Any) -> dict[str, Any]:
        state = await agent.ainvoke({"messages": [("user", text)], **more}, THREAD, context=Context(user=user))
        await self.middleware.finish_learning()
        return cast("dict[str, Any]", state)

    def prompts(self) -> list[list[dict[str, Any]]]:
        return [request.body["messages"] for request in self.server.requests]

    def stored(self) -> str:
        """All that the checkpoints of the thread hold."""
        return repr([(saved.checkpoint, saved.metadata, saved.pending_writes) for saved in self.saver.list(None)])


@pytest.fixture
async def agents(memory: Memory) -> AsyncIterator[Callable[..., Agents]]:
    await memory.keep_candidates(scope("ana", "old"), [statement(CANARY)])
    servers: list[ScriptedOpenAI] = []

    def start(*replies: Any) -> Agents:
        servers.append(ScriptedOpenAI(list(replies) or "Fine.").__enter__())
        return Agents(memory, servers[-1])

    yield start
    for server in servers:
        server.__exit__(None, None, None)


async def test_a_tool_loop_recalls_once(agents: Callable[..., Agents], memory: Memory) -> None:
    """Each step gets the same text in the same place; none of it is in the thread, and none is learned again."""
    ours = agents(tool_call("weather", {"place": "Lisbon"}), f"You said: {CANARY}.")
    await memory.remember(scope("ana", "old"), "I am lactose intolerant", category="profile")
    agent = ours.make(tools=[weather], system_prompt="Be kind.")
    state = await ours.ask(agent, ASK)
    first, second = ours.prompts()
    assert [message["role"] for message in first] == ["system", "user"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "tool"]
    assert second[:2] == first
    assert first[0]["content"].startswith("Be kind.\n\nWhat is known about the person:\n<recalled-memory>")
    assert "lactose" in first[0]["content"]
    assert first[1]["content"].startswith(f"{ASK}\n\n")
    assert CANARY in first[1]["content"]
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai"]
    stored = ours.stored()
    assert "recalled-memory" not in stored
    assert "lactose" not in stored
    answer = await memory.query(scope(), "supervisor", Query(text="sail Zanzibar", threshold=0.0, top_k=20))
    assert [hit.memory.text for hit in answer.hits if "Zanzibar" in hit.memory.text] == [CANARY]


async def test_what_is_recalled_is_in_no_checkpoint(agents: Callable[..., Agents]) -> None:
    """With a reply that does not repeat it, the checkpoints do not have the canary at all."""
    ours = agents()
    await ours.ask(ours.make(), ASK)
    assert CANARY in ours.prompts()[0][0]["content"] + ours.prompts()[0][-1]["content"]
    assert "Zanzibar" not in ours.stored()


async def test_a_turn_is_learned_behind_the_reply(
    agents: Callable[..., Agents], memory: Memory, database_url: str
) -> None:
    """Message, tool result and reply are in the ledger, the statement is a memory, and its job changes nothing more."""
    ours = agents(tool_call("weather", {"place": "Lisbon"}), "Noted.")
    agent = ours.make(tools=[weather])
    await ours.ask(agent, "I am allergic to peanuts.")
    assert "peanuts" in " ".join(each.text for each in await memory.list(scope()))
    with psycopg.connect(database_url) as admin:
        turns = admin.execute("select turn_id, role from muniment.turns order by at").fetchall()
        jobs = admin.execute("select args from jobs.queue where name = 'learn'").fetchall()
    assert [role for _, role in turns] == ["user", "tool", "assistant"]
    assert len(jobs) == 1
    before = await memory.list(scope())
    await memory.jobs.perform_job(Job(name="learn", scope=scope(), key=str(turns[0][0])))
    assert await memory.list(scope()) == before
    await ours.ask(agent, "Thanks")
    assert "Memory updates since" not in json.dumps(ours.prompts()[-1])  # what was said here is no news here


@pytest.mark.parametrize(("mode", "reads"), [("private", True), ("off", False)])
async def test_a_thread_may_be_private_or_off(
    agents: Callable[..., Agents], memory: Memory, mode: str, reads: bool
) -> None:
    """The mode stays in the thread; private reads and writes nothing, off does neither."""
    ours = agents()
    agent = ours.make()
    await ours.ask(agent, "I am allergic to peanuts.", memory_mode=mode)
    await ours.ask(agent, ASK)
    assert (CANARY in json.dumps(ours.prompts()[-1])) is reads
    assert [each.text for each in await memory.list(scope())] == [CANARY]
    with pytest.raises(BadInput, match="memory_mode: allowed: on, private, off"):
        await ours.ask(agent, ASK, memory_mode="none")


async def test_a_reply_does_not_wait_for_memory(agents: Callable[..., Agents], memory: Memory) -> None:
    """Where memory takes too long the agent answers without it, and what was said is recorded in the next turn."""
    ours = agents()
    ours.middleware = MemoryMiddleware(memory, recall_seconds=0.000_001, record_seconds=0.000_001)
    assert (await ours.ask(ours.make(), "I am allergic to peanuts."))["messages"][-1].content == "Fine."
    assert len(await memory.list(scope())) == 1
    ours.middleware = MemoryMiddleware(memory)
    await ours.ask(ours.make(), "Thanks")
    assert "peanuts" in " ".join(each.text for each in await memory.list(scope()))


async def test_users_do_not_meet(agents: Callable[..., Agents], memory: Memory) -> None:
    """Each run reads and writes the memory of its own user, at once; without a user it is refused."""
    ours = agents()
    agent = ours.make()

    async def talk(user: str) -> None:
        config: Any = {"configurable": {"thread_id": user}}
        said = {"messages": [("user", f"My favourite city is {user}ville. {ASK}")]}
        await agent.ainvoke(said, config, context=Context(user=user))

    users = ["ana", "bob", "cleo", "dan"]
    await asyncio.gather(*map(talk, users))
    await ours.middleware.finish_learning()
    for prompt in ours.prompts():
        text = json.dumps(prompt)
        assert (CANARY in text) is ("anaville" in text)
    for user in users:
        texts = " ".join(each.text for each in await memory.list(scope(user)))
        assert [other for other in users if f"{other}ville" in texts] in ([user], [])
    with pytest.raises(BadInput, match="muniment_memory cannot tell whose memory it is"):
        await agent.ainvoke({"messages": [("user", "Hi")]}, THREAD)


class Failing(AgentMiddleware[Any, Any, Any]):
    """Another's middleware that fails once and tries again."""

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        await handler(request)
        return await handler(request)


class Broken(AgentMiddleware[Any, Any, Any]):
    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        raise RuntimeError("theirs")


async def test_beside_other_middlewares(agents: Callable[..., Agents], memory: Memory) -> None:
    """One that calls the model twice gets the same text; one that fails fails the run, and nothing is learned."""
    ours = agents()
    await ours.ask(ours.make(Failing()), ASK)
    first, second = ours.prompts()
    assert first == second
    with pytest.raises(RuntimeError, match="theirs"):
        await ours.ask(ours.make(Broken()), "I am allergic to peanuts.")
    assert "peanuts" not in " ".join(each.text for each in await memory.list(scope()))


async def test_tokens_stream_and_the_tool_reads(agents: Callable[..., Agents]) -> None:
    """Tokens arrive one by one; `memory_tool` in the same agent reads the memory of the same user."""
    ours = agents(tool_call("memory_query", {"query": "sail"}), "You want to sail.")
    agent = ours.make(tools=[memory_tool(ours.memory, "supervisor")])
    tokens = [
        chunk.content
        async for chunk, _ in agent.astream(
            {"messages": [HumanMessage("Where to?")]}, THREAD, context=Context(user="ana"), stream_mode="messages"
        )
        if chunk.type == "AIMessageChunk" and chunk.content
    ]
    await ours.middleware.finish_learning()
    assert "".join(tokens) == "You want to sail."
    assert len(tokens) > 2
    assert CANARY in ours.prompts()[-1][-1]["content"]


async def test_structured_answers_and_parallel_calls(agents: Callable[..., Agents]) -> None:
    """Two calls in one answer stay beside their results, and a structured response is as without memory."""

    class Plan(BaseModel):
        goal: str

    both = tool_call("weather", {"place": "Lisbon"}, call_id="1")
    both["tool_calls"] += tool_call("weather", {"place": "Faro"}, call_id="2")["tool_calls"]
    ours = agents(both, tool_call("Plan", {"goal": "sail"}, call_id="3"))
    from langchain.agents.structured_output import ToolStrategy

    state = await ours.ask(ours.make(tools=[weather], response_format=ToolStrategy(Plan)), ASK)
    assert state["structured_response"] == Plan(goal="sail")
    assert [message["role"] for message in ours.prompts()[-1]][-4:] == ["user", "assistant", "tool", "tool"]


async def test_synchronous_callers_are_served(database_url: str) -> None:
    """`agent.invoke` in a thread recalls and learns on the loop of the memory."""
    with ScriptedOpenAI("Fine.") as server:
        async with engine(database_url) as memory:
            await memory.keep_candidates(scope("ana", "old"), [statement(CANARY)])
            ours = Agents(memory, server)
            said = {"messages": [("user", f"I am allergic to peanuts. {ASK}")]}
            await asyncio.to_thread(ours.make().invoke, said, THREAD, context=Context(user="ana"))
            await ours.middleware.finish_learning()
            assert CANARY in json.dumps(ours.prompts()[-1])
            assert "peanuts" in " ".join(each.text for each in await memory.list(scope()))


def test_a_program_without_asyncio(database_url: str, tmp_path: Path) -> None:
    """A memory in the background serves agent, tool and store by their synchronous methods; closing it waits for what
    is being learned."""
    tuned = load_settings(
        {"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_HOME": str(tmp_path)}
    )
    with ScriptedOpenAI("Fine.") as server:
        for text in ("I am allergic to peanuts.", "What can I cook?"):
            with open_background_memory(tuned, agents={"mybot": ["constraints"]}) as memory:
                ours = Agents(memory, server)
                ours.make().invoke({"messages": [("user", text)]}, THREAD, context=Context(user="ana"))
                found = memory_tool(memory, "mybot", user="ana").invoke({"query": "allergic"})
                MunimentStore(memory, scope()).put(("notes",), "1", {"text": text})
    assert "allergic to peanuts" in json.dumps(ours.prompts()[-1])
    assert "allergic to peanuts" in found


def test_without_its_extra() -> None:
    """Where langchain is not installed the error names the extra; the tool and the store need none."""
    code = (
        "import sys; sys.modules['langchain'] = None\n"
        "from muniment.langchain import MunimentStore, memory_tool\n"
        "from muniment.langchain import MemoryMiddleware"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        'ImportError: MemoryMiddleware needs an extra: pip install "muniment[langchain]"'
    )
