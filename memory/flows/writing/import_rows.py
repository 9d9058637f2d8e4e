"""What a row of an import has to be, and what it says. One that is not right is named by its number and field, with what kind
of value is there and what is wanted; never with the value, which may be a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, get_args
from uuid import uuid4

from muniment.memory import codec as wire
from muniment.memory.domain.consent import Field
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Kind
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.house import House, safe_text
from muniment.memory.flows.writing.write import checked
from muniment.memory.rules.extraction import import_lines as lines
from muniment.memory.rules.redaction.denylist import denied

_AT_ONCE = 256  # rows whose characters are looked at together
_OBJECTS = (dict, Mapping)
_TYPES = frozenset({"space", "memory", "version", "journal", "relation", "thread", "turn", "consent"})
_TEXT_OR_NONE = (str, type(None))  # `str | None` is made anew for every row
_REMEMBERED = ("memory", "version")
_SPOKEN = (*_REMEMBERED, "turn")
_GIVEN = ("kind", "category", "fact")  # a row with one of them says itself what it is
_AS_SAID = "what was said word for word is of kind 'episodic'"
# Why a candidate is refused, as whoever wrote the row can mend it.
_REFUSED = {
    "first or second person": ("text", f"is in the first or second person: write 'The user …'; {_AS_SAID}"),
    "relative date": ("text", f"has a date such as 'yesterday' or 'next week': write the day; {_AS_SAID}"),
    "a secret": ("text", "says nothing but a secret, which is not kept"),
    "not in the form of a procedure": ("text", "is no procedure: 'Goal: …', then 'Steps:', then numbered lines wanted"),
    "only a semantic memory has a fact": ("fact", "goes with kind 'semantic' only"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a row says. `at`: when that was so, if it states facts and tells a time; `read`: the rules found them."""

    candidates: tuple[Candidate, ...]
    at: datetime | None = None
    read: bool = False


def candidates(house: House, rows: Sequence[Any]) -> list[tuple[Mapping[str, Any], Candidate]]:
    """Plain rows as they stand, and of an export nothing: there every row is only looked at.

    Raises BadInput for the first row that cannot be, before any is written; its data has the numbers of all of them."""
    whole = bool(rows) and isinstance(rows[0], _OBJECTS) and rows[0].get("type") == "space"
    found: list[tuple[Mapping[str, Any], Candidate]] = []
    flaws: list[BadInput] = []
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        sound = wire.plainly_sound(some)
        for number, row in enumerate(some, start + 1):
            try:
                _check(row, number, house, sound=sound)
                if not whole:
                    found.append((row, _candidate(row, number, house)))
            except BadInput as error:
                flaws.append(error)
    if flaws:
        flaws[0].data["rows"] = [error.data["row"] for error in flaws]
        raise flaws[0]
    return found


def line(house: House, scope: Scope, row: Mapping[str, Any], one: Candidate) -> Line:
    """The row's statements where the rules read all of it, as they would in a turn of the owner's; else the row as it stands."""
    given = Line(candidates=(one,), at=one.event_time if one.fact else None)
    theirs = one.actor not in (None, scope.owner, scope.actor)
    if theirs or any(row.get(field) is not None for field in _GIVEN):
        return given
    now = house.clock.now()
    at = one.event_time or now
    # The same row is the same turn: what it says twice counts once.
    turn = Turn.make(
        session="import",
        key=at.isoformat() if one.event_time else "",
        role="user",
        text=safe_text(house, one.text),
        at=at,
        actor=one.actor,
    )
    found = [checked(house, said)[0] for said in lines.read(turn, scope.owner, dated=one.event_time is not None)]
    said = tuple(
        replace(
            statement,
            importance=row.get("importance", statement.importance),
            pinned=one.pinned,
            tags=one.tags,
            event_time=statement.event_time or one.event_time,
        )
        for statement in found
        if statement is not None
    )
    if not said or len(said) < len(found):
        return given
    return Line(candidates=said, at=one.event_time if at < now else None, read=True)


def _bad(number: int, field: str, said: str) -> BadInput:
    return BadInput(f"row {number}: field {field!r}: {said}", row=number, field=field)


def _unfit(number: int, field: str, value: Any, wanted: str) -> BadInput:
    return _bad(number, field, f"{wire.shape(value)} given, {wanted} wanted")


