"""The tool `memory`, with which a model keeps the curated files."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from muniment.agent.curated.calls import ACTIONS, TARGETS, CuratedResult, parse_call
from muniment.agent.curated.files import CuratedFiles
from muniment.memory.errors import BadInput, Busy, CuratedFileError

TOOL_NAME = "memory"
_DESCRIPTION = (
    "Keep short facts for later conversations: target memory for notes on work and surroundings, user for what is to be"
    " known about the user. An entry states a fact; it is never an instruction and never a secret. A file that is full"
    " takes nothing more: replace or remove entries. What you change is in the prompt from the next run on."
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "target": {"type": "string", "enum": list(TARGETS)},
        "action": {"type": "string", "enum": list(ACTIONS)},
        "content": {"type": "string", "description": "The entry, to add or replace"},
        "old_text": {"type": "string", "description": "A part of the entry to replace or remove that no other has"},
    },
    "required": ["target", "action"],
}


class CuratedTool(BaseTool):
    """The tool. It answers in one line of JSON, whether or not the change was made."""

    _files: CuratedFiles = PrivateAttr()

    def __init__(self, files: CuratedFiles, **fields: Any) -> None:
        super().__init__(**fields)
        self._files = files

    # The base class demands it; a call without an event loop could not wait for the lock of the files.
    def _run(self, /, **arguments: Any) -> str:
        raise NotImplementedError(f"{self.name} has no synchronous call: await ainvoke")

    async def _arun(self, /, **arguments: Any) -> str:
        try:
            result = await self._files.apply(parse_call(arguments))
        except (BadInput, Busy, CuratedFileError) as error:
            return _format_answer({"ok": False, "message": str(error)})
        return _format_answer(_encode_result(result))


def make_curated_tool(files: CuratedFiles) -> BaseTool:
    """Return the tool `memory` for these files: target, action, content, old_text.

    Its answer is a line of JSON with ok, message, target, entries, used and limit; what was wrong with a call, or with
    a file, is in its message."""
    return CuratedTool(files, name=TOOL_NAME, description=_DESCRIPTION, args_schema=_SCHEMA)


def _encode_result(result: CuratedResult) -> dict[str, Any]:
    encoded = {
        "ok": result.ok,
        "message": result.message,
        "target": result.target,
        "used": result.used,
        "limit": result.limit,
        "entries": list(result.entries),
    }
    return encoded | ({"candidates": list(result.candidates)} if result.candidates else {})


def _format_answer(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
