"""What a person has had forgotten since it was said: whoever reads a turn late must not bring it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, ForgetRequest, Turn
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.rules.extraction.forget_requests import FORGET_WORD
from muniment.memory.rules.observations.finds import FORGOTTEN, is_forgotten, is_unwanted

_AT_ONCE = 500  # turns and memories that are looked through


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forgotten:
    """Finds the candidates of turns that were forgotten after they were said."""

    observations: ObservationStore
    writer: Writer

    async def find_forgotten(
        self, scope: Scope, turns: Sequence[Turn], candidates: Iterable[Candidate]
    ) -> Mapping[Candidate, str]:
        """Return those of the candidates of turns that a person has had forgotten since, each with the reason: by a
        wish in a later turn, or with the memory that said so. Raises StoreError."""
        given = tuple(candidates)
        if not given:
            return {}
        said_at: dict[TurnId, datetime] = {turn.id: turn.at for turn in turns}
        since = min(said_at.values())
        memories = await self.observations.list_forgotten(scope, since, _AT_ONCE)
        requests = [
            (turn.at, request)
            for turn in await self.observations.list_later_turns(scope, since, _AT_ONCE)
            if FORGET_WORD.search(turn.text)
            for request in self._read_requests(turn)
        ]
        lost: dict[Candidate, str] = {}
        for candidate in given:
            at = max((said_at[turn] for turn in candidate.turns if turn in said_at), default=since)
            later = [request for asked_at, request in requests if asked_at > at]
            gone = [memory for memory in memories if memory.updated_at > at]
            if is_unwanted(candidate, later, scope) or is_forgotten(candidate, gone):
                lost[candidate] = FORGOTTEN
        return lost

    def _read_requests(self, turn: Turn) -> tuple[ForgetRequest, ...]:
        _, _, extraction = self.writer.turn_reader.read_turn(turn, ())
        return extraction.forget_requests
