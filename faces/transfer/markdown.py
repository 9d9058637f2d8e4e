"""A memory as a Markdown file: a heading for each category, and a list item for each memory.

The text of an item is CommonMark that shows exactly what the memory says. A comment behind it has the rest: an HTML
comment with one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

MARKDOWN_FORMAT = "muniment-markdown/1"
_FIELDS = (
    "memory_id", "kind", "trust", "importance", "pinned", "created_at", "updated_at", "event_time", "tags", "aliases",
    "source", "actor_id", "reach", "project_id", "expires_at",
)  # fmt: skip
_MEANINGFUL = re.compile(r"[\\`*_\[\]<>&~|]")
_AT_START = re.compile(r"^(\s*)([#+=-]|\d+(?=[.)]))")


def render_front_matter(user: str, at: str) -> str:
    """Return the beginning of a file: what it is, whose memory, and when it was written."""
    head = {"format": MARKDOWN_FORMAT, "user": user, "exported_at": at}
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    return "\n".join(["---", *lines, "---", "", f"# {escape_text(user)}", ""])


def render_heading(category: str) -> str:
    """Return the heading of a category, by its name in the settings."""
    return f"\n## {escape_text(category)}\n\n"


def render_item(memory: Mapping[str, Any]) -> str:
    """Return a memory as an item of a list, with the fields that have a value in a comment behind it."""
    rest = {name: memory[name] for name in _FIELDS if memory.get(name) not in (None, [], "")}
    # A comment ends at its first two hyphens with a bracket, whatever they are in.
    note = json.dumps(rest, ensure_ascii=False).replace("-", "\\u002d").replace(">", "\\u003e").replace("<", "\\u003c")
    return f"- {escape_text(memory['text'])} <!-- {note} -->\n"


def escape_text(text: str) -> str:
    """Return a text as CommonMark that shows it as it is; a line break stays one, within the item."""
    lines = [_escape_line(line) for line in text.splitlines()] or [""]
    return "\\\n  ".join(lines)


def _escape_line(line: str) -> str:
    escaped = _MEANINGFUL.sub(lambda match: f"\\{match[0]}", line)
    found = _AT_START.match(escaped)
    if found is None:
        return escaped
    if found[2].isdigit():
        return f"{found[1]}{found[2]}\\{escaped[found.end() :]}"
    return f"{found[1]}\\{escaped[found.start(2) :]}"
