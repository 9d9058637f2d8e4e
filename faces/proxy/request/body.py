"""The body of a request: its raw text and what the proxy has to know of it, and the body that goes upstream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from muniment.faces.proxy.errors import BadRequest, Refusal
from muniment.faces.proxy.request.raw_json import (
    BadJson,
    Span,
    find_elements,
    find_members,
    parse_value,
    read_latin,
    replace_spans,
)

_NOT_AN_OBJECT = "the body is no JSON object in UTF-8"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Body:
    """A body that is a JSON object, by its raw text."""

    raw: bytes = field(repr=False)
    members: Mapping[str, Sequence[Span]] = field(repr=False)  # keys as bytes spell them, each a character

    @classmethod
    def parse(cls, raw: bytes) -> Body:
        """Return the body with the places of its values. Raises Refusal for what is no JSON object in UTF-8."""
        try:
            return cls(raw, find_members(read_latin(raw)))
        except BadJson:
            raise Refusal(422, "invalid_json", _NOT_AN_OBJECT) from None

    def get_value(self, key: str) -> Any:
        """Return the value of a key, the last where there are several; None where there is none."""
        spans = self.members.get(key)
        return parse_value(self.raw[slice(*spans[-1])]) if spans else None

    def read_list(self, key: str) -> tuple[RawItem, ...]:
        """Return the elements of a list, each with its raw text. Raises BadRequest where there is none."""
        spans = self.members.get(key)
        if not spans:
            raise BadRequest(key, "is missing; a list is wanted")
        begin, end = spans[-1]
        try:
            places = find_elements(str(memoryview(self.raw)[begin:end], "latin-1"), (0, end - begin))
        except BadJson:
            raise BadRequest(key, "is no list") from None
        return tuple(RawItem.parse(self.raw[begin + one : begin + other]) for one, other in places)

    def build(self, values: Mapping[str, bytes]) -> bytes:
        """Return the body with these raw values, each in every place that its key has, or as the first of all members
        where it has none. Everything else stays byte for byte."""
        spans = {span: value for key, value in values.items() for span in self.members.get(key, ())}
        added = [orjson.dumps(key) + b":" + value for key, value in values.items() if key not in self.members]
        if added:
            begin = self.raw.index(b"{") + 1
            spans[begin, begin] = b",".join(added) + (b"," if self.members else b"")
        return replace_spans(self.raw, spans) if spans else self.raw


@dataclass(frozen=True, slots=True)
class RawItem:
    """A message or an item of a request with its raw text, which goes upstream as it came unless it is changed."""

    value: Any  # without half characters and NUL, which no memory holds
    raw: bytes = field(repr=False)

    @classmethod
    def parse(cls, raw: bytes) -> RawItem:
        """Return the item of a raw text that is known to be JSON."""
        value = parse_value(raw)
        return cls(replace_unstorable(value) if b"\\u" in raw else value, raw)

    def append_text(self, text: str, part_type: str = "text") -> RawItem:
        """Return the item with a text at the end of its content: behind a text, or as one more of its parts. All that
        stood there stays byte for byte."""
        body = Body(self.raw, find_members(self.raw.decode("latin-1")))
        spans, content = body.members.get("content"), self.value.get("content")
        part = {"type": part_type, "text": text}
        value: str | list[Any]
        if not spans or not content:
            value, raw = text, encode_value(text)
        elif isinstance(content, str):
            value, raw = f"{content}\n\n{text}", body.raw[slice(*spans[-1])][:-1] + encode_value(f"\n\n{text}")[1:]
        else:
            value, raw = [*content, part], body.raw[slice(*spans[-1])][:-1] + b"," + encode_value(part) + b"]"
        return RawItem({**self.value, "content": value}, body.build({"content": raw}))


def make_item(value: Mapping[str, Any]) -> RawItem:
    """Return an item of our own, with its text."""
    return RawItem(value, encode_value(value))


def encode_value(value: Any) -> bytes:
    """Return a JSON value as raw text."""
    return orjson.dumps(value)


def join_items(items: Sequence[RawItem]) -> bytes:
    """Return a list of these items as raw text."""
    return b"[" + b",".join(item.raw for item in items) + b"]"


def replace_unstorable(value: Any) -> Any:
    """Return a JSON value whose texts have no half characters and no NUL. It is nested no deeper than the decoder
    reads."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", _REPLACEMENT)
    if isinstance(value, Mapping):
        return {replace_unstorable(key): replace_unstorable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [replace_unstorable(each) for each in value]
    return value
