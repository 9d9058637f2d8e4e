"""Reads a text that a person asks to remember, so that nothing of it is lost: as statements, or word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.notes import make_notes
from muniment.memory.rules.language import tokens
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.redaction.secret_names import describe_redactions

LONG_TEXT = 4_000  # characters from which a text is read only for so long, and beside the event loop
_SAMPLE = 'My sister\'s passport number changed on 3 May. I wrote: "I am in Lisbon".\n我住在里斯本，我妹妹五月三号来。'
_NO_STATEMENT: Mapping[str, str] = {
    "question": 'it is a question. Say it as a statement, such as "I live in Lisbon".',
    "question about the assistant": 'it is a question. Say it as a statement, such as "I live in Lisbon".',
    "acknowledgement": "there is nothing in it to remember.",
    "greeting": "there is nothing in it to remember.",
}
_MAX_UNCOVERED = 1 / 3  # the share of the words of a text to remember that its statements may leave out
_PART = re.compile(
    r"(?<!\s)\s*(?:[,;.!?，。；、！？]|\b(?:and|but|or|plus)\b|和|与|以及|还有|但是?|而且)\s*", re.IGNORECASE
)


@cache
def load_rules() -> None:
    """Load and compile what the rules need for their first text, once a process: no deadline should count it."""
    sample = Turn.make(session="", key="", role="user", text=_SAMPLE, at=datetime(2026, 1, 1, tzinfo=UTC))
    Redactor().sanitize_text(_SAMPLE)
    quoted.find_quoted_instructions(sample)
    extract_statements(sample)


def read_requested(safe: Turn) -> tuple[Candidate, ...]:
    """Return what is kept of a redacted text that a person wants remembered: of more than `LONG_TEXT` characters the
    text itself. Raises BadInput for an empty text, a question and a mere "ok"."""
    if not safe.text.strip():
        raise BadInput("there is no text to remember")
    if reason := _NO_STATEMENT.get(gate.find_skip_reason(safe.text, safe.role) or ""):
        raise BadInput(f"cannot be remembered: {reason}")
    return extract_requested(safe) if len(safe.text) <= LONG_TEXT else (make_verbatim(safe),)


def extract_requested(turn: Turn) -> tuple[Candidate, ...]:
    """The statements of a text that a person wants remembered; where a part of it is in none of them, all of it too,
    word for word."""
    found = extract_statements(turn).candidates
    candidates = (
        tuple(candidate for candidate in found if not candidate.is_correction)
        or extract_statements(replace(turn, text=f"Remember that {turn.text}")).candidates
    )
    if _covers_text(turn.text, candidates) and not _find_missing_parts(turn.text, candidates):
        return candidates
    if not describe_redactions(turn.text) and _covers_text(turn.text, candidates):
        return (*candidates, *(replace(note, importance=3) for note in make_notes([turn.text], turn)))
    return (make_verbatim(turn),)


def make_verbatim(turn: Turn) -> Candidate:
    """The text of a turn, word for word."""
    return Candidate(text=turn.text, category="activity", turns=(turn.id,), importance=3, kind="episodic")


def _covers_text(text: str, candidates: Sequence[Candidate]) -> bool:
    """Whether there are statements, and they hold two thirds of the text's words."""
    words = tokens.get_lexeme_set(text)
    missing = words - tokens.get_lexeme_set(" ".join(candidate.text for candidate in candidates))
    return bool(candidates) and len(missing) <= len(words) * _MAX_UNCOVERED


def _find_missing_parts(text: str, candidates: Sequence[Candidate]) -> list[str]:
    """The parts of an enumeration ("a dog and a house") of which no statement has a word."""
    kept = tokens.get_lexeme_set(" ".join(candidate.text for candidate in candidates))
    parts = [(part, tokens.get_lexeme_set(part)) for part in _PART.split(text)]
    return [part for part, words in parts if words and not words & kept]
