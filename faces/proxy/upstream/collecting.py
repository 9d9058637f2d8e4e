"""What an answer says, seen beside: its bytes go to the client first, and are read when all of them are out."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import brotli
import orjson

from muniment.faces.proxy.exchange import Usage
from muniment.faces.proxy.request.body import replace_unstorable

MAX_BYTES = 16_000_000  # of an answer that is kept to be read
_MAX_DECODED = 64_000_000
_TOO_LONG = f"it has more than {_MAX_DECODED:,} bytes"
_EVENT_STREAM = "text/event-stream"
_DONE = b"[DONE]"
# The last event of a stream, with the blank line behind it.
_END = re.compile(rb"^(?:data: ?\[DONE\]|event: ?response\.completed)\r?\n(?:[^\r\n]+\r?\n)*\r?\n", re.MULTILINE)
_ZSTD_WINDOW = 2**23  # bytes; what RFC 9659 allows over HTTP


class NotCollected(Exception):
    """What an answer says is not known; the message says why, without a word of it."""


@dataclass(slots=True)
class Collector:
    """Keeps the bytes of one answer as they pass, up to a bound."""

    chunks: list[bytes] = field(default_factory=list, repr=False)
    size: int = 0  # of all bytes that have passed

    def add_chunk(self, chunk: bytes) -> None:
        """Keep a chunk that has gone to the client."""
        self.size += len(chunk)
        if self.size <= MAX_BYTES:
            self.chunks.append(chunk)
        else:
            self.chunks.clear()

    def read_answer(self, content_type: str, encoding: str, read: Read, *, is_whole: bool) -> Answer:
        """Return what the answer says, by the protocol that `read` knows. It takes time for a long one: call it from a
        thread.

        `is_whole`: its connection came to an end. Clients leave a stream after its last event and do not wait for that,
        so a stream that says its end is whole, too. Raises NotCollected."""
        if self.size > MAX_BYTES:
            raise NotCollected(f"it has more than {MAX_BYTES:,} bytes")
        raw = _decode(b"".join(self.chunks), encoding)
        is_stream = content_type.partition(";")[0].strip().lower() == _EVENT_STREAM
        if not is_whole and not (is_stream and _END.search(raw)):
            raise NotCollected("it was cut off")
        try:
            if is_stream:
                return read(Reader(is_stream=True, values=_iter_events(raw)))
            return read(Reader(is_stream=False, values=iter((orjson.loads(raw),))))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            raise NotCollected("it is not of the protocol") from None


@dataclass(frozen=True, slots=True)
class Reader:
    """The JSON values of an answer: one, or those of the events of a stream."""

    is_stream: bool
    values: Iterator[Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer says: a message of an assistant, and the usage that the upstream reports."""

    message: Mapping[str, Any] | None
    usage: Usage | None


Read: TypeAlias = Callable[[Reader], Answer]  # by the protocol of an address


def read_completion(reader: Reader) -> Answer:
    """Return what a chat completion says: of several choices the first. A stream whose first choice did not finish says
    nothing."""
    if not reader.is_stream:
        value = next(reader.values)
        choices = value.get("choices") or ()
        first = next((each for each in choices if each.get("index", 0) == 0), None)
        return Answer(_clean_message(first["message"]) if first else None, _read_usage(value.get("usage")))
    return _read_chunks(reader.values)


def _read_chunks(values: Iterator[Any]) -> Answer:
    texts: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    usage: Usage | None = None
    is_whole = False
    for value in values:
        usage = _read_usage(value.get("usage")) or usage
        for choice in value.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            is_whole = is_whole or choice.get("finish_reason") is not None
            delta = choice.get("delta") or {}
            texts.append(delta.get("content") or "")
            for part in delta.get("tool_calls") or ():
                _add_call(calls, part)
    if not is_whole:
        return Answer(None, usage)
    ordered = [calls[index] for index in sorted(calls)]
    return Answer(_clean_message({"content": "".join(texts) or None, "tool_calls": ordered}), usage)


def _add_call(calls: dict[int, dict[str, Any]], part: Mapping[str, Any]) -> None:
    """Put a fragment of a call to those before it, by its index; where there is none a new id begins a new call."""
    index = part.get("index")
    if not isinstance(index, int):
        known = next((at for at, call in calls.items() if part.get("id") in (None, call["id"])), None)
        index = len(calls) if known is None else known
    call = calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call["id"] = part.get("id") or call["id"]
    call["type"] = part.get("type") or call["type"]
    function = part.get("function") or {}
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""


