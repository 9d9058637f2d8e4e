"""A query without a question: what is newest, in the order of its changes."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.query import Hit
from muniment.memory.domain.search import SearchHit


def list_newest(search_hits: Sequence[SearchHit]) -> list[Hit]:
    """Return the hits without scores: the latest change first, the own ones first where it is the same."""
    found = sorted(search_hits, key=lambda hit: (hit.shared is not None, -hit.memory.rev, hit.memory.id))
    found.sort(key=lambda hit: hit.memory.updated_at, reverse=True)
    return [
        Hit(
            memory=hit.memory,
            score=0.0,
            parts={},
            channels=(),
            rivals=hit.rivals,
            shared_by=hit.shared.owner_type if hit.shared else None,
        )
        for hit in found
    ]
