"""The graph with a model behind real HTTP: prompts, the one tool, colleagues, and what a failing model leads to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import SecretStr

from muniment.memory.config.settings import Settings
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, Tool
from muniment.nodes.state import Input, Who
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.graph.conftest import STORY, Talk, last

KEY = "sk-never-shown"


@asynccontextmanager
async def model(server: ScriptedOpenAI) -> AsyncIterator[OpenAIChat]:
    chat = OpenAIChat("scripted", api_key=SecretStr(KEY), base_url=server.base_url, timeout_seconds=5, max_retries=0)
    try:
        yield chat
    finally:
        await chat.close()


def prompts(server: ScriptedOpenAI) -> list[list[dict[str, Any]]]:
    return [request.body["messages"] for request in server.requests]


def offered(server: ScriptedOpenAI, at: int) -> list[str]:
    return [tool["function"]["name"] for tool in server.requests[at].body.get("tools", ())]


@pytest.fixture
def scripted() -> Iterator[Callable[..., ScriptedOpenAI]]:
    servers: list[ScriptedOpenAI] = []

    def start(*args: Any, **kwargs: Any) -> ScriptedOpenAI:
        servers.append(ScriptedOpenAI(*args, **kwargs).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__(None, None, None)


async def test_the_prompt_ends_with_what_moves(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI]
) -> None:
    """Profile first, thread next, recalled text at the end of the last message; and nothing recalled stays in the
    thread."""
    server = scripted("Fine.")
    async with model(server) as chat:
        ana = talk(chat)
        await ana.say(STORY)
        state = await ana.say("How is my marathon training going?", thread="b")
    asked = prompts(server)[-1]
    assert [message["role"] for message in asked] == ["system", "user"]
    assert "lactose" in asked[0]["content"]
    confidence = f"Confidence of memory: {state['confidence']:.2f}"
    assert state["confidence"] > 0.5
    assert asked[-1]["content"] == f"How is my marathon training going?\n\n{state['moving']}\n\n{confidence}"
    assert "Memory updates since rev" in asked[-1]["content"]
    assert "[goals] The user is training" in asked[-1]["content"]
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert "recalled-memory" not in "".join(str(message.text) for message in state["messages"])
    assert last(state) == "Fine."


async def test_consecutive_prompts_share_their_beginning(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI]
) -> None:
    """While the profile stays, a prompt begins byte for byte like the one before, up to what moved."""
    server = scripted("Fine.")
    async with model(server) as chat:
        ana = talk(chat)
        await ana.say(STORY, thread="other")
        for text in ("Hello there!", "How is my marathon training going?", "What should I eat?"):
            await ana.say(text)
    lasting = [[one["content"].split("\n\n<recalled-memory>")[0] for one in asked[1:]] for asked in prompts(server)[1:]]
    opening = [asked[0] for asked in prompts(server)[1:]]
    assert all(one == opening[0] for one in opening)
    for before, after in pairwise(lasting):
        assert len(before) >= 1
        assert after[: len(before)] == before


async def test_the_model_looks_into_memory(talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI]) -> None:
    """A call of memory_query is answered with fenced JSON of the agent's own categories."""
    server = scripted([tool_call("memory_query", {"query": "marathon", "categories": ["goals"]}), "In October."])
    async with model(server) as chat:
        ana = talk(chat)
        await ana.memory.remember(_scope(ana), "The user is training for the Lisbon marathon", category="goals")
        state = await ana.say("When is it?")
    result = prompts(server)[-1][-1]
    assert result["role"] == "tool"
    assert result["content"].startswith("<recalled-memory>")
    body = json.loads(result["content"].splitlines()[2])
    assert [one["text"].split()[0] for one in body["results"]] == ["[goals]"]
    assert last(state) == "In October."
    assert [message.type for message in state["messages"]] == ["human", "ai"]


