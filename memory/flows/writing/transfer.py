"""Whole spaces in and out: bulk ingest, export and import."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import uuid4

from muniment.memory.domain.ids import MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.plan import Change, Dump, Parcel, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.house import LAST_SECONDS, House, safe_value, unwanted
from muniment.memory.flows.writing import import_rows as incoming
from muniment.memory.flows.writing.write import keep, safe_candidate
from muniment.memory.rules.merging.merge import fresh
from muniment.memory.rules.redaction.denylist import denied
from muniment.memory.rules.redaction.prefilter import harmless

Progress = Callable[[int], None]
_BATCH = 128  # texts that are embedded at once
_TOGETHER = 1024  # at most so many memories in one transaction, and a batch more
_PACKED = 16  # and then whatever else waits has its turn
_ANY = datetime.min.replace(tzinfo=UTC)
_OF_MEMORY = ("text", "context", "fact", "stable_key", "tags")
# What can hold a secret, by the type of a row; of what else it says nothing is stored.
_TEXTS = {
    "memory": _OF_MEMORY,
    "version": _OF_MEMORY,
    "journal": ("meta",),
    "turn": ("text", "path", "tags"),
    "consent": ("value", "old"),
}


async def ingest(house: House, scope: Scope, candidates: Iterable[Candidate], progress: Progress | None) -> int:
    """See `Memory.ingest`."""
    if unwanted(house, scope):
        return 0
    source = (one for one in candidates if denied(house.settings.redact, tags=one.tags) is None)
    intake = _Intake(house, scope, progress)
    try:
        for batch in _batches(source):
            await intake.take(batch)
    except asyncio.CancelledError:
        intake.stop()
        raise
    finally:
        await intake.write()
        await intake.written()
    return intake.added


class _Intake:
    """Embeds and packs what comes while what came before is written, one transaction at a time.

    A slow embedder has each of its batches written at once; what a quick one has ready meanwhile is written together.
    What is ready when the embedder fails is written all the same; after a write that failed there is none."""

    def __init__(self, house: House, scope: Scope, progress: Progress | None) -> None:
        self.house, self.scope, self.progress = house, scope, progress
        self.added = 0
        self._ready: list[Parcel] = []
        self._writing: asyncio.Task[None] | None = None

    async def take(self, batch: Sequence[Candidate]) -> None:
        safe = [_safe_candidate(self.house, one) for one in batch]
        vectors = await self.house.embedder.documents([one.text for one in safe])
        packed: list[Parcel] = []
        for start in range(0, len(safe), _PACKED):
            some = slice(start, start + _PACKED)
            packed += await self._packed(safe[some], vectors[some])
            await asyncio.sleep(0)
        # Not before all of it is packed: with a part of what a turn says the turn would count as read.
        self._ready += packed
        if self._writing is None or self._writing.done() or len(self._ready) >= 2 * _TOGETHER:
            await self.write()

    async def write(self) -> None:
        """Begin to write what is ready, after what is being written."""
        await self.written()
        ready, self._ready = self._ready, []
        if ready:
            self._writing = asyncio.create_task(self._write(ready))

    async def written(self) -> None:
        """Wait for what is being written; raises what it failed with, once."""
        writing, self._writing = self._writing, None
        if writing is not None:
            ready, self._ready = self._ready, []
            await writing
            self._ready = ready

    def stop(self) -> None:
        """Give up what is ready and what is being written: all of it, or it was written already."""
        self._ready.clear()
        if self._writing is not None:
            self._writing.cancel()

    async def _packed(self, batch: Sequence[Candidate], vectors: Sequence[Vector]) -> tuple[Parcel, ...]:
        at, scope = self.house.clock.now(), self.scope
        changes = tuple(
            Change(action="ADD", vector=vector, band="new", after=fresh(one, MemoryId(uuid4()), scope, at))
            for one, vector in zip(batch, vectors, strict=True)
        )
        turns = tuple(_turn(one, turn, scope, at) for one in batch for turn in one.turns)
        return await self.house.store.pack(_plan(scope, at, changes, turns))

    async def _write(self, ready: Sequence[Parcel]) -> None:
        plan = _plan(self.scope, self.house.clock.now())
        async with self.house.turnstile(self.scope.space):
            self.added += await self.house.store.bring(plan, ready)
        if self.progress:
            self.progress(len(ready))


def _plan(scope: Scope, at: datetime, changes: tuple[Change, ...] = (), turns: tuple[Turn, ...] = ()) -> WritePlan:
    """Whatever revision the space has: what is only added depends on nothing that is there."""
    return WritePlan(scope=scope, expects=Revision(0), node="face", at=at, changes=changes, turns=turns)


def _batches(source: Iterator[Candidate]) -> Iterator[list[Candidate]]:
    """What is embedded at once. Candidates of one turn stay together: once it is consumed, no more of them are taken."""
    batch: list[Candidate] = []
    for one in source:
        if len(batch) >= _TOGETHER or (len(batch) >= _BATCH and set(batch[-1].turns).isdisjoint(one.turns)):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


async def export(house: House, scope: Scope, *, content: bool = False) -> tuple[dict[str, Any], ...]:
    """See `Memory.export`."""
    return await house.store.content(scope) if content else (await house.store.dump(scope)).rows


async def load(house: House, scope: Scope, rows: Iterable[Mapping[str, Any]], progress: Progress | None) -> int:
    """See `Memory.load`."""
    taken = list(rows)
    plain = incoming.candidates(house, taken)
    if taken and not plain:
        typed = [row if isinstance(row, dict) and "type" in row else {"type": "memory", **row} for row in taken]
        return await _restore(house, scope, typed, progress)
    # What was so later corrects what was so before, wherever it stands; what tells no time is taken to be so now.
    plain.sort(key=lambda pair: (pair[1].event_time is None, pair[1].event_time or _ANY))
    before, _ = await house.store.near(scope, (), 0)
    written = 0
    for start in range(0, len(plain), _BATCH):
        lines = [incoming.line(house, scope, *pair) for pair in plain[start : start + _BATCH]]
        outdated = await _outdated(house, scope, lines, before)
        # Together they take a fraction of what each alone would; then the embedder's cache has them.
        if stated := [one.text for line in lines if line.read for one in line.candidates]:
            await house.embedder.documents(stated)
        for some in _together(lines):
            said = tuple(
                one for line in some for one in line.candidates if one.text not in outdated or line.at or not line.read
            )
            written += await _kept(house, scope, some, said, progress)
    return written


async def _kept(
    house: House, scope: Scope, some: Sequence[incoming.Line], said: tuple[Candidate, ...], progress: Progress | None
) -> int:
    """How many changes what these lines say came to. Who is cancelled meanwhile, as by Ctrl-C, still learns of a write that is all
    but done: else it would be there, and nobody told."""

    async def keeping() -> int:
        receipt = await keep(house, scope, said, (), node="face", said_at=some[0].at, apart=len(some) > 1)
        if progress:
            progress(len(some))
        return len(receipt.changes)

    writing = asyncio.create_task(keeping())
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(writing, return_exceptions=True), LAST_SECONDS)
        raise


def _together(lines: Sequence[incoming.Line]) -> Iterator[Sequence[incoming.Line]]:
    """What is one write: all notes of what happened, which meet none but such notes, and then each other line by itself, for
    what states facts corrects what was stated before."""
    if notes := [line for line in lines if not _states(line)]:
        yield notes
    yield from ((line,) for line in lines if _states(line))


def _states(line: incoming.Line) -> bool:
    return any(one.kind != "episodic" or one.fact is not None for one in line.candidates)


async def _outdated(house: House, scope: Scope, lines: Sequence[incoming.Line], before: Revision) -> frozenset[str]:
    """What of these lines without a time memory knew and had corrected: to import them again takes no correction back."""
    texts = [one.text for line in lines if line.read and line.at is None for one in line.candidates]
    return await house.store.corrected(scope, texts, before) if texts else frozenset()


async def _restore(house: House, scope: Scope, rows: list[dict[str, Any]], progress: Progress | None) -> int:
    held = (await house.store.dump(scope)).rows
    if list(held) == rows:
        return 0
    if any(row["type"] != "space" or row["rev"] for row in held):
        raise BadInput(
            f"the space of {scope.owner!r} is not empty: import an export into a user that has no memories yet"
        )
    rows = _redacted(house, rows)
    kinds = [row["type"] for row in rows]
    texts = [row["text"] for row, kind in zip(rows, kinds, strict=True) if kind in ("memory", "version")]
    vectors = []
    for start in range(0, len(texts), _BATCH):
        vectors += await house.embedder.documents(texts[start : start + _BATCH])
        if progress:
            progress(len(texts[start : start + _BATCH]))
    await house.store.load(scope, Dump(rev=Revision(rows[0]["rev"]), rows=tuple(rows)), vectors)
    return kinds.count("memory")


def _safe_candidate(house: House, one: Candidate) -> Candidate:
    said = (text for text in (one.text, one.context, one.actor, *one.tags) if text)
    return one if one.fact is None and all(_harmless(house, text) for text in said) else safe_candidate(house, one)


def _redacted(house: House, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without secrets. What a memory says its turn said, too: no text is looked at twice."""
    known = cache(lambda text: text if _harmless(house, text) else str(safe_value(house, text)))
    found = []
    for row in rows:
        said = {}
        for key in _TEXTS.get(row["type"], ()):
            if value := row.get(key):
                safe = known(value) if isinstance(value, str) else safe_value(house, value)
                if safe is not value:
                    said[key] = safe
        found.append(row | said if said else row)
    return found


def _harmless(house: House, text: str) -> bool:
    rules = house.settings.redact
    return not rules.patterns and harmless(text, email=rules.email, phone=rules.phone)


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
