"""Sessions: read, searched and ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muniment.memory.codec import check_json, check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.layers.session import (
    Session,
    SessionChange,
    SessionPage,
    SessionRecord,
    SessionRequest,
    TurnHit,
)
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Denied, ModelError, NoSession
from muniment.memory.flows.layers.session_builder import SessionBuilder
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.ports.layers.sessions import SessionStore
from muniment.memory.rules.language import tokens
from muniment.memory.rules.redaction.redact import Redactor

_MAX_PAGE = 1_000  # sessions or turns of one answer
_READ_AT_ONCE = 500  # turns whose words are stored in one write
_SPACES_AT_ONCE = 1_000
_IDLE_AT_ONCE = 100  # sessions of a space that end in one round
_MAX_DAYS = 36_500
_MAX_WHY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SessionKeeper:
    """Reads and searches sessions, and ends them."""

    clock: Clock
    jobs: JobQueue
    observations: ObservationStore
    redactor: Redactor
    session_builder: SessionBuilder
    sessions: SessionStore
    settings: Settings

    async def list_sessions(self, scope: Scope, request: SessionRequest) -> SessionPage:
        """Return the sessions that a request asks for. Raises BadInput for a limit or an offset out of range."""
        check_range("limit", request.limit, 1, _MAX_PAGE)
        check_range("offset", request.offset, 0, 2**31 - 1)
        return await self.sessions.list_sessions(scope, request)

    async def read_session(self, scope: Scope, session: str, since: int, limit: int) -> SessionRecord:
        """Return a session with its turns from a position on. Raises NotFound, BadInput."""
        check_range("limit", limit, 1, _MAX_PAGE)
        check_range("since", since, 0, 2**31 - 1)
        found = _require_session(await self.sessions.get_session(scope, session), session)
        turns = await self.sessions.read_turns(scope, session, since=since, limit=limit)
        reader = self.settings.make_owner_reader(scope)
        observations = await self.observations.list_of_session(reader, session, _MAX_PAGE)
        return SessionRecord(session=found, turns=tuple(turns), observations=tuple(observations))

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

    async def enqueue_idle(self) -> None:
        """Enqueue a job for each space with sessions that nobody has gone on with; a space has one at a time."""
        spaces = await self.sessions.list_idle_spaces(self._find_idle_time(), _SPACES_AT_ONCE)
        await self.jobs.enqueue_jobs([Job(name="end_sessions", scope=scope) for scope in spaces])

    async def end_idle(self, scope: Scope) -> int:
        """End the sessions of a space that nobody has gone on with, and store the words of its turns.

        Returns how many sessions. Raises ModelError, after all of them, where one waits for the model."""
        await self.sessions.number_turns(scope, self.clock.now())
        failure: ModelError | None = None
        idle = await self.sessions.list_idle(scope, self._find_idle_time(), _IDLE_AT_ONCE)
        for session in idle:
            try:
                await self.end_session(scope, session, "idle")
            except ModelError as error:
                failure = error
        await self._read_words(scope)
        if failure is not None:
            raise failure
        return len(idle)

    def _find_idle_time(self) -> datetime:
        return self.clock.now() - timedelta(minutes=self.settings.session_ledger.idle_minutes)

    async def change_session(self, scope: Scope, session: str, change: SessionChange) -> Session:
        """Change the metadata of a session, redacted, or its days. Raises NotFound, BadInput."""
        if change.retention_days is not None:
            check_range("days", change.retention_days, 1, _MAX_DAYS)
        check_json("metadata", change.metadata)
        safe = replace(change, metadata=self.redactor.sanitize_value(dict(change.metadata)))
        return _require_session(await self.sessions.change_session(scope, session, safe), session)

    async def search_turns(
        self,
        scope: Scope,
        agent: str | None,
        text: str,
        session: str | None,
        limit: int,
        *,
        app: str | None = None,
        unkept: bool = False,
    ) -> tuple[TurnHit, ...]:
        """Return the turns with the words of a text, best first, of a session or an application, or of all; with
        `unkept` the messages of which nothing was kept.

        An agent has to be among `session_ledger.search_agents`. Raises Denied, BadInput."""
        if agent is not None and agent not in self.settings.session_ledger.search_agents:
            raise Denied(
                f"{agent} may not search what was said: session_ledger.search_agents does not name it", agent=agent
            )
        check_range("limit", limit, 1, _MAX_PAGE)
        terms = tokens.extract_terms(self.redactor.sanitize_text(text))
        if not terms:
            return ()
        await self._read_words(scope)
        dimensions = list(dict.fromkeys(map(tokens.hash_lexeme, terms)))
        return tuple(await self.sessions.search_turns(scope, dimensions, session, limit, app=app, unkept=unkept))

    async def _read_words(self, scope: Scope) -> None:
        """Store the words of turns, which their writers leave to the first search, or to the end of a session."""
        while turns := await self.sessions.list_unread_turns(scope, _READ_AT_ONCE):
            weights = await asyncio.to_thread(
                lambda texts: [*map(tokens.compute_weights, texts)], [t.text for t in turns]
            )
            await self.sessions.write_words(scope, {t.id: each for t, each in zip(turns, weights, strict=True)})


def _require_session(found: Session | None, session: str) -> Session:
    if found is None:
        raise NoSession(f"there is no session {session!r}", session=session)
    return found
