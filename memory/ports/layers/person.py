"""The port of all that is kept of one person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from muniment.memory.domain.scope import Scope


class PersonSnapshot(Protocol):
    """The rows of one space at one moment. Rows come in portions, whose number bounds the memory that they take."""

    async def count_rows(self) -> Mapping[str, int]:
        """Return the number of rows of the space in each of the `PERSON_TABLES`."""
        ...

    async def describe_readers(self) -> Mapping[str, Any]:
        """Return the `tokens` that open the memory of the user whose space it is, revoked and expired ones included,
        each with the `logins` to the console that are open; and the spaces that the user reads `beside` it."""
        ...

    def read_export(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the rows of an export, in its order."""
        ...

    def read_content(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the memories and relations of an export, without revisions."""
        ...

    def read_table(self, table: str) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the rows of a table of `PERSON_TABLES`, without the columns that only a search needs."""
        ...

    def read_memories(self, states: tuple[str, ...]) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the memories in these states by category, oldest first, each with its `former` states and the turns
        that `said` it."""
        ...

    def read_texts(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield `memory_id` and `text` of each memory and of each former state."""
        ...

    def read_recalls(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the turns at which memory was put before a model, oldest first: `at`, `thread`, `session`, `actor` and
        the hashes of the word sequences that were `recalled`."""
        ...

    def read_shown_items(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield `memory_id`, `at` and `session` of each memory that the plugin has put before a model, oldest first."""
        ...


class PersonReads(Protocol):
    """Reads all that is kept of one person."""

    def open_snapshot(self, scope: Scope) -> AbstractAsyncContextManager[PersonSnapshot]:
        """Open a snapshot of a space, which holds a connection: await no model and no peer within. Raises
        StoreError."""
        ...
