"""What a caller gives is checked before anything is done with it: numbers, JSON values, and texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache, wraps
from math import isfinite
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from muniment.memory.errors import BadInput, NotStorable

_Door = TypeVar("_Door")
_Given = TypeVar("_Given")
_Judge: TypeAlias = Callable[[Any], str | None]
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1  # of what the database takes
_SHOWN_CHARS = 40  # of a name in a path
_WITHOUT_NUMBERS = frozenset({str, bool, type(None), datetime, UUID})
_NO_NAME = object()  # in the place of a name that is no text


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Raise BadInput that names the field, unless the value is a whole number from `low` to `high`."""
    if problem := find_number_fault(value):
        raise BadInput(f"{name}: {problem}; allowed: {low} to {high}")
    if type(value) is not int:
        raise BadInput(f"{name}: is no whole number; allowed: {low} to {high}")
    if not low <= value <= high:
        raise BadInput(f"{name}: is {value}; allowed: {low} to {high}")


def check_numbers(name: str, value: Any) -> None:
    """Raise BadInput for a number that is not finite or has more than 64 bits, in a value, a record or a list, with the
    path to it. What is in an object `check_json` looks at."""
    if not _has_sound_numbers(value) and (fault := _find_fault(value, find_number_fault, _list_parts)):
        raise BadInput(f"{name}{fault[0]}: {fault[1]}; allowed: a finite number of at most 64 bits")


def check_each(name: str, values: Iterable[_Given]) -> Iterator[_Given]:
    """Yield values, each after `check_numbers`."""
    for number, value in enumerate(values):
        check_numbers(f"{name}[{number}]", value)
        yield value


def check_json(name: str, value: Any) -> Any:
    """Return an object as it is.

    Raises BadInput for one with what JSON or the database cannot hold, with the path to it: a number that is not finite
    or has more than 64 bits, a text with a NUL or half a character, a value of another type."""
    if not isinstance(value, Mapping):
        raise BadInput(f"{name}: is no object; allowed: an object of JSON values")
    try:
        fault = _find_fault(value, _find_json_fault, _list_members)
    except RecursionError:
        raise BadInput(f"{name}: is nested too deeply") from None
    if fault:
        raise BadInput(f"{name}{fault[0]}: {fault[1]}")
    return value


def find_number_fault(value: Any) -> str | None:
    """Return why a number cannot be stored; None of a good one, and of what is no number."""
    kind = type(value)
    if kind is int:
        return None if _LOWEST <= value <= _HIGHEST else "is a whole number beyond 64 bits"
    return "is not finite" if kind is float and not isfinite(value) else None


def find_text_fault(value: Any) -> str | None:
    """Return why a text cannot be stored; None of a good one, and of what is no text."""
    if not isinstance(value, str):
        return None
    if "\0" in value:
        return "has a NUL"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "has half a character (a lone surrogate)"
    return None


def check_calls(door: type[_Door]) -> type[_Door]:
    """Let the public methods of a class refuse numbers that cannot be stored, and say which argument has a text that
    proves to be unfit. What is given as an iterable is checked where it is taken from."""
    for name, method in list(vars(door).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(door, name, _check_call(method))
    return door


def _check_call(method: Callable[..., Any]) -> Callable[..., Any]:
    parameters = list(inspect.signature(method).parameters.values())
    names = tuple(each.name for each in parameters)
    streamed = frozenset(each.name for each in parameters if str(each.annotation).startswith("Iterable"))

    def list_given(arguments: tuple[Any, ...], options: dict[str, Any]) -> list[tuple[str, Any]]:
        return [*zip(names[1:], arguments[1:], strict=False), *options.items()]  # the first is the door itself

    def check(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        for name, value in list_given(arguments, options):
            if name not in streamed:
                check_numbers(name, value)

    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        return method(*arguments, **options)

    @wraps(method)
    async def call_and_wait(*arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        try:
            return await method(*arguments, **options)
        except NotStorable as error:
            given = list_given(arguments, options)
            faults = [(name, _find_fault(value, find_text_fault, _list_members)) for name, value in given]
            named = [f"{name}{fault[0]}: {fault[1]}" for name, fault in faults if fault]
            raise BadInput("; ".join(named) or str(error)) from None

    return call_and_wait if inspect.iscoroutinefunction(method) else call


def _has_sound_numbers(value: Any) -> bool:
    """Whether `_find_fault` surely finds no number: it is asked before each call, and the path is seldom wanted."""
    kind: Any = type(value)
    if kind in _WITHOUT_NUMBERS:
        return True
    if kind is int or kind is float:
        return find_number_fault(value) is None
    if kind is tuple or kind is list:
        return all(map(_has_sound_numbers, value))
    return all(_has_sound_numbers(getattr(value, name)) for name in _list_fields(kind))


def _find_fault(
    value: Any, judge: _Judge, list_parts: Callable[[Any], Iterable[tuple[str, Any]]]
) -> tuple[str, str] | None:
    """Return the path to the first part of a value that is unfit, and why."""
    if problem := judge(value):
        return "", problem
    for step, part in list_parts(value):
        if fault := _find_fault(part, judge, list_parts):
            return step + fault[0], fault[1]
    return None


def _list_parts(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        return ((f"[{number}]", part) for number, part in enumerate(value))
    kind: Any = type(value)
    return [(f".{name}", getattr(value, name)) for name in _list_fields(kind)]


def _list_members(value: Any) -> Iterable[tuple[str, Any]]:
    """The parts of a value, those of an object, too: each name, and what it names."""
    if not isinstance(value, Mapping):
        return _list_parts(value)
    steps = ((f".{_show_name(name)}", name, member) for name, member in value.items())
    return [part for step, name, member in steps for part in ((step, _name_of(name)), (step, member))]


def _find_json_fault(value: Any) -> str | None:
    if value is None or isinstance(value, Mapping | list | tuple):
        return None
    if not isinstance(value, str | int | float):
        return "is no JSON value; allowed: objects with names, lists, texts, numbers, true, false and null"
    return find_number_fault(value) or find_text_fault(value)


def _name_of(name: Any) -> Any:
    return name if isinstance(name, str) else _NO_NAME


def _show_name(name: Any) -> str:
    is_short = isinstance(name, str) and len(name) <= _SHOWN_CHARS and name.isprintable()
    return name if is_short else "(a name)"


@cache
def _list_fields(record: type[Any]) -> tuple[str, ...]:
    """The names of what a record is made of, none of another value; what it derives from that may lead back to it."""
    return tuple(each.name for each in fields(record) if each.init) if is_dataclass(record) else ()
