"""The port of observations: reading what was found in sessions, and which turns wait for a model."""

from __future__ import annotations

from typing import Protocol

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import Turn


class ObservationStore(Protocol):
    """The observations of a space. They are written with the plans that they belong to."""

    async def list_of_session(self, reader: Reader, session: str, limit: int) -> list[Observation]:
        """Return the observations of a session that the reader may see, in the order of its turns."""
        ...

    async def list_of_memory(self, reader: Reader, memory: MemoryId) -> list[Observation]:
        """Return the observations from which a memory came, oldest first; none that the reader may not see."""
        ...

    async def list_open_turns(self, scope: Scope, session: str, limit: int) -> list[Turn]:
        """Return the user's first turns of a session that no model has read, oldest first."""
        ...
