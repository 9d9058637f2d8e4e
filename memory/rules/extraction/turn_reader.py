"""Reads a turn on its way in: redacted, without what it quotes, gated, and with the statements that the rules find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import thread_time

from muniment.memory.codec import check_json
from muniment.memory.config.schema import Limits
from muniment.memory.domain.ids import SafeText
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Turn
from muniment.memory.errors import TooLarge
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.requested import LONG_TEXT, load_rules, read_requested
from muniment.memory.rules.procedures import requests
from muniment.memory.rules.procedures.tool_calls import is_work_turn
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction.redact import Redactor

MAX_PREVIOUS = 2  # turns before a turn that say what it answers
_REQUEST_KEY, _WORK_KEY = "wished", "worked"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReader:
    """Reads turns by the rules, within these limits. `per_turn` is the most statements of a turn."""

    redactor: Redactor
    limits: Limits
    per_turn: int

    def read_turn(self, turn: Turn, previous: Sequence[Turn]) -> tuple[Turn, str | None, Extraction]:
        """Return a turn redacted, the gate's reason why nothing is taken from it, and what is taken from it.

        A turn of more than `LONG_TEXT` characters is read for `limits.reading_seconds`. Raises TooLarge."""
        ends = None
        if len(turn.text) > LONG_TEXT:
            load_rules()
            ends = thread_time() + self.limits.reading_seconds
        safe = self.sanitize_turn(turn)
        # Pasted text is not the user's own: no statement is taken from it, and an instruction in it waits for consent.
        parts = quoted.split_quoted(safe) if safe.role == "user" and safe.kind == "message" else None
        own = replace(safe, text=parts.own_text) if parts else safe
        instructions = quoted.find_quoted_instructions(safe, parts) if parts and parts.quotes else ()
        if requests.KEEP_WORD.search(own.text):  # a request to keep a procedure is no statement
            own = replace(own, text=requests.strip_keep_request(own.text))
        reason = gate.find_skip_reason(own.text, own.role) if own.kind == "message" else "no message"
        longest = self.limits.turn_chars  # a turn that was refused for its length is no context either
        readable = (each for each in previous[-MAX_PREVIOUS:] if len(each.text) <= longest)
        before = tuple(map(self.sanitize_turn, readable))
        is_late = (lambda: thread_time() > ends) if ends is not None else None
        extraction = Extraction()
        if reason is None:
            extraction = extract_statements(own, before, most=self.per_turn, is_late=is_late)
        return safe, reason, replace(extraction, candidates=extraction.candidates + instructions)

    def read_requested_text(self, turn: Turn) -> tuple[Turn, tuple[Candidate, ...]]:
        """Return a text to remember redacted, and what is kept of it. Raises TooLarge, BadInput."""
        safe = self.sanitize_turn(turn)
        return safe, read_requested(safe)

    def sanitize_turn(self, turn: Turn) -> Turn:
        """Return a turn with text, path, tags and actor redacted; one whose text is a SafeText as it is. Raises
        TooLarge."""
        if isinstance(turn.text, SafeText):
            return turn
        self.check_size(turn)
        sanitize = self.redactor.sanitize_text
        return replace(
            turn,
            text=sanitize(turn.text),
            path=sanitize(turn.path) if turn.path else None,
            tags=tuple(map(sanitize, turn.tags)),
            actor=sanitize(turn.actor) if turn.actor else None,
            payload=self.redactor.sanitize_value(check_json("payload", turn.payload)) if turn.payload else None,
        )

    def check_size(self, turn: Turn) -> None:
        """Raise TooLarge for a turn that is not read."""
        if len(turn.text) > (most := self.limits.turn_chars):
            raise TooLarge(f"the message has {len(turn.text):,} characters, the limit is {most:,} (limits.turn_chars)")

    def make_turn_jobs(self, scope: Scope, turns: Sequence[Turn], work_at: datetime, waiting: int) -> tuple[Job, ...]:
        """Return the jobs that follow from redacted turns: one a session for when so many are `waiting` for a model, 0
        for never; and at most two a thread for procedures: one at once for a request to keep one, one at `work_at` for
        all work before."""
        jobs: dict[str, Job] = {}
        for turn in turns:
            if turn.thread is None:
                continue
            may_ask = turn.role == "user" and requests.KEEP_WORD.search(turn.text) is not None
            own = quoted.strip_quoted(turn).text if may_ask else ""
            if requests.KEEP_WORD.search(own) and requests.parse_keep_request(own) is not None:
                key = f"{_REQUEST_KEY} {turn.thread}"
                jobs[key] = Job(name="learn_path", scope=scope, key=key)
            elif turn.role == "tool" and is_work_turn(turn):
                key = f"{_WORK_KEY} {turn.thread}"
                jobs[key] = Job(name="learn_path", scope=scope, key=key, at=work_at)
        readable = self.list_readable(scope, turns) if waiting else ()
        sessions = dict.fromkeys(turn.session or turn.thread or "" for turn in readable)
        building = [Job(name="build", scope=scope, key=each, turns=waiting) for each in sessions]
        return (*building, *jobs.values())

    def list_readable(self, scope: Scope, turns: Sequence[Turn]) -> list[Turn]:
        """Return the user's turns from which a model may extract statements."""
        return [
            turn
            for turn in turns
            if turn.role == "user"
            and turn.kind == "message"
            and gate.find_skip_reason(requests.strip_keep_request(turn.text), turn.role) is None
            and self.redactor.find_denial_reason(scope, turn) is None
        ]