def _clean_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return role, content and calls of a message: no reasoning, and nothing that only this provider knows."""
    kept: dict[str, Any] = {"role": "assistant", "content": message.get("content")}
    if calls := message.get("tool_calls"):
        kept["tool_calls"] = list(calls)
    return replace_unstorable(kept)  # type: ignore[no-any-return] # of an object it makes one


def read_response(reader: Reader) -> Answer:
    """Return what a response says; of a stream its last event has all of it."""
    for value in reader.values:
        whole = value.get("response") if reader.is_stream else value
        if not whole or (reader.is_stream and value.get("type") != "response.completed"):
            continue
        texts: list[str] = []
        calls: list[dict[str, Any]] = []
        for item in whole.get("output") or ():
            if item.get("type") == "message":
                texts += [part["text"] for part in item.get("content") or () if part.get("type") == "output_text"]
            elif item.get("type") == "function_call":
                function = {"name": item["name"], "arguments": item["arguments"]}
                calls.append({"id": item["call_id"], "type": "function", "function": function})
        is_done = whole.get("status", "completed") == "completed"
        said = _clean_message({"content": "".join(texts) or None, "tool_calls": calls}) if is_done else None
        return Answer(said if texts or calls else None, _read_usage(whole.get("usage")))
    return Answer(None, None)


def read_usage_only(reader: Reader) -> Answer:
    """Return the usage that an answer reports."""
    usage = None
    for value in reader.values:
        usage = _read_usage(value.get("usage")) or usage
    return Answer(None, usage)


def _read_usage(value: Any) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    prompt = value.get("prompt_tokens", value.get("input_tokens"))
    completion = value.get("completion_tokens", value.get("output_tokens", 0))
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    details = value.get("prompt_tokens_details", value.get("input_tokens_details"))
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached if isinstance(cached, int) else 0,
    )


def _iter_events(raw: bytes) -> Iterator[Any]:
    """Yield the values of a stream's events."""
    for block in raw.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:  # what follows the last blank line is cut off
        data = b"\n".join(line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:"))
        if data.strip() == _DONE:
            return
        if data:
            yield orjson.loads(data)


def _decode(raw: bytes, encoding: str) -> bytes:
    """Return the bytes without the encodings of their transport, the last of which was put on last."""
    names = [name.strip().lower() for name in encoding.split(",") if name.strip()]
    for name in reversed(names):
        raw = _decode_once(raw, name)
    return raw


def _decode_once(raw: bytes, name: str) -> bytes:
    if name == "identity":
        return raw
    if name in ("gzip", "x-gzip"):
        return _inflate(raw, (16 + zlib.MAX_WBITS,))
    if name == "deflate":
        return _inflate(raw, (zlib.MAX_WBITS, -zlib.MAX_WBITS))  # some send it without its header
    if name == "br":
        return _read_brotli(raw)
    if name == "zstd":
        return _read_zstd(raw)
    raise NotCollected("nothing here reads its encoding")


def _read_brotli(raw: bytes) -> bytes:
    decoder = brotli.Decompressor()
    try:
        text: bytes = decoder.process(raw, output_buffer_limit=_MAX_DECODED)
    except brotli.error:
        raise NotCollected("its encoding cannot be read") from None
    if not decoder.can_accept_more_data():
        raise NotCollected(_TOO_LONG)
    return text


def _read_zstd(raw: bytes) -> bytes:
    try:
        import zstandard  # noqa: PLC0415 - LangGraph brings it along; nothing of ours requires it
    except ImportError:
        raise NotCollected("nothing here reads its encoding") from None
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    try:
        text = decoder.stream_reader(raw, read_across_frames=True).read(_MAX_DECODED + 1)
    except zstandard.ZstdError:
        raise NotCollected("its encoding cannot be read") from None
    if len(text) > _MAX_DECODED:
        raise NotCollected(_TOO_LONG)
    return text


def _inflate(raw: bytes, windows: Sequence[int]) -> bytes:
    for window in windows:
        decoder = zlib.decompressobj(window)
        try:
            text = decoder.decompress(raw, _MAX_DECODED)
        except zlib.error:
            continue
        if decoder.unconsumed_tail:
            raise NotCollected(_TOO_LONG)
        return text
    raise NotCollected("its encoding cannot be read")
