"""The tools of a model: `memory_query`, and for the supervisor the transfer of a task to a colleague.

The agent and the scope are bound here: nothing that a model writes can change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.errors import BadInput, Denied, MunimentError
from muniment.memory.payload import build_parameters, dump_compact, encode_answer, fence_text
from muniment.memory.ports.llm import Tool, ToolCall
from muniment.nodes.entry import report_failure
from muniment.nodes.state import Task

QUERY_TOOL = "memory_query"  # `memory.query`; providers allow no dot in a tool's name
TRANSFER_PREFIX = "transfer_to_"

_MAX_ERROR_CHARS = 1_000  # an error may quote a long text of the model
_COLLEAGUES = {
    "planner": "plans, deadlines, steps to a goal",
    "stylist": "wording, tone and style of a text",
    "researcher": "what the person knows and likes",
    "executor": "carrying a task out",
}
SUBAGENTS = tuple(_COLLEAGUES)


def make_transfer_tool(agent: str) -> Tool:
    """The tool that hands a task to this subagent."""
    return Tool(
        name=f"{TRANSFER_PREFIX}{agent}",
        description=_COLLEAGUES[agent],
        parameters={"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools of one agent in one turn."""

    memory: Memory
    settings: Settings
    scope: Scope
    agent: str
    colleagues: tuple[str, ...] = ()
    as_of: int | None = None  # the revision to read, None for the last one
    recalled: list[int] = field(default_factory=list)  # shingle hashes of the memories that were found
    message_id: str = ""  # of the message that is answered: part of the key of each call
    previous_time: datetime | None = None  # of the message or call before
    turns: list[Turn] = field(default_factory=list)  # the calls as turns of the ledger

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model gets."""
        query = Tool(
            name=QUERY_TOOL,
            description="Search memory for what is not at hand.",
            parameters=build_parameters(self.settings, self.agent),
        )
        return (query, *map(make_transfer_tool, self.colleagues))

    def parse_task(self, call: ToolCall) -> Task | None:
        """The task that this call hands over; None for another call, or one that is not valid."""
        agent, task = call.name.removeprefix(TRANSFER_PREFIX), call.arguments.get("task")
        is_transfer = call.name.startswith(TRANSFER_PREFIX) and agent in self.colleagues
        if not is_transfer or not isinstance(task, str) or not task.strip() or len(call.arguments) > 1:
            return None
        return Task(agent=agent, task=task.replace("\x00", ""))

    async def run_call(self, call: ToolCall) -> str:
        """The result as a text for the model; an error is a result, too, so that the model can try again."""
        try:
            text = await self.execute_call(call)
        except (BadInput, Denied) as error:
            # Redacted before it is cut: half a secret is not recognized as one.
            text = f"Error: {self.memory.conversation.redact(str(error))[:_MAX_ERROR_CHARS]}"
            self._record_call(call, text, ok=False)
        except MunimentError as error:
            await report_failure(self.memory, self.scope, "context", "search", error)
            text = f"Error: memory is unavailable at the moment ({type(error).__name__})."
            self._record_call(call, text, ok=False)
        return text

    def _record_call(self, call: ToolCall, result: str, *, ok: bool) -> None:
        key = f"{self.message_id} {self.agent} {call.id} {len(self.turns)}"
        before, now = self.turns[-1].at if self.turns else self.previous_time, self.memory.now()
        at = max(now, before + timedelta(microseconds=1)) if before else now
        use = ToolUse(key=key, name=call.name, arguments=call.arguments, result=result, ok=ok, agent=self.agent, at=at)
        self.turns.append(self.memory.conversation.make_tool_turn(self.scope, use))

    async def execute_call(self, call: ToolCall) -> str:
        """The result as a text for the model. Raises BadInput, Denied, StoreError."""
        if call.name == QUERY_TOOL:
            query = self._parse_query(call.arguments)
            answer = await self.memory.query(self.scope, self.agent, query)
            self.recalled.extend(self.memory.conversation.shingle_hashes(*(hit.memory.text for hit in answer.hits)))
            # The hits are in memory; the ledger gets no second copy of them.
            self._record_call(call, f"{len(answer.hits)} found", ok=True)
            return fence_text(dump_compact(encode_answer(answer, explain=query.explain)))
        names = ", ".join(tool.name for tool in self.tools)
        if call.name not in names.split(", "):
            raise BadInput(f"there is no tool {call.name!r}; available: {names}")
        raise BadInput(f"{call.name}: exactly one argument wanted, 'task', a text that is not empty")

    def _parse_query(self, arguments: Mapping[str, Any]) -> Query:
        # Also what a short schema leaves out: it is no mistake to know it.
        allowed = build_parameters(self.settings, self.agent, full=True)["properties"]
        if unknown := sorted(set(arguments) - set(allowed)):
            raise BadInput(f"{QUERY_TOOL}: unknown argument {unknown[0]!r}; allowed: {', '.join(allowed)}")
        recall = self.settings.recall
        query = codec.parse_query(arguments, Query(text="", top_k=recall.top_k, budget_tokens=recall.budget_tokens))
        return query if self.as_of is None else replace(query, as_of=Revision(self.as_of))
