"""Taking a person's decision back: what it changed becomes what it was, unless it was changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from uuid import UUID

from muniment.memory.domain.console.inbox import DecidedItem
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import State, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.errors import BadInput

# What a decision may change of a memory. A pin, or how often it was retrieved, is none of its business.
_DECIDED = (
    "state", "purge_at", "superseded_by", "tags", "category", "text", "fact", "stable_key", "context", "event_time",
    "importance", "turns",
)  # fmt: skip
_OUT_OF_FORCE: frozenset[State] = frozenset({"soft_deleted", "superseded", "rejected"})


def select_latest_lines(lines: Sequence[JournalEntry]) -> list[JournalEntry]:
    """Return the lines of the last decision among those of one thing, newest first; none where it is taken back."""
    if not lines or "decision" not in lines[0].meta:
        return []
    at = lines[0].ts
    return list(takewhile(lambda line: "decision" in line.meta and line.ts == at, lines))


def describe_decision(lines: Sequence[JournalEntry]) -> DecidedItem:
    """Return what the lines of one decision say, of which there is at least one."""
    id_ = UUID(lines[0].meta["decision"])
    line = next((each for each in lines if each.memory_id == id_ or "field" in each.meta), lines[0])
    meta = line.meta
    return DecidedItem(
        kind=meta["about"],
        id=id_,
        at=line.ts,
        is_yes=meta["consent"] == "approved" if "consent" in meta else meta.get("why") == "supersedes",
        memory=line.memory_id,
        text=meta.get("value", line.text),
        field=meta.get("field", ""),
        by=meta.get("by", ""),
    )


def plan_reversal(
    lines: Sequence[JournalEntry],
    before: Mapping[MemoryId, StoredMemory],
    after: Mapping[MemoryId, StoredMemory],
    now: Mapping[MemoryId, StoredMemory],
    *,
    by: str,
    at: datetime,
) -> tuple[Change, ...]:
    """Return the changes that take a decision back, a line of the journal for each of its own.

    Its memories as they were `before` and `after` it, and as they are. Raises BadInput where one is gone, or was
    changed since."""
    changes = []
    for line in lines:
        meta = {"why": "undone", "undone": line.meta["decision"], "by": by}
        memory, former, latter = (each.get(line.memory_id) for each in (now, before, after))
        if memory is None or former is None or latter is None:
            raise BadInput("what was decided is gone by now, and cannot be brought back", id=str(line.memory_id))
        decided = {name: getattr(former, name) for name in _DECIDED}
        if replace(latter, **decided) == latter:  # the decision was about a request alone
            changes.append(Change(action="UPDATE", before=memory, after=memory, meta=meta))
            continue
        if memory.rev != line.rev:
            raise BadInput("what was decided has changed since: change it by hand", id=str(line.memory_id))
        restored = replace(memory, **decided, updated_at=max(at, memory.updated_at))
        is_return = memory.state in _OUT_OF_FORCE and restored.state not in _OUT_OF_FORCE
        changes.append(Change(action="RESTORE" if is_return else "UPDATE", before=memory, after=restored, meta=meta))
    return tuple(changes)
