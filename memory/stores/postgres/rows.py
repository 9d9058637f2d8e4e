"""Rows of Postgres to records and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector, SparseVector

from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Fact, Memory
from muniment.memory.domain.plan import Change, Extracted, WritePlan
from muniment.memory.domain.search import Found
from muniment.memory.domain.turn import Turn
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import BadInput
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.retrieval import intents as aspects
from muniment.memory.rules.retrieval.traits import indexed

_COPIED = (
    "kind",
    "category",
    "text",
    "stable_key",
    "importance",
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
_COLUMNS = itemgetter(
    "memory_id", "kind", "category", "text", "fact", "stable_key", "importance", "confidence", "trust", "pinned", "state",
    "tags", "agent_id", "run_id", "actor_id", "role", "session_id", "thread_id", "event_time", "created_at", "updated_at",
    "last_accessed_at", "access_count", "purge_at", "rev", "superseded_by", "context", "turns",
)  # fmt: skip
_LEAST = 2.0**-126  # of a float of Postgres that is not 0
_WRITTEN = (*_COPIED, "confidence", "rev", "tags", "turns")
# The parameters of the `of_user` block but for the owner.
OF_USER: Mapping[str, Any] = {
    "of_user": list(aspects.OF_USER),
    "in_own_words": list(aspects.IN_OWN_WORDS),
    "beginnings": sorted({ord(told[0]) for told in (*aspects.OF_USER, *aspects.IN_OWN_WORDS)}),
}
_FACT = tuple(Fact.__dataclass_fields__)
_SAID = ("role", "actor", "text", "at", "source", "path", "tags", "recalled")
_LOOKED = ("source", "found", "repaired", "refused", "prompt", "model", "since")
_TRACKED = tuple(OpsEvent.__dataclass_fields__)


def memory(row: Mapping[str, Any]) -> Memory:
    """A row of the `columns` block as a Memory."""
    return remembered(_COLUMNS(row))


def remembered(values: Sequence[Any]) -> Memory:
    """The values of the `columns` block, in its order, as a Memory."""
    (
        memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags, agent_id,
        run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, last_accessed_at, access_count,
        purge_at, rev, superseded_by, context, turns,
    ) = values  # fmt: skip
    return Memory(
        id=memory_id,
        kind=kind,
        category=category,
        text=text,
        created_at=created_at,
        updated_at=updated_at,
        fact=Fact(**fact | {key: tuple(fact.get(key, ())) for key in ("persons", "entities")}) if fact else None,
        stable_key=stable_key,
        importance=importance,
        confidence=_shortest(confidence),
        trust=trust,
        pinned=pinned,
        state=state,
        tags=tuple(tags),
        agent_id=agent_id,
        run_id=run_id,
        actor_id=actor_id,
        role=role,
        session_id=session_id,
        thread_id=thread_id,
        event_time=event_time,
        last_accessed_at=last_accessed_at,
        access_count=access_count,
        purge_at=purge_at,
        rev=rev,
        superseded_by=superseded_by,
        context=context,
        turns=tuple(turns),
    )


@lru_cache(maxsize=1_024)
def _shortest(real: float) -> float:
    """0.9, also where a real came in binary."""
    return float(str(np.float32(real)))


def spoken(row: Mapping[str, Any]) -> Turn:
    """A row of the `turn` block as a Turn."""
    return Turn(
        id=TurnId(row["turn_id"]),
        role=row["role"],
        text=row["text"],
        at=row["at"],
        session=row["session_id"],
        thread=row["thread_id"],
        actor=row["actor"],
        source=row["source"],
        path=row["path"],
        tags=tuple(row["tags"]),
        recalled=tuple(row["recalled"]),
    )


def found(values: Sequence[Any], terms: Sequence[str]) -> Found:
    """The values of a row of the `search` block behind its head, in their order, as a Found; `terms` were looked for."""
    *columns, share, edges, cosine, ranks, traits = values
    return Found(
        memory=remembered(columns),
        cosine=cosine,
        keyword=share or 0.0,
        edges={MemoryId(UUID(id_)): strength for id_, strength in edges.items()} if edges else {},
        traits=tuple(traits),
        **_explained(ranks, terms) if ranks else {},
    )


def _explained(ranks: Mapping[str, Any], terms: Sequence[str]) -> dict[str, Any]:
    """The places in the channels, and the terms that were met."""
    met = tuple(terms[place - 1] for place in ranks["words"] or ())
    return {"ranks": {name: ranks[name] for name in ("dense", "keyword") if ranks[name]}, "words": met}


def entry(row: Mapping[str, Any]) -> JournalEntry:
    """A row of the `entry` block as a JournalEntry."""
    return JournalEntry(**{name: row[name] for name in JournalEntry.__dataclass_fields__})


def sparse(weights: Mapping[int, float]) -> SparseVector:
    """Weights by dimension, counted from 1, as pgvector's sparsevec, without those that its floats hold only as 0."""
    held = {place - 1: weight for place, weight in weights.items() if abs(weight) >= _LEAST}
    return SparseVector(held, words.DIMENSIONS)


