"""What a row of an import has to be, and what it says. One that is not right is named by its number and field, with what kind
of value is there and what is wanted; never with the value, which may be a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, get_args
from uuid import uuid4

from muniment.memory import codec
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import ProfileField
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Kind
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.redactor import Redactor
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.rules.extraction import import_lines
from muniment.memory.rules.redaction.redact import find_denial

_AT_ONCE = 256  # rows whose characters are looked at together
_OBJECTS = (dict, Mapping)
_TYPES = frozenset({"space", "memory", "version", "journal", "relation", "thread", "turn", "consent"})
_TEXT_OR_NONE = (str, type(None))  # `str | None` is made anew for every row
_MEMORY_TYPES = ("memory", "version")
_TEXT_TYPES = (*_MEMORY_TYPES, "turn")
_EXPLICIT_FIELDS = ("kind", "category", "fact")  # a row with one of them says itself what it is
_EPISODIC_ADVICE = "what was said word for word is of kind 'episodic'"
# Why a candidate is refused, as whoever wrote the row can mend it.
_REFUSAL_ADVICE = {
    "first or second person": ("text", f"is in the first or second person: write 'The user …'; {_EPISODIC_ADVICE}"),
    "relative date": ("text", f"has a date such as 'yesterday' or 'next week': write the day; {_EPISODIC_ADVICE}"),
    "a secret": ("text", "says nothing but a secret, which is not kept"),
    "not in the form of a procedure": ("text", "is no procedure: 'Goal: …', then 'Steps:', then numbered lines wanted"),
    "only a semantic memory has a fact": ("fact", "goes with kind 'semantic' only"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLine:
    """What a row says. `at`: when that was so, if it states facts and tells a time; `read`: the rules found them."""

    candidates: tuple[Candidate, ...]
    at: datetime | None = None
    is_parsed: bool = False


def _make_error(number: int, field: str, said: str) -> BadInput:
    return BadInput(f"row {number}: field {field!r}: {said}", row=number, field=field)


def _make_type_error(number: int, field: str, value: Any, wanted: str) -> BadInput:
    return _make_error(number, field, f"{codec.describe_shape(value)} given, {wanted} wanted")


def _check_text(row: Mapping[str, Any], number: int) -> None:
    if "text" not in row:
        raise _make_error(number, "text", "is missing")
    if not isinstance(row["text"], str):
        raise _make_type_error(number, "text", row["text"], "text")


def _find_unsound_field(row: Mapping[str, Any]) -> str:
    """The first field of the row that cannot be stored; its text is cleaned later. Its plain texts are looked at as one."""
    said, rest = [*map(str, row)], []
    for key, value in row.items():
        if isinstance(value, str):
            said.append(value if key != "text" else "")
        elif value is not None and not isinstance(value, int | float):
            rest.append(value)
    if codec.is_storable("".join(said)) and codec.is_storable(rest):
        return ""
    return next(
        str(key) for key, value in row.items() if not codec.is_storable([str(key), value if key != "text" else ""])
    )


def _parse_moment(row: Mapping[str, Any], number: int, field: str) -> Any:
    try:
        return codec.parse_time(
            row.get(field), f"row {number}: field {field!r}: {codec.describe_shape(row.get(field))} given"
        )
    except BadInput as error:
        raise BadInput(str(error), row=number, field=field) from None


def _explain_refusal(one: Candidate, number: int, reason: str) -> BadInput:
    if reason == "empty":
        return _make_type_error(number, "text", one.text, "text with a word in it")
    if reason.startswith("longer than"):
        return _make_error(number, "text", f"{codec.describe_shape(one.text)} given, which is {reason}")
    if reason in _REFUSAL_ADVICE:
        return _make_error(number, *_REFUSAL_ADVICE[reason])
    return BadInput(f"row {number}: {reason}", row=number)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportRows:
    """What a row of an import has to be, and what it says. One that is not right is named by its number and field, with what kind of value is there and what is wanted; never with the value, which may be a secret."""

    clock: Clock
    redactor: Redactor
    settings: Settings
    writer: Writer

    def parse_rows(self, rows: Sequence[Any]) -> list[tuple[Mapping[str, Any], Candidate]]:
        """Plain rows as they stand, and of an export nothing: there every row is only looked at.

        Raises BadInput for the first row that cannot be, before any is written; its data has the numbers of all of them."""
        whole = bool(rows) and isinstance(rows[0], _OBJECTS) and rows[0].get("type") == "space"
        found: list[tuple[Mapping[str, Any], Candidate]] = []
        flaws: list[BadInput] = []
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            sound = codec.is_surely_storable(some)
            for number, row in enumerate(some, start + 1):
                try:
                    self._check_row(row, number, sound=sound)
                    if not whole:
                        found.append((row, self._parse_candidate(row, number)))
                except BadInput as error:
                    flaws.append(error)
        if flaws:
            flaws[0].data["rows"] = [error.data["row"] for error in flaws]
            raise flaws[0]
        return found

    def parse_line(self, scope: Scope, row: Mapping[str, Any], one: Candidate) -> ImportLine:
        """The row's statements where the rules read all of it, as they would in a turn of the owner's; else the row as it stands."""
        given = ImportLine(candidates=(one,), at=one.event_time if one.fact else None)
        theirs = one.actor not in (None, scope.owner, scope.actor)
        if theirs or any(row.get(field) is not None for field in _EXPLICIT_FIELDS):
            return given
        now = self.clock.now()
        at = one.event_time or now
        # The same row is the same turn: what it says twice counts once.
        turn = Turn.make(
            session="import",
            key=at.isoformat() if one.event_time else "",
            role="user",
            text=self.redactor.sanitize_text(one.text),
            at=at,
            actor=one.actor,
        )
        found = [
            self.writer.check_candidate(said)[0]
            for said in import_lines.extract_line(turn, scope.owner, has_date=one.event_time is not None)
        ]
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
        return ImportLine(candidates=said, at=one.event_time if at < now else None, is_parsed=True)

    def _check_row(self, row: Any, number: int, *, sound: bool) -> None:
        """Raises BadInput naming the row; `sound` says that every text in it can be stored."""
        if not isinstance(row, _OBJECTS):
            raise BadInput(
                f'row {number}: {codec.describe_shape(row)} given, an object like {{"text": …}} wanted', row=number
            )
        kind = row.get("type", "memory")
        if not isinstance(kind, str) or kind not in _TYPES:
            raise _make_type_error(number, "type", kind, f"nothing, or one of {', '.join(sorted(_TYPES))},")
        if kind in _TEXT_TYPES:
            _check_text(row, number)
        if kind == "consent" or row.get("tags") or row.get("path") is not None:
            self._check_consent(row, number)
        if not isinstance(row.get("context"), _TEXT_OR_NONE):
            raise _make_type_error(number, "context", row["context"], "text")
        if not sound and (field := _find_unsound_field(row)):
            raise _make_error(number, field, "has a NUL or half a character, which cannot be stored")
        if kind == "space":
            rev = row.get("rev")
            if number > 1 or isinstance(rev, bool) or not isinstance(rev, int) or not 0 <= rev < 2**62:
                raise _make_error(number, "rev", "the space comes first, once, with its revision")
            _parse_moment(row, number, "created_at")
        if kind in _MEMORY_TYPES:
            self._check_memory(row, number)

    def _check_consent(self, row: Mapping[str, Any], number: int) -> None:
        """Neither what may not be taken in, nor a field that the profile does not have."""
        if row.get("type") == "consent" and row.get("field") not in get_args(ProfileField):
            raise _make_type_error(number, "field", row.get("field"), f"one of {', '.join(get_args(ProfileField))}")
        tags, path = row.get("tags"), row.get("path")
        tags = tags if tags and codec.is_text_list(tags) else ()
        path = path if isinstance(path, str) else None
        if (tags or path is not None) and (refusal := find_denial(self.settings.redact, tags=tags, path=path)):
            raise BadInput(f"row {number}: {refusal} (redact in the settings)", row=number)

    def _check_memory(self, row: Mapping[str, Any], number: int) -> None:
        try:
            codec.parse_fact(row.get("fact"))
        except BadInput as error:
            raise BadInput(f"row {number}: {error}", row=number, field="fact") from None
        if row.get("type") == "version" or (category := row.get("category")) is None:
            return
        if not isinstance(category, str) or category not in self.settings.categories:
            raise _make_type_error(
                number, "category", category, f"one of {', '.join(sorted(self.settings.categories))}"
            )

    def _parse_candidate(self, row: Mapping[str, Any], number: int) -> Candidate:
        """A plain row as a candidate that will be kept: only `text` must be there. Raises BadInput naming the row."""
        if (part := row.get("type", "memory")) != "memory":
            raise _make_error(number, "type", f"{part!r} is a part of an export, which begins with its space")
        importance, kind = row.get("importance", 2), row.get("kind", "episodic")
        tags, actor, pinned = row.get("tags", ()), row.get("actor_id"), row.get("pinned", False)
        if isinstance(importance, bool) or not isinstance(importance, int) or not 1 <= importance <= 5:
            raise _make_type_error(number, "importance", importance, "a whole number from 1 to 5")
        if kind not in get_args(Kind):
            raise _make_type_error(number, "kind", kind, f"one of {', '.join(get_args(Kind))}")
        if not codec.is_text_list(tags):
            raise _make_type_error(number, "tags", tags, "a list of texts")
        if not isinstance(actor, str | None):
            raise _make_type_error(number, "actor_id", actor, "text")
        if not isinstance(pinned, bool):
            raise _make_type_error(number, "pinned", pinned, "true or false")
        candidate = Candidate(
            text=row["text"],
            category=row.get("category") or "activity",
            kind=kind,
            fact=codec.parse_fact(row.get("fact")),
            importance=importance,
            pinned=pinned,
            tags=tuple(tags),
            actor=actor,
            turns=(TurnId(uuid4()),),
            event_time=_parse_moment(row, number, "event_time") if row.get("event_time") else None,
        )
        _, reason = self.writer.check_candidate(candidate)
        if reason is not None:
            raise _explain_refusal(candidate, number, reason)
        return candidate
