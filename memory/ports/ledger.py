"""The ledger port: turns, what was extracted from them, and requests for consent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from muniment.memory.domain.consent import Consent, Decision
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import EpisodeSource, Passage, RecentConversation, Turn


class TurnLedger(Protocol):
    """The turns of a space, and what the space knows of them."""

    async def record_turns(
        self,
        scope: Scope,
        turns: Sequence[Turn],
        jobs: Sequence[Job] = (),
        *,
        retention: timedelta | None = None,
        now: datetime | None = None,
    ) -> None:
        """Append turns to the ledger and jobs to the queue, in one transaction; a turn that exists stays as it is.

        The turns are due for removal after `retention`. `now` is the time by the clock that their times are of; with
        it their order among the turns of other hosts is known."""
        ...

    async def find_consumed_turns(self, scope: Scope, turns: Sequence[TurnId]) -> set[TurnId]:
        """Return those of the turns that a plan has consumed."""
        ...

    async def read_said_times(self, scope: Scope, turns: Sequence[TurnId]) -> dict[TurnId, datetime]:
        """Return when turns were said by the clock of the store, which all hosts share; without those that it does not
        know of."""
        ...

    async def find_existing_turns(self, scope: Scope, turns: Sequence[TurnId]) -> frozenset[TurnId]:
        """Return those of the turns that are in the ledger."""
        ...

    async def get_passage(self, scope: Scope, turn: TurnId, *, before: int, after: int) -> Passage | None:
        """Return a turn among those of its thread, and the sources that extracted from it; None when it does not exist.

        `before` and `after` bound the number of turns around it."""
        ...

    async def read_latest_turns(self, scope: Scope, *, turns: int) -> RecentConversation:
        """Return the last turns of the thread with the latest turn, and when insights were last looked for."""
        ...

    async def list_work_turns(self, scope: Scope, *, limit: int) -> list[Turn]:
        """Return the latest turns of the scope's thread by a person or a tool, oldest first; none without a thread."""
        ...

    async def read_thread_events(
        self, scope: Scope, *, tag: str, category: str, since: datetime, limit: int
    ) -> EpisodeSource:
        """Return the turns of the scope's thread since then and its episodes: episodic memories with the tag."""
        ...

    async def count_changes(self, scope: Scope, since: datetime, nodes: Sequence[Node]) -> int:
        """Return how many changes these nodes made in the space since then."""
        ...

    async def find_supported(self, scope: Scope, turn: TurnId) -> frozenset[MemoryId]:
        """Return the active memories that the turn supports."""
        ...

    async def list_consents(self, scope: Scope, decisions: Sequence[Decision], limit: int) -> list[Consent]:
        """Return requests for consent with one of these decisions, newest first; all when no decision is named."""
        ...