def unit(dimensions: Sequence[int]) -> str:
    """A sparsevec with 1 in each of these dimensions, counted from 1, as text: quicker made than by `sparse`."""
    return f"{{{','.join(f'{one}:1' for one in dimensions)}}}/{words.DIMENSIONS}"


def applied(plan: WritePlan, changes: Sequence[Change], model: str) -> dict[str, Any]:
    """The parameters of the `apply` block for changes of different memories, each with its revision."""
    vectors = [HalfVector(one.vector) if one.vector is not None else None for one in changes]
    return {
        "space": plan.scope.space,
        "memories": packed([_memory(change, model) for change in changes]),
        "embeddings": vectors if any(vectors) else None,
        "words": [sparse(indexed(one.after.text, one.after.context)) for one in changes],
        "lines": packed([_line(plan, change) for change in changes]),
        "fresh": all(change.before is None for change in changes),
    }


def committed(plan: WritePlan, changes: Sequence[Change], model: str) -> dict[str, Any]:
    """The parameters of the `commit` block: the plan, and the first of its changes."""
    scope = plan.scope
    owner = {"tenant_id": scope.tenant, "owner_id": scope.owner, "owner_type": scope.owner_type, "created_at": plan.at}
    return applied(plan, changes, model) | {
        "founding": None if plan.expects else packed(owner),
        "expected": plan.expects,
        "changes": len(plan.changes),
        "turns": said(plan.turns) if plan.turns else None,
        "extracted": packed(_looked(plan.extracted, plan.at)) if plan.extracted else None,
        "relations": edges(plan),
    }


def edges(plan: WritePlan) -> str | None:
    """The plan's edges, each pair once."""
    pairs = {(min(one.a, one.b), max(one.a, one.b)): one for one in plan.relations}
    rows = [
        {"from_id": low, "to_id": high, "relation_type": one.relation_type, "strength": one.strength,
         "created_at": plan.at}
        for (low, high), one in pairs.items()
    ]  # fmt: skip
    return packed(rows) if rows else None


def said(turns: Sequence[Turn]) -> str:
    """Turns as rows of the ledger; one that is named twice comes once."""
    return packed(
        [
            {"turn_id": turn.id, "session_id": turn.session, "thread_id": turn.thread}
            | {name: getattr(turn, name) for name in _SAID}
            for turn in {turn.id: turn for turn in reversed(turns)}.values()
        ]
    )


def tracked(events: Sequence[OpsEvent]) -> str:
    """Events as rows."""
    return packed([{name: getattr(event, name) for name in _TRACKED} for event in events])


def packed(found: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """A row or rows as the JSON that `jsonb_populate_recordset` reads.

    Raises BadInput for a number that is none, TypeError for what has no place in JSON."""
    try:
        return _ENCODER.encode(found)
    except ValueError:
        raise BadInput("a number is none") from None


def _memory(change: Change, model: str) -> dict[str, Any]:
    """What is null is left out: a row has many columns and most are."""
    after, fact = change.after, change.after.fact
    row: dict[str, Any] = {"memory_id": str(after.id)}
    for name in _WRITTEN:
        value = getattr(after, name)
        if value is not None:
            row[name] = value
    if fact is not None:
        row["fact"] = {name: getattr(fact, name) for name in _FACT}
    if change.vector is not None:
        row["embedding_model"] = model
    return row


def _line(plan: WritePlan, change: Change) -> dict[str, Any]:
    return {
        "rev": change.after.rev,
        "memory_id": str(change.after.id),
        "action": change.action,
        "thread_id": plan.scope.thread,
        "node": plan.node,
        "actor": plan.scope.actor,
        "band": change.band,
        "sim": change.sim,
        "meta": change.meta,
        "ts": plan.at,
    }


def _looked(look: Extracted, at: datetime) -> dict[str, Any]:
    return {"turn_id": look.turn} | {name: getattr(look, name) for name in _LOOKED} | {"at": at}


def _plain(value: object) -> str:
    if isinstance(value, UUID | datetime):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be stored")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
