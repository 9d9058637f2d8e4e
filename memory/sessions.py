"""`Sessions`: what was said, session by session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muniment.memory.codec import check_calls
from muniment.memory.domain.layers.chat import RecallHit, RecallRequest
from muniment.memory.domain.layers.session import (
    Session,
    SessionChange,
    SessionPage,
    SessionRecord,
    SessionRequest,
    TurnHit,
)
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.engine import Engine
from muniment.memory.rules.provenance.quoted import is_repetition


@check_calls
class Sessions:
    """The sessions of a space. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def list(self, scope: Scope, request: SessionRequest = SessionRequest()) -> SessionPage:  # noqa: B008 - frozen
        """Return the sessions that a request asks for, the latest first. Raises BadInput."""
        return await self.engine.session_keeper.list_sessions(scope, request)

    async def get(self, scope: Scope, session: str, *, since: int = 0, limit: int = 1_000) -> SessionRecord:
        """Return a session with its turns from a position on. Raises NotFound, BadInput."""
        return await self.engine.session_keeper.read_session(scope, session, since, limit)

    async def build(self, scope: Scope, session: str) -> Session:
        """Build memories now from the turns of a session from which nothing was built yet, and return the session.

        Raises NotFound, StoreError, ModelError: then the turns wait for the next call."""
        return await self.engine.run_checked(scope, lambda engine: engine.session_builder.build_session(scope, session))

    async def end(self, scope: Scope, session: str, *, why: str = "call") -> Session:
        """Build from the open turns of a session and end it. A later turn lets it go on.

        It ends also where ModelError is raised, and its turns wait for a worker. Raises NotFound, BadInput,
        StoreError, ModelError."""
        return await self.engine.run_checked(
            scope, lambda engine: engine.session_keeper.end_session(scope, session, why)
        )

    async def describe(self, scope: Scope, session: str, metadata: Mapping[str, Any]) -> Session:
        """Set members of the metadata of a session, redacted. Raises NotFound."""
        change = SessionChange(metadata=metadata)
        return await self.engine.session_keeper.change_session(scope, session, change)

    async def keep(self, scope: Scope, session: str, *, days: int | None) -> Session:
        """Keep a session for so many days after its last turn, None for ever. Raises NotFound, BadInput."""
        change = SessionChange(own_retention=True, retention_days=days)
        return await self.engine.session_keeper.change_session(scope, session, change)

    async def search(
        self,
        scope: Scope,
        text: str,
        *,
        agent: str | None = None,
        session: str | None = None,
        app: str | None = None,
        limit: int = 10,
    ) -> Sequence[TurnHit]:
        """Return the turns with the words of a text, best first; never an entry for an audit.

        With a session or an application only those of it. An agent has to be among `session_ledger.search_agents`.
        Raises Denied, BadInput."""
        return await self.engine.session_keeper.search_turns(scope, agent, text, session, limit, app=app)

    async def read_window(self, scope: Scope, size: int) -> Sequence[Turn]:
        """Return the latest messages of the scope's session that were appended, at most `size`, oldest first.

        Raises BadInput for a scope without a session, and for a size out of range."""
        return await self.engine.message_stream.read_window(scope, size)

    async def append_messages(self, scope: Scope, turns: Sequence[Turn], *, days: int | None) -> Sequence[Turn]:
        """Append messages to the scope's session, redacted, and return those that it did not have: a client sends its
        history again with each request. The final one is the answer, where there is one.

        The session is kept for so many days after each message, None for ever, whatever the settings say. Raises
        BadInput for a scope without a session."""
        return await self.engine.message_stream.append_messages(scope, turns, days)

    async def add_turns(self, scope: Scope, turns: Sequence[Turn]) -> int:
        """Learn from the user's turns that the scope's session does not have, record them with the others, and return
        how many are new. The same turns again change nothing. Raises BadInput, TooLarge, StoreError, ModelError."""
        return await self.engine.engines.run(scope, lambda engine: engine.chat_keeper.add_turns(scope, turns))

    async def flush(self, scope: Scope, session: str) -> bool:
        """Build from the open turns of a session as `build`, and return whether something was kept of them; False for a
        session without turns. Raises StoreError, ModelError."""
        return await self.engine.run_checked(scope, lambda engine: engine.chat_keeper.flush_session(scope, session))

    async def recall_message(self, scope: Scope, agent: str, request: RecallRequest) -> Sequence[RecallHit]:
        """Return what an agent is reminded of by a message of a chat, best first: memories, and turns of the chat of
        which nothing was kept. Raises Denied, BadInput, StoreError."""
        return await self.engine.engines.run(
            scope, lambda engine: engine.chat_keeper.recall_message(scope, agent, request)
        )

    def recognize_statements(self, statements: Sequence[str], hashes: Sequence[int]) -> tuple[bool, ...]:
        """Return for each statement whether a text of these shingle hashes says it: those of a reply's `recalled` were
        before the model."""
        return tuple(is_repetition(each, hashes) for each in statements)

    async def sanitize_messages(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """Return messages as `append_messages` stores them, by whose hashes a client's are known again."""
        return await self.engine.message_stream.sanitize_messages(turns)
