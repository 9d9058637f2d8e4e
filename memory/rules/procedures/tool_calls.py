"""Tool calls as turns of the ledger: the first line is the call, the other lines are its result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from muniment.memory.domain.turn import RecordedToolUse, ToolUse, Turn
from muniment.memory.rules.procedures.outcome import judge_outcome
from muniment.memory.rules.redaction import secret_names

OK_TAG, ERROR_TAG = "ok", "error"  # tags of a turn: the status that the tool reports
# A look into memory is no work.
MEMORY_TOOLS = frozenset({"memory_query", "memory.query", "memory_search_conversations", "memory.search_conversations"})
_CALL = re.compile(r"(?P<name>[\w.:/-]{1,80}) (?P<arguments>\{.*\})")
_NOT_IN_A_NAME = re.compile(r"[^\w.:/-]+")
_PATHS = ("path", "file_path", "filepath", "file", "filename", "url", "uri")
_VALUE, _ARGUMENTS = 300, 1_200  # characters of one argument, and of all
_RESULT_HEAD, _RESULT_TAIL = 800, 400  # an error is at the beginning or at the end


def make_tool_turn(call: ToolUse, *, session: str, thread: str | None, redact: Callable[[str], str]) -> Turn:
    """The call as a turn for the ledger. Texts are redacted before they are cut: half a secret matches no pattern."""
    arguments, result = (secret_names.redact_value(value, redact) for value in (call.arguments, call.result))
    path = call.path or next(
        (value for name in _PATHS if isinstance(value := call.arguments.get(name), str) and value), None
    )
    status = () if call.ok is None else (OK_TAG if call.ok else ERROR_TAG,)
    name = _NOT_IN_A_NAME.sub("_", redact(call.name)).strip("_")[:80] or "tool"
    return Turn.make(
        session=session,
        key=call.key,
        role="tool",
        text=f"{name} {_encode_arguments(arguments)}\n{_shorten_result(result)}".rstrip(),
        at=call.at,
        thread=thread,
        actor=call.agent,
        path=path,
        tags=(*call.tags, *status),
    )


def parse_tool_turn(turn: Turn) -> RecordedToolUse | None:
    """The call that a turn holds; None for a turn of another kind."""
    first, _, result = turn.text.partition("\n")
    call = _CALL.fullmatch(first.strip()) if turn.role == "tool" else None
    if call is None:
        return None
    try:
        arguments = json.loads(call["arguments"])
    except (ValueError, RecursionError):  # redaction may remove a quotation mark
        arguments = {}
    ok = None if not {OK_TAG, ERROR_TAG} & {*turn.tags} else ERROR_TAG not in turn.tags
    return RecordedToolUse(
        turn=turn.id,
        name=call["name"],
        arguments=arguments,
        result=_shorten_result(result),
        at=turn.at,
        ok=ok,
        agent=turn.actor,
    )


def is_work_turn(turn: Turn) -> bool:
    """Whether a turn holds a tool call that did not fail, other than a query of memory. A path may end with it."""
    use = parse_tool_turn(turn)
    return use is not None and use.name not in MEMORY_TOOLS and judge_outcome(use) != "failed"


def _encode_arguments(arguments: Mapping[str, Any]) -> str:
    """The arguments as JSON on one line, as many as fit into 1,200 characters."""
    selection: dict[str, Any] = {}
    text = "{}"
    for name, value in arguments.items():
        selection[name] = value if not isinstance(value, str) or len(value) <= _VALUE else value[: _VALUE - 1] + "…"
        encoded = json.dumps(selection, ensure_ascii=False)
        if len(encoded) > _ARGUMENTS:
            del selection[name]
        else:
            text = encoded
    return text


def _shorten_result(text: str) -> str:
    if len(text) <= _RESULT_HEAD + _RESULT_TAIL:
        return text
    return f"{text[:_RESULT_HEAD]}\n…\n{text[-_RESULT_TAIL:]}"
