"""A request for a response: memory stands in its `input`, and the session before it where no history is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muniment.faces.proxy.errors import BadRequest
from muniment.faces.proxy.incoming import Incoming
from muniment.faces.proxy.preparing.prepared import Prepared, describe_memory, name_model, run_beside
from muniment.faces.proxy.preparing.recall import ask_memory
from muniment.faces.proxy.request.body import Body, RawItem, join_items, make_item
from muniment.faces.proxy.request.messages import SYSTEM_ROLES
from muniment.faces.proxy.request.prompt import Recollection, insert_into_user
from muniment.faces.proxy.service import ProxyService
from muniment.faces.proxy.upstream.collecting import read_response

_TEXT_PART = "input_text"
_HISTORY_ELSEWHERE = ("previous_response_id", "conversation")


async def prepare_response(service: ProxyService, incoming: Incoming) -> Prepared:
    """Return what goes upstream for a request for a response. Raises Refusal."""
    body, items = await run_beside(incoming, lambda: _read_items(incoming))
    sent = [_make_message(item.value) for item in items]
    placed, found, memory, window = items, Recollection(), None, None
    if incoming.privacy != "off":
        is_whole = bool(items) and not any(body.get_value(key) for key in _HISTORY_ELSEWHERE)
        recalled = await ask_memory(service, incoming, sent, with_history=is_whole)
        found, memory, window = recalled.found, recalled.memory, recalled.window
        placed = _insert_history(items, sent, recalled.messages)
        placed = insert_into_user(placed, service.template.render_memories(found.lines), _TEXT_PART)

    def write_body() -> bytes:
        values = name_model(incoming, body)
        is_same = len(placed) == len(items) and all(one is other for one, other in zip(placed, items, strict=True))
        return body.build(values if is_same else values | {"input": join_items(placed)})

    return Prepared(
        body=await run_beside(incoming, write_body),
        messages=tuple(message for message in sent if message),
        found=found,
        summary=describe_memory(incoming, found),
        memory=memory,
        window=window,
        read=read_response,
    )


def _read_items(incoming: Incoming) -> tuple[Body, Sequence[RawItem]]:
    """Return the body and the items of its input; a text is a message of the user. Raises Refusal."""
    body = Body.parse(incoming.body)
    given = body.get_value("input")
    if isinstance(given, str):
        return body, [make_item({"role": "user", "content": given})]
    if given is None:
        return body, []  # of a prompt that is kept elsewhere
    items = body.read_list("input")
    for number, item in enumerate(items):
        if not isinstance(item.value, Mapping):
            raise BadRequest(f"input[{number}]", "is no item; an object is wanted")
    return body, items


def _make_message(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item as a message of a chat; empty where it is none, such as thoughts."""
    kind = item.get("type", "message")
    if kind == "message" and isinstance(item.get("role"), str):
        return {"role": item["role"], "content": item.get("content")}
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": item.get("call_id"), "type": "function", "function": function}],
        }
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    return {}


def _insert_history(
    items: Sequence[RawItem], sent: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]
) -> Sequence[RawItem]:
    """Return the items with those messages before them that are none of the client's, behind its system prompts."""
    own = {id(message) for message in sent}
    fresh = [make_item(item) for message in messages if id(message) not in own for item in _make_items(message)]
    begin = 0
    while begin < len(sent) and sent[begin].get("role") in SYSTEM_ROLES:
        begin += 1
    return [*items[:begin], *fresh, *items[begin:]] if fresh else items


def _make_items(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a message of a chat as items."""
    if message.get("role") == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.get("tool_call_id"),
            "output": message.get("content") or "",
        }
        return
    if message.get("content"):
        yield {"role": message.get("role"), "content": message["content"]}
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield {
            "type": "function_call",
            "call_id": call.get("id"),
            "name": function.get("name", ""),
            "arguments": function.get("arguments", ""),
        }
