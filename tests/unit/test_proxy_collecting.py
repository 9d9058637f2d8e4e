"""What the proxy reads of an answer that passes: each protocol, whole and as a stream, in each encoding."""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from muniment.faces.proxy.upstream.collecting import (
    MAX_BYTES,
    Answer,
    Collector,
    NotCollected,
    Read,
    read_completion,
    read_response,
    read_usage_only,
)

STREAM = "text/event-stream; charset=utf-8"
CALL = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}
USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}


def read_bytes(
    raw: bytes, read: Read = read_completion, kind: str = "application/json", encoding: str = "", whole: bool = True
) -> Answer:
    """What is read of an answer that came in pieces."""
    collector = Collector()
    for begin in range(0, len(raw), 7):
        collector.add_chunk(raw[begin : begin + 7])
    return collector.read_answer(kind, encoding, read, is_whole=whole)


def write_events(*values: Any, end: bytes = b"data: [DONE]\n\n", line: bytes = b"\n") -> bytes:
    """A stream of these values."""
    return b"".join(b"data: " + json.dumps(value).encode() + line + line for value in values) + end


def complete(**message: Any) -> bytes:
    """A whole chat completion."""
    said = {"role": "assistant", "content": "Fine.", "reasoning_content": "hm"} | message
    return json.dumps({"choices": [{"index": 1}, {"index": 0, "message": said}], "usage": USAGE}).encode()


def deflate_raw(raw: bytes) -> bytes:
    """Deflate without its header, as some send it."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(raw) + packer.flush()


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate, gzip": lambda raw: gzip.compress(zlib.compress(raw)),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings(encoding: str) -> None:
    """The text of the first choice, without thoughts, and what the provider counts."""
    answer = read_bytes(ENCODINGS[encoding](complete(tool_calls=[CALL])), encoding=encoding)
    assert answer.message == {"role": "assistant", "content": "Fine.", "tool_calls": [CALL]}
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.cached_tokens) == (7, 2, 3)


def test_deflate_without_its_header() -> None:
    """It is read as well."""
    assert read_bytes(deflate_raw(complete()), encoding="deflate").message is not None


@pytest.mark.parametrize(
    ("raw", "encoding", "why"),
    [
        (b"no gzip", "gzip", "encoding"),
        (b"no deflate", "deflate", "encoding"),
        (complete(), "compress", "encoding"),
        (b"<html>", "", "protocol"),
        (b"[1]", "", "protocol"),
        (gzip.compress(bytes(200_000_000)), "gzip", "more than"),
    ],
)
def test_what_cannot_be_read(raw: bytes, encoding: str, why: str) -> None:
    """It says why, and not what it was."""
    with pytest.raises(NotCollected, match=why):
        read_bytes(raw, encoding=encoding)


def test_too_much() -> None:
    """Beyond the bound nothing is kept."""
    collector = Collector()
    for _ in range(MAX_BYTES // 1_000_000 + 2):
        collector.add_chunk(bytes(1_000_000))
    assert collector.chunks == []
    with pytest.raises(NotCollected, match="more than"):
        collector.read_answer("application/json", "", read_completion, is_whole=True)


@pytest.mark.parametrize("line", [b"\n", b"\r\n"])
def test_a_stream_of_chunks(line: bytes) -> None:
    """Fragments of calls go by their index, or without one by their ids; other choices are left out."""
    begin = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": '{"a"'}}
    raw = write_events(
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Fi"}}]},
        {"choices": [{"index": 1, "delta": {"content": "other"}}]},
        {"choices": [{"index": 0, "delta": {"content": "ne.", "tool_calls": [begin]}}], "usage": None},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"arguments": ": 1}"}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": USAGE},
        line=line,
    )
    answer = read_bytes(raw, kind=STREAM)
    assert answer.message == {"role": "assistant", "content": "Fine.", "tool_calls": [CALL]}
    assert answer.usage is not None
    assert read_bytes(raw, kind=STREAM, whole=False) == answer  # the client did not wait for more


def test_a_stream_that_is_cut_off() -> None:
    """It says nothing, and what was counted counts."""
    raw = write_events({"choices": [{"index": 0, "delta": {"content": "Fi"}}], "usage": USAGE}, end=b"data: {")
    assert read_bytes(raw, kind=STREAM).message is None
    with pytest.raises(NotCollected, match="cut off"):
        read_bytes(raw, kind=STREAM, whole=False)
    with pytest.raises(NotCollected, match="cut off"):
        read_bytes(complete(), whole=False)


def test_a_response() -> None:
    """Its texts and calls, whole or from the last event of a stream; what is not complete says nothing."""
    response = {
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "Fine."}, {"type": "refusal"}]},
            {"type": "function_call", "call_id": "call_1", "name": "find", "arguments": '{"a": 1}'},
        ],
        "usage": {"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}},
    }
    whole = read_bytes(json.dumps(response).encode(), read_response)
    assert whole.message == {"role": "assistant", "content": "Fine.", "tool_calls": [CALL]}
    events = [{"type": "response.created", "response": {}}, {"type": "response.completed", "response": response}]
    assert read_bytes(write_events(*events, end=b""), read_response, STREAM) == whole
    assert read_bytes(json.dumps(response | {"status": "incomplete"}).encode(), read_response).message is None
    assert read_bytes(write_events(events[0]), read_response, STREAM) == Answer(None, None)


def test_usage_only() -> None:
    """Of an embedding it is all that is read; what is no number counts nothing."""
    usage = read_bytes(json.dumps({"usage": {"prompt_tokens": 5}}).encode(), read_usage_only).usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (5, 0)
    for wrong in (None, 3, {}, {"prompt_tokens": "5"}):
        assert read_bytes(json.dumps({"usage": wrong}).encode(), read_usage_only).usage is None
