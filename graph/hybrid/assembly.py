"""The graph `hybrid`: an agent with curated files, and a gateway beside them where its configuration names one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from muniment.agent.parts import Host
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.ports.llm import ChatModel
from muniment.nodes.chat_model import adapt_model
from muniment.nodes.hybrid import run
from muniment.nodes.hybrid.offline import OfflineModel
from muniment.nodes.hybrid.state import HybridOutput, HybridState
from muniment.nodes.hybrid.toolbox import make_tool_node
from muniment.nodes.state import Input, Who

_STEPS = (("begin", run.begin_run), ("recall", run.recall_memory), ("persist", run.persist_run))


def build_agent(
    memory: Memory,
    host: Host,
    model: ChatModel | BaseChatModel | None = None,
    settings: Settings | None = None,
    *,
    tools: Sequence[BaseTool | Callable[..., Any]] = (),
) -> StateGraph[HybridState, Who, Input, HybridOutput]:
    """The graph, not compiled: the caller adds a checkpointer. Without a model it only says what was recalled.

    The tools of the agent are those given, the first of them `memory`, and its own: the search in its sessions and the
    activation of skills. A model that fails ends a run with ModelError: then the gateway gets nothing. Raises
    BadConfig."""
    settings = settings or memory.engine.settings
    graph = StateGraph(HybridState, context_schema=Who, input_schema=Input, output_schema=HybridOutput)
    shared: dict[str, Any] = {"memory": memory, "settings": settings, "host": host}
    for name, step in _STEPS:
        graph.add_node(name, partial(step, **shared))
    adapted = cast("BaseChatModel", adapt_model(model or OfflineModel()))  # None is for None alone
    graph.add_node("reply", partial(run.write_reply, **shared, model=adapted, tools=make_tool_node(tools)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "recall")
    graph.add_edge("recall", "reply")
    graph.add_edge("reply", "persist")
    graph.add_edge("persist", END)
    return graph
