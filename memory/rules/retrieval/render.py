"""Rendering: bullets, the delta header, and the profile block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muniment.memory.config.schema import Category
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.journal import Delta, Event, JournalEntry
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.query import Hit
from muniment.memory.fence import fence_text
from muniment.memory.rules.retrieval import token_count

_LONGEST = 280
_SHORTER = (_LONGEST, 140, 70, 35, 17, 8)
_POINT = 400
_EVENTS: Mapping[str, Event] = {
    "ADD": "created",
    "UPDATE": "updated",
    "MERGE": "merged",
    "RESTORE": "restored",
    "TTL": "soft_deleted",
}


def format_line(text: str, limit: int = _LONGEST) -> str:
    """A text on one line, at most `most` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def format_bullet(hit: Hit) -> str:
    """`[category] text` (S-60)."""
    return f"[{hit.memory.category}] {hit.memory.text}"


def format_context_line(hit: Hit) -> str:
    """A hit as a line of the block before a model."""
    return f"- {format_line(format_bullet(hit), _POINT)}"


def name_event(entry: JournalEntry) -> Event:
    """What a line of the journal is called in the change log."""
    if entry.action == "DELETE":
        return "deleted" if "hard" in entry.meta else "soft_deleted"
    return _EVENTS[entry.action]


def render_delta_header(
    delta: Delta, categories: Mapping[str, Category], limit: int, text_limit: int = _LONGEST
) -> str:
    """The delta header: `Memory updates since rev {X}:` and at most `most` bullets, each with at most `longest` characters
    of a text; empty without changes (S-9..S-13)."""
    net_changes = sorted(
        _compute_net_changes(delta.entries), key=lambda pair: (-pair[1].pinned, -pair[1].importance, -pair[1].rev)
    )[:limit]
    if not net_changes:
        return ""
    bullets = [_format_change(name, entry, categories, text_limit) for name, entry in net_changes]
    return "\n".join([f"Memory updates since rev {delta.since}:", *bullets])


def render_stable(memories: Sequence[Memory], profile: Sequence[Consent] = ()) -> str:
    """The lasting part of the context, the approved fields of the profile first; the same text while those stay the same."""
    fields = [f"- {one.field}: {format_line(one.value)}" for one in profile]
    return "\n".join([*fields, *(f"- [{one.category}] {format_line(one.text)}" for one in memories)])


def _compute_net_changes(entries: Sequence[JournalEntry]) -> list[tuple[Event, JournalEntry]]:
    """One change for each memory: what all its changes come to. Made and gone again is nothing, and so is what gave way to
    another memory, whose line tells of both; so is what a run did and its undoing took back."""
    first: dict[MemoryId, Event] = {}
    last: dict[MemoryId, JournalEntry] = {}
    begun: dict[MemoryId, dict[str, Any]] = {}
    for entry in entries:
        begun.setdefault(entry.memory_id, entry.meta)
        first.setdefault(entry.memory_id, _name_net_event(entry))
        last[entry.memory_id] = entry if "from" not in entry.meta else _add_note_count(entry, last.get(entry.memory_id))
    told: list[tuple[Event, JournalEntry]] = []
    for id_, entry in last.items():
        name = _name_net_event(entry)
        gone = name in ("deleted", "soft_deleted")
        if "into" in entry.meta or "stayed" in entry.meta or entry.meta.get("undo", entry) == begun[id_].get("run"):
            continue
        if first[id_] == "created":
            if not gone:
                told.append(("created", entry))
        elif not (first[id_] in ("deleted", "soft_deleted") and name == "restored"):
            told.append((name, entry))
    return told


def _name_net_event(entry: JournalEntry) -> Event:
    """As `event`; a memory that has taken the place of an outdated one is an update to who reads of it."""
    taken = "from" in entry.meta and entry.meta.get("why") == "supersedes"
    return "updated" if taken else name_event(entry)


def _add_note_count(entry: JournalEntry, before: JournalEntry | None) -> JournalEntry:
    """The line of a merge that counts all that was merged into its memory since the thread last looked."""
    earlier = before.meta.get("notes", 2) if before is not None and "from" in before.meta else 1
    return replace(entry, meta=entry.meta | {"notes": earlier + entry.meta.get("notes", 2) - 1})


def fit_delta_header(delta: Delta, categories: Mapping[str, Category], limit: int, budget: int) -> str:
    """The delta header as long as it fits into a budget of tokens with its fence: texts get shorter first, then bullets
    fewer."""
    for count in range(limit, 0, -1):
        for longest in _SHORTER:
            told = render_delta_header(delta, categories, count, longest)
            if token_count.count_tokens(fence_text(told)) <= budget:
                return told
    return ""


def _format_change(name: Event, entry: JournalEntry, categories: Mapping[str, Category], text_limit: int) -> str:
    category = categories.get(entry.category)
    label = category.label if category else entry.category
    text = format_line(entry.text, text_limit).rstrip(".")
    if name == "created":
        return f"- +created: [{label}] {text} (imp={entry.importance})"
    if name == "merged":
        about = format_line(entry.meta.get("about") or text, text_limit)
        return f"- ↔merged: Combined {entry.meta.get('notes', 2)} notes about {about}"
    mark = {"updated": "↑", "restored": "+"}.get(name, "-")
    return f"- {mark}{name}: [{label}] {text}"
