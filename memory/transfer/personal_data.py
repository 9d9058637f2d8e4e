"""`PersonalData`: all that is kept of one person."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from muniment.memory.codec import check_calls
from muniment.memory.domain.layers.person import PersonRow
from muniment.memory.domain.memory import State
from muniment.memory.domain.scope import Scope
from muniment.memory.engine import Engine


@check_calls
class PersonalData:
    """What is kept of the owner of a space, row by row and of one moment, in memory that does not grow with it. It
    shares the engine of `Memory`.

    A stream holds a connection until it is closed: write what it yields to a disk, and wait for no peer meanwhile."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def stream_export(self, scope: Scope, *, content: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of an export, or of its `content`, as `Memory.export` returns them. Raises StoreError."""
        return self.engine.person_records.stream_export(scope, content=content)

    def stream_memories(self, scope: Scope, states: tuple[State, ...] = ("active",)) -> AsyncIterator[dict[str, Any]]:
        """Yield the memories in these states by category, oldest first, each as its row with what it said before and
        the turns that it comes from. Raises StoreError."""
        return self.engine.person_records.stream_memories(scope, states)

    def stream_archive(self, scope: Scope) -> AsyncIterator[PersonRow]:
        """Yield the rows of an export, each as part `export`, and then those of every other table that has something
        of the person. Raises StoreError."""
        return self.engine.person_records.stream_archive(scope)

    def stream_dossier(self, scope: Scope) -> AsyncIterator[PersonRow]:
        """Yield one row `person`, and then the rows of each of the `DOSSIER_PARTS`: memories by state and category,
        each with where it comes from and when it was put before a model, and the rows of every other table. Raises
        StoreError."""
        return self.engine.person_records.stream_dossier(scope)
