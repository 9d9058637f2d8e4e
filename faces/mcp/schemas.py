"""The tools as a client sees them. The list depends on the agent and on whether it may write, on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import Tool, ToolAnnotations

from muniment.faces.mcp.caller import Caller
from muniment.memory.config.settings import Settings
from muniment.memory.payload import SEARCH_DESCRIPTION, build_parameters, build_search_parameters

QUERY, REMEMBER, FORGET = "memory.query", "memory.remember", "memory.forget"
SEARCH = "memory.search_conversations"
_AS_OF = {"type": "string", "description": "As it was then: an ISO date or time, or a revision"}
_ANSWER: Mapping[str, Any] = {
    "type": "object",
    "properties": {"rev": {"type": "integer"}, "results": {"type": "array", "items": {"type": "object"}}},
    "required": ["rev", "results"],
}
_FOUND: Mapping[str, Any] = {
    "type": "object",
    "properties": {"results": {"type": "array", "items": {"type": "object"}}},
    "required": ["results"],
}
_RECEIPT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"written": {"type": "boolean"}, "changes": {"type": "array", "items": {"type": "object"}}},
    "required": ["written"],
}


def list_tools(settings: Settings, caller: Caller) -> list[Tool]:
    """Return the tools that a caller has."""
    parameters = build_parameters(settings, caller.agent, full=True)
    query = Tool(
        name=QUERY,
        description="Search the user's long-term memory for what is not at hand.",
        input_schema=parameters | {"properties": parameters["properties"] | {"as_of": _AS_OF}},
        output_schema=dict(_ANSWER),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )
    reading = [query]
    if caller.agent in settings.session_ledger.search_agents:
        search = Tool(
            name=SEARCH,
            description=SEARCH_DESCRIPTION,
            input_schema=build_search_parameters(settings.limits.top_k),
            output_schema=dict(_FOUND),
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        reading.append(search)
    return [*reading, *_WRITING] if caller.may_write else reading


def _make_writing_tool(name: str, description: str, argument: str, help_text: str, *, is_destructive: bool) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": {argument: {"type": "string", "description": help_text}},
            "required": [argument],
            "additionalProperties": False,
        },
        output_schema=dict(_RECEIPT),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=is_destructive, idempotent_hint=True, open_world_hint=False
        ),
    )


_WRITING = (
    _make_writing_tool(
        REMEMBER,
        "Keep what the user said or decided. The user is asked first.",
        "text",
        "One statement in the user's words, as “I live in Rome”",
        is_destructive=False,
    ),
    _make_writing_tool(
        FORGET,
        "Forget one memory; it can be restored for a while. The user is asked first.",
        "id",
        f"From a result of {QUERY}",
        is_destructive=True,
    ),
)
