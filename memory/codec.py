"""The JSON codec: records to plain values and back. One shape for files, faces and tools."""

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
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Fact, FactKind, Memory
from muniment.memory.domain.plan import Change, Receipt
from muniment.memory.domain.query import Answer, Explanation, Filters, Hit, Query, Returns
from muniment.memory.errors import BadInput

# What the fields of the structured profile are called in a question.
_FIELDS: Mapping[str, tuple[str, str]] = {
    "preferred_name": ("preferred name", "您的称呼"), "pronouns": ("pronouns", "您的代词"), "city": ("city", "您的城市"),
    "language": ("language", "您的语言"), "tone": ("tone", "交流风格"), "goals": ("goal", "您的目标"),
}  # fmt: skip
_WHOLE_NUMBER = re.compile("[+-]?[0-9]{1,18}")
_CJK = re.compile(r"[\u3400-\u9fff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_YEAR = timedelta(days=366)
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC) + _YEAR, datetime.max.replace(tzinfo=UTC) - _YEAR
FILTER_KINDS: dict[str, type] = {
    "user_id": str, "agent_id": str, "run_id": str, "actor_id": str, "role": str, "category": str, "pinned": bool,
    "importance_min": int, "importance_max": int, "updated_after": datetime, "updated_before": datetime,
}  # fmt: skip


