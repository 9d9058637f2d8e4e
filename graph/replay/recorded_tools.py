"""The tools of a turn as its replay has them: the definitions are the same, and the results are the recorded ones."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolNode

from muniment.memory.domain.layers.bisection import WentAnotherWay
from muniment.memory.domain.turn import Turn
from muniment.nodes.reply_stream import clean_arguments
from muniment.nodes.tools import QUERY_TOOL, SEARCH_TOOL, TRANSFER_PREFIX, describe_tool

_SHOWN_CHARS = 200  # of a call that was not recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedUse:
    """A call of a tool in a turn, by which agent, with its arguments without secrets, and its result."""

    agent: str
    name: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(slots=True)
class RecordedTools:
    """The calls of a turn. Equal calls have their results in the order of the turn; after the last one it is said
    again."""

    uses: Sequence[RecordedUse]
    redact: Callable[[str], str]
    _given: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def begin_reply(self) -> None:
        """Begin anew with the first result of each call."""
        self._given.clear()

    def make_node(self, agent: str, tools: Sequence[BaseTool | Callable[..., Any]]) -> ToolNode | None:
        """Return the tools of an agent, none of which runs; one that it called and that is not among `tools` takes any
        arguments. None without any."""
        known = ToolNode(tools).tools_by_name.values() if tools else ()
        described = [describe_tool(tool) for tool in known]
        names = {each.name for each in described}
        made = [self._make_tool(each.name, each.description, dict(each.parameters)) for each in described]
        others = dict.fromkeys(use.name for use in self.uses if use.agent == agent and use.name not in names)
        made += [self._make_tool(name, "A tool of this turn.", self._guess_parameters(name)) for name in others]
        return ToolNode(made, handle_tool_errors=False) if made else None

    def list_keys(self) -> list[str]:
        """Return the calls and their results, on which a reply depends."""
        return [f"{use.agent} {_make_key(use.name, use.arguments)} {use.result}" for use in self.uses]

    def find_result(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the recorded result of a call. Raises WentAnotherWay for one that was not made."""
        cleaned = clean_arguments(dict(arguments), self.redact)
        key = _make_key(name, cleaned)
        results = [use.result for use in self.uses if _make_key(use.name, use.arguments) == key]
        if not results:
            raise WentAnotherWay(f"It went another way: the turn has no call of {key[:_SHOWN_CHARS]}.")
        number = self._given[key]
        self._given[key] = number + 1
        return results[min(number, len(results) - 1)]

    def _make_tool(self, name: str, description: str, parameters: dict[str, Any]) -> StructuredTool:
        async def answer(**arguments: Any) -> str:
            return self.find_result(name, arguments)

        return StructuredTool(name=name, description=description, args_schema=parameters, coroutine=answer)

    def _guess_parameters(self, name: str) -> dict[str, Any]:
        arguments = dict.fromkeys(key for use in self.uses if use.name == name for key in use.arguments)
        return {"type": "object", "properties": {key: {} for key in arguments}}


def list_uses(messages: Sequence[AnyMessage], turns: Sequence[Turn]) -> list[RecordedUse]:
    """Return the calls of tools in a turn, without those of memory and of colleagues: from its messages, else from the
    ledger, where long results are shortened."""
    return [*_read_messages(messages)] or [*_read_turns(turns)]


def _read_messages(messages: Sequence[AnyMessage]) -> Iterator[RecordedUse]:
    results = {each.tool_call_id: str(each.text) for each in messages if isinstance(each, ToolMessage)}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            if _is_own(call["name"]) and call["id"] in results:
                agent = message.name or ""
                yield RecordedUse(agent=agent, name=call["name"], arguments=call["args"], result=results[call["id"]])


def _read_turns(turns: Sequence[Turn]) -> Iterator[RecordedUse]:
    for turn in turns:
        call = parse_call(turn)
        if call is not None and _is_own(call[0]):
            result = turn.text.partition("\n")[2]
            yield RecordedUse(agent=turn.actor or "", name=call[0], arguments=call[1], result=result)


def parse_call(turn: Turn) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the arguments of the call that a turn of the ledger holds; None for a turn without one, and
    where the arguments were cut."""
    name, _, written = turn.text.partition("\n")[0].partition(" ")
    if turn.role != "tool" or not name:
        return None
    try:
        arguments = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return None
    return (name, arguments) if isinstance(arguments, dict) else None


def _is_own(name: str) -> bool:
    return name not in (QUERY_TOOL, SEARCH_TOOL) and not name.startswith(TRANSFER_PREFIX)


def _make_key(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)}"
