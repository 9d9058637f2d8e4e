"""The port of the console's pages of consolidation runs."""

from __future__ import annotations

from typing import Protocol

from muniment.memory.domain.console.nights import PairPage
from muniment.memory.domain.ids import RunId
from muniment.memory.domain.scope import Scope


class NightReads(Protocol):
    """What consolidation runs have judged."""

    async def list_pairs(self, scope: Scope, run: RunId, after: str | None, limit: int) -> PairPage:
        """Return the first `limit` pairs whose last verdict is of this run, merges first, then the closest; `after` is
        the `next` of the page before. Raises BadInput for another text."""
        ...
