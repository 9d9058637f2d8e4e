"""The tools of a run: the search in the agent's sessions, skills, and tools of LangChain, among them `memory`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from langchain_core.messages import convert_to_messages
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from muniment.agent.skills import Skill
from muniment.agent.transcript import SEARCH_TOOL, make_search_tool, search_sessions
from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.errors import BadConfig, BadInput, MunimentError
from muniment.memory.ports.llm import Tool, ToolCall
from muniment.nodes.hybrid.state import HybridState
from muniment.nodes.tools import describe_tool

SKILL_TOOL = "activate_skill"
_MAX_ERROR_CHARS = 1_000  # an error may quote a long text of the model
_TICK = timedelta(microseconds=1)  # between calls of one time, so that the ledger keeps their order


def make_tool_node(tools: Sequence[BaseTool | Callable[..., Any]]) -> ToolNode:
    """Return the tools of LangChain as one node. Raises BadConfig where two have one name."""
    node = ToolNode(tools, handle_tool_errors=True)
    taken = [name for name in node.tools_by_name if name in (SEARCH_TOOL, SKILL_TOOL)]
    if taken or len(node.tools_by_name) < len(tools):
        name = taken[0] if taken else "one"
        raise BadConfig(f"tools: {name!r} is the name of another tool")
    return node


def make_skill_tool(skills: Sequence[Skill]) -> Tool:
    """Return the tool that activates a skill for the rest of a run."""
    listed = "\n".join(f"- {skill.name}: {skill.description}" for skill in skills)
    name = {"type": "string", "enum": [skill.name for skill in skills]}
    return Tool(
        name=SKILL_TOOL,
        description=f"Activate a skill before you do what it is for. Its instructions follow.\n{listed}",
        parameters={
            "type": "object",
            "properties": {"name": name},
            "required": ["name"],
            "additionalProperties": False,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """The tools of one run. `turns` are its calls as turns of the ledger, `active` the messages of its skills."""

    memory: Memory
    scope: Scope
    given: ToolNode
    skills: Sequence[Skill]
    key: str  # of the message that is answered: part of the key of each call
    began: datetime
    hidden: Collection[TurnId] = ()  # turns of this run, which a search does not find
    state: HybridState = field(default_factory=HybridState)
    turns: list[Turn] = field(default_factory=list)
    active: list[str] = field(default_factory=list)

    def list_tools(self) -> tuple[Tool, ...]:
        """Return the tools that the model gets, the same ones in each request of a run."""
        own = [make_search_tool(), *([make_skill_tool(self.skills)] if self.skills else [])]
        return (*map(describe_tool, self.given.tools_by_name.values()), *own)

    async def run_call(self, call: ToolCall) -> tuple[str, bool]:
        """Return the result of a call as a text for the model, and whether it is no error; the model may try again."""
        if call.name in self.given.tools_by_name:
            text, ok = await self._run_given(call)
            kept = text
        else:
            try:
                text, kept, ok = *await self._run_own(call), True
            except MunimentError as error:
                text, ok = self._explain_error(error), False
                kept = text
        self._keep_call(call, kept, ok=ok)
        return text, ok

    async def _run_given(self, call: ToolCall) -> tuple[str, bool]:
        request: Any = {
            "__type": "tool_call_with_context",
            "tool_call": {"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"},
            "state": self.state,
        }
        output = await self.given.ainvoke(request)
        (message,) = convert_to_messages(output["messages"] if isinstance(output, dict) else output)
        return str(message.text), getattr(message, "status", "success") != "error"

    async def _run_own(self, call: ToolCall) -> tuple[str, str]:
        """Return the result for the model, and what the ledger keeps of it: it has what was found already."""
        if call.name == SEARCH_TOOL:
            text, count = await search_sessions(self.memory, self.scope, call.arguments, self.hidden)
            return text, f"{count} found"
        if call.name == SKILL_TOOL and self.skills:
            text = self._activate_skill(call)
            return text, text
        names = ", ".join(tool.name for tool in self.list_tools())
        raise BadInput(f"there is no tool {call.name[:100]!r}; available: {names}")

    def _activate_skill(self, call: ToolCall) -> str:
        known = {skill.name: skill for skill in self.skills}
        name = call.arguments.get("name")
        if len(call.arguments) != 1 or not isinstance(name, str) or name not in known:
            raise BadInput(f"{SKILL_TOOL}: name: allowed: {', '.join(known)}")
        if (message := known[name].message) in self.active:
            return f"{name} is active already."
        self.active.append(message)
        return f"{name} is active: its instructions stand before the conversation."

    def _explain_error(self, error: MunimentError) -> str:
        if isinstance(error, BadInput):
            # Redacted before it is cut: half a secret is not recognized as one.
            return f"Error: {self.memory.conversation.redact(str(error))[:_MAX_ERROR_CHARS]}"
        return f"Error: the sessions cannot be searched at the moment ({type(error).__name__})."

    def _keep_call(self, call: ToolCall, result: str, *, ok: bool) -> None:
        before = self.turns[-1].at if self.turns else self.began
        use = ToolUse(
            key=f"{self.key} {call.id} {len(self.turns)}",
            name=call.name,
            arguments=call.arguments,
            result=result,
            ok=ok,
            at=max(self.memory.now(), before + _TICK),
        )
        self.turns.append(self.memory.conversation.make_tool_turn(self.scope, use))