async def test_a_colleague_is_kept_to_its_allowlist(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI]
) -> None:
    """The stylist asking for tasks is refused with the agent, the denied and the allowed names; its report is used."""
    server = scripted(
        [
            tool_call("transfer_to_stylist", {"task": "Write a birthday card"}),
            tool_call("memory_query", {"query": "anything", "categories": ["tasks"]}),
            "Happy birthday, in few words.",
            "Here is your card.",
        ]
    )
    async with model(server) as chat:
        state = await talk(chat).say("Write me a birthday card, please.")
    assert offered(server, 0) == [
        "memory_query",
        *(f"transfer_to_{one}" for one in ("planner", "stylist", "researcher", "executor")),
    ]
    assert offered(server, 1) == ["memory_query"]
    enum = server.requests[1].body["tools"][0]["function"]["parameters"]["properties"]["categories"]["items"]["enum"]
    assert enum == ["preferences", "style", "tone"]
    refusal = prompts(server)[2][-1]["content"]
    assert all(word in refusal for word in ("'stylist'", "tasks", "preferences, style, tone"))
    assert "Happy birthday, in few words." in prompts(server)[3][-1]["content"]
    assert state["reports"] == [
        {"agent": "stylist", "task": "Write a birthday card", "text": "Happy birthday, in few words."}
    ]
    assert last(state) == "Here is your card."
    assert len(state["messages"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "x", "agent": "planner"}, "unknown argument 'agent'"),
        ({"query": "x", "user": "bob"}, "unknown argument 'user'"),
        ({"query": "x", "filters": {"user_id": "bob"}}, "another user"),
        ({"query": "x", "categories": ["procedural"]}, "may not read procedural"),
        ({"query": "x", "top_k": 0}, "top_k"),
        (
            {"query": "x", "categories": [f"goals api_key=sk-proj-{'a1B2' * 9} {'y' * 99_999}"]},
            "unknown category 'goals",
        ),
    ],
)
async def test_what_a_model_may_not_say_is_told_to_it(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], arguments: dict[str, Any], said: str
) -> None:
    """A bad or forbidden call is an answer to the model, not a failed turn."""
    server = scripted([tool_call("memory_query", arguments), "Never mind."])
    async with model(server) as chat:
        state = await talk(chat).say("Look it up, please.")
    told = prompts(server)[-1][-1]["content"]
    assert said in told
    assert len(told) < 1_100
    assert "sk-proj" not in told
    assert last(state) == "Never mind."


async def test_half_a_character_ends_no_turn(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI]
) -> None:
    """As of an emoji that a client has cut in two: no endpoint takes it, and whoever says it gets a reply."""
    server = scripted("Fine.")
    async with model(server) as chat:
        state = await talk(chat).say("Look \ud83e, and here is one: \ud83e\udd94")
    assert last(state) == "Fine."
    assert prompts(server)[0][-1]["content"] == "Look \ufffd, and here is one: 🦔"


async def test_a_call_that_cannot_be_read_is_told_to_the_model(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI]
) -> None:
    """Arguments that are no JSON take one round; one that was cut off would be again."""
    server = scripted(
        [tool_call("memory_query", "{query: city"), tool_call("memory_query", {"query": "city"}), "Porto."]
    )
    async with model(server) as chat:
        assert last(await talk(chat).say("Look it up, please.")) == "Porto."
        assert "not a JSON object" in prompts(server)[1][-1]["content"]
        server = scripted(tool_call("memory_query", "{query: city") | {"finish_reason": "length"})
    async with model(server) as chat:
        assert "BadModelAnswer" in last(await talk(chat).say("Look it up, please.", thread="b"))
    assert len(server.requests) == 1


