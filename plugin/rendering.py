"""Items as a model reads them: one line each, with where it comes from, in a fence that no line can close."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from muniment.memory.payload import fence_text
from muniment.plugin.commands.phrases import flatten_words
from muniment.plugin.domain.item import MemoryHit, MemoryItem

Part: TypeAlias = Literal["stable", "found"]
_MAX_CHARS = 400  # of the text of an item
# Names of months that no locale changes.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEADS: dict[Part, str] = {
    "stable": "What this user has said about how to work, from memory. The user's latest words win over it.",
    "found": "What memory has found for this message. The user's latest words win over it.",
}


def render_block(hits: Sequence[MemoryHit], at: datetime, part: Part) -> str:
    """Return items as a block with what it is; empty for none. `at` is now: another year than its own is shown."""
    if not hits:
        return ""
    return f"{_LEADS[part]}\n{fence_text(chr(10).join(render_line(hit.item, at) for hit in hits))}"


def render_line(item: MemoryItem, at: datetime) -> str:
    """Return an item as a line: `[decision · project · 12 Nov] text`."""
    text = flatten_words(item.summary or item.content, _MAX_CHARS)
    return f"[{item.type} · {item.scope} · {render_day(item, at)}] {text}"


def render_day(item: MemoryItem, at: datetime) -> str:
    """Return the day of an item's last change, with its year unless that is the present one."""
    day = (item.updated_at or item.created_at).astimezone(at.tzinfo)
    year = "" if day.year == at.year else f" {day.year}"
    return f"{day.day} {_MONTHS[day.month - 1]}{year}"
