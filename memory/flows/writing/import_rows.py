"""Checking and reading the rows of an import.

An error names the row's number, the field, and the kind of value that is there and wanted; never the value, which may
be a secret."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Any, get_args
from uuid import uuid4

from muniment.memory import codec, query_codec
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import ProfileField
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.journal import Action
from muniment.memory.domain.memory import Kind
from muniment.memory.domain.plan import Change, ImportReport
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.rules.extraction import import_lines
from muniment.memory.rules.merging.aliases import normalize_aliases
from muniment.memory.rules.merging.placement import MAX_SOURCE_CHARS
from muniment.memory.rules.redaction.redact import Redactor, find_denial

ROWS_AT_ONCE = 256  # whose characters are checked together
_OBJECTS = (dict, Mapping)
_TYPES = frozenset({
    "space", "memory", "version", "journal", "relation", "thread", "turn", "session", "consent", "observation",
})  # fmt: skip
_TEXT_OR_NONE = (str, type(None))  # `str | None` would be built anew for every row
_MEMORY_TYPES = ("memory", "version")
_TEXT_TYPES = (*_MEMORY_TYPES, "turn")
_EXPLICIT_FIELDS = ("kind", "category", "fact")  # a row with one of them is kept as it stands
_PLACEMENT = {"project_id": "project", "app_id": "app", "source": "source"}  # field of a row -> of a candidate
_EPISODIC_ADVICE = "what was said word for word is of kind 'episodic'"
# The reason of a refusal -> the field, and what the author of the row can do.
_REFUSAL_ADVICE = {
    "first or second person": ("text", f"is in the first or second person: write 'The user …'; {_EPISODIC_ADVICE}"),
    "relative date": ("text", f"has a date such as 'yesterday' or 'next week': write the day; {_EPISODIC_ADVICE}"),
    "a secret": ("text", "says nothing but a secret, which is not kept"),
    "not in the form of a procedure": ("text", "is no procedure: 'Goal: …', then 'Steps:', then numbered lines wanted"),
    "only a semantic memory has a fact": ("fact", "goes with kind 'semantic' only"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLine:
    """The candidates of the row with this number; `at` is when its facts were so, if it has a time; `is_parsed` if the
    rules found them."""

    number: int
    candidates: tuple[Candidate, ...]
    at: datetime | None = None
    is_parsed: bool = False

    @property
    def is_undated(self) -> bool:
        """Whether it states facts without a time: one that was corrected since an earlier import stays corrected."""
        return self.at is None and (self.is_parsed or any(each.fact for each in self.candidates))


class RowCheck:
    """What a look at all rows of an import has found: whether they are an export, the times of plain rows, in seconds
    since 1970 and infinite where one is so now, and what is wrong."""

    def __init__(self) -> None:
        self.is_export = False
        self.times = array("d")
        self._first: BadInput | None = None
        self._wrong: list[int] = []

    def note_error(self, error: BadInput) -> None:
        """Note what is wrong with a row."""
        self._first = self._first or error
        self._wrong.append(error.data["row"])

    def raise_errors(self) -> None:
        """Raise BadInput for the first row that is wrong; its data has the numbers of all that are."""
        if self._first is not None:
            self._first.data["rows"] = self._wrong
            raise self._first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportRows:
    """Checks the rows of an import, and reads plain rows as candidates."""

    clock: Clock
    redactor: Redactor
    settings: Settings
    writer: Writer

    def check_rows(self, check: RowCheck, rows: Sequence[Any], start: int) -> None:
        """Check the `ROWS_AT_ONCE` rows from a place on, and note the time of each plain row; the rows of an export
        have none. What is wrong is noted, too."""
        chunk = rows[start : start + ROWS_AT_ONCE]
        if start == 0:
            check.is_export = isinstance(chunk[0], _OBJECTS) and chunk[0].get("type") == "space"
        is_storable = codec.is_surely_storable(chunk)
        for number, row in enumerate(chunk, start + 1):
            try:
                self._check_row(row, number, is_storable=is_storable)
                if not check.is_export:
                    at = self.parse_candidate(row, number).event_time
                    check.times.append(inf if at is None else at.timestamp())
            except BadInput as error:
                check.note_error(error)

    def parse_line(self, scope: Scope, number: int, row: Mapping[str, Any], candidate: Candidate) -> ImportLine:
        """Return the row's statements where the rules read all of it, as they read a turn of the owner; else the
        candidate."""
        verbatim = ImportLine(
            number=number, candidates=(candidate,), at=candidate.event_time if candidate.fact else None
        )
        is_of_other = candidate.actor not in (None, scope.owner, scope.actor)
        if is_of_other or any(row.get(field) is not None for field in _EXPLICIT_FIELDS):
            return verbatim
        now = self.clock.now()
        at = candidate.event_time or now
        # The key is the time alone: the same row twice is the same turn, and its statements count once.
        turn = Turn.make(
            session="import",
            key=at.isoformat() if candidate.event_time else "",
            role="user",
            text=self.redactor.sanitize_text(candidate.text),
            at=at,
            actor=candidate.actor,
        )
        lines = import_lines.extract_line(turn, scope.owner, has_date=candidate.event_time is not None)
        statements = [self.writer.check_candidate(statement)[0] for statement in lines]
        if not statements or None in statements:
            return ImportLine(number=number, candidates=(replace(candidate, text=turn.text),), at=verbatim.at)
        candidates = tuple(
            replace(
                statement,
                importance=row.get("importance", statement.importance),
                pinned=candidate.pinned,
                tags=candidate.tags,
                aliases=candidate.aliases,
                project=candidate.project,
                app=candidate.app,
                reach=candidate.reach,
                source=candidate.source,
                expires_at=candidate.expires_at,
                event_time=statement.event_time or candidate.event_time,
            )
            for statement in statements
            if statement is not None
        )
        return ImportLine(
            number=number, candidates=candidates, at=candidate.event_time if at < now else None, is_parsed=True
        )

    def _check_row(self, row: Any, number: int, *, is_storable: bool) -> None:
        """Raise BadInput for a row that is wrong; `is_storable`: every text in it is known to be."""
        if not isinstance(row, _OBJECTS):
            raise BadInput(
                f'row {number}: {codec.describe_shape(row)} given, an object like {{"text": …}} wanted', row=number
            )
        kind = row.get("type", "memory")
        if not isinstance(kind, str) or kind not in _TYPES:
            raise _make_type_error(number, "type", kind, f"nothing, or one of {', '.join(sorted(_TYPES))},")
        if kind in _TEXT_TYPES and not isinstance(row.get("text"), str):
            missing = _make_error(number, "text", "is missing")
            raise _make_type_error(number, "text", row["text"], "text") if "text" in row else missing
        if kind == "consent" or row.get("tags") or row.get("path") is not None:
            self._check_consent(row, number)
        if not isinstance(row.get("context"), _TEXT_OR_NONE):
            raise _make_type_error(number, "context", row["context"], "text")
        if not is_storable and (field := _find_unstorable_field(row)):
            raise _make_error(number, field, "has a NUL or half a character, which cannot be stored")
        if kind == "space":
            rev = row.get("rev")
            if number > 1 or isinstance(rev, bool) or not isinstance(rev, int) or not 0 <= rev < 2**62:
                raise _make_error(number, "rev", "the space comes first, once, with its revision")
            _parse_moment(row, number, "created_at")
        if kind in _MEMORY_TYPES:
            self._check_memory(row, number)

    def _check_consent(self, row: Mapping[str, Any], number: int) -> None:
        """Raise BadInput for a field that the profile does not have, and for what the denylist names."""
        if row.get("type") == "consent" and row.get("field") not in get_args(ProfileField):
            raise _make_type_error(number, "field", row.get("field"), f"one of {', '.join(get_args(ProfileField))}")
        tags, path = row.get("tags"), row.get("path")
        tags = tags if tags and codec.is_text_list(tags) else ()
        path = path if isinstance(path, str) else None
        if (tags or path is not None) and (refusal := find_denial(self.settings.redact, tags=tags, path=path)):
            raise BadInput(f"row {number}: {refusal} (redact in the settings)", row=number)

    def _check_memory(self, row: Mapping[str, Any], number: int) -> None:
        if row.get("aliases") is not None:
            _check_aliases(row, number)
        try:
            codec.parse_fact(row.get("fact"))
        except BadInput as error:
            raise BadInput(f"row {number}: {error}", row=number, field="fact") from None
        if row.get("type") == "version" or (category := row.get("category")) is None:
            return
        if not isinstance(category, str) or category not in self.settings.categories:
            allowed = ", ".join(sorted(self.settings.categories))
            raise _make_type_error(number, "category", category, f"one of {allowed}")

    def parse_candidate(self, row: Mapping[str, Any], number: int) -> Candidate:
        """Return a plain row as a candidate that can be kept; only `text` must be there. Raises BadInput."""
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
            aliases=normalize_aliases(row.get("aliases") or ()),
            actor=actor,
            turns=(TurnId(uuid4()),),
            event_time=_parse_moment(row, number, "event_time") if row.get("event_time") else None,
            **_parse_placement(row, number),
        )
        _, reason = self.writer.check_candidate(candidate)
        if reason is not None:
            raise _explain_refusal(candidate, number, reason)
        return candidate


def _parse_placement(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return where the statement of a row is found, what it comes from and when it ends. Raises BadInput."""
    placed: dict[str, Any] = {}
    for name, field in _PLACEMENT.items():
        if (value := row.get(name)) is not None:
            if not isinstance(value, str) or not value.strip() or len(value) > MAX_SOURCE_CHARS:
                raise _make_type_error(number, name, value, f"text of 1 to {MAX_SOURCE_CHARS} characters")
            placed[field] = value
    reach = row.get("reach") or "user"
    if reach not in ("user", "project"):  # a file is of no session
        raise _make_type_error(number, "reach", reach, "user or project")
    if reach == "project" and "project" not in placed:
        raise _make_error(number, "reach", "is project, and project_id is missing")
    end = _parse_moment(row, number, "expires_at") if row.get("expires_at") is not None else None
    return placed | {"reach": reach, "expires_at": end}