def _check(row: Any, number: int, house: House, *, sound: bool) -> None:
    """Raises BadInput naming the row; `sound` says that every text in it can be stored."""
    if not isinstance(row, _OBJECTS):
        raise BadInput(f'row {number}: {wire.shape(row)} given, an object like {{"text": …}} wanted', row=number)
    kind = row.get("type", "memory")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise _unfit(number, "type", kind, f"nothing, or one of {', '.join(sorted(_TYPES))},")
    if kind in _SPOKEN:
        _check_text(row, number)
    if kind == "consent" or row.get("tags") or row.get("path") is not None:
        _check_consent(row, number, house)
    if not isinstance(row.get("context"), _TEXT_OR_NONE):
        raise _unfit(number, "context", row["context"], "text")
    if not sound and (field := _unsound(row)):
        raise _bad(number, field, "has a NUL or half a character, which cannot be stored")
    if kind == "space":
        rev = row.get("rev")
        if number > 1 or isinstance(rev, bool) or not isinstance(rev, int) or not 0 <= rev < 2**62:
            raise _bad(number, "rev", "the space comes first, once, with its revision")
        _moment(row, number, "created_at")
    if kind in _REMEMBERED:
        _check_memory(row, number, house)


def _check_text(row: Mapping[str, Any], number: int) -> None:
    if "text" not in row:
        raise _bad(number, "text", "is missing")
    if not isinstance(row["text"], str):
        raise _unfit(number, "text", row["text"], "text")


def _unsound(row: Mapping[str, Any]) -> str:
    """The first field of the row that cannot be stored; its text is cleaned later. Its plain texts are looked at as one."""
    said, rest = [*map(str, row)], []
    for key, value in row.items():
        if isinstance(value, str):
            said.append(value if key != "text" else "")
        elif value is not None and not isinstance(value, int | float):
            rest.append(value)
    if wire.sound("".join(said)) and wire.sound(rest):
        return ""
    return next(str(key) for key, value in row.items() if not wire.sound([str(key), value if key != "text" else ""]))


def _check_consent(row: Mapping[str, Any], number: int, house: House) -> None:
    """Neither what may not be taken in, nor a field that the profile does not have."""
    if row.get("type") == "consent" and row.get("field") not in get_args(Field):
        raise _unfit(number, "field", row.get("field"), f"one of {', '.join(get_args(Field))}")
    tags, path = row.get("tags"), row.get("path")
    tags = tags if tags and wire.texts(tags) else ()
    path = path if isinstance(path, str) else None
    if (tags or path is not None) and (refusal := denied(house.settings.redact, tags=tags, path=path)):
        raise BadInput(f"row {number}: {refusal} (redact in the settings)", row=number)


def _check_memory(row: Mapping[str, Any], number: int, house: House) -> None:
    try:
        wire.fact(row.get("fact"))
    except BadInput as error:
        raise BadInput(f"row {number}: {error}", row=number, field="fact") from None
    if row.get("type") == "version" or (category := row.get("category")) is None:
        return
    if not isinstance(category, str) or category not in house.categories:
        raise _unfit(number, "category", category, f"one of {', '.join(sorted(house.categories))}")


def _moment(row: Mapping[str, Any], number: int, field: str) -> Any:
    try:
        return wire.moment(row.get(field), f"row {number}: field {field!r}: {wire.shape(row.get(field))} given")
    except BadInput as error:
        raise BadInput(str(error), row=number, field=field) from None


def _candidate(row: Mapping[str, Any], number: int, house: House) -> Candidate:
    """A plain row as a candidate that will be kept: only `text` must be there. Raises BadInput naming the row."""
    if (part := row.get("type", "memory")) != "memory":
        raise _bad(number, "type", f"{part!r} is a part of an export, which begins with its space")
    importance, kind = row.get("importance", 2), row.get("kind", "episodic")
    tags, actor, pinned = row.get("tags", ()), row.get("actor_id"), row.get("pinned", False)
    if isinstance(importance, bool) or not isinstance(importance, int) or not 1 <= importance <= 5:
        raise _unfit(number, "importance", importance, "a whole number from 1 to 5")
    if kind not in get_args(Kind):
        raise _unfit(number, "kind", kind, f"one of {', '.join(get_args(Kind))}")
    if not wire.texts(tags):
        raise _unfit(number, "tags", tags, "a list of texts")
    if not isinstance(actor, str | None):
        raise _unfit(number, "actor_id", actor, "text")
    if not isinstance(pinned, bool):
        raise _unfit(number, "pinned", pinned, "true or false")
    candidate = Candidate(
        text=row["text"],
        category=row.get("category") or "activity",
        kind=kind,
        fact=wire.fact(row.get("fact")),
        importance=importance,
        pinned=pinned,
        tags=tuple(tags),
        actor=actor,
        turns=(TurnId(uuid4()),),
        event_time=_moment(row, number, "event_time") if row.get("event_time") else None,
    )
    _, reason = checked(house, candidate)
    if reason is not None:
        raise _refusal(candidate, number, reason)
    return candidate


def _refusal(one: Candidate, number: int, reason: str) -> BadInput:
    if reason == "empty":
        return _unfit(number, "text", one.text, "text with a word in it")
    if reason.startswith("longer than"):
        return _bad(number, "text", f"{wire.shape(one.text)} given, which is {reason}")
    if reason in _REFUSED:
        return _bad(number, *_REFUSED[reason])
    return BadInput(f"row {number}: {reason}", row=number)
