"""Validates candidates: whole statements in the third person, self-contained, with a bounded length."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from muniment.memory.domain.memory import is_note
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import normalize_text
from muniment.memory.rules.procedures import procedure

# S-80: the form of a semantic memory, as the prompts state it.
SUMMARY_RULES = (
    "Write a complete, self-contained, third-person summary with no pronouns; neutral tone; 1–2 sentences; ≤{most} "
    "chars."
)
_ANY_DAY = datetime(2024, 5, 15, tzinfo=UTC)
_PRONOUNS = lazy_compile(
    r"(?<![\w'/-])(?:I|I'm|I've|I'll|I'd|im|i|i'm|i've|i'll|i'd|me|my|mine|myself|we|we're|we've|we'll|us|our|ours"
    r"|ourselves|you|you're|you've|you'll|you'd|your|yours|yourself|yourselves|My|Me|Mine|Myself|We|We're|We've|Our"
    r"|Ours|You|You're|Your|Yours|Yourself)(?![\w/-])|[我你您咱俺]"
)
_NOT_A_PRONOUN = lazy_compile(
    r"自我|忘我|我国|\bI/O\b|\b(?:Type|Part|Phase|Class|Elizabeth|Charles|William|World\s+War)\s+I\b|\bUS\b"
)
_QUOTED = lazy_compile(r'"[^"\n]{1,300}"|“[^”\n]{1,300}”')
_REDACTED = "[redacted:"  # a statement about a secret says nothing without it
_WORD = lazy_compile(r"[^\W_]")
_UNIT = lazy_compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_BORDERS = (
    lazy_compile(r"(?<=[.!?。！？])\s*(?=\S)"),
    lazy_compile(r"[;；]\s*|,\s+(?:which|who|and|but|while|because|although)\s+|，|,\s+"),
)


def validate_candidate(
    candidate: Candidate, *, categories: frozenset[str], max_chars: int = 280
) -> tuple[Candidate | None, str | None]:
    """The repaired candidate and None, or None and the reason of refusal.

    Only semantic texts must be statements. A procedure is never repaired."""
    if candidate.kind == "procedural":
        return _validate_procedure(candidate, categories, max_chars)
    text = normalize_text(candidate.text).strip()
    text = text if candidate.kind == "episodic" else " ".join(text.split())
    reason = _find_refusal(text, candidate, categories)
    if reason is None and candidate.kind != "episodic" and len(text) > max_chars:
        text = _trim_statement(text, max_chars)
        reason = None if text else f"longer than {max_chars} characters"
    if reason is None and candidate.kind == "semantic":
        reason = _find_wording_fault(text, is_note=is_note(candidate.fact))
    return (None, reason) if reason else (replace(candidate, text=text), None)


def _validate_procedure(
    candidate: Candidate, categories: frozenset[str], max_chars: int
) -> tuple[Candidate | None, str | None]:
    """Validates the layout and the category of a procedure, which is no statement."""
    text = normalize_text(candidate.text).strip()
    reason = _find_refusal(text, candidate, categories)
    if reason is None and candidate.category != procedure.CATEGORY:
        reason = f"a procedure in the category {candidate.category!r}"
    if reason is None and procedure.parse_procedure(text) is None:
        reason = "not in the form of a procedure"
    if reason is None and len(text) > max_chars:
        reason = f"longer than {max_chars} characters"
    return (None, reason) if reason else (replace(candidate, text=text), None)


def _find_refusal(text: str, candidate: Candidate, categories: frozenset[str]) -> str | None:
    if not _WORD.search(text):
        return "empty"
    if not candidate.turns:
        return "no supporting turn"
    return None if candidate.category in categories else f"unknown category {candidate.category!r}"


def _find_wording_fault(text: str, *, is_note: bool) -> str | None:
    if _REDACTED in text:
        return "a secret"
    own = _QUOTED.sub(" ", text)
    if _PRONOUNS.search(_NOT_A_PRONOUN.sub(" ", own)):
        return "first or second person"
    # A note keeps a relative date in the person's words, with what it means behind it.
    return "relative date" if not is_note and mentions.has_relative_date(text, _ANY_DAY) else None


def _trim_statement(text: str, max_chars: int) -> str:
    """The longest start of the text that is a whole statement; empty if there is none."""
    for border in _BORDERS:
        cuts = [match.start() for match in border.finditer(text) if match.start() <= max_chars]
        if cuts and len(_UNIT.findall(text[: cuts[-1]])) >= 3:
            return text[: cuts[-1]].rstrip(" ,;，；")
    return ""