class ImportTally:
    """Counts what became of the lines of an import."""

    def __init__(self) -> None:
        self.changes = self.added = 0
        self._merged: list[int] = []
        self._unused: list[int] = []

    def count_changes(self, lines: Sequence[ImportLine], changes: Sequence[Change]) -> None:
        """Count the changes of lines that were written together. A change has the turns of the line that it is of."""
        self.changes += len(changes)
        actions: dict[int, set[Action]] = {line.number: set() for line in lines}
        by_turn = {turn: line.number for line in lines for each in line.candidates for turn in each.turns}
        for change in changes:
            self.added += change.action == "ADD"
            known = change.before.turns if change.before else ()
            numbers = [by_turn[turn] for turn in change.after.turns if turn in by_turn and turn not in known]
            for number in numbers or (list(actions) if len(actions) == 1 else []):
                actions[number].add(change.action)
        self._unused += [number for number, made in actions.items() if not made]
        self._merged += [number for number, made in actions.items() if made and "ADD" not in made]

    def make_report(self) -> ImportReport:
        """Return what was counted, the rows in their order."""
        return ImportReport(
            changes=self.changes,
            added=self.added,
            merged=tuple(sorted(self._merged)),
            unused=tuple(sorted(self._unused)),
        )


def group_lines(lines: Sequence[ImportLine]) -> Iterator[Sequence[ImportLine]]:
    """Yield the lines that are written together: all plain notes, then each line with facts, which may correct earlier
    ones."""
    if notes := [line for line in lines if not _has_facts(line)]:
        yield notes
    yield from ((line,) for line in lines if _has_facts(line))


