"""Whole records of the domain as JSON values, and back: what is kept and read again by the same product."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from muniment.memory.codec import encode_value
from muniment.memory.domain.plan import Receipt

_Record = TypeVar("_Record")


def dump_receipt(receipt: Receipt) -> dict[str, Any]:
    """Return every field of a receipt but the vectors of its changes."""
    bare = replace(receipt, changes=tuple(replace(change, vector=None) for change in receipt.changes))
    encoded: dict[str, Any] = encode_value(asdict(bare))
    return encoded


def load_receipt(raw: Mapping[str, Any]) -> Receipt:
    """Return the receipt that `dump_receipt` has encoded."""
    return _load_record(Receipt, raw)


def _load_record(kind: type[_Record], raw: Mapping[str, Any]) -> _Record:
    hints = get_type_hints(kind)
    return kind(**{name: _load_value(hints[name], value) for name, value in raw.items()})


def _load_value(kind: Any, raw: Any) -> Any:
    """Return a JSON value as a value of a field's type: a record, a tuple, a time or an id; any other as it is."""
    kind = getattr(kind, "__supertype__", kind)  # of a NewType
    origin = get_origin(kind)
    if raw is None or origin is Literal:
        return raw
    if origin in {Union, types.UnionType}:
        [kind] = [each for each in get_args(kind) if each is not type(None)]
        return _load_value(kind, raw)
    if origin is tuple:
        return tuple(_load_value(get_args(kind)[0], item) for item in raw)
    if isinstance(kind, type) and is_dataclass(kind):
        return _load_record(kind, raw)
    if kind is datetime:
        return datetime.fromisoformat(raw)
    return UUID(raw) if kind is UUID else raw
