"""One instance of an agent: made of its JSON file and the settings, opened and closed as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import StateGraph

from muniment.agent.parts import Host
from muniment.graph.hybrid import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.ports.llm import ChatModel
from muniment.nodes.hybrid.state import HybridOutput, HybridState
from muniment.nodes.state import Input, Who


class AgentRuntime:
    """An agent with what it holds open. `warnings` are for its start: one sentence each, without a secret.

    What its file says holds until it is made again: a changed file needs a restart."""
