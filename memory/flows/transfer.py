"""Whole spaces in and out: bulk ingest, export, import, and new vectors for a new embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, get_args
from uuid import uuid4

from muniment.memory import wire
from muniment.memory.errors import BadInput, Conflict
from muniment.memory.flows.house import House, safe_value, unwanted
from muniment.memory.flows.write import checked, keep, safe_candidate
from muniment.memory.plan import Change, Field, WritePlan
from muniment.memory.ports import Dump
from muniment.memory.records import Candidate, Kind, MemoryId, Revision, Scope, Turn, TurnId
from muniment.memory.rules.denial import denied
from muniment.memory.rules.merge import fresh

Progress = Callable[[int], None]
_BATCH = 128
_REVECTOR = 64
_ROW_TYPES = frozenset({"space", "memory", "version", "journal", "relation", "thread", "turn", "consent"})
_TEXTS = (
    "text",
    "context",
    "fact",
    "stable_key",
    "tags",
    "path",
    "meta",
    "value",
    "old",
)  # of a row: what can hold a secret


async def ingest(house: House, scope: Scope, candidates: Iterable[Candidate], progress: Progress | None) -> int:
    """See `Memory.ingest`."""
    if unwanted(house, scope):
        return 0
    source = (one for one in candidates if denied(house.settings.redact, tags=one.tags) is None)
    added = 0
    while batch := [safe_candidate(house, one) for one in islice(source, _BATCH)]:
        vectors = await house.embedder.documents([one.text for one in batch])
        added += await _ingest_batch(house, scope, batch, vectors)
        if progress:
            progress(len(batch))
    return added


async def _ingest_batch(house: House, scope: Scope, batch: list[Candidate], vectors: list[Any]) -> int:
    at = house.clock.now()
    async with house.turnstile(scope.space):
        for _ in range(house.settings.write.attempts):
            rev, _near = await house.store.near(scope, (), 0)
            known = await house.store.known(scope, [turn for one in batch for turn in one.turns])
            changes, turns = [], []
            for one, vector in zip(batch, vectors, strict=True):
                if one.turns and known.issuperset(one.turns):
                    continue
                changes.append(
                    Change(action="ADD", vector=vector, band="new", after=fresh(one, MemoryId(uuid4()), scope, at))
                )
                turns += [_turn(one, turn, scope, at) for turn in one.turns]
            if not changes:
                return 0
            plan = WritePlan(scope=scope, expects=rev, node="face", at=at, changes=tuple(changes), turns=tuple(turns))
            try:
                await house.store.commit(plan)
            except Conflict:
                continue
            return len(changes)
    raise Conflict


async def export(house: House, scope: Scope) -> tuple[dict[str, Any], ...]:
    """See `Memory.export`."""
    return (await house.store.dump(scope)).rows


async def load(house: House, scope: Scope, rows: Iterable[Mapping[str, Any]], progress: Progress | None) -> int:
    """See `Memory.load`."""
    taken = list(rows)
    for number, row in enumerate(taken, 1):
        _check(row, number, house)
    if taken and taken[0].get("type") == "space":
        return await _restore(house, scope, [{"type": "memory"} | dict(row) for row in taken], progress)
    candidates = [_candidate(row, number, house) for number, row in enumerate(taken, 1)]
    written = 0
    for candidate in candidates:
        receipt = await keep(house, scope, (candidate,), (), node="face")
        written += len(receipt.changes)
        if progress:
            progress(1)
    return written


async def _restore(house: House, scope: Scope, rows: list[dict[str, Any]], progress: Progress | None) -> int:
    held = (await house.store.dump(scope)).rows
    if list(held) == rows:
        return 0
    if any(row["type"] != "space" or row["rev"] for row in held):
        raise BadInput(
            f"the space of {scope.owner!r} is not empty: import an export into a user that has no memories yet"
        )
    rows = [_redacted(house, row) for row in rows]
    texts = [row["text"] for row in rows if row["type"] in ("memory", "version")]
    vectors = []
    for start in range(0, len(texts), _BATCH):
        vectors += await house.embedder.documents(texts[start : start + _BATCH])
        if progress:
            progress(len(texts[start : start + _BATCH]))
    await house.store.load(scope, Dump(rev=Revision(rows[0]["rev"]), rows=tuple(rows)), vectors)
    return sum(row["type"] == "memory" for row in rows)


async def reembed(house: House, progress: Progress | None) -> int:
    """See `Memory.reembed`."""
    await house.store.open(any_model=True)
    done = 0
    async for scope in house.store.spaces():
        while texts := await house.store.strangers(scope, _REVECTOR):
            await house.store.revector(scope, texts, await house.embedder.documents(texts))
            done += len(texts)
            if progress:
                progress(len(texts))
    await house.store.adopt()
    return done


def _redacted(house: House, row: dict[str, Any]) -> dict[str, Any]:
    return row | {key: safe_value(house, row[key]) for key in _TEXTS if row.get(key)}


def _check(row: Any, number: int, house: House) -> None:
    if not isinstance(row, Mapping):
        raise BadInput(f"row {number}: an object wanted")
    kind = row.get("type", "memory")
    if not isinstance(kind, str) or kind not in _ROW_TYPES:
        raise BadInput(f"row {number}: unknown type {kind!r}; allowed: {', '.join(sorted(_ROW_TYPES))}")
    if kind in ("memory", "version", "turn") and not isinstance(row.get("text"), str):
        raise BadInput(f"row {number}: field 'text' is missing or is no text")
    _check_consent(row, number, house)
    if not isinstance(row.get("context"), str | None):
        raise BadInput(f"row {number}: field 'context' is no text")
    if not wire.sound({key: value for key, value in row.items() if key != "text"}):
        raise BadInput(f"row {number}: has a NUL or half a character")
    if kind == "space":
        rev = row.get("rev")
        if number > 1 or isinstance(rev, bool) or not isinstance(rev, int) or not 0 <= rev < 2**62:
            raise BadInput(f"row {number}: the space comes first, once, with its revision")
        wire.moment(row.get("created_at"), f"row {number}: created_at")
    if kind in ("memory", "version"):
        _check_fact(row, number)
    category = row.get("category")
    if (
        kind == "memory"
        and category is not None
        and (not isinstance(category, str) or category not in house.categories)
    ):
        raise BadInput(f"row {number}: unknown category {category!r}; allowed: {', '.join(sorted(house.categories))}")


def _check_consent(row: Mapping[str, Any], number: int, house: House) -> None:
    """Neither what may not be taken in, nor a field that the profile does not have."""
    if row.get("type") == "consent" and row.get("field") not in get_args(Field):
        raise BadInput(f"row {number}: field 'field' is none of {', '.join(get_args(Field))}")
    tags, path = row.get("tags"), row.get("path")
    tags = tags if tags and wire.texts(tags) else ()
    path = path if isinstance(path, str) else None
    if refusal := denied(house.settings.redact, tags=tags, path=path):
        raise BadInput(f"row {number}: {refusal}")


def _check_fact(row: Mapping[str, Any], number: int) -> None:
    try:
        wire.fact(row.get("fact"))
    except BadInput as error:
        raise BadInput(f"row {number}: {error}") from None


def _candidate(row: Mapping[str, Any], number: int, house: House) -> Candidate:
    """A plain row as a candidate that will be kept: only `text` must be there. Raises BadInput naming the row."""
    importance = row.get("importance", 2)
    if isinstance(importance, bool) or not isinstance(importance, int) or not 1 <= importance <= 5:
        raise BadInput(f"row {number}: importance must be a whole number from 1 to 5")
    kind, tags, actor, pinned = (
        row.get("kind", "episodic"), row.get("tags", ()), row.get("actor_id"), row.get("pinned", False)
    )  # fmt: skip
    if kind not in get_args(Kind):
        raise BadInput(f"row {number}: kind must be one of {', '.join(get_args(Kind))}")
    if not wire.texts(tags) or not isinstance(actor, str | None) or not isinstance(pinned, bool):
        raise BadInput(f"row {number}: tags must be a list of texts, actor_id a text, pinned true or false")
    moment = row.get("event_time")
    candidate = Candidate(
        text=row["text"],
        category=row.get("category") or "activity",
        kind=kind,
        fact=wire.fact(row.get("fact")),
        importance=importance,
        pinned=pinned,
        tags=tuple(tags),
        actor=actor,
        turns=(TurnId(uuid4()),),
        event_time=wire.moment(moment, f"row {number}: event_time") if moment else None,
    )
    _, reason = checked(house, candidate)
    if reason is not None:
        raise BadInput(f"row {number}: {reason}")
    return candidate


def _turn(one: Candidate, turn: TurnId, scope: Scope, at: datetime) -> Turn:
    return Turn(
        id=turn,
        role=one.role or "user",
        text=one.text,
        at=one.event_time or at,
        session=scope.session,
        thread=scope.thread,
        actor=one.actor,
    )
