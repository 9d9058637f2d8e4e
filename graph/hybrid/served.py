"""The graph `hybrid` of this process's settings, for LangGraph's server: `langgraph.json` names it.

The file of MUNIMENT_AGENT_CONFIG is read when this module is imported: what is wrong in it keeps the server from
starting, and a change needs a restart. Memory, model and gateway connect at their first use."""

from __future__ import annotations

import logging

from muniment.graph.hybrid.runtime import create_runtime
from muniment.memory.config.settings import load_settings

__all__ = ["builder", "graph"]

_log = logging.getLogger(__name__)
_runtime = create_runtime(load_settings())
for _warning in _runtime.warnings:
    _log.warning(_warning)
builder = _runtime.build_graph()
graph = builder.compile(name="hybrid")
