"""The tools of a model: `memory_query`, and for the supervisor the transfer of a task to a colleague.

The agent and the scope are bound here: nothing that a model writes can change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import starmap
from typing import Any, cast

from langchain_core.messages import ToolMessage, convert_to_messages
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import ToolNode

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.errors import BadConfig, BadInput, Denied, MunimentError
from muniment.memory.payload import (
    SEARCH_DESCRIPTION,
    build_parameters,
    build_search_parameters,
    dump_compact,
    encode_answer,
    encode_found_turns,
    fence_text,
    parse_agent_query,
    parse_turn_search,
)
from muniment.memory.ports.llm import Tool, ToolCall
from muniment.nodes.entry import report_failure
from muniment.nodes.reply_stream import ReplyStream, clean_arguments
from muniment.nodes.state import READ_EVENT, REFUSED_EVENT, State, Task

QUERY_TOOL = "memory_query"  # `memory.query`; providers allow no dot in a tool's name
SEARCH_TOOL = "memory_search_conversations"
TRANSFER_PREFIX = "transfer_to_"

_MAX_ERROR_CHARS = 1_000  # an error may quote a long text of the model
SUBAGENTS: Mapping[str, str] = {  # what each is for
    "planner": "plans, deadlines, steps to a goal",
    "stylist": "wording, tone and style of a text",
    "researcher": "what the person knows and likes",
    "executor": "carrying a task out",
}


def make_tool_node(agent: str, tools: Sequence[BaseTool | Callable[..., Any]]) -> ToolNode | None:
    """The tools of an agent beside memory's, None without any. Raises BadConfig for a name that memory's tools have."""
    if not tools:
        return None
    node = ToolNode(tools, handle_tool_errors=True)
    taken = [
        name for name in node.tools_by_name if name in (QUERY_TOOL, SEARCH_TOOL) or name.startswith(TRANSFER_PREFIX)
    ]
    if taken or len(node.tools_by_name) < len(tools):
        name = taken[0] if taken else "one"
        raise BadConfig(f"the tools of {agent}: {name!r} is the name of another tool", agent=agent)
    return node


def make_transfer_tool(agent: str, description: str) -> Tool:
    """The tool that hands a task to this subagent."""
    return Tool(
        name=f"{TRANSFER_PREFIX}{agent}",
        description=description,
        parameters={"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]},
    )


def describe_tool(tool: BaseTool) -> Tool:
    """A tool of LangChain as the model's port has it."""
    function = convert_to_openai_tool(tool)["function"]
    return Tool(
        name=function["name"],
        description=function.get("description", ""),
        parameters=function.get("parameters", {"type": "object", "properties": {}}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools of one agent in one turn."""

    memory: Memory
    settings: Settings
    scope: Scope
    agent: str
    colleagues: Mapping[str, str] = field(default_factory=dict)  # what each is for
    own: ToolNode | None = None  # other tools than memory's
    state: State = field(default_factory=State)  # of the turn, which they may read
    has_memory: bool = True  # without it there are no tools of memory
    is_wide: bool = False  # a query that names no threshold finds what is nearest, however far it is
    as_of: int | None = None  # the revision to read, None for the last one
    recalled: list[int] = field(default_factory=list)  # shingle hashes of the memories that were found
    message_id: str = ""  # of the message that is answered: part of the key of each call
    previous_time: datetime | None = None  # of the message or call before
    turns: list[Turn] = field(default_factory=list)  # the calls as turns of the ledger
    stream: ReplyStream | None = None  # shows what comes of a call

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model gets."""
        if not self.has_memory:
            return tuple(map(describe_tool, self.own.tools_by_name.values() if self.own else ()))
        query = Tool(
            name=QUERY_TOOL,
            description="Search memory for what is not at hand.",
            parameters=build_parameters(self.settings, self.agent),
        )
        own = self.own.tools_by_name.values() if self.own else ()
        if self.agent in self.settings.session_ledger.search_agents and self.as_of is None:
            parameters = build_search_parameters(self.settings.limits.top_k)
            search = Tool(name=SEARCH_TOOL, description=SEARCH_DESCRIPTION, parameters=parameters)
            return (query, search, *map(describe_tool, own), *starmap(make_transfer_tool, self.colleagues.items()))
        return (query, *map(describe_tool, own), *starmap(make_transfer_tool, self.colleagues.items()))

    def parse_task(self, call: ToolCall) -> Task | None:
        """The task that this call hands over; None for another call, or one that is not valid."""
        agent, task = call.name.removeprefix(TRANSFER_PREFIX), call.arguments.get("task")
        is_transfer = call.name.startswith(TRANSFER_PREFIX) and agent in self.colleagues
        if not is_transfer or not isinstance(task, str) or not task.strip() or len(call.arguments) > 1:
            return None
        return Task(agent=agent, task=task.replace("\x00", ""), call=call.id)

    async def run_call(self, call: ToolCall) -> str:
        """The result as a text for the model; an error is a result, too, so that the model can try again.

        Callbacks of langchain-core see the call and its result."""
        is_own = self.own is not None and call.name in self.own.tools_by_name
        text, ok = await (self._run_own(call) if is_own else self._run_traced(call))
        if self.stream:
            self.stream.show_result(call, text, ok=ok)
        return text

    async def _run_own(self, call: ToolCall) -> tuple[str, bool]:
        """The result of a tool that is not memory's, and whether it is one. What it raises is told to the model."""
        request: Any = {
            "__type": "tool_call_with_context",
            "tool_call": {"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"},
            "state": self.state,
        }
        output = await cast("ToolNode", self.own).ainvoke(request)
        (message,) = convert_to_messages(output["messages"] if isinstance(output, dict) else output)
        text, ok = str(message.text), getattr(message, "status", "success") != "error"
        self._record_call(call, text, ok=ok)
        return text, ok

    async def _run_traced(self, call: ToolCall) -> tuple[str, bool]:
        manager = get_async_callback_manager_for_config(ensure_config())
        redact = self.memory.conversation.redact
        shown = clean_arguments(call.arguments, redact)
        trace = await manager.on_tool_start(
            {"name": redact(call.name)}, dump_compact(shown), inputs=shown, tool_call_id=call.id
        )
        try:
            text = await self.execute_call(call)
        except MunimentError as error:
            text, ok = await self._explain_error(error), False
            self._record_call(call, text, ok=False)
            await trace.on_tool_error(ToolException(text), tool_call_id=call.id)
        else:
            ok = True
            await trace.on_tool_end(ToolMessage(text, tool_call_id=call.id, name=redact(call.name)))
        return text, ok

    async def _explain_error(self, error: MunimentError) -> str:
        if isinstance(error, BadInput | Denied):
            # Redacted before it is cut: half a secret is not recognized as one.
            reason = self.memory.conversation.redact(str(error))[:_MAX_ERROR_CHARS]
            if self.stream:
                self.stream.show_event(REFUSED_EVENT, reasons=[reason])
            return f"Error: {reason}"
        await report_failure(self.memory, self.scope, "context", "search", error)
        return f"Error: memory is unavailable at the moment ({type(error).__name__})."

    def _record_call(self, call: ToolCall, result: str, *, ok: bool) -> None:
        key = f"{self.message_id} {self.agent} {call.id} {len(self.turns)}"
        before, now = self.turns[-1].at if self.turns else self.previous_time, self.memory.now()
        at = max(now, before + timedelta(microseconds=1)) if before else now
        use = ToolUse(key=key, name=call.name, arguments=call.arguments, result=result, ok=ok, agent=self.agent, at=at)
        self.turns.append(self.memory.conversation.make_tool_turn(self.scope, use))

    async def execute_call(self, call: ToolCall) -> str:
        """The result as a text for the model. Raises BadInput, Denied, StoreError."""
        if call.name == QUERY_TOOL and self.has_memory:
            query = self._parse_query(call.arguments)
            answer = await self.memory.query(self.scope, self.agent, query)
            self.recalled.extend(self.memory.conversation.shingle_hashes(*(hit.memory.text for hit in answer.hits)))
            if self.stream:
                self.stream.show_event(READ_EVENT, revision=answer.rev, found=len(answer.hits))
            # The hits are in memory; the ledger gets no second copy of them.
            self._record_call(call, f"{len(answer.hits)} found", ok=True)
            return fence_text(dump_compact(encode_answer(answer, explain=query.explain)))
        if call.name == SEARCH_TOOL and any(tool.name == SEARCH_TOOL for tool in self.tools):
            return await self._search_conversations(call)
        names = ", ".join(tool.name for tool in self.tools)
        if call.name not in names.split(", "):
            raise BadInput(f"there is no tool {call.name!r}; available: {names}")
        raise BadInput(f"{call.name}: exactly one argument wanted, 'task', a text that is not empty")

    async def _search_conversations(self, call: ToolCall) -> str:
        arguments = parse_turn_search(call.arguments, SEARCH_TOOL)
        hits = await self.memory.sessions.search(self.scope, agent=self.agent, **arguments)
        self.recalled.extend(self.memory.conversation.shingle_hashes(*(hit.turn.text for hit in hits)))
        self._record_call(call, f"{len(hits)} found", ok=True)
        return fence_text(dump_compact(encode_found_turns(hits)))

    def _parse_query(self, arguments: Mapping[str, Any]) -> Query:
        # Also what a short schema leaves out: it is no mistake to know it.
        allowed = build_parameters(self.settings, self.agent, full=True)["properties"]
        if unknown := sorted(set(arguments) - set(allowed)):
            raise BadInput(f"{QUERY_TOOL}: unknown argument {unknown[0]!r}; allowed: {', '.join(allowed)}")
        query = parse_agent_query(self.settings, self.agent, arguments, threshold=0.0 if self.is_wide else None)
        return query if self.as_of is None else replace(query, as_of=Revision(self.as_of))
