"""The parts of a streamed completion, put together to the completion that the endpoint would have sent at once."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict

_PREFIX, _END = "data:", "[DONE]"


class _ChunkPart(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)


class _Function(_ChunkPart):
    name: str | None = None
    arguments: str | None = None


class _Call(_ChunkPart):
    index: int = 0
    id: str | None = None
    function: _Function = _Function()


class _Delta(_ChunkPart):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(_ChunkPart):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _Chunk(_ChunkPart):
    model: str | None = None
    choices: list[_Choice] = []
    usage: dict[str, Any] | None = None


class StreamedParts:
    """Takes the lines of a stream of OpenAI's form, and returns the text in each."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {"content": ""}
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._model: str | None = None
        self._usage: dict[str, Any] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the stream has said why the answer ended."""
        return self._finish is not None

    def add_line(self, line: str) -> str:
        """Return the text of a line, empty for a line without one. Raises ValueError for one that cannot be read."""
        data = line.removeprefix(_PREFIX).strip()
        if not line.startswith(_PREFIX) or data == _END:
            return ""
        chunk = _Chunk.model_validate_json(data)
        self._model, self._usage = chunk.model or self._model, chunk.usage or self._usage
        if not chunk.choices:  # the last chunk has the usage alone
            return ""
        choice, delta = chunk.choices[0], chunk.choices[0].delta
        self._finish = choice.finish_reason or self._finish
        for call in delta.tool_calls or ():
            self._add_call(call)
        if delta.refusal:
            self._message["refusal"] = self._message.get("refusal", "") + delta.refusal
        self._message["content"] += delta.content or ""
        return delta.content or ""

    def join_parts(self) -> str:
        """Return the completion as JSON."""
        message = self._message | ({"tool_calls": [*self._calls.values()]} if self._calls else {})
        choice = {"message": message, "finish_reason": self._finish}
        return json.dumps({"model": self._model, "choices": [choice], "usage": self._usage})

    def _add_call(self, part: _Call) -> None:
        """Add a part of a tool call: its id and name come in the first one only."""
        call = self._calls.setdefault(part.index, {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = part.id or call["id"]
        call["function"]["name"] += part.function.name or ""
        call["function"]["arguments"] += part.function.arguments or ""
