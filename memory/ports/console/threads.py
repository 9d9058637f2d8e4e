"""The port of the pages of threads of the console."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import Turn


class ThreadReads(Protocol):
    """What stands around the turns of a space."""

    async def list_findings(self, reader: Reader, session: str, turns: Sequence[TurnId]) -> list[Observation]:
        """Return what was found in these turns of a session, as far as the reader may read it, in the order in which it
        was written."""
        ...

    async def find_turns(self, scope: Scope, turns: Sequence[TurnId]) -> list[Turn]:
        """Return turns of the space by their ids, in order; an unknown id is left out."""
        ...

    async def find_revisions(self, scope: Scope, moments: Sequence[datetime]) -> list[Revision]:
        """Return the revision that the space had at each of these times; 0 before its first change."""
        ...
