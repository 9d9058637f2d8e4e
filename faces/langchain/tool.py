"""`memory_query` as a tool of LangChain: an agent of one's own reads memory as one of the agents of the settings."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from muniment.faces.langchain.identity import resolve_caller
from muniment.faces.langchain.loop import MemoryLoop, get_memory_loop
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig, BadInput, Denied, MunimentError
from muniment.memory.payload import SEARCH_DESCRIPTION, build_parameters, build_search_parameters
from muniment.memory.ports.llm import ToolCall
from muniment.nodes.entry import report_failure
from muniment.nodes.tools import QUERY_TOOL, SEARCH_TOOL, Toolbox

_DESCRIPTION = "Search long-term memory of the user for what is not at hand."
_MAX_ERROR_CHARS = 1_000


class MemoryTool(BaseTool):
    """The tool. Whose memory it reads is in no argument: the run's context or its login says it."""

    handle_tool_error: bool = True  # the model sees what was wrong with its request, and may ask again
    _memory: Memory = PrivateAttr()
    _agent: str = PrivateAttr()
    _user: str | None = PrivateAttr()
    _loop: MemoryLoop = PrivateAttr()

    def __init__(self, memory: Memory, agent: str, user: str | None, **fields: Any) -> None:
        super().__init__(**fields)
        self._memory, self._agent, self._user = memory, agent, user
        self._loop = get_memory_loop(memory)

    def _run(self, /, *, config: RunnableConfig, **arguments: Any) -> str:
        scope = self._resolve_scope(config)
        return self._loop.run_sync(lambda: self._search(scope, arguments))

    async def _arun(self, /, *, config: RunnableConfig, **arguments: Any) -> str:
        scope = self._resolve_scope(config)
        return await self._loop.run(lambda: self._search(scope, arguments))

    def _resolve_scope(self, config: RunnableConfig) -> Scope:
        try:
            return resolve_caller(self._settings, config, user=self._user)
        except BadInput as error:  # of the program that calls the agent, not of the model
            raise BadInput(f"{self.name} cannot tell {error}") from None

    @property
    def _settings(self) -> Settings:
        return self._memory.engine.settings

    async def _search(self, scope: Scope, arguments: dict[str, Any]) -> str:
        toolbox = Toolbox(memory=self._memory, settings=self._settings, scope=scope, agent=self._agent)
        try:
            return await toolbox.execute_call(ToolCall(id="", name=self.name, arguments=arguments))
        except (BadInput, Denied) as error:
            # Redacted before it is cut: half a secret is not recognized as one.
            raise ToolException(f"Error: {self._memory.conversation.redact(str(error))[:_MAX_ERROR_CHARS]}") from None
        except MunimentError as error:
            await report_failure(self._memory, scope, "context", "search", error)
            raise ToolException(f"Error: memory is unavailable at the moment ({type(error).__name__}).") from None


def memory_tool(memory: Memory, agent: str = "planner", *, user: str | None = None) -> BaseTool:
    """Return the tool `memory_query` with which a model reads what `agent` may read, within its categories alone.

    Whose memory it is says the run: `context={"user": …}`, its config, or the login of LangGraph's server. `user` names
    the one of a program that has only one. Raises BadConfig for an unknown agent."""
    settings = _check_agent(memory, agent)
    return MemoryTool(
        memory,
        agent,
        user,
        name=QUERY_TOOL,
        description=_DESCRIPTION,
        args_schema=build_parameters(settings, agent, full=True),
    )


def conversation_tool(memory: Memory, agent: str = "planner", *, user: str | None = None) -> BaseTool:
    """Return the tool `memory_search_conversations` with which a model finds what was said, word for word.

    Whose memory it is says the run, as for `memory_tool`. Raises BadConfig for an unknown agent, and for one that
    `session_ledger.search_agents` does not name."""
    settings = _check_agent(memory, agent)
    if agent not in settings.session_ledger.search_agents:
        raise BadConfig(f"{agent} may not search what was said: session_ledger.search_agents does not name it")
    return MemoryTool(
        memory,
        agent,
        user,
        name=SEARCH_TOOL,
        description=SEARCH_DESCRIPTION,
        args_schema=build_search_parameters(settings.limits.top_k),
    )


def _check_agent(memory: Memory, agent: str) -> Settings:
    settings = memory.engine.settings
    if agent not in settings.allowlists:
        known = ", ".join(sorted(settings.allowlists))
        raise BadConfig(f"there is no agent {agent!r}; allowed: {known}, and those of open_memory(agents=…)")
    return settings