async def test_calls_and_hand_offs_end(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], settings: Settings
) -> None:
    """A model that would call and hand over for ever gets its rounds and no more, and the user a reply."""
    turns = iter(range(10_000))

    def endless(body: dict[str, Any]) -> dict[str, Any] | str:
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        if "transfer_to_planner" in names:
            return tool_call("transfer_to_planner", {"task": f"Plan {next(turns)}"})
        return tool_call("memory_query", {"query": "more"}) if names else "That is all."

    server = scripted(endless)
    async with model(server) as chat:
        state = await talk(chat).say("Plan my week, please.")
    assert state["handoffs"] == len(state["reports"]) == settings.model.handoffs
    assert last(state) == "That is all."
    rounds = settings.model.tool_rounds + 1
    assert len(server.requests) == settings.model.handoffs * (1 + rounds) + rounds


@pytest.mark.parametrize(
    ("fail", "name"),
    [("rate_limit", "ModelRateLimited"), ("server_error", "ModelUnavailable, status 500"),
     ("unauthorized", "ModelUnavailable, status 401"), ("wrong_schema", "BadModelAnswer"), ("empty", "BadModelAnswer"),
     ("drop", "ModelUnavailable")],
)  # fmt: skip
async def test_a_failing_model_leaves_the_memory(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], fail: str, name: str
) -> None:
    """The reply comes from memory, names the kind of failure and the endpoint's status, and the turn is remembered all
    the same."""
    async with model(scripted(fail=fail)) as chat:
        ana = talk(chat)
        state = await ana.say("I am training for the Lisbon marathon.")
        reply = last(await ana.say("Which marathon am I training for?"))
    assert len(state["writes"]) == 1
    assert f"({name})" in reply
    assert "Lisbon" in reply
    assert KEY not in reply


async def test_the_ledger_waits_for_the_colleagues(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI]
) -> None:
    """With a hand-off the turn still ends once, after the final reply."""
    server = scripted([tool_call("transfer_to_planner", {"task": "Plan the week"}), "A plan.", "Here it is."])
    async with model(server) as chat:
        ana = talk(chat)
        stream = ana.graph.astream(
            Input(messages=[HumanMessage("Plan my week.")]), ana.config("a"), stream_mode="updates"
        )
        order = [name async for update in stream for name in update]
    assert sorted(order[1:3]) == ["hotpath", "supervisor"]
    assert order[3:] == ["planner", "supervisor", "episodic"]


class Slow:
    """A model that answers when it is told to."""

    name = "slow"

    def __init__(self) -> None:
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        self.asked.set()
        await self.go.wait()
        return ChatAnswer(message=ChatMessage(role="assistant", content="Done."), model=self.name)

    async def close(self) -> None:
        return None


async def test_the_hot_path_runs_beside_the_model(talk: Callable[..., Talk]) -> None:
    """What the user said is in memory while the model still thinks; only then is the model let go."""
    slow = Slow()
    ana = talk(slow)
    order: list[str] = []
    stream = ana.graph.astream(
        Input(messages=[HumanMessage(STORY)]), ana.config("a"), context=Who(user="ana"), stream_mode="updates"
    )
    async for update in stream:
        order += list(update)
        if "hotpath" in update:
            assert slow.asked.is_set()
            assert len(await ana.memory.list(_scope(ana))) == 3
            slow.go.set()
    assert order == ["context", "hotpath", "supervisor", "episodic"]


async def test_a_reply_does_not_wait_for_the_hot_path(talk: Callable[..., Talk]) -> None:
    """While another writer holds up this space's writes, the reply is out already."""
    slow = Slow()
    slow.go.set()
    ana = talk(slow)
    order: list[str] = []
    turnstile = ana.memory.engine.locks.space_lock(_scope(ana).space)
    await turnstile.acquire()
    stream = ana.graph.astream(
        Input(messages=[HumanMessage(STORY)]), ana.config("a"), context=Who(user="ana"), stream_mode="updates"
    )
    async for update in stream:
        order += list(update)
        if "supervisor" in update:
            turnstile.release()
    assert order == ["context", "supervisor", "hotpath", "episodic"]


def _scope(talk: Talk, user: str = "ana") -> Any:
    from muniment.memory.domain.scope import Scope

    return Scope(owner=user, tenant=talk.settings.tenant, thread="seed", session="seed")
