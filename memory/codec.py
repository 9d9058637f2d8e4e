"""Values of JSON: what a caller gives is checked, and what the domain has is encoded, in one shape for files, faces and
tools."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, wraps
from itertools import chain
from math import isfinite
from typing import Any, TypeAlias, TypeVar, get_args, get_type_hints
from uuid import UUID

import orjson

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.journal import ChangePage
from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.domain.plan import Change, Receipt
from muniment.memory.errors import BadInput, NotStorable

# The fields of the structured profile -> their names in a decision and in a question, in English and in Chinese.
_FIELDS: Mapping[str, tuple[str, str, str]] = {
    "preferred_name": ("preferred name", "name", "您的称呼"), "pronouns": ("pronouns", "pronouns", "您的代词"),
    "city": ("city", "city", "您的城市"), "language": ("language", "language", "您的语言"),
    "tone": ("tone", "tone", "交流风格"), "goals": ("goal", "goal", "您的目标"),
}  # fmt: skip
_HOW_TO_ANSWER = (
    "Accept it, edit a value, respond with a no or with words such as “yes to the name, no to the city”, or ignore it."
)
_CJK = re.compile(r"[\u3400-\u9fff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ACTION = "use_in_profile"  # what an interrupt asks for
_Door = TypeVar("_Door")
_Given = TypeVar("_Given")
_Judge: TypeAlias = Callable[[Any], str | None]
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1  # of what the database takes
_SHOWN_CHARS = 40  # of a name in a path
_WITHOUT_NUMBERS = frozenset({str, bool, type(None), datetime, UUID})
_NO_NAME = object()  # in the place of a name that is no text


def encode_value(value: Any) -> Any:
    """Return a value as JSON has it: ISO times in UTC, ids as text, tuples as lists."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {key: encode_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode_value(item) for item in value]
    return value


def encode_record(record: Any) -> dict[str, Any]:
    """Return every field of a record of `domain` that is set, as JSON values."""
    return {key: encode_value(value) for key, value in asdict(record).items() if value not in (None, (), {})}


def is_storable(value: Any) -> bool:
    """Whether every text in a JSON value can be stored: it has no NUL and no lone surrogate."""
    values = [value]  # a list in place of recursion: the value may be nested deeply
    while values:
        item = values.pop()
        if isinstance(item, str):
            if _UNSTORABLE.search(item):
                return False
        elif isinstance(item, Mapping):
            values += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            values += item
    return True


def is_surely_storable(values: Sequence[Any]) -> bool:
    """Whether all of these values are storable, by a quick check; False where it cannot tell."""
    try:
        encoded = orjson.dumps(values)  # refuses a lone surrogate
    except (TypeError, RecursionError):
        return False
    return b"\\u0000" not in encoded


def describe_shape(value: Any) -> str:
    """Describe a value by its kind and size, without its content, which may be a secret."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return f"text of {len(value):,} character{'' if len(value) == 1 else 's'}" if value else "empty text"
    if isinstance(value, int):
        return "a negative number" if value < 0 else "a whole number"
    if isinstance(value, float):
        return "a number with a point" if isfinite(value) else "a number that is none"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, Mapping) else "nothing"


def is_text_list(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def parse_fact(raw: Any) -> Fact | None:
    """Return a fact from JSON; None is None. Raises BadInput for a field that is missing, unknown or of a wrong
    type."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise BadInput(f"fact: {describe_shape(raw)} given, an object wanted")
    names = {field.name for field in fields(Fact)}
    if unknown := set(raw) - names:
        raise BadInput(f"fact: unknown field {min(unknown)!r}; allowed: {', '.join(sorted(names))}")
    if missing := {"kind", "predicate", "object"} - set(raw):
        raise BadInput(f"fact: field {min(missing)!r} is missing")
    for key, value in raw.items():
        if not _is_field_value(key, value):
            raise BadInput(f"fact: field {key!r}: {describe_shape(value)} given, {_describe_field_type(key)} wanted")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return Fact(**values)


def _is_field_value(key: str, value: Any) -> bool:
    if key == "kind":
        return value in get_args(FactKind)
    kind = get_type_hints(Fact)[key]
    return is_text_list(value) if kind == tuple[str, ...] else isinstance(value, kind)


def _describe_field_type(key: str) -> str:
    if key == "kind":
        return f"one of {', '.join(get_args(FactKind))}"
    kind = get_type_hints(Fact)[key]
    return "a list of texts" if kind == tuple[str, ...] else "true or false" if kind is bool else "text"


def encode_change(change: Change) -> dict[str, Any]:
    """Return what a write did to one memory."""
    after = change.after
    encoded = {
        "action": change.action,
        "id": after.id,
        "rev": after.rev,
        "category": after.category,
        "text": after.text,
        "importance": after.importance,
        "band": change.band,
        "sim": change.sim,
        "state": after.state if after.state == "pending" else None,
    }
    return {key: encode_value(value) for key, value in encoded.items() if value is not None}