def encode_value(value: Any) -> Any:
    """A record's value as JSON knows it: ISO times in UTC, ids as text, tuples as lists."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {key: encode_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode_value(one) for one in value]
    return value


def encode_memory(memory: Memory) -> dict[str, Any]:
    """A memory as JSON: every field that is set."""
    return {key: encode_value(value) for key, value in asdict(memory).items() if value not in (None, ())}


def is_storable(value: Any) -> bool:
    """Whether every text in a JSON value is one that can be stored: no NUL, no half of a surrogate pair."""
    waiting = [value]  # however deeply it is nested
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if _UNSTORABLE.search(one):
                return False
        elif isinstance(one, Mapping):
            waiting += [*one, *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
    return True


def is_surely_storable(values: Sequence[Any]) -> bool:
    """A quick look whether all of these are `sound`; False where that is not sure."""
    try:
        found = orjson.dumps(values)  # refuses half of a pair, which has no code
    except (TypeError, RecursionError):
        return False
    return b"\\u0000" not in found


def describe_shape(value: Any) -> str:
    """What kind of value this is, without a word of it: it may be a secret."""
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
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def parse_fact(raw: Any) -> Fact | None:
    """A fact from JSON. Raises BadInput when a field is missing, unknown or of a wrong type."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise BadInput(f"fact: {describe_shape(raw)} given, an object wanted")
    known = {field.name for field in fields(Fact)}
    if unknown := set(raw) - known:
        raise BadInput(f"fact: unknown field {min(unknown)!r}; allowed: {', '.join(sorted(known))}")
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
    """What a write did to one memory."""
    after = change.after
    shown = {
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
    return {key: encode_value(value) for key, value in shown.items() if value is not None}


def encode_receipt(receipt: Receipt) -> dict[str, Any]:
    """A receipt: revision, changes, and what was not written with the reason."""
    return {
        "rev": receipt.rev,
        "changes": [encode_change(item) for item in receipt.changes],
        "replayed": receipt.replayed,
        "skipped": receipt.skipped,
        "refused": list(receipt.refused),
    }


def encode_consent_request(consent: Consent) -> dict[str, str]:
    """A request for consent, with the question for a person."""
    asked = {"id": str(consent.id), "field": consent.field, "value": consent.value}
    return asked | {"question": format_consent_question([asked])}


def format_consent_question(requests: Sequence[Mapping[str, str]]) -> str:
    """What a person is asked about these requests, in one line."""
    if any(_CJK.search(one["value"]) for one in requests):
        wishes = "、".join(f'把"{one["value"]}"记为{_FIELDS[one["field"]][1]}' for one in requests)
        return f"可以{wishes}吗？（是/否）"
    values = " and ".join(f'"{one["value"]}" as your {_FIELDS[one["field"]][0]}' for one in requests)
    return f"May I keep {values}? (yes/no)"


def format_decisions(requests: Sequence[Consent]) -> str:
    """What became of these requests, in one line; empty without any."""
    if not requests:
        return ""
    values = ", ".join(f'{_FIELDS[one.field][0]} "{one.value}"' for one in requests)
    return f"Kept: {values}." if requests[0].decision == "approved" else f"Not kept: {values}."


def encode_consent(consent: Consent) -> dict[str, Any]:
    """A request for consent and what became of it."""
    return {key: encode_value(value) for key, value in asdict(consent).items() if value not in (None, ())}


def encode_journal_entry(entry: JournalEntry) -> dict[str, Any]:
    """A line of the journal."""
    return {key: encode_value(value) for key, value in asdict(entry).items() if value not in (None, {})}


FULL_BUDGET_FACTOR = 4  # the room of whole memories, where none is named: one takes that of six bullets
# Not of a hit: what grows with how often it was said, and what says the same again.
_HIDDEN_FIELDS = frozenset({"context", "stable_key", "turns"})
# Of a procedure: what it says, whose it is, how to take it.
_PROCEDURE_FIELDS = frozenset(
    {"id", "kind", "category", "text", "agent_id", "run_id", "tags", "importance", "pinned", "trust", "created_at",
     "last_accessed_at", "score"}
)  # fmt: skip


def encode_hit(hit: Hit, returns: Returns, *, explain: bool = False) -> dict[str, Any]:
    """A hit as the tool returns it: a bullet `{id, category, text}` or the whole memory, of a procedure its fields; explained
    with its score and relevance, the score's parts, the channels that found it and its place in each, the words of the query
    that it tells, its own revision, and the hit that brought it along."""
    if returns == "bullets":
        shown: dict[str, Any] = {
            "id": str(hit.memory.id),
            "category": hit.memory.category,
            "text": _format_bullet(hit.memory),
        }
    else:
        shown = encode_memory(hit.memory) | {"score": round(hit.score, 4)}
        shown = {name: value for name, value in shown.items() if name not in _HIDDEN_FIELDS}
        if hit.memory.fact:
            shown["fact"] = {name: value for name, value in shown["fact"].items() if value not in (None, False, [])}
        if hit.memory.kind == "procedural":
            # It is long and rests on many turns: with all its fields none would fit into the usual budget.
            shown = {name: value for name, value in shown.items() if name in _PROCEDURE_FIELDS}
    if explain:
        shown |= {
            "score": round(hit.score, 4),
            "relevance": round(hit.relevance, 4),
            "parts": {key: round(value, 4) for key, value in hit.parts.items()},
            "channels": list(hit.channels),
            "ranks": dict(hit.ranks),
            "words": list(hit.words),
            "rev": hit.memory.rev,
        }
        if hit.related_to:
            shown["related_to"] = str(hit.related_to)
    return shown


def encode_answer(answer: Answer, *, explain: bool = False) -> dict[str, Any]:
    """An answer of `memory.query`; with `explain` also what was left out and why."""
    shown: dict[str, Any] = {
        "rev": answer.rev,
        "results": [encode_hit(item, answer.returns, explain=explain) for item in answer.hits],
    }
    if explain:
        shown["tokens"] = answer.tokens
        shown["left_out"] = [
            {"id": str(item.id), "reason": item.reason, "score": round(item.score, 4)} for item in answer.omissions
        ]
    return shown


def encode_explanation(explanation: Explanation) -> dict[str, Any]:
    """Why a memory is not in an answer: the reason, what it rests on, and the memory where the agent may read it; explained
    as a hit is where the search judged it."""
    shown: dict[str, Any] = {
        "id": str(explanation.id),
        "reason": explanation.reason,
        "said": explanation.sentence,
        "rev": explanation.rev,
    }
    shown["facts"] = encode_value(explanation.facts)
    if explanation.hit is not None:
        shown["memory"] = encode_hit(explanation.hit, "bullets", explain=True)
    elif explanation.memory is not None:
        shown["memory"] = {
            "id": str(explanation.id),
            "category": explanation.memory.category,
            "text": _format_bullet(explanation.memory),
        }
    return shown


def _format_bullet(memory: Memory) -> str:
    """`[category] text`."""
    return f"[{memory.category}] {memory.text}"


def parse_time(value: Any, name: str) -> datetime:
    """An ISO date or time; without a zone it is UTC. Raises BadInput naming the field.

    The first and the last year of the calendar are out: in another zone they would not be in it."""
    if isinstance(value, datetime):
        found = value
    else:
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise BadInput(f"{name}: not an ISO date or time; for example 2026-05-01 or 2026-05-01T12:00:00Z") from None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    if not _EARLIEST <= found <= _LATEST:
        raise BadInput(f"{name}: the years 2 to 9998 wanted")
    return found


def parse_filters(raw: Any) -> Filters:
    """Filters from JSON: nulls are ignored; what is no object, an unknown key and a wrong type are a BadInput."""
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
        else:
            values[key] = value
    return Filters(**values)


def parse_query(raw: Mapping[str, Any], defaults: Query | None = None) -> Query:
    """A request from JSON (S-58). `agent` is not read here: the caller binds it. Raises BadInput."""
    base = defaults or Query(text="")
    allowed = {"query", "categories", "filters", "top_k", "return", "budget_tokens", "threshold", "explain", "as_of"}
    if unknown := set(raw) - allowed - {"agent"}:
        raise BadInput(f"memory.query: unknown field {min(unknown)!r}; allowed: {', '.join(sorted(allowed))}")
    text = raw.get("query")  # without one nothing is found, as if nothing was known
    if not isinstance(text, str):
        raise BadInput(f"query: {type(text).__name__} given, text wanted")
    categories = raw.get("categories") or ()
    if not isinstance(categories, list | tuple) or not all(isinstance(one, str) for one in categories):
        raise BadInput("categories: a list of names wanted")
    returns = raw.get("return") or base.returns
    if returns not in get_args(Returns):
        given = repr(returns) if isinstance(returns, str) else type(returns).__name__
        raise BadInput(f"return: {given} given; allowed: {', '.join(get_args(Returns))}")
    room = base.budget_tokens * (FULL_BUDGET_FACTOR if returns == "full" else 1)
    return Query(
        text=text,
        categories=tuple(categories),
        filters=parse_filters(raw.get("filters")),
        returns=returns,
        top_k=_parse_whole_number(raw.get("top_k"), base.top_k, "top_k"),
        budget_tokens=_parse_whole_number(raw.get("budget_tokens"), room, "budget_tokens"),
        threshold=_parse_share(raw.get("threshold"), base.threshold),
        explain=_parse_flag(raw.get("explain"), base.explain, "explain"),
        as_of=base.as_of if raw.get("as_of") is None else parse_as_of(raw["as_of"]),
    )


def parse_as_of(value: Any) -> Revision | datetime:
    """What a read goes back to: a whole number, as a number or a text, is a revision; else an ISO date or time. Without a
    zone it is UTC, and a date without a time means its end. Raises BadInput."""
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
    """As `moment`, but a date without a time is its end."""
    return (
        parse_time(datetime.combine(found, time.max), name)
        if (found := _parse_date(value))
        else parse_time(value, name)
    )


def _parse_date(value: Any) -> date | None:
    """The day, of a week without one its last."""
    try:
        return date.fromisoformat(value) + timedelta(days=6 if len(value.replace("-", "")) == len("2026W47") else 0)
    except (TypeError, ValueError, OverflowError):
        return None


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
