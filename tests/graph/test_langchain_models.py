"""A model of LangChain in the graph: its replies, what they cost, and what is seen while they are made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.nodes.state import Input, Who
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.graph.conftest import Talk, last

KEY = SecretStr("sk-never-shown")
OURS, THEIRS = "tiny-1", "ChatOpenAI"
KINDS = pytest.mark.parametrize("kind", [THEIRS, OURS])
LOOK = tool_call("memory_query", {"query": "marathon", "categories": ["goals"]}, call_id="c7")


@pytest.fixture
def scripted() -> Iterator[Callable[..., ScriptedOpenAI]]:
    servers: list[ScriptedOpenAI] = []

    def start(*args: Any, **kwargs: Any) -> ScriptedOpenAI:
        servers.append(ScriptedOpenAI(*args, **kwargs).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__(None, None, None)


Make = Callable[[str, ScriptedOpenAI], Any]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """A model of LangChain or of our own port, by the name that a tracer sees."""
    opened: list[Any] = []

    def connect(kind: str, server: ScriptedOpenAI) -> Any:
        if kind == OURS:
            opened.append(OpenAIChat(OURS, api_key=KEY, base_url=server.base_url, max_retries=0))
            return opened[-1]
        model = ChatOpenAI(model=OURS, base_url=server.base_url, api_key=KEY, max_retries=0, stream_usage=True)
        opened.append(model.root_async_client)
        return model

    yield connect
    for client in opened:
        await client.close()


async def spent(talk: Talk) -> list[tuple[str, str | None, int, bool]]:
    usage = await talk.memory.admin.read_usage(Scope(owner="ana", tenant=talk.settings.tenant), 1)
    return [
        (line.purpose, line.model, line.requests, line.input_tokens > 0 < line.output_tokens) for line in usage.lines
    ]


async def streamed(talk: Talk, text: str, *modes: Any, thread: str = "a", **config: Any) -> list[tuple[str, Any]]:
    """What the caller of a run sees in these modes."""
    stream = talk.graph.astream(
        Input(messages=[HumanMessage(text)]),
        talk.config(thread, **config),
        context=Who(user="ana"),
        stream_mode=list(modes),
    )
    return [part async for part in stream]  # type: ignore[misc]  # with several modes each part is a pair


def join_chunks(parts: list[tuple[str, Any]]) -> dict[str, AIMessageChunk]:
    """The chunks of each message, put together as a client does, by their ids."""
    whole: dict[str, Any] = {}
    for kind, part in parts:
        if kind == "messages" and isinstance(part[0], AIMessageChunk):
            whole[str(part[0].id)] = whole[str(part[0].id)] + part[0] if part[0].id in whole else part[0]
    return whole


async def test_a_model_of_langchain_replies_and_is_paid_for(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make
) -> None:
    """With its name and its tokens in `spend`, and the tokens on the reply; each reply is a message of its own."""
    server = scripted("Fine.")
    ana = talk(make(THEIRS, server))
    await ana.say("I am training for the Lisbon marathon.")
    state = await ana.say("How is my training going?")
    replies = [message for message in state["messages"] if isinstance(message, AIMessage)]
    assert [str(reply.text) for reply in replies] == ["Fine.", "Fine."]
    assert len({reply.id for reply in replies}) == 2
    usage = replies[-1].usage_metadata
    assert usage is not None
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > usage["output_tokens"] > 0
    assert await spent(ana) == [("reply", "tiny-1", 2, True)]
    assert server.requests[0].body["stream"] is False


@pytest.mark.parametrize(
    ("fail", "said"),
    [("rate_limit", "asks to slow down (ModelRateLimited"), ("server_error", "(ModelUnavailable, status 500)"),
     ("unauthorized", "(ModelUnavailable, status 401)"), ("bad_request", "(ModelError, status 400)"),
     ("empty", "is empty (BadModelAnswer)"), ("refusal", "refuses to answer (BadModelAnswer)"),
     ("drop", "cannot be reached (ModelUnavailable)"), ("wrong_schema", "The model fails with")],
)  # fmt: skip
async def test_a_failure_of_a_provider_is_told(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make, fail: str, said: str
) -> None:
    """By its kind and status, whatever the client raises, and without its text; the reply is from memory."""
    ana = talk(make(THEIRS, scripted(fail=fail, retry_after=60)))
    reply = last(await ana.say("I am training for the Lisbon marathon."))
    assert said in reply
    assert "Noted: The user is training for the Lisbon marathon." in reply
    assert KEY.get_secret_value() not in reply


async def test_what_is_no_model_is_refused(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make
) -> None:
    """When the graph is built, and in words."""
    bound = make(THEIRS, scripted()).bind_tools([])
    for wrong in (bound, "openai:gpt-5.5", object()):
        with pytest.raises(BadConfig, match=f"wanted, not a {type(wrong).__name__}"):
            talk(wrong)


@KINDS
async def test_tokens_come_one_by_one(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make, kind: str
) -> None:
    """Under the id of the reply that the thread keeps, with its node, and with the usage in the last part."""
    server = scripted("You train for\n\n\nthe *Lisbon* marathon, for [October](x): {ready}.")
    ana = talk(make(kind, server))
    parts = await streamed(ana, "What do I train for?", "messages", "values")
    shown = [(str(part[0].text), part[1]["langgraph_node"]) for kind, part in parts if kind == "messages"]
    assert shown[0] == ("You", "supervisor")
    assert len(shown) > 8
    reply = parts[-1][1]["messages"][-1]
    assert (
        "".join(text for text, _ in shown)
        == str(reply.text)
        == "You train for\n\nthe *Lisbon* marathon, for [October](x): {ready}."
    )
    [whole] = join_chunks(parts).values()
    assert (whole.id, whole.usage_metadata) == (reply.id, reply.usage_metadata)
    assert (await spent(ana))[0] == ("reply", "tiny-1", 1, True)
    assert server.requests[0].body["stream"] is True


@KINDS
async def test_a_call_of_a_tool_is_seen_with_its_result(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make, kind: str
) -> None:
    """In the stream when it is made, and in the turn's own state; the thread has neither."""
    ana = talk(make(kind, scripted([LOOK, "In October."])))
    await ana.memory.remember(
        Scope(owner="ana", tenant=ana.settings.tenant), "The user runs a marathon", category="goals"
    )
    parts = await streamed(ana, "When is it?", "messages", "tools", "updates")
    seen = [part[0] for kind, part in parts if kind == "messages"]
    [call] = [message for message in seen if getattr(message, "tool_calls", None)]
    [result] = [message for message in seen if isinstance(message, ToolMessage)]
    assert (call.tool_calls[0]["name"], call.tool_calls[0]["args"]) == (
        "memory_query",
        {"query": "marathon", "categories": ["goals"]},
    )
    assert (result.tool_call_id, result.status, result.name) == ("c7", "success", "memory_query")
    assert "[goals] The user runs a marathon" in str(result.text)
    assert [part["event"] for kind, part in parts if kind == "tools"] == ["tool-started", "tool-finished"]
    state = (await ana.graph.aget_state(ana.config("a"))).values
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert [message.id for message in state["tool_messages"]] == [call.id, result.id]
    assert (await ana.say("Thanks."))["tool_messages"] == []


