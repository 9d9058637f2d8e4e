"""Building: what a session's new turns say becomes observations and memories, by the rules and by one request to a
model for a run of turns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.layers.session import Session
from muniment.memory.domain.plan import ExtractionRecord
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Source, Turn
from muniment.memory.errors import NoSession
from muniment.memory.flows.writing.forgotten import Forgotten
from muniment.memory.flows.writing.model_extraction import ModelExtraction
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.ports.layers.sessions import SessionStore
from muniment.memory.ports.llm import ChatModel

# A session is built by one call of this process at a time: two would pay for the same answers.
_LOCKS: WeakValueDictionary[tuple[SpaceId, str], asyncio.Lock] = WeakValueDictionary()
_READ_AT_ONCE = 200  # turns
_EARLIER = 8  # positions before the open turns among which those of the context are
_NOBODY: frozenset[Source] = frozenset()
_REQUEST_CHARS = 24_000  # of the turns that one request is to read


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SessionBuilder:
    """Builds from the open turns of sessions: those from which nothing was built yet.

    Each turn's finds are one write that records that the turn was read: what is interrupted goes on with the turns that
    are left, and nothing is kept or asked for twice."""

    clock: Clock
    forgotten: Forgotten
    model: ChatModel | None
    model_extraction: ModelExtraction
    observations: ObservationStore
    sessions: SessionStore
    settings: Settings
    writer: Writer

    async def build_session(self, scope: Scope, session: str, *, is_whole: bool = True) -> Session:
        """Build from the open turns of a session and return it; with `is_whole` from all, else while there are enough
        for a request. Raises NotFound, ModelError: then the turns wait for the next call."""
        async with _LOCKS.setdefault((scope.space, session), asyncio.Lock()):
            await self.sessions.number_turns(scope, self.clock.now())
            found = await self._get_session(scope, session)
            while (end := await self._build_next(scope, found, found.built_to, is_whole=is_whole)) is not None:
                await self.sessions.mark_built(scope, session, end)
                found = await self._get_session(scope, session)
        return found

    async def perform_building(self, scope: Scope, key: str) -> None:
        """Perform the job `build`; its key is the session. Raises ModelError."""
        await self.build_session(scope, key, is_whole=False)

    async def build_missed(self, scope: Scope, key: str) -> None:
        """Perform the job `build_missed`, whose key is a session: build from the turns that no model has read, wherever
        they are. Raises NotFound, ModelError."""
        async with _LOCKS.setdefault((scope.space, key), asyncio.Lock()):
            await self.sessions.number_turns(scope, self.clock.now())
            found, since = await self._get_session(scope, key), 0
            while (end := await self._build_next(scope, found, since, is_whole=True, is_missed=True)) is not None:
                since = end

    async def _get_session(self, scope: Scope, session: str) -> Session:
        if (found := await self.sessions.get_session(scope, session)) is None:
            raise NoSession(f"there is no session {session!r}", session=session)
        return found

    async def _build_next(
        self, scope: Scope, session: Session, since: int, *, is_whole: bool, is_missed: bool = False
    ) -> int | None:
        """Build from the next turns of a session from a position on. Returns the position behind them, None where there
        is nothing to build from."""
        first = max(0, since - _EARLIER)
        found = await self.sessions.read_turns(scope, session.id, since=first, limit=_READ_AT_ONCE)
        turns = [(turn.position, turn) for turn in found if turn.position is not None]
        run = self._cut_run([turn for position, turn in turns if position >= since], is_whole=is_whole)
        if not run:
            return None
        owner = replace(
            scope,
            project=scope.project or session.project,
            app=scope.app or session.app,
            agent=scope.agent or session.agent,
        )
        earlier = [turn for position, turn in turns if position < since]
        await self._build_run(owner, earlier, run, is_missed=is_missed)
        return (run[-1].position or 0) + 1

    def _cut_run(self, turns: Sequence[Turn], *, is_whole: bool) -> Sequence[Turn]:
        """Return the first of the open turns up to where a request has enough to read; none where it has to wait."""
        most = self.settings.observations.turns
        said = [n for n, turn in enumerate(turns) if _is_message_of_user(turn)]
        if len(said) > most:
            return turns[: said[most]]
        return turns if is_whole or len(said) == most or len(turns) > _READ_AT_ONCE - 2 * _EARLIER else ()

    async def _build_run(self, scope: Scope, earlier: Sequence[Turn], run: Sequence[Turn], *, is_missed: bool) -> None:
        """Build from a run of turns: by the rules from those of which nothing was kept, then by the model. What a
        person asked to keep by a call, or a program gave, a model reads only where it was missed."""
        said = self.writer.turn_reader.list_readable(scope, run)
        if not said:
            return
        sources = await self.observations.list_sources(scope, [turn.id for turn in said])
        messages = [turn for turn in (*earlier, *run) if turn.kind == "message" and turn.role != "tool"]
        for turn in said:
            if turn.id not in sources:
                await self._read_by_rules(scope, turn, messages[: messages.index(turn)])
        if self.model is None:
            return
        unread = [
            turn
            for turn in said
            if "model" not in (read_by := sources.get(turn.id, _NOBODY))
            and (read_by or turn.id not in sources or is_missed)
        ]
        for targets in _split_by_length(unread):
            start = max(0, messages.index(targets[0]) - self.settings.observations.context_turns)
            later = (n for n, turn in enumerate(messages) if turn in unread and n > messages.index(targets[-1]))
            shown = messages[start : next(later, len(messages))]
            await self.model_extraction.extract_turns(scope, shown, [shown.index(turn) for turn in targets])

    async def _read_by_rules(self, scope: Scope, turn: Turn, previous: Sequence[Turn]) -> None:
        """Keep what the rules find in a turn of which they have kept nothing, unless it was forgotten since."""
        own = replace(scope, session=turn.session, thread=turn.thread, actor=turn.actor or scope.actor)
        _, _, extraction = await self.writer.read_texts(self.writer.turn_reader.read_turn, (turn,), turn, previous)
        if not extraction.candidates:
            return
        lost = await self.forgotten.find_forgotten(scope, [turn], extraction.candidates)
        kept = tuple(each for each in extraction.candidates if each not in lost)
        record = ExtractionRecord(turn=turn.id, source="rules", found=len(extraction.candidates))
        await self.writer.commit_extraction(
            own,
            replace(extraction, candidates=kept, forget_requests=(), refusals=tuple(lost.items())),
            (),
            "worker",
            record,
            said_at=turn.at,
        )


def _is_message_of_user(turn: Turn) -> bool:
    return turn.role == "user" and turn.kind == "message"


def _split_by_length(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Split turns into those of one request each."""
    part: list[Turn] = []
    for turn in turns:
        if part and sum(len(each.text) for each in (*part, turn)) > _REQUEST_CHARS:
            yield part
            part = []
        part.append(turn)
    if part:
        yield part
