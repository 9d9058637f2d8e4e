"""The supervisor graph: context, then the reply and the hot path side by side, then the end of the turn."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command

from muniment.chain.host import Host
from muniment.graph.threads.commands import ThreadCommands
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.errors import BadConfig
from muniment.memory.ports.llm import ChatModel
from muniment.nodes import consent, supervisor, turn
from muniment.nodes.chat_model import adapt_model
from muniment.nodes.entry import run_node
from muniment.nodes.prompts import build_supervisor_prompt
from muniment.nodes.state import Input, Output, State, Who
from muniment.nodes.subagents import Subagent, load_subagents, run_subagent
from muniment.nodes.tools import make_tool_node

__all__ = ["Subagent", "build", "builder", "graph", "load_subagents"]

_NODES = frozenset({"context", "deny", "hotpath", "supervisor", "episodic", "consent"})
_NAME = re.compile(r"[A-Za-z0-9_-]{1,50}")  # with `transfer_to_` the name of a tool, which may have 64
_SNAPSHOT_EVERY = 20  # writes of messages, at most three a turn: a checkpoint keeps its ancestors back to a snapshot


def build(
    memory: Memory,
    model: ChatModel | BaseChatModel | None = None,
    settings: Settings | None = None,
    *,
    interrupts: bool = False,
    instructions: str = "",
    tools: Sequence[BaseTool | Callable[..., Any]] = (),
    subagents: Sequence[Subagent] | None = None,
    host: Host | None = None,
) -> StateGraph[State, Who, Input, Output]:
    """The graph, not compiled: the caller adds a checkpointer. Without a model it replies from memory alone.

    `settings` are by default those of the memory. `instructions` say who the supervisor is, `tools` are its own beside
    `memory_query`, and `subagents` take the place of the planner, stylist, researcher and executor. With `interrupts` a
    person is asked for consent by an interrupt, else by the last line of a reply. `host` runs a chain around the turns:
    with `ThreadCommands` they have the commands of the plugin. Raises BadConfig."""
    settings = settings or memory.engine.settings
    colleagues = _choose_subagents(subagents, settings)
    graph = StateGraph(State, context_schema=Who, input_schema=Input, output_schema=Output)
    if settings.checkpoints.messages == "delta":
        graph.channels["messages"] = _make_delta_channel()

    def node(step: Callable[..., Awaitable[State | Command[Any]]], *, after: bool = False, **arguments: Any) -> Any:
        return partial(run_node, step=partial(step, memory=memory, **arguments), settings=settings, has_writes=after)

    first = partial(turn.read_context, memory=memory, settings=settings, host=host)
    graph.add_node("context", first, destinations=turn.NEXT if host is None else (*turn.NEXT, "episodic"))
    graph.add_node("deny", partial(turn.deny_turn, settings=settings))
    learn = partial(run_node, step=partial(turn.learn_messages, memory=memory), settings=settings, is_parallel=True)
    graph.add_node("hotpath", learn)
    adapted = adapt_model(model)
    described = {each.name: each.description for each in colleagues}
    own = make_tool_node("supervisor", tools)
    prompt = build_supervisor_prompt(instructions, described)
    agent: dict[str, Any] = {"settings": settings, "instructions": prompt, "model": adapted, "own": own}
    agent |= {"colleagues": described, "host": host}
    graph.add_node("supervisor", node(supervisor.write_reply, **agent), destinations=(*described, "episodic"))
    for each in colleagues:
        own = make_tool_node(each.name, each.tools)
        agent = {"settings": settings, "subagent": each, "model": adapt_model(each.model) or adapted, "own": own}
        graph.add_node(each.name, node(run_subagent, **agent))
        graph.add_edge(each.name, "supervisor")
    # Deferred: it waits for the reply, the colleagues and the hot path, whichever is last.
    end: dict[str, Any] = {"settings": settings, "interrupts": interrupts, "host": host}
    graph.add_node("episodic", node(turn.end_turn, after=True, **end), defer=True)
    graph.add_edge(START, "context")
    graph.add_edge("hotpath", "episodic")
    if interrupts:  # a step of its own: a run that goes on after an interrupt does its node again
        graph.add_node("consent", node(consent.ask_consent, after=True))
        graph.add_conditional_edges("episodic", consent.route_consent, ["consent", END])
        graph.add_edge("consent", END)
    else:
        graph.add_edge("episodic", END)
    return graph


def _make_delta_channel() -> DeltaChannel[Any]:
    channel: DeltaChannel[Any] = DeltaChannel(
        _messages_delta_reducer,  # type: ignore[arg-type] # the value is a list, as it needs
        list,
        snapshot_frequency=_SNAPSHOT_EVERY,
    )
    channel.key = "messages"
    return channel


def _choose_subagents(subagents: Sequence[Subagent] | None, settings: Settings) -> Sequence[Subagent]:
    """The subagents of a graph; of the usual ones those that have an allowlist. Raises BadConfig."""
    if subagents is None:
        return [each for each in load_subagents() if each.name in settings.allowlists]
    for number, each in enumerate(subagents):
        taken = {*_NODES, *(one.name for one in subagents[:number])}
        if not _NAME.fullmatch(each.name) or each.name in taken:
            raise BadConfig(
                f"subagents: the name {each.name!r} is not of 1 to 50 letters, digits, '_' or '-', or is taken",
                agent=each.name,
            )
        if each.name not in settings.allowlists:
            raise BadConfig(
                f"subagents: {each.name!r} has no allowlist; name what it reads: "
                f'open_memory(agents={{{each.name!r}: ["goals", …]}})',
                agent=each.name,
            )
    return subagents


def _build_configured() -> StateGraph[State, Who, Input, Output]:
    """The graph of this process's settings. Memory and model connect at their first use."""
    memory = bootstrap.create_memory(load_settings())
    host = Host([ThreadCommands(memory)]) if memory.engine.settings.plugin.enabled else None
    return build(memory, memory.engine.model, interrupts=True, host=host)


builder = _build_configured()
graph = builder.compile(name="supervisor")
