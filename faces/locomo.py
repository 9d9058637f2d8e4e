"""LoCoMo: conversations of many sessions, read into candidates; every dialogue turn is one.

The layout is that of the data set: a conversation (or a list of them) with a `sample_id` and, under `conversation`,
`session_1` with its turns (`speaker`, `dia_id`, `text`, perhaps `blip_caption`) and `session_1_date_time`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput

CATEGORY = "activity"
CONTEXT_TURNS = 2  # turns on either side whose words help to find a turn

_SESSION_KEY = re.compile(r"session_(\d+)")
_DATE = re.compile(
    r"\s*(\d{1,2}):(\d\d)\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]{3})[a-z]*\.?,?\s+(\d{4})\s*", re.IGNORECASE
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation and its candidates, one for each dialogue turn, in their order."""

    sample_id: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class _Utterance:
    speaker: str
    dia_id: str
    text: str


def parse_conversations(content: Any) -> list[Conversation]:
    """Every conversation of a file's content, after all of it is checked.

    Raises BadInput naming the conversation, the session, the turn's index and the field."""
    several = content if isinstance(content, list) else [content]
    parsed = [_parse_conversation(raw, f"conversation {index}") for index, raw in enumerate(several)]
    names = [conversation.sample_id for conversation in parsed]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"conversation {duplicate!r}: is in the file twice")
    return parsed


def _parse_conversation(raw: Any, place: str) -> Conversation:
    sample_id = _read_text(raw, "sample_id", place)
    place = f"conversation {sample_id!r}"
    talk = raw.get("conversation")
    if not isinstance(talk, Mapping):
        raise BadInput(f"{place}: field 'conversation': {_describe_type(talk)} given, an object wanted")
    numbers = sorted(int(match[1]) for key in talk if (match := _SESSION_KEY.fullmatch(key)))
    if not numbers:
        raise BadInput(f"{place}: there is no session; 'session_1' with its turns is wanted")
    candidates: list[Candidate] = []
    dia_ids: set[str] = set()
    for number in numbers:
        where = f"{place}, session {number}"
        turns = _parse_turns(talk[f"session_{number}"], dia_ids, where)
        if turns:
            said_at = _parse_date(
                talk.get(f"session_{number}_date_time"), f"{where}, field 'session_{number}_date_time'"
            )
            candidates.extend(_make_candidates(sample_id, number, said_at, turns))
    return Conversation(sample_id=sample_id, candidates=tuple(candidates))


def _parse_turns(raw: Any, dia_ids: set[str], place: str) -> list[_Utterance]:
    """The turns of a session, without those that have neither words nor an image."""
    if not isinstance(raw, list):
        raise BadInput(f"{place}: {_describe_type(raw)} given, a list of turns wanted")
    turns = []
    for index, turn in enumerate(raw):
        where = f"{place}, turn {index}"
        utterance = _Utterance(
            _read_text(turn, "speaker", where),
            _read_text(turn, "dia_id", where),
            _read_text(turn, "text", where, empty=True),
        )
        if utterance.dia_id in dia_ids:
            raise BadInput(f"{where}, field 'dia_id': {utterance.dia_id!r} is there twice")
        dia_ids.add(utterance.dia_id)
        caption = _read_text(turn, "blip_caption", where, empty=True) if turn.get("blip_caption") is not None else ""
        words = " ".join(part for part in (utterance.text, f"[image: {caption}]" if caption else "") if part)
        if words:
            turns.append(_Utterance(utterance.speaker, utterance.dia_id, words))
    return turns


def _make_candidates(sample_id: str, number: int, at: datetime, turns: Sequence[_Utterance]) -> list[Candidate]:
    candidates = []
    for index, utterance in enumerate(turns):
        turn = Turn.make(session=sample_id, key=utterance.dia_id, role="user", text=utterance.text, at=at)
        candidate = Candidate(
            text=utterance.text,
            category=CATEGORY,
            kind="episodic",
            confidence=1.0,
            event_time=at,
            turns=(turn.id,),
            actor=utterance.speaker,
            tags=(f"dia:{utterance.dia_id}", f"session:{number}"),
            context=_format_context(at, turns, index),
        )
        candidates.append(candidate)
    return candidates


def _format_context(at: datetime, turns: Sequence[_Utterance], index: int) -> str:
    """The date in words, the speaker, and the turns just before and after."""
    near = range(max(0, index - CONTEXT_TURNS), min(len(turns), index + CONTEXT_TURNS + 1))
    lines = [turns[i].speaker if i == index else f"{turns[i].speaker}: {turns[i].text}" for i in near]
    return "\n".join([f"{at.day} {_MONTH_NAMES[at.month - 1]} {at.year}", *lines])


def _parse_date(raw: Any, place: str) -> datetime:
    """The time of '1:56 pm on 8 May, 2023' or of an ISO text, in UTC without a zone. Raises BadInput."""
    if not isinstance(raw, str):
        raise BadInput(f"{place}: {_describe_type(raw)} given, a date like '1:56 pm on 8 May, 2023' wanted")
    try:
        if match := _DATE.fullmatch(raw):
            hour, minute, half, day, month, year = match.groups()
            clock = int(hour) % 12 + (12 if half.lower() == "p" else 0)
            return datetime(int(year), _MONTHS.index(month.lower()) + 1, int(day), clock, int(minute), tzinfo=UTC)
        time = datetime.fromisoformat(raw.strip())
    except ValueError:
        raise BadInput(f"{place}: not a date; for example '1:56 pm on 8 May, 2023'") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _read_text(raw: Any, field: str, place: str, *, empty: bool = False) -> str:
    if not isinstance(raw, Mapping):
        raise BadInput(f"{place}: {_describe_type(raw)} given, an object wanted")
    if field not in raw:
        raise BadInput(f"{place}: field {field!r} is missing")
    value = raw[field]
    if not isinstance(value, str):
        raise BadInput(f"{place}, field {field!r}: {_describe_type(value)} given, text wanted")
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):
        raise BadInput(f"{place}, field {field!r}: has a NUL or half a surrogate pair, which no text has")
    if not (value := value.strip()) and not empty:
        raise BadInput(f"{place}, field {field!r}: is empty")
    return value


def _describe_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")
