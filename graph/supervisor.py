"""The supervisor graph: context, then the reply and the hot path side by side, then the end of the turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.ports.llm import ChatModel
from muniment.nodes import consent, prompts, subagents, supervisor, tools, turn
from muniment.nodes.chat_model import adapt_model
from muniment.nodes.entry import run_node
from muniment.nodes.state import Input, Output, State, Who

_SNAPSHOT_EVERY = 20  # writes of messages, at most three a turn: a checkpoint keeps its ancestors back to a snapshot


def build(
    memory: Memory, model: ChatModel | BaseChatModel | None, settings: Settings, *, interrupts: bool = False
) -> StateGraph[State, Who, Input, Output]:
    """The graph, not compiled: the caller adds a checkpointer. Without a model there are no subagents.

    With `interrupts` a person is asked for consent by an interrupt, else by the last line of a reply."""
    colleagues = tuple(name for name in tools.SUBAGENTS if name in settings.allowlists) if model else ()
    graph = StateGraph(State, context_schema=Who, input_schema=Input, output_schema=Output)
    if settings.checkpoints.messages == "delta":
        messages = graph.channels["messages"] = DeltaChannel(
            _messages_delta_reducer,  # type: ignore[arg-type] # the value is a list, as it needs
            list,
            snapshot_frequency=_SNAPSHOT_EVERY,
        )
        messages.key = "messages"

    def node(step: Callable[..., Awaitable[State | Command[Any]]], *, after: bool = False, **arguments: Any) -> Any:
        return partial(run_node, step=partial(step, memory=memory, **arguments), settings=settings, has_writes=after)

    first = partial(turn.read_context, memory=memory, settings=settings)
    graph.add_node("context", first, destinations=turn.NEXT)
    graph.add_node("deny", partial(turn.deny_turn, settings=settings))
    learn = partial(turn.learn_messages, memory=memory)
    graph.add_node("hotpath", partial(run_node, step=learn, settings=settings, is_parallel=True))
    agents: dict[str, Any] = {"model": adapt_model(model), "settings": settings}
    instructions = prompts.load_prompt("supervisor")
    reply = node(supervisor.write_reply, **agents, instructions=instructions, colleagues=colleagues)
    graph.add_node("supervisor", reply, destinations=(*colleagues, "episodic"))
    for name in colleagues:
        work = node(subagents.run_subagent, **agents, agent=name, instructions=prompts.load_prompt(name))
        graph.add_node(name, work)
        graph.add_edge(name, "supervisor")
    # Deferred: it waits for the reply, the colleagues and the hot path, whichever is last.
    graph.add_node("episodic", node(turn.end_turn, after=True, settings=settings, interrupts=interrupts), defer=True)
    graph.add_edge(START, "context")
    graph.add_edge("hotpath", "episodic")
    if interrupts:  # a step of its own: a run that goes on after an interrupt does its node again
        graph.add_node("consent", node(consent.ask_consent, after=True))
        graph.add_conditional_edges("episodic", consent.route_consent, ["consent", END])
        graph.add_edge("consent", END)
    else:
        graph.add_edge("episodic", END)
    return graph


def _build_configured() -> StateGraph[State, Who, Input, Output]:
    """The graph of this process's settings. Memory and model connect at their first use."""
    settings = load_settings()
    return build(bootstrap.create_memory(settings), bootstrap.make_chat_model(settings), settings, interrupts=True)


builder = _build_configured()
graph = builder.compile(name="supervisor")
