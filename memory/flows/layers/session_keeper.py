"""Sessions: read, searched and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from muniment.memory.config.settings import Settings
from muniment.memory.domain.layers.session import Session, SessionPage, SessionRecord, SessionRequest, TurnHit
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Denied, ModelError, NotFound, NotReady
from muniment.memory.flows.layers.session_builder import SessionBuilder
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.layers.sessions import SessionStore
from muniment.memory.rules.language import tokens
from muniment.memory.rules.redaction.redact import Redactor

_MAX_PAGE = 1_000  # sessions or turns of one answer
_READ_AT_ONCE = 500  # turns whose words are stored in one write
_IDLE_AT_ONCE = 100  # sessions of a space that end in one round
_MAX_DAYS = 36_500
_MAX_WHY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SessionKeeper:
    """Reads and searches sessions, and ends them."""

    clock: Clock
    redactor: Redactor
    session_builder: SessionBuilder
    sessions: SessionStore
    settings: Settings

    async def list_sessions(self, scope: Scope, request: SessionRequest) -> SessionPage:
        """Return the sessions that a request asks for. Raises BadInput for a limit or an offset out of range."""
        _check_range("limit", request.limit, 1, _MAX_PAGE)
        _check_range("offset", request.offset, 0, 2**31 - 1)
        return await self.sessions.list_sessions(scope, request)

    async def read_session(self, scope: Scope, session: str, since: int, limit: int) -> SessionRecord:
        """Return a session with its turns from a position on. Raises NotFound, BadInput."""
        _check_range("limit", limit, 1, _MAX_PAGE)
        _check_range("since", since, 0, 2**31 - 1)
        found = _require_session(await self.sessions.get_session(scope, session), session)
        return SessionRecord(
            session=found, turns=tuple(await self.sessions.read_turns(scope, session, since=since, limit=limit))
        )

    async def end_session(self, scope: Scope, session: str, why: str) -> Session:
        """Build from the open turns of a session, and end it. Without the model it ends, too, and its turns wait.

        Raises NotFound, BadInput, ModelError."""
        if not 0 < len(why) <= _MAX_WHY_CHARS:
            raise BadInput(f"why: a text of 1 to {_MAX_WHY_CHARS} characters is wanted")
        try:
            await self.session_builder.build_session(scope, session)
        finally:
            ended = await self.sessions.end_session(
                scope, session, self.clock.now(), str(self.redactor.sanitize_text(why))
            )
        return _require_session(ended, session)

    async def perform_end(self, scope: Scope, key: str) -> None:
        """End the session of a job `end_session`. Raises NotReady where a later turn came: then the job waits for its
        time; and ModelError, which leaves it in the queue for what is to be built."""
        found = await self.sessions.get_session(scope, key)
        if found is None:
            return
        due = found.last_at + timedelta(minutes=self.settings.session_ledger.idle_minutes)
        if found.ended_at is None and due > self.clock.now():
            # A duration: by a wrong clock the job would be due again at once.
            raise NotReady("the session goes on", seconds=(due - self.clock.now()).total_seconds())
        if found.ended_at is None or found.built_to < found.turns:
            await self.end_session(scope, key, "idle")

    async def end_idle(self, scope: Scope) -> int:
        """End the sessions of a space that nobody has gone on with, and store the words of its turns.

        Returns how many sessions."""
        now = self.clock.now()
        await self.sessions.number_turns(scope, now)
        before = now - timedelta(minutes=self.settings.session_ledger.idle_minutes)
        idle = await self.sessions.list_idle(scope, before, _IDLE_AT_ONCE)
        for session in idle:
            with suppress(ModelError):
                await self.end_session(scope, session, "idle")
        await self._read_words(scope)
        return len(idle)

    async def describe_session(self, scope: Scope, session: str, metadata: Mapping[str, Any]) -> Session:
        """Set members of the metadata of a session, redacted. Raises NotFound."""
        safe = self.redactor.sanitize_value(dict(metadata))
        return _require_session(await self.sessions.describe_session(scope, session, safe), session)

    async def set_retention(self, scope: Scope, session: str, days: int | None) -> Session:
        """Keep a session for so many days after its last turn, None for ever. Raises NotFound, BadInput."""
        if days is not None:
            _check_range("days", days, 1, _MAX_DAYS)
        return _require_session(await self.sessions.set_retention(scope, session, days), session)

    async def search_turns(
        self, scope: Scope, agent: str | None, text: str, session: str | None, limit: int
    ) -> tuple[TurnHit, ...]:
        """Return the turns with the words of a text, best first.

        An agent has to be among `session_ledger.search_agents`. Raises Denied, BadInput."""
        if agent is not None and agent not in self.settings.session_ledger.search_agents:
            raise Denied(
                f"{agent} may not search what was said: session_ledger.search_agents does not name it", agent=agent
            )
        _check_range("limit", limit, 1, _MAX_PAGE)
        terms = tokens.extract_terms(self.redactor.sanitize_text(text))
        if not terms:
            return ()
        await self._read_words(scope)
        dimensions = list(dict.fromkeys(map(tokens.hash_lexeme, terms)))
        return tuple(await self.sessions.search_turns(scope, dimensions, session, limit))

    async def _read_words(self, scope: Scope) -> None:
        """Store the words of turns that are long, or that an import or a former version wrote."""
        while turns := await self.sessions.list_unread_turns(scope, _READ_AT_ONCE):
            weights = await asyncio.to_thread(
                lambda texts: [*map(tokens.compute_weights, texts)], [t.text for t in turns]
            )
            await self.sessions.write_words(scope, {t.id: each for t, each in zip(turns, weights, strict=True)})


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadInput(f"{name}: is {value}; allowed: {low} to {high}")


def _require_session(found: Session | None, session: str) -> Session:
    if found is None:
        raise NotFound(f"there is no session {session!r}", session=session)
    return found