@KINDS
async def test_a_refused_call_is_seen_as_an_error(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make, kind: str
) -> None:
    """With the message that the model gets."""
    wrong = tool_call("memory_query", {"query": "x", "categories": ["procedural"]})
    state = await talk(make(kind, scripted([wrong, "Never mind."]))).say("Look it up.")
    _, result = state["tool_messages"]
    assert result.status == "error"
    assert "may not read procedural" in str(result.text)


@KINDS
async def test_what_is_not_for_a_person_is_not_streamed(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make, kind: str
) -> None:
    """Thoughts and calls that are written as text: what comes is the beginning of the reply, to the letter."""
    written = '<tool_call>{"name": "memory_query", "arguments": {"query": "marathon"}}</tool_call>'
    server = scripted(
        ["<think>Where is\n\n it?</think>\nI look. " + written, "<think>So.</think>In October, I think.\n- [x] done"]
    )
    parts = await streamed(talk(make(kind, server)), "When is it?", "messages", "values")
    looking, reply = join_chunks(parts).values()
    assert (str(looking.text), looking.tool_calls[0]["args"]) == ("I look.", {"query": "marathon"})
    assert str(reply.text) == str(parts[-1][1]["messages"][-1].text) == "In October, I think.\n- [x] done"


class Spans(AsyncCallbackHandler):
    """What a tracer sees: the kind, the name and the parent of each run, and what it brought."""

    def __init__(self) -> None:
        self.names: dict[UUID, str] = {}
        self.spans: list[tuple[str, str, str]] = []
        self.tokens: list[Any] = []

    def _add(self, kind: str, name: str, run_id: UUID, parent: UUID | None) -> None:
        self.names[run_id] = name
        self.spans.append((kind, name, self.names.get(parent, "") if parent else ""))

    async def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self._add("chain", more["name"], more["run_id"], more.get("parent_run_id"))

    async def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
        self._add("model", more.get("name") or serialized["name"], more["run_id"], more.get("parent_run_id"))

    async def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        self._add("tool", serialized["name"], more["run_id"], more.get("parent_run_id"))

    async def on_llm_end(self, response: Any, **more: Any) -> None:
        self.tokens.append(response.generations[0][0].message.usage_metadata["total_tokens"])


@KINDS
async def test_a_tracer_sees_the_model_and_the_tool(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make, kind: str
) -> None:
    """As runs below the node, with the tokens: what LangSmith and OpenTelemetry make spans of."""
    spans = Spans()
    ana = talk(make(kind, scripted([LOOK, "In October."])))
    config = ana.config("a") | {"callbacks": [spans]}
    await ana.graph.ainvoke(Input(messages=[HumanMessage("When is it?")]), config, context=Who(user="ana"))
    below = [span for span in spans.spans if span[2] == "supervisor" and span[0] != "chain"]
    assert below == [
        ("model", kind, "supervisor"),
        ("tool", "memory_query", "supervisor"),
        ("model", kind, "supervisor"),
    ]
    assert all(spans.tokens)


async def test_events_say_what_memory_did(
    talk: Callable[..., Talk], scripted: Callable[..., ScriptedOpenAI], make: Make
) -> None:
    """What was read, written and refused, when it happens."""
    wrong = tool_call("memory_query", {"query": "x", "categories": ["procedural"]})
    ana = talk(make(THEIRS, scripted([LOOK, wrong, "In October."])))
    said = "I'm training for the Lisbon marathon. My password is hunter2hunter."
    events = [part for _, part in await streamed(ana, said, "custom")]
    read, *others = [event for event in events if event["event"] == "memory.read"]
    assert (read["agent"], read["revision"], read["found"]) == ("supervisor", 0, 0)
    assert [event["found"] in {0, 1} for event in others] == [True]  # the hot path is beside the model
    [written] = [event for event in events if event["event"] == "memory.written"]
    assert [change["text"] for change in written["changes"]] == ["The user is training for the Lisbon marathon."]
    refused = [event["reasons"] for event in events if event["event"] == "memory.refused"]
    assert any("may not read procedural" in reason for reasons in refused for reason in reasons)
    assert "hunter2hunter" not in str(events)
