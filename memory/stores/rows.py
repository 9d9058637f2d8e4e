"""Rows of Postgres to records and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pgvector import HalfVector, SparseVector
from psycopg.types.json import Jsonb

from muniment.memory.plan import Change, WritePlan
from muniment.memory.records import Fact, Found, JournalEntry, Memory, MemoryId, Revision
from muniment.memory.rules import words

_COPIED = (
    "kind",
    "category",
    "text",
    "stable_key",
    "importance",
    "confidence",
    "trust",
    "pinned",
    "state",
    "agent_id",
    "run_id",
    "actor_id",
    "role",
    "session_id",
    "thread_id",
    "event_time",
    "created_at",
    "updated_at",
    "purge_at",
    "superseded_by",
    "context",
)


def memory(row: Mapping[str, Any]) -> Memory:
    """A row of the `columns` block as a Memory."""
    fact = row["fact"]
    return Memory(
        id=MemoryId(row["memory_id"]),
        rev=Revision(row["rev"]),
        tags=tuple(row["tags"]),
        turns=tuple(row["turns"]),
        last_accessed_at=row["last_accessed_at"],
        access_count=row["access_count"],
        fact=Fact(**fact | {key: tuple(fact.get(key, ())) for key in ("persons", "entities")}) if fact else None,
        **{name: row[name] for name in _COPIED},
    )


def found(row: Mapping[str, Any]) -> Found:
    """A row of the `search` block as a Found."""
    channels = ("dense", "keyword", "relation")
    return Found(
        memory=memory(row),
        cosine=row["cosine"],
        keyword=float(row["share"] or 0),
        relation=row["strength"] or 0.0,
        channels=tuple(name for name in channels if row[f"by_{name}"]),
    )


def entry(row: Mapping[str, Any]) -> JournalEntry:
    """A row of the `entry` block as a JournalEntry."""
    return JournalEntry(**{name: row[name] for name in JournalEntry.__dataclass_fields__})


def sparse(weights: Mapping[int, float]) -> SparseVector:
    """Weights by dimension, counted from 1, as pgvector's sparsevec."""
    return SparseVector({place - 1: weight for place, weight in weights.items()}, words.DIMENSIONS)


def values(plan: WritePlan, change: Change, rev: int, model: str) -> dict[str, Any]:
    """The parameters of the `apply` block for one change."""
    after = change.after
    return {name: getattr(after, name) for name in _COPIED} | {
        "space": plan.scope.space,
        "memory_id": after.id,
        "rev": rev,
        "tags": list(after.tags),
        "turns": list(after.turns),
        "fact": Jsonb(asdict(after.fact)) if after.fact else None,
        "embedding": HalfVector(change.vector) if change.vector is not None else None,
        "embedding_model": model if change.vector is not None else None,
        "words": sparse(words.weights(after.text, after.context)),
        "action": change.action,
        "in_thread": plan.scope.thread,
        "node": plan.node,
        "actor": plan.scope.actor,
        "band": change.band,
        "sim": change.sim,
        "meta": Jsonb(change.meta),
        "at": plan.at,
    }
