"""Which procedures wait until a person has looked at them, and what their publication changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from muniment.memory.domain.memory import REPLACES, StoredMemory
from muniment.memory.domain.plan import Change

Review = Literal["none", "unwished", "all"]


def needs_review(review: Review, *, is_requested: bool) -> bool:
    """Whether a path waits for a person: what nobody asked to keep comes from the outputs of tools alone."""
    return review == "all" or (review == "unwished" and not is_requested)


def publish_memory(memory: StoredMemory, at: datetime) -> StoredMemory:
    """Return a memory that waited as it is from now on: active, and in place of another one only by its relation."""
    tags = tuple(tag for tag in memory.tags if not tag.startswith(REPLACES))
    return replace(memory, state="active", tags=tags, updated_at=max(at, memory.updated_at))


def retire_replaced(replaced: StoredMemory, by: StoredMemory, meta: dict[str, Any]) -> Change:
    """Return the change of an active memory whose place a published one takes."""
    after = replace(replaced, state="superseded", superseded_by=by.id)
    return Change(action="MERGE", before=replaced, after=after, meta=meta | {"why": "supersedes", "into": str(by.id)})
