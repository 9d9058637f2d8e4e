"""Tool calls that a model writes into its text, as small models do, and what else of a reply is not for a person."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from muniment.memory.payload import FENCE_CLOSE, FENCE_OPEN, drop_fenced_text
from muniment.memory.ports.llm import ChatMessage, ToolCall

_MAX_OBJECTS = 50  # a text with more of them is no call
_MAX_DEPTH = 3
_NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "params")
_OTHER_KEYS = frozenset({"id", "type", "call_id", "index"})
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
# What stands around a call and goes with it.
BEFORE_CALL = re.compile(
    r"(?:```\w*\s*|</?(?:tool_calls?|function_calls?|tools?)>\s*|\[/?TOOL_CALLS\]\s*|<\|[\w ]{1,30}\|>\s*|[\[,]\s*"
    r"|\b(?:tool_calls?|functions?)\s*[:=]\s*)+\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:\s*(?:```|</?(?:tool_calls?|function_calls?|tools?|function)>|\[/TOOL_CALLS\]|<\|[\w ]{1,30}\|>|[\]),;]))+",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"<parameter=(\w+)>\s*(.*?)\s*</parameter>", re.DOTALL)
CONFIDENCE = "Confidence of memory:"  # how the last line of a prompt begins, where something is asked
_BLOCK_LINE = re.compile(r"- (?:\[|\+|↑|↔|-)|Memory updates since rev ")


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """A model's text without what is not for a person, and the calls that were written into it.

    `is_broken`: a call was begun that cannot be read."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    is_broken: bool = False


def read_answer(text: str, names: AbstractSet[str], prompt: Sequence[ChatMessage]) -> WrittenAnswer:
    """Take the calls of these tools, thoughts, and repetitions of the memory blocks in the prompt out of a text."""
    rest = _THOUGHT.sub("", text)
    calls: list[ToolCall] = []
    parts: list[str] = []
    at = 0
    for start, end, call in _find_calls(rest, names):
        parts.append(rest[at:start])
        calls.append(call)
        at = end
    rest = "".join([*parts, rest[at:]])
    whole = _find_beginning(names).split(rest, maxsplit=1)[0] if names else rest
    return WrittenAnswer(_drop_echo(whole, prompt), tuple(calls), is_broken=len(whole) < len(rest))


def _find_calls(text: str, names: AbstractSet[str]) -> Iterator[tuple[int, int, ToolCall]]:
    """The calls in a text with the places where they begin and end, in their order."""
    if not any(name in text for name in names):
        return
    any_name = "|".join(map(re.escape, sorted(names)))
    before_object = re.compile(
        rf"(?:<function=|Action:\s*|functions\.|to=)?\b({any_name})\b"
        r"(?:\s*>|\s*\(|\s*\[ARGS\]|\s*\n\s*Action Input:|\s*:|\s*<\|[\w ]{1,30}\|>)?\s*(?:json)?\s*\Z"
    )
    written = re.compile(
        rf"<function=({any_name})>((?:\s*<parameter=.*?</parameter>)+)\s*</function>|^\W*?({any_name})(\([^\n]*\))\W*?$",
        re.DOTALL | re.MULTILINE,
    )
    decoder, done, found = json.JSONDecoder(strict=False), 0, 0
    for mark in re.finditer(rf"\{{|(?:{written.pattern})", text, re.DOTALL | re.MULTILINE):
        if mark.start() < done or found > _MAX_OBJECTS:
            continue
        found += 1
        start, end, pairs = mark.start(), mark.end(), list[tuple[str, dict[str, Any]]]()
        if mark.group() != "{":
            pairs = [(mark[1] or mark[3], _parse_written(mark[2], mark[4]))]
        else:
            try:
                value, end = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                continue
            pairs = list(_list_calls(value, names))
            named = None if pairs else before_object.search(text, max(0, start - 120), start)
            if named:
                pairs, start = [(named[1], value)], named.start()
        if not pairs:
            done = end
            continue
        start = lead.start() if (lead := BEFORE_CALL.search(text, done, start)) else start
        end = tail.end() if (tail := _AFTER.match(text, end)) else end
        for name, arguments in pairs:
            yield start, end, ToolCall(id=f"written_{start}", name=name, arguments=arguments)
            start = end
        done = end


def _list_calls(value: Any, names: AbstractSet[str], depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls that a JSON value is or contains, as names and arguments."""
    if isinstance(value, list):
        for item in value:
            yield from _list_calls(item, names, depth)
        return
    if not isinstance(value, Mapping) or depth > _MAX_DEPTH:
        return
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    if name in names:
        key = next((key for key in _ARGUMENT_KEYS if key in value), None)
        others = {k: v for k, v in value.items() if k not in _NAME_KEYS and k not in _OTHER_KEYS}
        yield str(name), _parse_arguments(value[key]) if key else others
    elif len(value) == 1 and next(iter(value)) in names:
        yield str(next(iter(value))), _parse_arguments(next(iter(value.values())))
    else:
        for item in value.values():
            yield from _list_calls(item, names, depth + 1)


def _parse_arguments(value: Any) -> dict[str, Any]:
    """Arguments as an object; `{}` for what is none, which the tool refuses with what it wants."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return dict(value) if isinstance(value, Mapping) else {}


def _parse_written(parameters: str | None, parentheses: str | None) -> dict[str, Any]:
    """The arguments of `<parameter=query>…</parameter>`, or of `(query="…")`."""
    if parameters is not None:
        return dict(_PARAMETER.findall(parameters))
    try:
        call = ast.parse(f"call{parentheses}", mode="eval").body
        if not isinstance(call, ast.Call):
            return {}
        if call.args:
            return _parse_arguments(ast.literal_eval(call.args[0]))
        return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}


def _find_beginning(names: AbstractSet[str]) -> re.Pattern[str]:
    """The pattern of a call that was begun, to the end of its fence or of the text."""
    any_name = "|".join(map(re.escape, sorted(names)))
    keys = "|".join(_NAME_KEYS)
    return re.compile(
        rf"(?:```\w*\s*|<tool_call>\s*|\[TOOL_CALLS\]\s*)*(?:[\[{{]\s*)+\"(?:type\"\s*:\s*\"function\"\s*,\s*\")?"
        rf"(?:{keys})\"\s*:\s*[\[{{]?\s*(?:\"name\"\s*:\s*)?\"(?:{any_name})\"[\s\S]*"
        rf"|<function=(?:{any_name})>[\s\S]*"
    )


def _drop_echo(text: str, prompt: Sequence[ChatMessage]) -> str:
    """A text without memory blocks, and without lines that stand in a block of the prompt, or at its end, word for
    word."""
    shown = {line.strip() for message in prompt for line in _list_fenced_lines(message.content)}
    kept = [line for line in drop_fenced_text(text).splitlines() if line.strip() not in shown]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _list_fenced_lines(text: str) -> Iterator[str]:
    yield from (line for line in text.splitlines()[-1:] if line.startswith(CONFIDENCE))
    for block in text.split(FENCE_OPEN)[1:]:
        yield from filter(_BLOCK_LINE.match, block.partition(FENCE_CLOSE)[0].splitlines())
