"""The JSON codec: domain values to plain JSON values and back. Files, faces and tools have one shape."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, date, datetime, time, timedelta
from math import isfinite
from typing import Any, get_args, get_type_hints
from uuid import UUID

import orjson

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.journal import ChangePage
from muniment.memory.domain.memory import REACHES, Fact, FactKind
from muniment.memory.domain.plan import Change, Receipt
from muniment.memory.domain.query import Filters, Query, Returns
from muniment.memory.errors import BadInput

# The fields of the structured profile -> their names in a decision and in a question, in English and in Chinese.
_FIELDS: Mapping[str, tuple[str, str, str]] = {
    "preferred_name": ("preferred name", "name", "您的称呼"), "pronouns": ("pronouns", "pronouns", "您的代词"),
    "city": ("city", "city", "您的城市"), "language": ("language", "language", "您的语言"),
    "tone": ("tone", "tone", "交流风格"), "goals": ("goal", "goal", "您的目标"),
}  # fmt: skip
_HOW_TO_ANSWER = (
    "Accept it, edit a value, respond with a no or with words such as “yes to the name, no to the city”, or ignore it."
)
_WHOLE_NUMBER = re.compile("[+-]?[0-9]{1,18}")
_CJK = re.compile(r"[\u3400-\u9fff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ACTION = "use_in_profile"  # what an interrupt asks for
_MAX_NAME_CHARS = 500  # of a name in a filter
_YEAR = timedelta(days=366)
_FARTHEST = timedelta(hours=14)  # from UTC; Postgres takes no zone of 16 hours or more
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC) + _YEAR, datetime.max.replace(tzinfo=UTC) - _YEAR
_CHOICES: Mapping[str, tuple[str, ...]] = {"fact_kind": get_args(FactKind), "reach": REACHES}  # of a filter
FILTER_KINDS: dict[str, type] = {
    name: get_args(kind)[0] for name, kind in get_type_hints(Filters).items() if name != "without_tags"
}


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


_QUERY_FIELDS = {"query", "return"} | {each.name for each in fields(Query)} - {"text", "returns"}
FULL_BUDGET_FACTOR = 4  # of the default budget for whole memories: one is as long as six bullets


def parse_time(value: Any, name: str) -> datetime:
    """Return a time from an ISO date or time; without a zone it is UTC. Raises BadInput naming the field.

    The first and the last year are refused: they have no time in another zone. A zone that no place has becomes UTC."""
    if isinstance(value, datetime):
        moment = value
    else:
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise BadInput(f"{name}: not an ISO date or time; for example 2026-05-01 or 2026-05-01T12:00:00Z") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not _EARLIEST <= moment <= _LATEST:
        raise BadInput(f"{name}: the years 2 to 9998 wanted")
    return moment.astimezone(UTC) if abs(moment.utcoffset() or timedelta()) > _FARTHEST else moment


def parse_filters(raw: Any) -> Filters:
    """Return filters from a JSON object; nulls are ignored. Raises BadInput for an unknown key and a wrong type."""
    if raw is not None and not isinstance(raw, Mapping):
        raise BadInput(f"filters: {type(raw).__name__} given, an object wanted")
    values: dict[str, Any] = {}
    for key, value in (raw or {}).items():
        kind = FILTER_KINDS.get(key)
        if kind is None:
            raise BadInput(f"filters: unknown key {key!r}; allowed: {', '.join(FILTER_KINDS)}")
        if value is None:
            continue
        if kind is datetime:
            values[key] = parse_time(value, f"filters.{key}")
        elif not is_storable(value):
            raise BadInput(f"filters.{key}: has a NUL or half a character")
        elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BadInput(f"filters.{key}: {type(value).__name__} given, {kind.__name__} wanted")
        elif key in _CHOICES and value not in _CHOICES[key]:
            raise BadInput(f"filters.{key}: one of {', '.join(_CHOICES[key])} wanted")
        elif isinstance(value, str) and len(value) > _MAX_NAME_CHARS:
            raise BadInput(f"filters.{key}: {len(value):,} characters given, at most {_MAX_NAME_CHARS} wanted")
        else:
            values[key] = value
    return Filters(**values)


def parse_query(raw: Mapping[str, Any], defaults: Query | None = None) -> Query:
    """Return a query from JSON, with `defaults` for what is not given. `agent` is ignored: the caller binds it. Raises
    BadInput."""
    base = defaults or Query(text="")
    if unknown := set(raw) - _QUERY_FIELDS - {"agent"}:
        raise BadInput(f"memory.query: unknown field {min(unknown)!r}; allowed: {', '.join(sorted(_QUERY_FIELDS))}")
    text = raw.get("query")
    if not isinstance(text, str):
        raise BadInput(f"query: {type(text).__name__} given, text wanted")
    categories = raw.get("categories") or ()
    if not is_text_list(categories):
        raise BadInput("categories: a list of names wanted")
    returns = raw.get("return") or base.returns
    if returns not in get_args(Returns):
        given = repr(returns) if isinstance(returns, str) else type(returns).__name__
        raise BadInput(f"return: {given} given; allowed: {', '.join(get_args(Returns))}")
    if not isinstance(profile := raw.get("profile") or base.profile, str | None):
        raise BadInput(f"profile: {type(profile).__name__} given, text wanted")
    budget = base.budget_tokens * (FULL_BUDGET_FACTOR if returns == "full" else 1)
    return Query(
        text=text,
        categories=tuple(categories),
        filters=parse_filters(raw.get("filters")),
        returns=returns,
        top_k=_parse_whole_number(raw.get("top_k"), base.top_k, "top_k"),
        budget_tokens=_parse_whole_number(raw.get("budget_tokens"), budget, "budget_tokens"),
        threshold=_parse_share(raw.get("threshold"), base.threshold),
        explain=_parse_flag(raw.get("explain"), base.explain, "explain"),
        profile=profile,
        as_of=base.as_of if raw.get("as_of") is None else parse_as_of(raw["as_of"]),
    )


def parse_as_of(value: Any) -> Revision | datetime:
    """Return the revision or the time that a read goes back to, from a whole number or an ISO date or time.

    A time without a zone is UTC; a date means its end. Raises BadInput."""
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise BadInput(f"as_of: {value} given; a revision is a whole number of 0 or more")
        return Revision(value)
    try:
        return parse_end_time(value, "as_of")
    except BadInput as error:
        raise BadInput(f"{error}; or a revision, for example 12") from None


def parse_end_time(value: Any, name: str) -> datetime:
    """Return a time as `parse_time` does; a date without a time means its end, a week the end of its last day."""
    try:
        day = date.fromisoformat(value) + timedelta(days=6 if len(value.replace("-", "")) == len("2026W47") else 0)
    except (TypeError, ValueError, OverflowError):
        return parse_time(value, name)
    return parse_time(datetime.combine(day, time.max), name)


def _parse_flag(value: Any, default: bool, name: str) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        raise BadInput(f"{name}: true or false wanted")
    return value


def _parse_whole_number(value: Any, default: int, name: str) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(f"{name}: a whole number of 1 or more wanted")
    return value


def _parse_share(value: Any, default: float | None) -> float | None:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadInput("threshold: a number from 0 to 1 wanted")
    return float(value)
