"""The port of observations: what was found in sessions, and what whoever finds late has to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.layers.observation import Observation, ObservationId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import Source, Turn


class ObservationStore(Protocol):
    """The observations of a space. They are written with the plans that they belong to."""

    async def list_of_session(self, reader: Reader, session: str, limit: int) -> list[Observation]:
        """Return the observations of a session that the reader may see, in the order of its turns."""
        ...

    async def list_of_memory(self, reader: Reader, memory: MemoryId) -> list[Observation]:
        """Return the observations from which a memory came, oldest first; none that the reader may not see."""
        ...

    async def list_statements(self, scope: Scope, after: ObservationId, limit: int) -> list[tuple[ObservationId, str]]:
        """Return a page of the statements of all observations, by their ids."""
        ...

    async def list_sources(self, scope: Scope, turns: Sequence[TurnId]) -> Mapping[TurnId, frozenset[Source]]:
        """Return who has read each of the turns: the rules, as far as they kept something, or a model. A turn that was
        kept without having been read by either has no source; one that nothing was kept of is left out."""
        ...

    async def list_later_turns(self, scope: Scope, since: datetime, limit: int) -> list[Turn]:
        """Return the user's turns of the space that were said after a time, oldest first."""
        ...

    async def list_forgotten(self, scope: Scope, since: datetime, limit: int) -> list[StoredMemory]:
        """Return the memories that a person has had forgotten since a time, and that can still be restored."""
        ...
