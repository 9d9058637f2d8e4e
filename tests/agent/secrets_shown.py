"""Where a key could be read: in what an error, a value or a configuration shows of itself."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

KEY = "uk_CANARY-5e1f09-the-key-of-nobody"
_TESTS = str(Path(__file__).parent.parent)


def show_error(error: BaseException) -> str:
    """All that an error shows, with its causes, and with the values of the frames that are not of a test."""
    parts: list[str] = []
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or each in seen:
            continue
        seen.append(each)
        waiting += [each.__cause__, each.__context__]
        report = traceback.TracebackException(type(each), each, _skip_tests(each.__traceback__), capture_locals=True)
        parts += [str(each), repr(each), repr(each.args), repr(vars(each)), *report.format(chain=True)]
        parts += list(_try_encoders(each))
    return "\n".join(parts)


def show_value(value: Any) -> str:
    """All that a value shows of itself, by every usual way of writing it."""
    parts = [str(value), repr(value), f"{value}", *_try_encoders(value)]
    for names in (getattr(value, "__dict__", {}), getattr(value, "__slots__", ())):
        parts += [f"{name}={getattr(value, name)!r}" for name in names]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts += [repr(dataclasses.asdict(value)), repr(dataclasses.astuple(value))]
        parts += [repr(json.dumps(dataclasses.asdict(value), default=repr)), repr(copy.deepcopy(value))]
    return "\n".join(parts)


def _try_encoders(value: Any) -> Iterator[str]:
    """What can be written of a value; an encoder that refuses it must not show it either."""
    import orjson
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    for encode in (
        pickle.dumps,
        json.dumps,
        orjson.dumps,
        JsonPlusSerializer().dumps_typed,
        JsonPlusSerializer(pickle_fallback=True).dumps_typed,
    ):
        try:
            yield repr(encode(value))
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
            yield str(error)


def _skip_tests(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_TESTS):
        trace = trace.tb_next
    return trace
