"""Values of checkpoints as bytes: LangGraph's own format, with less work for the messages of a conversation.

A thread is saved whole with each turn. Of a message that is a text with an id, perhaps a name and the tokens that it
cost, only these are written, and they are read without the validation of a value that anybody may have made.
LangGraph's serializer reads both the short and the long form; so does this one."""

from __future__ import annotations

from typing import Any, TypeAlias

import ormsgpack
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.serde.jsonplus import EXT_PYDANTIC_V2, JsonPlusSerializer

_PlainMessage: TypeAlias = HumanMessage | AIMessage | SystemMessage
_SHORT = frozenset({"content", "id", "name", "usage_metadata"})  # the fields of a short message
_CLASSES: dict[tuple[str, str], type[_PlainMessage]] = {
    (cls.__module__, cls.__name__): cls for cls in (HumanMessage, AIMessage, SystemMessage)
}
_NAMES = {cls: name for name, cls in _CLASSES.items()}
_EMPTY = {cls: dict(vars(cls(content=""))) for cls in _NAMES}
_CONTAINERS = {  # each message has its own
    cls: [(name, type(value)) for name, value in empty.items() if isinstance(value, dict | list)]
    for cls, empty in _EMPTY.items()
}
_METHOD = "model_validate_json"  # the fourth part of a model in LangGraph's format, which its reader ignores
_OPTIONS = ormsgpack.OPT_NON_STR_KEYS


class _NotShort(Exception):
    """A value that is no short message."""


class MessageSerializer(JsonPlusSerializer):
    """LangGraph's serializer, quicker for lists of messages."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The kind and the bytes of a value."""
        if isinstance(obj, list) and obj and all(type(item) in _NAMES for item in obj):
            try:
                return "msgpack", ormsgpack.packb(obj, default=_encode_message, option=_OPTIONS)
            except (_NotShort, ormsgpack.MsgpackEncodeError):  # it has tool calls, blocks, or half a character
                pass
        return super().dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a kind and bytes."""
        kind, packed = data
        if kind != "msgpack":
            return super().loads_typed(data)
        return ormsgpack.unpackb(packed, ext_hook=self._decode_extension, option=_OPTIONS)

    def _decode_extension(self, code: int, packed: bytes) -> Any:
        if code == EXT_PYDANTIC_V2:
            module, name, fields, *_ = ormsgpack.unpackb(packed, ext_hook=_keep_raw, option=_OPTIONS)
            cls = _CLASSES.get((module, name))
            if cls is not None and _SHORT.issuperset(fields) and isinstance(fields.get("content"), str):
                return _make_message(cls, fields)
        return self._unpack_ext_hook(code, packed)


def _encode_message(message: Any) -> ormsgpack.Ext:
    """A short message in LangGraph's format. Raises _NotShort."""
    cls = type(message)
    fields, empty = vars(message), _EMPTY.get(cls)
    if empty is None or message.__pydantic_extra__:
        raise _NotShort
    short = {}
    for name, value in fields.items():
        if name in _SHORT:
            if value is not None:
                short[name] = value
        elif value and value != empty[name]:
            raise _NotShort
    if not isinstance(short["content"], str):
        raise _NotShort
    return ormsgpack.Ext(EXT_PYDANTIC_V2, ormsgpack.packb((*_NAMES[cls], short, _METHOD), option=_OPTIONS))


def _make_message(cls: type[_PlainMessage], fields: dict[str, Any]) -> _PlainMessage:
    """A message that is valid by the way it was saved, made without validation, which takes most of a long thread's
    load."""
    values = _EMPTY[cls].copy()
    for name, make_empty in _CONTAINERS[cls]:
        values[name] = make_empty()
    values.update(fields)
    message = cls.__new__(cls)
    object.__setattr__(message, "__dict__", values)
    object.__setattr__(message, "__pydantic_fields_set__", set(fields))
    object.__setattr__(message, "__pydantic_extra__", {})
    object.__setattr__(message, "__pydantic_private__", None)
    return message


def _keep_raw(_: int, packed: bytes) -> bytes:
    """What is nested in a message is looked at by LangGraph's reader only."""
    return packed
