"""The supervisor graph, wired: context, then the reply and the hot path side by side, then what comes after."""

from __future__ import annotations

from functools import partial

from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.ports.llm import ChatModel
from muniment.nodes import consent, context, episodic, hotpath, prompts, subagents, supervisor, tools, worker
from muniment.nodes.state import Input, State, Who

_SNAPSHOT_EVERY = 20  # writes of messages, three a turn: a checkpoint keeps its ancestors back to a snapshot


def build(
    memory: Memory, model: ChatModel | None, settings: Settings, *, interrupts: bool = False
) -> StateGraph[State, Who, Input, State]:
    """The graph, not compiled: the caller decides on a checkpointer. Without a model there are no subagents.

    With `interrupts` a person is asked for consent by an interrupt, else by the last line of a reply."""
    colleagues = tuple(name for name in tools.SUBAGENTS if name in settings.allowlists) if model else ()
    graph = StateGraph(State, context_schema=Who, input_schema=Input)
    if settings.checkpoints.messages == "delta":
        messages = graph.channels["messages"] = DeltaChannel(
            _messages_delta_reducer,  # type: ignore[arg-type] # what it is given is a list, as it wants
            list,
            snapshot_frequency=_SNAPSHOT_EVERY,
        )
        messages.key = "messages"
    before = partial(context.read_context, memory=memory, settings=settings)
    graph.add_node("context", before, destinations=context.NEXT)
    graph.add_node("deny", partial(context.deny_turn, settings=settings))
    graph.add_node("hotpath", partial(hotpath.learn_messages, memory=memory, settings=settings))
    reply = partial(supervisor.write_reply, memory=memory, model=model, settings=settings,
                    instructions=prompts.load_prompt("supervisor"), colleagues=colleagues)  # fmt: skip
    graph.add_node("supervisor", reply, destinations=(*colleagues, "episodic"))
    if model is not None:
        for name in colleagues:
            work = partial(subagents.run_subagent, memory=memory, model=model, settings=settings, agent=name,
                           instructions=prompts.load_prompt(name))  # fmt: skip
            graph.add_node(name, work)
            graph.add_edge(name, "supervisor")
    # Deferred: it waits for the reply, the colleagues and the hot path, whichever is last.
    graph.add_node("episodic", partial(episodic.record_turn, memory=memory, settings=settings), defer=True)
    graph.add_node("worker", partial(worker.enqueue_jobs, memory=memory, settings=settings))
    graph.add_edge(START, "context")
    graph.add_edge("hotpath", "episodic")
    graph.add_edge("episodic", "worker")
    ask = partial(consent.ask_consent, memory=memory, settings=settings, interrupts=interrupts)
    graph.add_node("consent", ask)
    graph.add_conditional_edges("worker", consent.route_consent, ["consent", END])
    graph.add_edge("consent", END)
    return graph


def _build_configured() -> StateGraph[State, Who, Input, State]:
    """The graph of this process's settings. Nothing is opened: memory and model reach out on first use."""
    settings = load_settings()
    return build(bootstrap.create_memory(settings), bootstrap.make_chat_model(settings), settings, interrupts=True)


builder = _build_configured()
graph = builder.compile(name="supervisor")