def encode_change_page(page: ChangePage) -> dict[str, Any]:
    """Return a page of changes, each with the memory as it was then; null for one that is erased or out of sight."""
    changes = [
        {"rev": each.rev, "id": str(each.memory_id), "action": each.action, "ts": encode_value(each.ts)}
        | {"memory": encode_record(each.memory) if each.memory else None}
        for each in page.entries
    ]
    return {"changes": changes, "next": page.next, "rev": page.rev, "founded_at": encode_value(page.founded_at)}


def encode_receipt(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt: revision, changes, and the reasons why something was not written. `degraded` and `left_out` are
    in it only where there is something to say."""
    encoded: dict[str, Any] = {
        "rev": receipt.rev,
        "changes": [encode_change(item) for item in receipt.changes],
        "replayed": receipt.replayed,
        "skipped": receipt.skipped,
        "refused": list(receipt.refused),
    }
    if receipt.left_out:
        encoded["left_out"] = list(receipt.left_out)
    return encoded | ({"degraded": True} if receipt.degraded else {})


def encode_consent_request(consent: Consent) -> dict[str, str]:
    """Return a request for consent with the question for a person."""
    request = {"id": str(consent.id), "field": consent.field, "value": consent.value}
    return request | {"question": format_consent_question([request])}


def format_consent_question(requests: Sequence[Mapping[str, str]]) -> str:
    """Return one line that asks a person about these requests, in Chinese where a value is."""
    if any(_CJK.search(request["value"]) for request in requests):
        wishes = "、".join(f'把"{request["value"]}"作为{_FIELDS[request["field"]][2]}' for request in requests)
        return f"可以在所有对话中{wishes}吗？（是/否）"
    values = [f'"{request["value"]}" as your {_FIELDS[request["field"]][1]}' for request in requests]
    listed = " and ".join(filter(None, [", ".join(values[:-1]), values[-1]]))
    return f"May I use {listed} everywhere? (yes/no)"


def encode_interrupt(requests: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return these encoded requests as an interrupt in LangChain's shapes: `HITLRequest`, with an action for each
    request, and `HumanInterrupt`, which has one for all.

    `consent` has the requests themselves."""
    actions = [
        {"name": _ACTION, "args": {one["field"]: one["value"]}, "description": format_consent_question([one])}
        for one in requests
    ]
    action = {"action": _ACTION, "args": {request["field"]: request["value"] for request in requests}}
    allowed = {"allow_ignore": True, "allow_respond": True, "allow_edit": True, "allow_accept": True}
    description = f"{format_consent_question(requests)}\n\n{_HOW_TO_ANSWER}"
    return {
        "action_request": action, "config": allowed, "description": description, "action_requests": actions,
        "review_configs": [{"action_name": _ACTION, "allowed_decisions": ["approve", "edit", "reject", "respond"]}],
        "consent": [dict(request) for request in requests],
    }  # fmt: skip


def format_decisions(requests: Sequence[Consent]) -> str:
    """Return one line with the decisions on these requests; empty without any."""
    parts = []
    for label, decision in (("Kept", "approved"), ("Not kept", "rejected")):
        values = [f'{_FIELDS[one.field][0]} "{one.value}"' for one in requests if one.decision == decision]
        if values:
            parts.append(f"{label}: {', '.join(values)}.")
    return " ".join(parts)


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Raise BadInput that names the field, unless the value is a whole number from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        problem = find_number_fault(value) or (f"is {value}" if type(value) is int else "is no whole number")
        raise BadInput(f"{name}: {problem}; allowed: {low} to {high}")


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
    parameters = list(inspect.signature(method).parameters.values())[1:]  # the first is the door itself
    names = tuple(each.name for each in parameters)
    streamed = frozenset(each.name for each in parameters if str(each.annotation).startswith("Iterable"))

    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        for name, value in chain(zip(names, arguments[1:], strict=False), options.items()):
            if name not in streamed and not _has_sound_numbers(value):
                check_numbers(name, value)
        return method(*arguments, **options)

    @wraps(method)
    async def call_and_wait(*arguments: Any, **options: Any) -> Any:
        try:
            return await call(*arguments, **options)
        except NotStorable as error:
            given = chain(zip(names, arguments[1:], strict=False), options.items())
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
        return _LOWEST <= value <= _HIGHEST if kind is int else isfinite(value)
    if kind is tuple or kind is list:
        return all(map(_has_sound_numbers, value))
    for name in _list_fields(kind):
        part = getattr(value, name)
        if type(part) not in _WITHOUT_NUMBERS and not _has_sound_numbers(part):
            return False
    return True


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
