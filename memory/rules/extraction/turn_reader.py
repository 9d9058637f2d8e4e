"""Reads turns and texts: redacts them, and finds what is to be kept of them. It has no state and can be pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import thread_time

from muniment.memory.config.schema import Limits
from muniment.memory.domain.ids import SafeText
from muniment.memory.domain.turn import Candidate, Extraction, Turn
from muniment.memory.errors import BadInput, TooLarge
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.requested import extract_requested, make_verbatim
from muniment.memory.rules.procedures import requests
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction.redact import Redactor

LONG_TEXT = 4_000  # characters from which a text is read only for so long, and beside the event loop
MAX_PREVIOUS = 2  # turns before a turn that say what it answers
_NO_STATEMENT: Mapping[str, str] = {
    "question": 'it is a question. Say it as a statement, such as "I live in Lisbon".',
    "question about the assistant": 'it is a question. Say it as a statement, such as "I live in Lisbon".',
    "acknowledgement": "there is nothing in it to remember.",
    "greeting": "there is nothing in it to remember.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReader:
    """Reads turns by the rules, within these limits. `per_turn` is the most statements of a turn."""

    redactor: Redactor
    limits: Limits
    per_turn: int

    def read_turn(self, turn: Turn, previous: Sequence[Turn]) -> tuple[Turn, str | None, Extraction]:
        """Return a turn redacted, the gate's reason why nothing is taken from it, and what is taken from it.

        A turn of more than `LONG_TEXT` characters is read for `limits.reading_seconds`. Raises TooLarge."""
        ends = thread_time() + self.limits.reading_seconds if len(turn.text) > LONG_TEXT else None
        safe = self.sanitize_turn(turn)
        # Pasted text is not the user's own: no statement is taken from it, and an instruction in it waits for consent.
        parts = quoted.split_quoted(safe) if safe.role == "user" else None
        own = replace(safe, text=parts.own_text) if parts else safe
        instructions = quoted.find_quoted_instructions(safe, parts) if parts and parts.quotes else ()
        if requests.KEEP_WORD.search(own.text):  # a request to keep a procedure is no statement
            own = replace(own, text=requests.strip_keep_request(own.text))
        reason = gate.find_skip_reason(own.text, own.role)
        longest = self.limits.turn_chars  # a turn that was refused for its length is no context either
        readable = (each for each in previous[-MAX_PREVIOUS:] if len(each.text) <= longest)
        before = tuple(map(self.sanitize_turn, readable))
        is_late = (lambda: thread_time() > ends) if ends is not None else None
        extraction = Extraction()
        if reason is None:
            extraction = extract_statements(own, before, most=self.per_turn, is_late=is_late)
        return safe, reason, replace(extraction, candidates=extraction.candidates + instructions)

    def read_requested_text(self, turn: Turn) -> tuple[Turn, tuple[Candidate, ...]]:
        """Return a text to remember redacted, and what is kept of it: of more than `LONG_TEXT` characters the text
        itself. Raises TooLarge, BadInput."""
        safe = self.sanitize_turn(turn)
        if not safe.text.strip():
            raise BadInput("there is no text to remember")
        if reason := _NO_STATEMENT.get(gate.find_skip_reason(safe.text, safe.role) or ""):
            raise BadInput(f"cannot be remembered: {reason}")
        return safe, extract_requested(safe) if len(safe.text) <= LONG_TEXT else (make_verbatim(safe),)

    def sanitize_turns(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return turns redacted. Raises TooLarge."""
        return list(map(self.sanitize_turn, turns))

    def sanitize_turn(self, turn: Turn) -> Turn:
        """Return a turn with text, path, tags and actor redacted; one whose text is a SafeText as it is. Raises
        TooLarge."""
        if isinstance(turn.text, SafeText):
            return turn
        if len(turn.text) > (most := self.limits.turn_chars):
            raise TooLarge(f"the message has {len(turn.text):,} characters, the limit is {most:,} (limits.turn_chars)")
        sanitize = self.redactor.sanitize_text
        return replace(
            turn,
            text=sanitize(turn.text),
            path=sanitize(turn.path) if turn.path else None,
            tags=tuple(map(sanitize, turn.tags)),
            actor=sanitize(turn.actor) if turn.actor else None,
        )
