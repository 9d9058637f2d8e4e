"""Notes whose words were read as facts later: the facts take their place, so that nothing is shown twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.rules.extraction.notes import is_covered
from muniment.memory.rules.merging.endings import strip_quotation
from muniment.memory.rules.merging.judge import is_note


def retire_read_notes(
    changes: Iterable[Change], known: Iterable[StoredMemory], at: datetime, soft_delete_days: int
) -> Iterator[Change]:
    """Yield the soft deletion of each note that facts of its turns say as a whole.

    `known` are the memories near those that change. A pinned note stays."""
    after = {change.after.id: change.after for change in changes}
    memories = {memory.id: memory for memory in known} | after
    facts = [memory for memory in memories.values() if memory.state == "active" and not is_note(memory.fact)]
    if not any(memory.id in after for memory in facts):
        return
    for memory in memories.values():
        if memory.id in after or not is_note(memory.fact) or memory.pinned or memory.state != "active":
            continue
        texts = [fact.text for fact in facts if set(fact.turns) & set(memory.turns)]
        if is_covered(strip_quotation(memory.text), texts, memory.created_at):
            purge_at = at + timedelta(days=soft_delete_days)
            gone = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=at)
            yield Change(action="DELETE", before=memory, after=gone, meta={"why": "read"})
