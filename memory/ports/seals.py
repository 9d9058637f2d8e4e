"""The port of the sealed journal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.evidence.seals import Chain, ChainHead, ChainRow
from muniment.memory.domain.ids import Revision, SpaceId
from muniment.memory.domain.scope import Scope


class SealStore(Protocol):
    """Reads journals with their seals, as they are kept. What they should be is decided elsewhere."""

    def open_chain(
        self, scope: Scope, since: Revision
    ) -> AbstractAsyncContextManager[tuple[Chain, AsyncIterator[Sequence[ChainRow]]] | None]:
        """Open the lines of a space after a revision, with their seals and the rows that they left, in order and in
        one snapshot; None for a space that does not exist. Raises StoreError."""
        ...

    async def read_head(self, scope: Scope) -> ChainHead | None:
        """Return where the journal of a space ends; None for a space that does not exist. Raises StoreError."""
        ...

    async def list_owners(self) -> Sequence[tuple[SpaceId, Scope]]:
        """Return the id of each space, and whose its row says that it is, oldest first. Raises StoreError."""
        ...

    async def find_erasure(self, space: SpaceId) -> tuple[bool, datetime | None]:
        """Return whether a space exists, and when all of it was erased last; None where it never was. Raises
        StoreError."""
        ...
