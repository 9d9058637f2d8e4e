"""Queries, filters and times as callers write them in JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, get_args, get_type_hints

from muniment.memory.codec import is_storable, is_text_list
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import REACHES, FactKind
from muniment.memory.domain.query import INTERNAL_FILTERS, Filters, Query, Returns
from muniment.memory.errors import BadInput

_WHOLE_NUMBER = re.compile("[+-]?[0-9]{1,18}")
_MAX_NAME_CHARS = 500  # of a name in a filter
_YEAR = timedelta(days=366)
_FARTHEST = timedelta(hours=14)  # from UTC; Postgres takes no zone of 16 hours or more
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC) + _YEAR, datetime.max.replace(tzinfo=UTC) - _YEAR
_CHOICES: Mapping[str, tuple[str, ...]] = {"fact_kind": get_args(FactKind), "reach": REACHES}  # of a filter
FILTER_KINDS: dict[str, type] = {
    name: get_args(kind)[0] for name, kind in get_type_hints(Filters).items() if name not in INTERNAL_FILTERS
}
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
