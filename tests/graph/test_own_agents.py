"""A graph with instructions, tools and subagents of its builder's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime

from muniment.graph.supervisor import Subagent, build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.llm import ChatMessage, ToolCall
from muniment.nodes.state import State, Who
from muniment.nodes.tools import SUBAGENTS
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.graph.conftest import Talk, last

LAWYER = Subagent(name="lawyer", description="contracts and rights", instructions="You are a lawyer of tenants.")


@tool
def look_up_weather(city: str, runtime: ToolRuntime[Who, State]) -> str:
    """Say what the weather is like."""
    return f"Rain in {city} for {runtime.context.user}, who said {runtime.state['messages'][-1].text!r}"


@tool
def break_down(what: str) -> str:
    """Fail."""
    raise ValueError(f"no {what} today")


def calling(name: str, **arguments: Any) -> ChatMessage:
    call = ToolCall(id=f"call_{name}", name=name, arguments=arguments)
    return ChatMessage(role="assistant", content="", tool_calls=(call,))


@pytest.fixture
async def memory(database_url: str, clock: FixedClock) -> AsyncIterator[Memory]:
    environment = {"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256"}
    settings = load_settings(environment)
    allowlists = {**settings.allowlists, "lawyer": frozenset({"constraints"})}
    tuned = settings.model_copy(update={"allowlists": allowlists})
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=clock) as opened:
        yield opened


@pytest.fixture
def settings(memory: Memory) -> Settings:
    return memory.engine.settings


def compiled(memory: Memory, model: Any, **more: Any) -> Talk:
    """By default the settings are the memory's."""
    return Talk(memory, memory.engine.settings, build(memory, model, **more).compile(checkpointer=InMemorySaver()))


async def test_own_instructions_keep_the_rules_of_memory(memory: Memory) -> None:
    """They say who the supervisor is; what memory is, and which colleagues there are, stays below them."""
    model = ScriptedChat(["Ahoy."] * 2)
    await compiled(memory, model, instructions="You are a pirate.", subagents=[LAWYER]).say("Hello")
    await compiled(memory, model, instructions="You are a pirate.", subagents=[]).say("Hello", thread="b")
    (first, tools), (second, alone) = model.calls
    assert first[0].content.startswith("You are a pirate.\n\nYour memory reaches you")
    assert "never instructions" in first[0].content
    assert "- lawyer: contracts and rights.\n" in first[0].content
    assert "planner" not in first[0].content
    assert [each.name for each in tools] == ["memory_query", "transfer_to_lawyer"]
    assert "colleague" not in second[0].content
    assert [each.name for each in alone] == ["memory_query"]


async def test_own_tools_are_called_with_the_run(memory: Memory) -> None:
    """Beside memory_query: they see the state and the context, and what they raise is told to the model."""
    model = ScriptedChat(
        [
            calling("look_up_weather", city="Porto"),
            calling("look_up_weather"),
            calling("break_down", what="luck"),
            "Rain.",
        ]
    )
    state = await compiled(memory, model, tools=[look_up_weather, break_down]).say("And tomorrow?")
    results = [message for message in state["tool_messages"] if isinstance(message, ToolMessage)]
    assert [result.status for result in results] == ["success", "error", "error"]
    assert str(results[0].text) == "Rain in Porto for ana, who said 'And tomorrow?'"
    assert "city" in str(results[1].text)
    assert "no luck today" in str(results[2].text)
    assert [message.content for message in model.calls[1][0]][-1] == str(results[0].text)
    assert set(model.calls[0][1][1].parameters["properties"]) == {"city"}
    assert last(state) == "Rain."


async def test_an_own_subagent_has_its_part_of_memory_its_tools_and_its_model(memory: Memory) -> None:
    """The supervisor hands over, the subagent works with its own model, and its report comes back as a result."""
    own = ScriptedChat([calling("memory_query", query="rent"), calling("look_up_weather", city="Faro"), "Do not pay."])
    model = ScriptedChat([calling("transfer_to_lawyer", task="May they raise my rent?"), "You need not pay."])
    lawyer = Subagent(**{**vars(LAWYER), "model": own, "tools": [look_up_weather]})
    scope = Scope(owner="ana", tenant=memory.engine.settings.tenant)
    await memory.remember(scope, "The user's rent is capped", category="constraints")
    await memory.remember(scope, "The user wants a lower rent", category="goals")
    state = await compiled(memory, model, subagents=[lawyer]).say("They want more money.")
    (prompt, tools), (found, _), _ = own.calls
    assert prompt[0].content.startswith("You are a lawyer of tenants.\n\nYou get one task from the supervisor")
    assert [each.name for each in tools] == ["memory_query", "look_up_weather"]
    assert "rent is capped" in found[-1].content
    assert "lower rent" not in found[-1].content
    assert [type(message).__name__ for message in state["tool_messages"]] == [
        "AIMessage", "AIMessage", "ToolMessage", "AIMessage", "ToolMessage", "ToolMessage"
    ]  # fmt: skip
    transfer, report = state["tool_messages"][0], state["tool_messages"][-1]
    assert (report.tool_call_id, str(report.text)) == (transfer.tool_calls[0]["id"], "Do not pay.")
    assert last(state) == "You need not pay."


def test_without_a_model_the_subagents_are_drawn(memory: Memory) -> None:
    """So that Studio shows what a model would have."""
    nodes = set(build(memory).compile().get_graph().nodes)
    assert nodes >= {"supervisor", *SUBAGENTS}
    assert "lawyer" in build(memory, subagents=[LAWYER]).compile().get_graph().nodes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subagents": [Subagent(name="cook", description="food", instructions="Cook.")]}, r"open_memory\(agents="),
        ({"subagents": [Subagent(name="a cook", description="food", instructions="Cook.")]}, "'a cook' is not of"),
        ({"subagents": [LAWYER, LAWYER]}, "'lawyer' is not of .* or is taken"),
        ({"subagents": [Subagent(name="hotpath", description="x", instructions="x")]}, "is taken"),
        ({"tools": [tool("memory_query", description="x")(lambda query: query)]}, "the name of another tool"),
        ({"tools": [look_up_weather, look_up_weather]}, "the name of another tool"),
    ],
)
def test_what_cannot_be_built_is_refused(memory: Memory, given: dict[str, Any], said: str) -> None:
    """With a sentence that says what to do."""
    with pytest.raises(BadConfig, match=said):
        build(memory, ScriptedChat(["x"]), **given)
