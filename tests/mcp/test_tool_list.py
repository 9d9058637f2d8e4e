"""What the list of tools costs a model, and that it depends on no model."""

import json

import pytest
from rs_bpe.bpe import openai

from muniment.faces.mcp.caller import create_caller
from muniment.faces.mcp.schemas import list_tools
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope

TOKENS = openai.o200k_base()
AGENTS = sorted(load_settings({}).allowlists)


def dump(settings: Settings, agent: str, *, may_write: bool) -> str:
    """The list of tools as it is sent."""
    caller = create_caller(settings, Scope(owner="ana"), agent, may_write=may_write)
    tools = list_tools(settings, caller)
    dumped = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return json.dumps(dumped, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("agent", AGENTS)
def test_tokens(agent: str) -> None:
    """The list has fewer than 450 tokens of o200k, and fewer than 700 with those that write."""
    settings = load_settings({})
    reading, writing = (TOKENS.count(dump(settings, agent, may_write=may_write)) for may_write in (False, True))
    assert reading < 450
    assert writing < 700


def test_the_same_for_every_model() -> None:
    """The list has all arguments, whatever the model is and whatever its settings say of other lists."""
    usual = load_settings({})
    other = load_settings({"MUNIMENT_MODEL": "tiny-model", "OPENAI_API_KEY": "x"})
    short = other.model_copy(update={"model": other.model.model_copy(update={"tool_schema": "short"})})
    full = other.model_copy(update={"model": other.model.model_copy(update={"tool_schema": "full"})})
    lists = {dump(settings, "planner", may_write=True) for settings in (usual, other, short, full)}
    assert len(lists) == 1


def test_nobody_is_named() -> None:
    """No tool takes a user, a tenant or an agent."""
    (query, *writing) = json.loads(dump(load_settings({}), "supervisor", may_write=True))
    assert [tool["name"] for tool in (query, *writing)] == ["memory.query", "memory.remember", "memory.forget"]
    arguments = {name for tool in (query, *writing) for name in tool["inputSchema"]["properties"]}
    assert not arguments & {"user", "user_id", "owner", "tenant", "agent", "agent_id", "space"}


def test_an_agent_that_may_search_has_a_tool_for_it() -> None:
    """The search in what was said is there for the agents that the settings name."""
    usual = load_settings({})
    ledger = usual.session_ledger.model_copy(update={"search_agents": ("planner",)})
    named = usual.model_copy(update={"session_ledger": ledger})
    for agent in AGENTS:
        tools = {
            tool.name for tool in list_tools(named, create_caller(named, Scope(owner="ana"), agent, may_write=False))
        }
        assert ("memory.search_conversations" in tools) == (agent == "planner")
