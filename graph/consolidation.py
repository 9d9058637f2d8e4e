"""The consolidation graph, wired: the steps of `Memory.consolidate`, one node each, to be watched and resumed."""

from __future__ import annotations

from functools import partial

from langgraph.graph import END, START, StateGraph

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load
from muniment.nodes import consolidation as nodes
from muniment.nodes.state import Who


def build(memory: Memory, settings: Settings) -> StateGraph[nodes.Night, Who, nodes.Ordered, nodes.Night]:
    """The graph, not compiled: the caller decides on a checkpointer. With one it goes on where a process has died."""
    graph = StateGraph(nodes.Night, context_schema=Who, input_schema=nodes.Ordered)
    for step in (nodes.begin, nodes.survey, nodes.check, nodes.apply, nodes.end):
        graph.add_node(step.__name__, partial(step, memory=memory, settings=settings))
    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", nodes.begun, ["survey", END])
    graph.add_conditional_edges("survey", nodes.left, ["check", "end"])
    graph.add_edge("check", "apply")
    graph.add_conditional_edges("apply", nodes.left, ["check", "end"])
    graph.add_edge("end", END)
    return graph


def _served() -> StateGraph[nodes.Night, Who, nodes.Ordered, nodes.Night]:
    """The graph of this process's settings. Nothing is opened: memory reaches out on first use."""
    settings = load()
    return build(bootstrap.memory(settings), settings)


builder = _served()
graph = builder.compile(name="consolidation")
