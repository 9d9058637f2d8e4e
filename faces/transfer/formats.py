"""The formats of an export: each a stream of bytes, made from the rows of one moment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from muniment.faces.transfer.markdown import render_front_matter, render_heading, render_item
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope

EXPORT_VERSION = 1  # of the lines of an export, the number behind `muniment/` in its first line
_FORMAT_NAME = "muniment/"  # before the version
_FIRST_LINE_BYTES = 2**16  # of a file of lines that are looked at: the first line of an export is short
_ITEM_FIELDS = (
    "text", "category", "kind", "fact", "importance", "confidence", "trust", "pinned", "tags", "aliases", "source",
    "event_time", "expires_at", "reach", "project_id", "app_id", "actor_id",
)  # fmt: skip
_MEM0_METADATA = (
    "category", "kind", "fact", "importance", "trust", "pinned", "tags", "aliases", "source", "event_time",
    "expires_at", "reach", "project_id",
)  # fmt: skip


class ExportFormat(StrEnum):
    """The layouts that `export` writes."""

    jsonl = "jsonl"
    markdown = "markdown"
    mem0 = "mem0"
    langgraph_store = "langgraph-store"


MEDIA_TYPES: Mapping[ExportFormat, str] = {
    ExportFormat.jsonl: "application/jsonl",
    ExportFormat.markdown: "text/markdown",
    ExportFormat.mem0: "application/json",
    ExportFormat.langgraph_store: "application/jsonl",
}


def load_schema(name: str = f"muniment-export-{EXPORT_VERSION}") -> bytes:
    """Return a published JSON Schema by its name, as it lies in the package."""
    return (files(__package__) / "schemas" / f"{name}.schema.json").read_bytes()


def is_export(path: Path) -> bool:
    """Return whether a file begins with the first line of an export in jsonl, whatever its version."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(_FIRST_LINE_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and str(first.get("format")).startswith(_FORMAT_NAME)


def stream_format(memory: Memory, scope: Scope, layout: ExportFormat) -> AsyncIterator[bytes]:
    """Yield the bytes of an export of a user in a format. Raises StoreError.

    `jsonl` has everything, and restores the memory exactly. The others have the memories that are in force."""
    if layout is ExportFormat.jsonl:
        return _stream_lines(memory.personal_data.stream_export(scope))
    if layout is ExportFormat.markdown:
        return _stream_markdown(memory, scope)
    memories = memory.personal_data.stream_memories(scope)
    return _stream_mem0(memories, scope) if layout is ExportFormat.mem0 else _stream_items(memories, scope)


def encode_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON."""
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


async def _stream_lines(rows: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for row in rows:
        yield encode_line(row)


async def _stream_markdown(memory: Memory, scope: Scope) -> AsyncIterator[bytes]:
    yield render_front_matter(scope.owner, memory.now().isoformat()).encode()
    category = None
    async for row in memory.personal_data.stream_memories(scope):
        if row["category"] != category:
            category = row["category"]
            yield render_heading(category).encode()
        yield render_item(row).encode()


async def _stream_mem0(rows: AsyncIterator[dict[str, Any]], scope: Scope) -> AsyncIterator[bytes]:
    """The answer of mem0's `Memory.get_all` (1.0): an object with `results`, one a line."""
    yield b'{"results": ['
    separator = b"\n"
    async for row in rows:
        yield separator + json.dumps(_make_mem0_memory(row, scope), ensure_ascii=False).encode()
        separator = b",\n"
    yield b"\n]}\n"


def _make_mem0_memory(row: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    named = {"agent_id": row.get("agent_id"), "run_id": row.get("run_id"), "actor_id": row.get("actor_id")}
    return {
        "id": row["memory_id"],
        "memory": row["text"],
        # The digest by which mem0 itself knows a text again; nothing is secured by it.
        "hash": hashlib.md5(row["text"].encode(), usedforsecurity=False).hexdigest(),
        "metadata": _select(row, _MEM0_METADATA),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "user_id": scope.owner,
        **{name: value for name, value in named.items() if value is not None},
    }


async def _stream_items(rows: AsyncIterator[dict[str, Any]], scope: Scope) -> AsyncIterator[bytes]:
    """Items of LangGraph's store (langgraph 1.2), one a line, as `Item.dict` has them."""
    async for row in rows:
        item = {
            "namespace": ["memories", scope.owner],
            "key": row["memory_id"],
            "value": _select(row, _ITEM_FIELDS),
            "created_at": row["created_at"],
            "updated_at": row["updated_at"],
        }
        yield encode_line(item)


def _select(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a row that have a value."""
    return {name: row[name] for name in names if row.get(name) not in (None, [])}
