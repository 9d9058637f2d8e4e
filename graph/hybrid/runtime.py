"""One instance of an agent: made of its JSON file and the settings, opened and closed as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from langchain_core.tools import BaseTool
from langgraph.graph import StateGraph

from muniment.agent.config import AgentConfig, load_agent_config
from muniment.agent.curated.files import make_curated_files
from muniment.agent.curated.tool import make_curated_tool
from muniment.agent.gateway_service import GatewayService, open_gateway_service
from muniment.agent.parts import Host
from muniment.graph.hybrid.assembly import build_agent
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.ports.llm import ChatModel
from muniment.nodes.hybrid.state import HybridOutput, HybridState
from muniment.nodes.state import Input, Who

_SET_UP = 'write its "memory" section into the file of --config or MUNIMENT_AGENT_CONFIG, or "mode": "curated"'


class AgentRuntime:
    """An agent with what it holds open: enter it, build its graph, leave it. Nothing is opened before it is used.

    What its file says holds until it is made again: a changed file needs a restart. `warnings` are for its start."""

    def __init__(
        self,
        settings: Settings,
        config: AgentConfig,
        *,
        memory: Memory | None = None,
        tools: Sequence[BaseTool | Callable[..., Any]] = (),
    ) -> None:
        model = make_agent_model(settings, config)
        self.warnings = config.memory.warnings
        self.memory = memory or bootstrap.create_memory(settings, model=model)
        self.settings = self.memory.engine.settings
        self._is_own, self._model = memory is None, model
        section, agent = config.memory.gateway, config.agent
        self._gateway = bootstrap.create_gateway(section) if section else None
        files = make_curated_files(settings, agent.curated_folder)
        self._tools = (make_curated_tool(files), *tools)
        self.host = Host(
            curated=files,
            gateway=GatewayService(self._gateway, section) if self._gateway and section else None,
            user=agent.user,
            instructions=agent.instructions,
            skills=agent.skills,
            tool_limit=agent.tool_limit,
        )

    async def __aenter__(self) -> Self:
        await self.memory.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._gateway is not None:
            await self._gateway.close()
        if self._is_own:
            await self.memory.close()
        elif self._model is not None:
            await self._model.close()

    def build_graph(self) -> StateGraph[HybridState, Who, Input, HybridOutput]:
        """The graph, not compiled: the caller adds a checkpointer."""
        return build_agent(self.memory, self.host, self._model, self.settings, tools=self._tools)


def create_runtime(
    settings: Settings,
    path: Path | None = None,
    *,
    memory: Memory | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] = (),
) -> AgentRuntime:
    """The agent of a JSON file, or else of MUNIMENT_AGENT_CONFIG; without either it has its curated files alone.

    A given `memory` keeps its sessions, and is not closed with it; `tools` come after `memory`. Raises BadConfig."""
    return AgentRuntime(settings, load_agent_config(path or settings.agent_config), memory=memory, tools=tools)


def make_agent_model(settings: Settings, config: AgentConfig) -> ChatModel | None:
    """The model of an agent: of its file, or else of the environment; None for none."""
    chosen = config.agent.model
    named = {"chat_model": chosen.name, "base_url": chosen.base_url}
    own = {key: value for key, value in named.items() if value is not None}
    return bootstrap.make_chat_model(settings.model_copy(update=own) if own else settings)


async def read_status(settings: Settings, path: Path | None = None) -> dict[str, Any]:
    """What memories the agent of a JSON file has, and whether its gateway answers; no key. Raises BadConfig."""
    config = load_agent_config(path or settings.agent_config)
    memory, agent = config.memory, config.agent
    files = make_curated_files(settings, agent.curated_folder)
    status: dict[str, Any] = {
        "mode": memory.mode,
        "chosen": "explicit" if memory.explicit else "implicit",
        "curated": str(files.folder),
        "gateway": _describe_gateway(config),
        "degraded": memory.degraded,
        "hint": _SET_UP if memory.degraded else None,
    }
    if (section := memory.gateway) is not None:
        async with open_gateway_service(memory) as service:
            is_reachable = service is not None and await service.check_reachable()
        status |= {
            "address": section.base_url,
            "reachable": "yes" if is_reachable else "no",
            "gateway_user": section.user_id,
            "app": section.app_id,
            "project": section.project_id,
            "scope": list(section.scope),
            "top_k": section.top_k,
            "timeout_seconds": section.timeout_seconds,
        }
    status |= {
        "user": agent.user,
        "model": agent.model.name or settings.chat_model or "none",
        "skills": [skill.name for skill in agent.skills],
        "tool_limit": agent.tool_limit,
    }
    return status


def _describe_gateway(config: AgentConfig) -> str:
    if config.memory.gateway is not None:
        return "on"
    return "degraded" if config.memory.degraded else "off"
