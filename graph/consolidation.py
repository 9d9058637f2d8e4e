"""The consolidation graph: the steps of a consolidation, one node each, so that it can be watched and resumed."""

from __future__ import annotations

from functools import partial

from langgraph.graph import END, START, StateGraph

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.nodes import consolidation
from muniment.nodes.state import Who


def build(
    memory: Memory, settings: Settings
) -> StateGraph[
    consolidation.ConsolidationState, Who, consolidation.ConsolidationInput, consolidation.ConsolidationState
]:
    """The graph, not compiled: the caller adds a checkpointer. With one, a run goes on where its process ended."""
    graph = StateGraph(
        consolidation.ConsolidationState, context_schema=Who, input_schema=consolidation.ConsolidationInput
    )
    for step in (
        consolidation.begin,
        consolidation.survey,
        consolidation.check,
        consolidation.apply,
        consolidation.end,
    ):
        graph.add_node(step.__name__, partial(step, memory=memory, settings=settings))
    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", consolidation.route_after_begin, ["survey", END])
    graph.add_conditional_edges("survey", consolidation.route_after_step, ["check", "end"])
    graph.add_edge("check", "apply")
    graph.add_conditional_edges("apply", consolidation.route_after_step, ["check", "end"])
    graph.add_edge("end", END)
    return graph


def _build_configured() -> StateGraph[
    consolidation.ConsolidationState, Who, consolidation.ConsolidationInput, consolidation.ConsolidationState
]:
    """The graph of this process's settings. Memory connects at its first use."""
    memory = bootstrap.create_memory(load_settings())
    return build(memory, memory.engine.settings)


builder = _build_configured()
graph = builder.compile(name="consolidation")
