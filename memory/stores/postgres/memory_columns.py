"""The columns of a memory in Postgres: the one table that rows, bulk rows, versions and SQL blocks follow.

A new column of a memory needs a field of `Memory`, a migration that adds it to `memories` and `memory_versions` and
to the SQL functions that write them, and a row of this table."""

from __future__ import annotations

from typing import LiteralString, NamedTuple


class MemoryColumn(NamedTuple):
    """A column of `muniment.memories` that holds a field of a Memory.

    `version`: the SQL expression of its value in `muniment.memory_versions`, where that is not the same column.
    `is_shared`: most memories of a bulk write have the same value, so it is encoded once for all of them."""

    name: LiteralString
    type: LiteralString
    field: str
    version: LiteralString | None = None
    is_shared: bool = False
    is_shown: bool = True  # a search returns it


COLUMNS = (
    MemoryColumn("memory_id",        "uuid",        "id"),
    MemoryColumn("kind",             "text",        "kind", is_shared=True),
    MemoryColumn("category",         "text",        "category", is_shared=True),
    MemoryColumn("text",             "text",        "text"),
    MemoryColumn("fact",             "jsonb",       "fact"),
    MemoryColumn("stable_key",       "text",        "stable_key"),
    MemoryColumn("importance",       "smallint",    "importance", is_shared=True),
    MemoryColumn("confidence",       "real",        "confidence"),
    MemoryColumn("trust",            "text",        "trust", is_shared=True),
    MemoryColumn("pinned",           "boolean",     "pinned", is_shared=True),
    MemoryColumn("state",            "text",        "state", is_shared=True),
    MemoryColumn("tags",             "text[]",      "tags", is_shared=True),
    MemoryColumn("agent_id",         "text",        "agent_id", is_shared=True),
    MemoryColumn("run_id",           "text",        "run_id", is_shared=True),
    MemoryColumn("actor_id",         "text",        "actor_id", is_shared=True),
    MemoryColumn("role",             "text",        "role", is_shared=True),
    MemoryColumn("session_id",       "text",        "session_id", is_shared=True),
    MemoryColumn("thread_id",        "text",        "thread_id", is_shared=True),
    MemoryColumn("event_time",       "timestamptz", "event_time"),
    MemoryColumn("created_at",       "timestamptz", "created_at"),
    MemoryColumn("updated_at",       "timestamptz", "updated_at"),
    MemoryColumn("last_accessed_at", "timestamptz", "last_accessed_at", version="null::timestamptz"),
    MemoryColumn("access_count",     "int",         "access_count", version="0"),
    MemoryColumn("purge_at",         "timestamptz", "purge_at", is_shared=True),
    MemoryColumn("rev",              "bigint",      "rev", version="from_rev"),
    MemoryColumn("superseded_by",    "uuid",        "superseded_by", is_shared=True),
    MemoryColumn("context",          "text",        "context", is_shown=False),
    MemoryColumn("turns",            "uuid[]",      "turns"),
    MemoryColumn("aliases",          "text[]",      "aliases", is_shared=True),
    MemoryColumn("project_id",       "text",        "project_id", is_shared=True),
    MemoryColumn("app_id",           "text",        "app_id", is_shared=True),
    MemoryColumn("reach",            "text",        "reach", is_shared=True),
    MemoryColumn("source",           "text",        "source", is_shared=True),
    MemoryColumn("expires_at",       "timestamptz", "expires_at", is_shared=True),
)  # fmt: skip
# What a plan says of a memory: the same columns in both tables. The others are counted by the store.
CONTENT = tuple(column for column in COLUMNS if column.version is None)
# The cells of a bulk row that a search reads, and the columns that the store fills itself; an export has none of them.
SEARCH_COLUMNS: tuple[LiteralString, ...] = ("embedding", "words")
STORE_COLUMNS: tuple[LiteralString, ...] = (
    "space_id", *SEARCH_COLUMNS, "embedding_model", "next_embedding", "next_model",
)  # fmt: skip


def list_columns(kind: str, alias: str | None) -> str:
    """Return the column list that replaces `{alias.kind_columns}` in a SQL block.

    `memory`: all columns; `shown`: the same with null for what no search returns; `version`: the same from
    `memory_versions`; `content`: those that a plan writes; `store`: those without a field; `time`: the timestamps.
    Raises KeyError for another kind."""
    prefix = f"{alias}." if alias else ""
    lists = {
        "memory": [prefix + column.name for column in COLUMNS],
        "shown": [prefix + column.name if column.is_shown else f"null as {column.name}" for column in COLUMNS],
        "version": [_format_version(prefix, column) for column in COLUMNS],
        "content": [prefix + column.name for column in CONTENT],
        "store": [prefix + name for name in STORE_COLUMNS],
        "time": [prefix + column.name for column in COLUMNS if column.type == "timestamptz"],
    }
    return ", ".join(lists[kind])


def _format_version(prefix: str, column: MemoryColumn) -> str:
    if column.version is None:
        return prefix + column.name
    return f"{prefix if column.version.isidentifier() else ''}{column.version} as {column.name}"
