"""What goes upstream for each kind of request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.faces.proxy.errors import BadRequest
from muniment.faces.proxy.incoming import Incoming
from muniment.faces.proxy.preparing.prepared import Prepared, describe_memory, name_model, run_beside
from muniment.faces.proxy.preparing.recall import ask_memory
from muniment.faces.proxy.preparing.responses import prepare_response
from muniment.faces.proxy.request.body import Body, RawItem, join_items, make_item
from muniment.faces.proxy.request.messages import check_messages
from muniment.faces.proxy.request.prompt import Recollection, insert_into_system, insert_into_user
from muniment.faces.proxy.service import ProxyService
from muniment.faces.proxy.upstream.collecting import read_completion, read_usage_only

_CHAT, _RESPONSES, _EMBEDDINGS = "/v1/chat/completions", "/v1/responses", "/v1/embeddings"


async def prepare_request(service: ProxyService, incoming: Incoming) -> Prepared:
    """Return what goes upstream. What is no chat and no response passes as it came. Raises Refusal."""
    path = incoming.path.rstrip("/")
    if incoming.method == "POST" and path == _CHAT:
        return await _prepare_chat(service, incoming)
    if incoming.method == "POST" and path == _RESPONSES:
        return await prepare_response(service, incoming)
    return Prepared(body=incoming.body, read=read_usage_only if path == _EMBEDDINGS else None)


async def _prepare_chat(service: ProxyService, incoming: Incoming) -> Prepared:
    body, items = await run_beside(incoming, lambda: _read_chat(incoming))
    sent = [item.value for item in items]
    placed, found, memory, window = items, Recollection(), None, None
    if incoming.privacy != "off":
        recalled = await ask_memory(service, incoming, sent)
        found, memory, window = recalled.found, recalled.memory, recalled.window
        own = {id(item.value): item for item in items}
        history = [own.get(id(message)) or make_item(message) for message in recalled.messages]
        _check_last(items, history)
        placed = _place_memories(service, incoming, history, found)

    def write_body() -> bytes:
        values = name_model(incoming, body)
        is_same = len(placed) == len(items) and all(one is other for one, other in zip(placed, items, strict=True))
        return body.build(values if is_same else values | {"messages": join_items(placed)})

    return Prepared(
        body=await run_beside(incoming, write_body),
        messages=tuple(sent),
        found=found,
        summary=describe_memory(incoming, found),
        memory=memory,
        window=window,
        read=read_completion,
    )


def _read_chat(incoming: Incoming) -> tuple[Body, Sequence[RawItem]]:
    """Return the body and its messages, checked. Raises Refusal."""
    body = Body.parse(incoming.body)
    items = body.read_list("messages")
    values: Sequence[Any] = [item.value for item in items]
    check_messages(values)
    return body, items


def _check_last(items: Sequence[RawItem], history: Sequence[RawItem]) -> None:
    """Raise BadRequest where the last message is in no valid conversation: the answer would be to another one."""
    if all(item is not items[-1] for item in history):
        problem = "answers no call of the request or the session, or calls without a result"
        raise BadRequest(f"messages[{len(items) - 1}]", problem)


def _place_memories(
    service: ProxyService, incoming: Incoming, items: Sequence[RawItem], found: Recollection
) -> Sequence[RawItem]:
    """Return the messages with the memories: behind the system prompt, or what is about this message at its end."""
    render = service.template.render_memories
    if incoming.config.memory_place == "system":
        return insert_into_system(items, render(found.lines))
    return insert_into_user(insert_into_system(items, render(found.stable)), render(found.moving))