def _has_facts(line: ImportLine) -> bool:
    return any(candidate.kind != "episodic" or candidate.fact is not None for candidate in line.candidates)


def _check_aliases(row: Mapping[str, Any], number: int) -> None:
    """Raise BadInput unless the aliases of a row can be kept."""
    if not codec.is_text_list(row["aliases"]):
        raise _make_type_error(number, "aliases", row["aliases"], "a list of texts")
    try:
        normalize_aliases(row["aliases"])
    except BadInput as error:
        raise _make_error(number, "aliases", str(error)) from None


def _make_error(number: int, field: str, problem: str) -> BadInput:
    return BadInput(f"row {number}: field {field!r}: {problem}", row=number, field=field)


def _make_type_error(number: int, field: str, value: Any, allowed: str) -> BadInput:
    return _make_error(number, field, f"{codec.describe_shape(value)} given, {allowed} wanted")


def _find_unstorable_field(row: Mapping[str, Any]) -> str:
    """Return the first field that cannot be stored, or an empty text. `text` is normalized later and not checked.

    The plain texts of the row are checked as one, which is faster."""
    texts, values = [*map(str, row)], []
    for key, value in row.items():
        if isinstance(value, str):
            texts.append(value if key != "text" else "")
        elif value is not None and not isinstance(value, int | float):
            values.append(value)
    if codec.is_storable("".join(texts)) and codec.is_storable(values):
        return ""
    return next(
        str(key) for key, value in row.items() if not codec.is_storable([str(key), value if key != "text" else ""])
    )


def _parse_moment(row: Mapping[str, Any], number: int, field: str) -> datetime:
    try:
        return query_codec.parse_time(
            row.get(field), f"row {number}: field {field!r}: {codec.describe_shape(row.get(field))} given"
        )
    except BadInput as error:
        raise BadInput(str(error), row=number, field=field) from None


def _explain_refusal(candidate: Candidate, number: int, reason: str) -> BadInput:
    if reason == "empty":
        return _make_type_error(number, "text", candidate.text, "text with a word in it")
    if reason.startswith("longer than"):
        return _make_error(number, "text", f"{codec.describe_shape(candidate.text)} given, which is {reason}")
    if reason in _REFUSAL_ADVICE:
        return _make_error(number, *_REFUSAL_ADVICE[reason])
    return BadInput(f"row {number}: {reason}", row=number)
