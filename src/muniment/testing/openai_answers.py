"""Answers of the scripted server: completions, responses and embeddings, whole and as streams of events."""

from __future__ import annotations

import base64
import json
import re
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

_JSON = (("content-type", "application/json"),)
_EVENTS = (("content-type", "text/event-stream"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as it goes out, byte by byte.

    `headers` are sent in their order, odd and repeated ones too. A `body` of bytes is sent with its length, a sequence
    of bytes as chunks, with `pace` seconds before each but the first. After `cut` bytes of the body the connection is
    closed; where the answer is `silent` it stays open instead, and nothing more comes.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = _JSON
    body: bytes | tuple[bytes, ...] = b""
    pace: float = 0.0
    cut: int | None = None
    silent: bool = False


Reply: TypeAlias = str | dict[str, Any] | Answer


def build_answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer of JSON, with `headers` beside its own."""
    text = json.dumps(value, ensure_ascii=False).encode()
    return Answer(status=status, headers=(*_JSON, *(headers or {}).items()), body=text)


def build_completion(replies: Sequence[str | dict[str, Any]], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the completion that answers a chat with this body, a choice for each reply."""
    choices = []
    for index, reply in enumerate(replies):
        message: dict[str, Any] = {"content": reply} if isinstance(reply, str) else dict(reply)
        finish = message.pop("finish_reason", "tool_calls" if message.get("tool_calls") else "stop")
        choices.append({"index": index, "message": {"role": "assistant", **message}, "finish_reason": finish})
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "scripted"),
        "choices": choices,
        "usage": _count_usage(body.get("messages", ()), choices),
    }


def stream_completion(completion: Mapping[str, Any], body: Mapping[str, Any], pace: float = 0.0) -> Answer:
    """Return a completion as a stream, choice beside choice; with its usage last where the body asks for it."""
    with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    base = {key: completion[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    empty = {"usage": None} if with_usage else {}
    rows = zip_longest(*(list(_split_choice(choice)) for choice in completion["choices"]))
    chunks = [{**base, "choices": [part], **empty} for row in rows for part in row if part is not None]
    if with_usage:
        chunks.append({**base, "choices": [], "usage": completion["usage"]})
    events = tuple(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n" for chunk in chunks)
    return Answer(headers=_EVENTS, body=(*events, b"data: [DONE]\n\n"), pace=pace)


def _split_choice(choice: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a choice in parts: the role, one part per word of what was thought and said, each tool call in three, and
    the finish reason."""
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": word} for word in _split_words(message.get("reasoning_content"))]
    deltas += [{"content": word} for word in _split_words(message.get("content"))]
    if refusal := message.get("refusal"):
        deltas.append({"refusal": refusal})
    calls = message.get("tool_calls") or ()
    # Calls are begun one after the other, and their arguments come in turns, as those of parallel calls may.
    for index, call in enumerate(calls):
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]})
    halves = [call["function"]["arguments"] for call in calls]
    for part in (slice(None, 5), slice(5, None)):
        for index, text in enumerate(halves):
            if text[part]:
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": text[part]}}]})
    for delta in deltas:
        yield {"index": choice["index"], "delta": delta, "finish_reason": None}
    yield {"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]}


def build_response(reply: str | dict[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response that answers a request to `/v1/responses` with this body."""
    message: dict[str, Any] = {"content": reply} if isinstance(reply, str) else reply
    output: list[dict[str, Any]] = []
    if thought := message.get("reasoning_content"):
        summary = [{"type": "summary_text", "text": thought}]
        output.append({"type": "reasoning", "id": "rs_scripted", "summary": summary})
    finished = {"status": "completed"}
    if text := message.get("content"):
        parts = [{"type": "output_text", "text": text, "annotations": []}]
        output.append({"type": "message", "id": "msg_scripted", "role": "assistant", "content": parts, **finished})
    output += [
        {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], **call["function"], **finished}
        for call in message.get("tool_calls") or ()
    ]
    given = body.get("input") or ""
    usage = _count_usage([{"content": given}] if isinstance(given, str) else given, output)
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "model": body.get("model", "scripted"),
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        },
    }


def stream_response(response: Mapping[str, Any], pace: float = 0.0) -> Answer:
    """Return a response as a stream of numbered events; nothing stands behind the last, which has all of it."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
    ]
    for index, item in enumerate(response["output"]):
        events += _split_item(index, item)
    events.append(("response.completed", {"response": response}))
    lines = [
        f"event: {name}\ndata: {json.dumps({'type': name, 'sequence_number': number, **data}, ensure_ascii=False)}\n\n"
        for number, (name, data) in enumerate(events)
    ]
    return Answer(headers=_EVENTS, body=tuple(line.encode() for line in lines), pace=pace)


def _split_item(index: int, item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of one item of a response."""
    place = {"output_index": index, "item_id": item["id"]}
    if item["type"] == "message":
        part = item["content"][0]
        place |= {"content_index": 0}
        yield _name_item("added", index, {**item, "status": "in_progress", "content": []})
        yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
        for word in _split_words(part["text"]):
            yield "response.output_text.delta", {**place, "delta": word, "logprobs": []}
        yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
        yield "response.content_part.done", {**place, "part": part}
    elif item["type"] == "function_call":
        yield _name_item("added", index, {**item, "status": "in_progress", "arguments": ""})
        for text in (item["arguments"][:5], item["arguments"][5:]):
            yield "response.function_call_arguments.delta", {**place, "delta": text}
        yield "response.function_call_arguments.done", {**place, "name": item["name"], "arguments": item["arguments"]}
    else:
        yield _name_item("added", index, {**item, "summary": []})
    yield _name_item("done", index, item)


def _name_item(what: str, index: int, item: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return f"response.output_item.{what}", {"output_index": index, "item": item}


def build_embeddings(
    body: Mapping[str, Any], embed: Callable[[str], Sequence[float]], *, empty: bool = False
) -> dict[str, Any]:
    """Return the vectors of the body's texts, packed where it asks for that; none where the answer is `empty`."""
    inputs = body.get("input", ())
    texts = [] if empty else [inputs] if isinstance(inputs, str) else list(inputs)
    packed = body.get("encoding_format") == "base64"
    rows = []
    for index, text in enumerate(texts):
        vector = [float(number) for number in embed(text)]
        rows.append({"object": "embedding", "index": index, "embedding": _pack_vector(vector) if packed else vector})
    tokens = sum(len(text) for text in texts) // 4
    return {
        "object": "list",
        "data": rows,
        "model": body.get("model", "scripted"),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def build_error(message: str, kind: str) -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"message": message, "type": kind, "code": kind}}


def _count_usage(messages: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    prompt = sum(len(str(message.get("content") or "")) for message in messages) // 4
    completion = sum(len(json.dumps(one.get("message", one), ensure_ascii=False)) for one in found) // 4
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _split_words(text: str | None) -> list[str]:
    """Return a text in parts that each end with a blank or a line, or with the text."""
    return re.findall(r"[^ \n]*[ \n]|[^ \n]+", text or "")


def _pack_vector(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
