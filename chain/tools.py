"""Tools of a plain loop: functions with type hints, their schema for a model, and what a call of one gives."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs, to_json

from muniment.chain.values import ToolCall


class ToolBox:
    """The tools that a model may call. Each is called by its name; its docstring is what the model is told of it.

    Arguments are checked against the type hints. A function that is not asynchronous runs in a thread."""

    def __init__(self, tools: Sequence[Callable[..., object]]) -> None:
        """Raises ValueError for two tools of one name, and pydantic's errors for hints that have no schema."""
        self._adapters: dict[str, TypeAdapter[Any]] = {}
        self.schemas: list[dict[str, Any]] = []  # as a request to a model has them
        for tool in tools:
            name = tool.__name__
            if name in self._adapters:
                raise ValueError(f"two tools are called {name}")
            adapter: TypeAdapter[Any] = TypeAdapter(tool)  # type: ignore[arg-type] # a function is as good as a type
            self._adapters[name] = adapter
            function = {"name": name, "description": inspect.getdoc(tool) or "", "parameters": adapter.json_schema()}
            self.schemas.append({"type": "function", "function": function})

    async def call_tool(self, call: ToolCall, fault: str | None = None) -> tuple[str, bool]:
        """Return what a tool gives as text, and whether it failed. A result that is no text is shown as JSON.

        `fault` is what is wrong with the arguments already, such as that they are no JSON."""
        adapter = self._adapters.get(call.name)
        if adapter is None:
            return f"there is no tool {call.name}", True
        if fault is not None:
            return fault, True
        try:
            return await _call_function(adapter, call.arguments), False
        except ValidationError as error:
            return _describe_arguments(error), True
        except Exception as error:  # noqa: BLE001 - the model is told, and may try otherwise
            return f"{type(error).__name__}: {error}", True


async def _call_function(adapter: TypeAdapter[Any], arguments: Mapping[str, Any]) -> str:
    result = await asyncio.to_thread(adapter.validate_python, ArgsKwargs((), dict(arguments)))
    if inspect.isawaitable(result):
        result = await result
    return result if isinstance(result, str) else to_json(result).decode()


def _describe_arguments(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found)
