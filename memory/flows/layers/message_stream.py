"""A session as one stream of messages: a client sends its history again with each request, and each message is stored
once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muniment.memory.config.settings import Settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.layers.message import hash_message, list_texts
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.layers.messages import MessageStore
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.provenance.messages import sanitize_message
from muniment.memory.rules.redaction.redact import Redactor

_MAX_WINDOW = 10_000  # messages


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageStream:
    """Appends to the stream of a session, and reads its end."""

    clock: Clock
    messages: MessageStore
    model: ChatModel | None
    redactor: Redactor
    settings: Settings
    writer: Writer

    async def read_window(self, scope: Scope, size: int) -> list[Turn]:
        """Return the latest messages of the scope's session, at most `size`, oldest first. Raises BadInput."""
        if not 0 <= size <= _MAX_WINDOW:
            raise BadInput(f"size: is {size}; allowed: 0 to {_MAX_WINDOW}")
        return await self.messages.read_window(scope, _get_session(scope), size) if size else []

    async def sanitize_messages(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return the messages as they are stored: without secrets, and cut to `limits.turn_chars`."""
        return [await self._sanitize_message(turn) for turn in turns]

    async def append_messages(self, scope: Scope, turns: Sequence[Turn], days: int | None) -> list[Turn]:
        """Append the messages that the scope's session does not have, redacted, and return these as they are stored.

        What stands before the last answer, the final message left aside, is history: it is known if the session ever
        had it. The rest is new unless it is among the latest messages. The job that builds from the session is enqueued
        when enough waits for it. Raises BadInput."""
        session = _get_session(scope)
        told = [turn for turn in turns if self.redactor.find_denial_reason(scope, turn) is None]
        if not told:
            return []
        safe = await self.sanitize_messages(told)
        waiting = self.settings.observations.turns if self.model else 0
        added = await self.messages.append_messages(
            scope,
            session,
            [(turn, hash_message(turn)) for turn in safe],
            earlier=max((n for n, turn in enumerate(safe[:-1], 1) if turn.role == "assistant"), default=0),
            days=days,
            now=self.clock.now(),
            jobs=[Job(name="build", scope=scope, key=session, turns=waiting)] if waiting else (),
        )
        by_id = {turn.id: turn for turn in safe}
        return [by_id[id_] for id_ in added]

    async def _sanitize_message(self, turn: Turn) -> Turn:
        short = replace(turn, text=_cut_text(turn.text, self.settings.limits.turn_chars))
        longest = replace(turn, text=max(list_texts(short), key=len))
        return await self.writer.read_texts(sanitize_message, (longest,), short, self.redactor)


def _cut_text(text: str, most: int) -> str:
    """Cut a text behind a word, so that no half of a secret is left."""
    if len(text) <= most:
        return text
    return text[: max(text.rfind(" ", 0, most), text.rfind("\n", 0, most), 0)]


def _get_session(scope: Scope) -> str:
    if not scope.session:
        raise BadInput("session: is missing; messages belong to one")
    return scope.session
