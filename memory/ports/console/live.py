"""The port by which open pages learn that something has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Reader

Version = tuple[Revision, datetime]  # the revision of a space, and when it began


class LiveReads(Protocol):
    """The versions of spaces, and how much has changed in one."""

    async def read_versions(self, spaces: Sequence[UUID]) -> Mapping[UUID, Version]:
        """Return the versions of spaces by one query; a space that nothing was written to is left out."""
        ...

    async def count_changes(self, reader: Reader, since: Revision, limit: int) -> int:
        """Return how many changes after a revision the reader may see, at most `limit`."""
        ...
