"""Recorded sessions as JSON lines, a message in each: session, role, text, at; where there is one user, project, name,
is_error and is_machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast, get_args

from muniment.chain.values import Identity, Message, MessageRole
from muniment.memory.errors import BadInput

_FIELDS = frozenset({"session", "role", "text", "at", "user", "project", "name", "is_error", "is_machine"})
_ROLES = get_args(MessageRole)
_MOST_LINES = 200_000
_DEFAULT_USER = "me"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMessage:
    """A message of a recording. `is_error` is of a tool's message."""

    identity: Identity
    message: Message
    at: datetime
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """A turn: what went before it in its session, the message of the user, and what followed."""

    number: int
    identity: Identity
    at: datetime
    earlier: tuple[Message, ...]
    asked: Message
    followed: tuple[RecordedMessage, ...]


def parse_recording(lines: Iterable[str]) -> Sequence[RecordedTurn]:
    """Return the turns of a recording, in the order of the users' messages. Empty lines are left out.

    Raises BadInput that names the line and the field."""
    parsed: list[RecordedMessage] = []
    for number, line in enumerate(lines, 1):
        if number > _MOST_LINES:
            raise BadInput(f"line {number}: a recording has at most {_MOST_LINES:,} lines")
        if line.strip():
            parsed.append(_parse_line(number, line))
    return _build_turns(parsed)


def _build_turns(messages: Sequence[RecordedMessage]) -> list[RecordedTurn]:
    by_session: dict[Identity, list[RecordedMessage]] = {}
    places: list[tuple[Identity, int]] = []  # of each message of a user in its session
    for recorded in messages:
        session = by_session.setdefault(recorded.identity, [])
        if recorded.message.role == "user":
            places.append((recorded.identity, len(session)))
        session.append(recorded)
    ends: dict[Identity, list[int]] = {}
    for identity, place in places:
        ends.setdefault(identity, []).append(place)
    seen: dict[Identity, int] = {}
    turns: list[RecordedTurn] = []
    for number, (identity, place) in enumerate(places, 1):
        session = by_session[identity]
        seen[identity] = seen.get(identity, 0) + 1
        rest = ends[identity][seen[identity] :]
        turns.append(
            RecordedTurn(
                number=number,
                identity=identity,
                at=session[place].at,
                earlier=tuple(each.message for each in session[:place]),
                asked=session[place].message,
                followed=tuple(session[place + 1 : rest[0] if rest else None]),
            )
        )
    return turns


def _parse_line(number: int, line: str) -> RecordedMessage:
    try:
        raw = json.loads(line)
    except ValueError:
        raise BadInput(f"line {number}: is no JSON") from None
    if not isinstance(raw, dict):
        raise BadInput(f"line {number}: is no object")
    if unknown := sorted(set(raw) - _FIELDS):
        raise BadInput(f"line {number}: unknown field {unknown[0]!r}; allowed: {', '.join(sorted(_FIELDS))}")
    texts = {name: _read_text(raw, name, number) for name in ("session", "role", "text", "user", "project", "name")}
    for name in ("session", "role", "text"):
        if texts[name] is None:
            raise BadInput(f"line {number}: {name} is missing")
    if texts["role"] not in _ROLES:
        raise BadInput(f"line {number}: role is one of {', '.join(_ROLES)}")
    identity = Identity(user=texts["user"] or _DEFAULT_USER, session=texts["session"] or "", project=texts["project"])
    at, role = _read_time(raw, number), cast("MessageRole", texts["role"])
    message = Message(
        role=role,
        text=texts["text"] or "",
        id=f"m{number}",
        at=at,
        name=texts["name"],
        is_machine=raw.get("is_machine") is True,
    )
    return RecordedMessage(identity=identity, message=message, at=at, is_error=raw.get("is_error") is True)


def _read_text(raw: dict[str, Any], name: str, number: int) -> str | None:
    value = raw.get(name)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"line {number}: {name} is no text")
    return value


def _read_time(raw: dict[str, Any], number: int) -> datetime:
    value = raw.get("at")
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None:
        raise BadInput(f"line {number}: at is no time such as 2026-11-12T09:00:00Z")
    return at if at.tzinfo else at.replace(tzinfo=UTC)
