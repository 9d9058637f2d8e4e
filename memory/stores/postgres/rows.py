"""Rows of Postgres as the records of the domain, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import accumulate, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np
from pgvector import HalfVector, SparseVector

from muniment.memory.domain.consent import Consent, RequestId
from muniment.memory.domain.embedding import UnembeddedRow
from muniment.memory.domain.ids import NO_VECTOR, MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.journal import JournalEntry, SpaceChange
from muniment.memory.domain.layers.projections import Projection
from muniment.memory.domain.memory import Fact, StoredMemory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import PackedMemories, Search, SearchHit
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import NotStorable
from muniment.memory.rules.language import tokens
from muniment.memory.rules.projections.types import project_memory
from muniment.memory.rules.retrieval import intents
from muniment.memory.rules.retrieval.intents import index_text
from muniment.memory.stores.postgres.memory_columns import COLUMNS, CONTENT

_get_columns = itemgetter(*(column.name for column in COLUMNS))
_FIELDS = tuple(column.field for column in COLUMNS)
# A plan numbers its changes itself; what is counted by retrievals it leaves alone.
_WRITTEN = tuple((column.name, column.field) for column in COLUMNS if column in CONTENT or column.name == "rev")
UNEMBEDDED = ""  # the model of a memory that waits for its vector
_LEAST = 2.0**-126  # the smallest float of Postgres that is not 0
# The parameters of the `of_user` block, without the owner.
OF_USER: Mapping[str, Any] = {
    "of_user": list(intents.USER_PREFIXES),
    "in_own_words": list(intents.FIRST_PERSON_PREFIXES),
    "beginnings": sorted({ord(prefix[0]) for prefix in (*intents.USER_PREFIXES, *intents.FIRST_PERSON_PREFIXES)}),
}
_FACT = tuple(Fact.__dataclass_fields__)
_TURN_FIELDS = ("role", "actor", "text", "at", "source", "path", "tags", "recalled", "kind", "payload", "visible")
_PROJECTION = {name: {"id": "projection_id", "memory": "memory_id"}.get(name, name) for name in Projection.__slots__}
_OBSERVATION_FIELDS = (
    "stable_key", "statement", "category", "confidence", "importance", "trust", "turns", "found_by", "outcome",
)  # fmt: skip
_EXTRACTION_FIELDS = ("source", "found", "repaired", "refused", "prompt", "model", "since")


# A row of a search: its head, the columns of a memory (all null without a hit), and its signals.
SearchRow = tuple[Any, ...]


class SearchHead(NamedTuple):
    """What every row of a search begins with."""

    rev: int
    speakers: Sequence[str] | None
    corpus_size: int | None
    mean_cosine: float | None
    cosine_spread: float | None
    missing_places: Sequence[int]  # places, from 1, of the terms that no memory has
    is_complete: bool
    is_indexed: bool
    is_limited: bool  # the space has memories that are not found everywhere, or not for ever


HEAD = len(SearchHead._fields)


def parse_memory(row: Mapping[str, Any]) -> StoredMemory:
    """Parse a row with the columns of a memory."""
    return parse_memory_values(_get_columns(row))


def parse_memory_values(values: Sequence[Any]) -> StoredMemory:
    """Parse the values of the columns of a memory, in the order of `COLUMNS`."""
    fields = dict(zip(_FIELDS, values, strict=True))
    for field, decode in _DECODERS:
        fields[field] = decode(fields[field])
    return StoredMemory(**fields)


def parse_fact(fact: dict[str, Any] | None) -> Fact | None:
    """Parse the structure of a statement; None without one."""
    return Fact(**fact | {key: tuple(fact.get(key, ())) for key in ("persons", "entities")}) if fact else None


@lru_cache(maxsize=1_024)
def _shorten_real(real: float) -> float:
    """Return 0.9 for a real that came in binary as 0.899999976."""
    return float(str(np.float32(real)))


_VECTOR_HEADER = 2  # numbers before those of a vector
_BY_TYPE: dict[str, Callable[[Any], Any]] = {
    "jsonb": parse_fact, "real": _shorten_real, "text[]": tuple, "uuid[]": tuple,
}  # fmt: skip
_DECODERS = tuple((column.field, _BY_TYPE[column.type]) for column in COLUMNS if column.type in _BY_TYPE)


def parse_search(search: Search, found: Sequence[SearchRow], as_of: Revision | None) -> dict[str, Any]:
    """Parse the rows of a search as the fields of a SearchSnapshot; a search without a hit has one row."""
    head = SearchHead._make(found[0][:HEAD])
    hits: list[SearchHit] = []
    for row in found if found[0][HEAD] is not None else ():
        *columns, share, edges, cosine, ranks, traits, rivals = row[HEAD:]
        hit = SearchHit(
            memory=parse_memory_values(columns),
            cosine=cosine,
            keyword=share or 0.0,
            edges={MemoryId(UUID(id_)): strength for id_, strength in edges.items()} if edges else {},
            traits=tuple(traits),
            rivals=tuple(MemoryId(UUID(id_)) for id_ in rivals.split()) if rivals else (),
            **_parse_ranks(ranks, search.terms) if ranks else {},
        )
        hits.append(hit)
    return {
        "rev": Revision(head.rev if as_of is None else min(head.rev, as_of)),
        "hits": tuple(hits),
        "missing_terms": frozenset(search.terms[place - 1] for place in head.missing_places),
        "speakers": tuple(head.speakers or ()),
        "corpus_size": head.corpus_size or 0,
        "mean_cosine": head.mean_cosine,
        "cosine_spread": head.cosine_spread,
    }


def _parse_ranks(ranks: Mapping[str, Any], terms: Sequence[str]) -> dict[str, Any]:
    """Parse the ranks in the channels, and the terms that the memory has."""
    words = tuple(terms[place - 1] for place in ranks["words"] or ())
    return {"ranks": {name: ranks[name] for name in ("dense", "keyword") if ranks[name]}, "words": words}


def parse_scope(row: Mapping[str, Any]) -> Scope:
    """Parse a row of the table of spaces."""
    return Scope(tenant=row["tenant_id"], owner=row["owner_id"], owner_type=row["owner_type"])


def parse_turn(row: Mapping[str, Any]) -> Turn:
    """Parse a row of the `turn` block of ledger.sql."""
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
        kind=row["kind"],
        payload=row["payload"],
        visible=row["visible"],
        position=row["position"],
    )


def parse_packed(row: Mapping[str, Any], rev: Revision) -> PackedMemories:
    """Parse the row of the `packed` block of read.sql, for a space at this revision."""
    has_vector = row["has_vector"] or []
    # pgvector sends a vector as its length and an unused number, two bytes each, and then its numbers, all big-endian.
    sent = np.frombuffer(row["vectors"] or b"", dtype=">f2").reshape(sum(has_vector), -1 if any(has_vector) else 0)
    return PackedMemories(
        rev=rev,
        ids=row["ids"] or [],
        kinds=row["kinds"] or [],
        places=row["places"] or [],
        revs=row["revs"] or [],
        stable_keys=row["stable_keys"] or [],
        has_vector=has_vector,
        vectors=sent[:, _VECTOR_HEADER:].astype(np.float32),
    )


def parse_entry(row: Mapping[str, Any]) -> JournalEntry:
    """Parse a row of the `entry` block of search.sql, or of `entry_columns` of read.sql."""
    return JournalEntry(**{name: row[name] for name in JournalEntry.__dataclass_fields__})


def parse_change(row: Mapping[str, Any]) -> SpaceChange:
    """Parse a row of the `changes` or `departures` block of read.sql."""
    return SpaceChange(
        rev=Revision(row["change_rev"]),
        memory_id=MemoryId(row["changed_id"]),
        action=row["change_action"],
        ts=row["change_ts"],
        memory=parse_memory(row) if row.get("memory_id") else None,
    )


def parse_consent(row: Mapping[str, Any]) -> Consent:
    """Parse a row of the `columns` block of consent.sql."""
    return Consent(
        id=RequestId(row["request_id"]),
        field=row["field"],
        value=row["value"],
        decision=row["decision"],
        memory=MemoryId(row["memory_id"]),
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        turns=tuple(map(TurnId, row["turns"])),
        decided_at=row["decided_at"],
        decided_by=row["decided_by"],
        old=row["old"],
    )


def parse_unembedded(row: Mapping[str, Any]) -> UnembeddedRow:
    """Parse a row of an `unembedded` block."""
    return UnembeddedRow(
        id=MemoryId(row["memory_id"]),
        since=Revision(row["since"]),
        text=row["text"],
        aliases=tuple(row["aliases"]),
    )


def build_vector_params(pairs: Sequence[tuple[UnembeddedRow, Vector]]) -> dict[str, Any]:
    """Return the parameters of a block that writes the vectors of memories or of versions, one list for each column.

    The `aliases` are those of all rows; `starts` and `ends` say from where to where those of a row are."""
    ends = [*accumulate(len(row.aliases) for row, _ in pairs)]
    return {
        "ids": [row.id for row, _ in pairs],
        "revs": [row.since for row, _ in pairs],
        "texts": [row.text for row, _ in pairs],
        "aliases": [alias for row, _ in pairs for alias in row.aliases],
        "starts": [end - len(row.aliases) + 1 for end, (row, _) in zip(ends, pairs, strict=True)],
        "ends": ends,
        "embeddings": [HalfVector(vector) for _, vector in pairs],
    }


def encode_sparse_vector(weights: Mapping[int, float]) -> SparseVector:
    """Encode weights by dimension, counted from 1, as pgvector's sparsevec, without those that its floats round to
    0."""
    nonzero = {dimension - 1: weight for dimension, weight in weights.items() if abs(weight) >= _LEAST}
    return SparseVector(nonzero, tokens.DIMENSIONS)


def encode_unit_vectors(terms: Iterable[Sequence[int]]) -> str:
    """Encode for each term a sparsevec with 1 in each of its dimensions, counted from 1, as text with semicolons
    between them: faster than `encode_sparse_vector`."""
    end = f"}}/{tokens.DIMENSIONS}"
    return ";".join("{" + ",".join(f"{dimension}:1" for dimension in dimensions) + end for dimensions in terms)


PlannedChange: TypeAlias = tuple[WritePlan, Change]  # a change with the plan that it is of


def build_apply_params(scope: Scope, planned: Sequence[PlannedChange], model: str) -> dict[str, Any]:
    """Return the parameters of the `apply` block for changes of different memories, each with its revision."""
    changes = [change for _, change in planned]
    # One statement is of one embedder: when one of its vectors is missing, all are made later.
    if any(change.vector is NO_VECTOR for change in changes):
        changes = [change if change.vector is None else replace(change, vector=NO_VECTOR) for change in changes]
    vectors = [HalfVector(change.vector) if change.vector is not None else None for change in changes]
    return {
        "space": scope.space,
        "memories": encode_rows([_encode_memory(change, model) for change in changes]),
        "embeddings": vectors if any(vectors) else None,
        "words": [
            encode_sparse_vector(index_text(change.after.text, change.after.context, change.after.aliases))
            for change in changes
        ],
        "lines": encode_rows(
            [
                {
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
                for plan, change in planned
            ]
        ),
        "fresh": all(change.before is None for change in changes),
    }


def build_commit_params(plans: Sequence[WritePlan], planned: Sequence[PlannedChange], model: str) -> dict[str, Any]:
    """Return the parameters of the `commit` block: plans that follow on each other, and the first of their changes.

    A plan with a record of an extraction is the only one."""
    first = plans[0]
    scope, turns = first.scope, [(plan.scope, turn) for plan in plans for turn in plan.turns]
    extracted: dict[str, Any] = {}
    if record := first.extracted:
        extracted = {name: getattr(record, name) for name in _EXTRACTION_FIELDS} | {
            "turn_id": record.turn,
            "at": first.at,
        }
    observed = [
        {name: getattr(each, name) for name in _OBSERVATION_FIELDS}
        | {"kind": each.type, "memory_id": each.memory, "at": plan.at}
        | ({"fact": {name: getattr(each.fact, name) for name in _FACT}} if each.fact else {})
        for plan in plans
        for each in plan.observations
    ]
    return build_apply_params(scope, planned, model) | {
        "founding": None if first.expected_rev else encode_space(scope, first.at),
        "expected": first.expected_rev,
        "changes": sum(len(plan.changes) for plan in plans),
        "turns": encode_turns(turns) if turns else None,
        "extracted": encode_rows(extracted) if extracted else None,
        "relations": encode_edges(plans),
        "observations": encode_rows(observed) if observed else None,
    }


def encode_space(scope: Scope, at: datetime) -> str:
    """Encode the row of a space that is created at a time."""
    owner = {"tenant_id": scope.tenant, "owner_id": scope.owner, "owner_type": scope.owner_type}
    return encode_rows(owner | {"created_at": at})


def encode_edges(plans: Sequence[WritePlan]) -> str | None:
    """Encode the edges of plans, each pair once, as the last says; None without one."""
    edges = {(min(edge.a, edge.b), max(edge.a, edge.b)): (edge, plan.at) for plan in plans for edge in plan.relations}
    rows = [
        {
            "from_id": low,
            "to_id": high,
            "relation_type": edge.relation_type,
            "strength": edge.strength,
            "created_at": at,
        }
        for (low, high), (edge, at) in edges.items()
    ]
    return encode_rows(rows) if rows else None


def encode_turns(turns: Iterable[tuple[Scope, Turn]], hashes: Sequence[bytes] = ()) -> str:
    """Encode turns as rows of the ledger, with the agent, the project and the application of their scopes.

    A turn that comes twice is one row. With `hashes` they are messages, each with its hash."""
    rows: list[dict[str, Any]] = []
    for (scope, turn), hashed in zip_longest(turns, hashes):
        row = {name: getattr(turn, name) for name in _TURN_FIELDS}
        row |= {"turn_id": turn.id, "session_id": turn.session, "thread_id": turn.thread}
        row |= {"agent_id": scope.agent, "project_id": scope.project, "app_id": scope.app}
        rows.append(row if hashed is None else row | {"hash": f"\\x{hashed.hex()}"})
    return encode_rows(rows if hashes else list({row["turn_id"]: row for row in rows}.values()))


def encode_rows(rows: Mapping[str, Any] | Sequence[Mapping[str, Any] | Projection]) -> str:
    """Encode a row or rows as the JSON that `jsonb_populate_recordset` reads.

    Raises NotStorable for a number that is not finite, TypeError for a value that JSON does not have."""
    try:
        return _ENCODER.encode(rows)
    except ValueError:
        raise NotStorable("a number is none") from None


def _encode_memory(change: Change, model: str) -> dict[str, Any]:
    """Encode the memory after a change. Null is left out: a row has many columns and most of them are null."""
    row = {name: value for name, field in _WRITTEN if (value := getattr(change.after, field)) is not None}
    if fact := change.after.fact:
        row["fact"] = {name: getattr(fact, name) for name in _FACT}
    row["slots"] = project_memory(change.after)
    if change.vector is not None:
        row["embedding_model"] = UNEMBEDDED if change.vector is NO_VECTOR else model
    return row


def parse_projection(row: Mapping[str, Any]) -> Projection:
    """Parse a row of the `columns` block of projections.sql."""
    values = {field: row[column] for field, column in _PROJECTION.items()}
    return Projection(**values | {"memories": tuple(row["memories"])})


def _encode_value(value: object) -> Any:
    if isinstance(value, UUID | datetime):
        return str(value)
    if isinstance(value, Projection):
        return {column: getattr(value, field) for field, column in _PROJECTION.items()}
    raise TypeError(f"{type(value).__name__} cannot be stored")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_encode_value)
