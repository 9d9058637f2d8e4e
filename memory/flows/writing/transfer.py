"""Whole spaces in and out: bulk ingest, export and import."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import uuid4

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.plan import Change, PackedRow, SpaceDump, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.process_state import SpaceLocks
from muniment.memory.flows.redactor import Redactor
from muniment.memory.flows.writing.import_rows import ImportLine, ImportRows
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.rules.merging.merge import make_memory
from muniment.memory.rules.redaction.redact import find_denial

OnProgress = Callable[[int], None]
CLOSE_GRACE_SECONDS = 3.0  # that a cancelled caller waits for a write that is all but done
_BATCH = 128  # texts that are embedded at once
_MAX_TRANSACTION = 1024  # at most so many memories in one transaction, and a batch more
_PACK_SIZE = 16  # and then whatever else waits has its turn
_NO_TIME = datetime.min.replace(tzinfo=UTC)
_OF_MEMORY = ("text", "context", "fact", "stable_key", "tags")
# What can hold a secret, by the type of a row; of what else it says nothing is stored.
_TEXT_FIELDS = {
    "memory": _OF_MEMORY,
    "version": _OF_MEMORY,
    "journal": ("meta",),
    "turn": ("text", "path", "tags"),
    "consent": ("value", "old"),
}


class _IngestPipeline:
    """Embeds and packs what comes while what came before is written, one transaction at a time.

    A slow embedder has each of its batches written at once; what a quick one has ready meanwhile is written together.
    What is ready when the embedder fails is written all the same; after a write that failed there is none."""

    def __init__(self, transfer: Transfer, scope: Scope, on_progress: OnProgress | None) -> None:
        self.transfer, self.scope, self.on_progress = transfer, scope, on_progress
        self.added_count = 0
        self._ready: list[PackedRow] = []
        self._writing: asyncio.Task[None] | None = None

    async def add_batch(self, batch: Sequence[Candidate]) -> None:
        safe = [self.transfer.sanitize_candidate(one) for one in batch]
        vectors = await self.transfer.embedder.embed_documents([one.text for one in safe])
        packed: list[PackedRow] = []
        for start in range(0, len(safe), _PACK_SIZE):
            some = slice(start, start + _PACK_SIZE)
            packed += await self._pack_batch(safe[some], vectors[some])
            await asyncio.sleep(0)
        # Not before all of it is packed: with a part of what a turn says the turn would count as read.
        self._ready += packed
        if self._writing is None or self._writing.done() or len(self._ready) >= 2 * _MAX_TRANSACTION:
            await self.start_write()

    async def start_write(self) -> None:
        """Begin to write what is ready, after what is being written."""
        await self.finish_write()
        ready, self._ready = self._ready, []
        if ready:
            self._writing = asyncio.create_task(self._write_rows(ready))

    async def finish_write(self) -> None:
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

    async def _pack_batch(self, batch: Sequence[Candidate], vectors: Sequence[Vector]) -> tuple[PackedRow, ...]:
        at, scope = self.transfer.clock.now(), self.scope
        changes = tuple(
            Change(action="ADD", vector=vector, band="new", after=make_memory(one, MemoryId(uuid4()), scope, at))
            for one, vector in zip(batch, vectors, strict=True)
        )
        turns = tuple(_make_turn(one, turn, scope, at) for one in batch for turn in one.turns)
        return await self.transfer.writes.pack_rows(_make_plan(scope, at, changes, turns))

    async def _write_rows(self, ready: Sequence[PackedRow]) -> None:
        plan = _make_plan(self.scope, self.transfer.clock.now())
        async with self.transfer.locks.space_lock(self.scope.space):
            self.added_count += await self.transfer.writes.insert_packed(plan, ready)
        if self.on_progress:
            self.on_progress(len(ready))


def _make_plan(scope: Scope, at: datetime, changes: tuple[Change, ...] = (), turns: tuple[Turn, ...] = ()) -> WritePlan:
    """Whatever revision the space has: what is only added depends on nothing that is there."""
    return WritePlan(scope=scope, expected_rev=Revision(0), node="face", at=at, changes=changes, turns=turns)


def _split_batches(source: Iterator[Candidate]) -> Iterator[list[Candidate]]:
    """What is embedded at once. Candidates of one turn stay together: once it is consumed, no more of them are taken."""
    batch: list[Candidate] = []
    for one in source:
        if len(batch) >= _MAX_TRANSACTION or (len(batch) >= _BATCH and set(batch[-1].turns).isdisjoint(one.turns)):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def _group_lines(lines: Sequence[ImportLine]) -> Iterator[Sequence[ImportLine]]:
    """What is one write: all notes of what happened, which meet none but such notes, and then each other line by itself, for
    what states facts corrects what was stated before."""
    if notes := [line for line in lines if not _states_facts(line)]:
        yield notes
    yield from ((line,) for line in lines if _states_facts(line))


def _states_facts(line: ImportLine) -> bool:
    return any(one.kind != "episodic" or one.fact is not None for one in line.candidates)


def _make_turn(one: Candidate, turn: TurnId, scope: Scope, at: datetime) -> Turn:
    return Turn(
        id=turn,
        role=one.role or "user",
        text=one.text,
        at=one.event_time or at,
        session=scope.session,
        thread=scope.thread,
        actor=one.actor,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfer:
    """Whole spaces in and out: bulk ingest, export and import."""

    clock: Clock
    embedder: Embedder
    import_rows: ImportRows
    locks: SpaceLocks
    reads: MemoryReads
    redactor: Redactor
    settings: Settings
    writer: Writer
    writes: MemoryWrites

    async def ingest_candidates(
        self, scope: Scope, candidates: Iterable[Candidate], on_progress: OnProgress | None
    ) -> int:
        """See `Memory.ingest`."""
        if self.redactor.find_denial_reason(scope):
            return 0
        source = (one for one in candidates if find_denial(self.settings.redact, tags=one.tags) is None)
        intake = _IngestPipeline(self, scope, on_progress)
        try:
            for batch in _split_batches(source):
                await intake.add_batch(batch)
        except asyncio.CancelledError:
            intake.stop()
            raise
        finally:
            await intake.start_write()
            await intake.finish_write()
        return intake.added_count

    async def export_space(self, scope: Scope, *, content: bool = False) -> tuple[dict[str, Any], ...]:
        """See `Memory.export`."""
        return await self.writes.read_content(scope) if content else (await self.writes.dump_space(scope)).rows

    async def load_rows(self, scope: Scope, rows: Iterable[Mapping[str, Any]], on_progress: OnProgress | None) -> int:
        """See `Memory.load`."""
        taken = list(rows)
        plain = self.import_rows.parse_rows(taken)
        if taken and not plain:
            typed = [row if isinstance(row, dict) and "type" in row else {"type": "memory", **row} for row in taken]
            return await self._restore_export(scope, typed, on_progress)
        # What was so later corrects what was so before, wherever it stands; what tells no time is taken to be so now.
        plain.sort(key=lambda pair: (pair[1].event_time is None, pair[1].event_time or _NO_TIME))
        before, _ = await self.reads.find_neighbours(scope, (), 0)
        written = 0
        for start in range(0, len(plain), _BATCH):
            lines = [self.import_rows.parse_line(scope, *pair) for pair in plain[start : start + _BATCH]]
            outdated = await self._find_outdated(scope, lines, before)
            # Together they take a fraction of what each alone would; then the embedder's cache has them.
            if stated := [one.text for line in lines if line.is_parsed for one in line.candidates]:
                await self.embedder.embed_documents(stated)
            for some in _group_lines(lines):
                said = tuple(
                    one
                    for line in some
                    for one in line.candidates
                    if one.text not in outdated or line.at or not line.is_parsed
                )
                written += await self._keep_lines(scope, some, said, on_progress)
        return written

    async def _keep_lines(
        self,
        scope: Scope,
        some: Sequence[ImportLine],
        said: tuple[Candidate, ...],
        on_progress: OnProgress | None,
    ) -> int:
        """How many changes what these lines say came to. Who is cancelled meanwhile, as by Ctrl-C, still learns of a write that is all
        but done: else it would be there, and nobody told."""

        async def write_lines() -> int:
            receipt = await self.writer.keep_candidates(
                scope, said, (), node="face", said_at=some[0].at, is_independent=len(some) > 1
            )
            if on_progress:
                on_progress(len(some))
            return len(receipt.changes)

        writing = asyncio.create_task(write_lines())
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(writing, return_exceptions=True), CLOSE_GRACE_SECONDS)
            raise

    async def _find_outdated(self, scope: Scope, lines: Sequence[ImportLine], before: Revision) -> frozenset[str]:
        """What of these lines without a time memory knew and had corrected: to import them again takes no correction back."""
        texts = [one.text for line in lines if line.is_parsed and line.at is None for one in line.candidates]
        return await self.reads.find_given_up_texts(scope, texts, before) if texts else frozenset()

    async def _restore_export(self, scope: Scope, rows: list[dict[str, Any]], on_progress: OnProgress | None) -> int:
        held = (await self.writes.dump_space(scope)).rows
        if list(held) == rows:
            return 0
        if any(row["type"] != "space" or row["rev"] for row in held):
            raise BadInput(
                f"the space of {scope.owner!r} is not empty: import an export into a user that has no memories yet"
            )
        rows = self._redact_rows(rows)
        kinds = [row["type"] for row in rows]
        texts = [row["text"] for row, kind in zip(rows, kinds, strict=True) if kind in ("memory", "version")]
        vectors = []
        for start in range(0, len(texts), _BATCH):
            vectors += await self.embedder.embed_documents(texts[start : start + _BATCH])
            if on_progress:
                on_progress(len(texts[start : start + _BATCH]))
        await self.writes.load_space(scope, SpaceDump(rev=Revision(rows[0]["rev"]), rows=tuple(rows)), vectors)
        return kinds.count("memory")

    def sanitize_candidate(self, one: Candidate) -> Candidate:
        said = (text for text in (one.text, one.context, one.actor, *one.tags) if text)
        return (
            one
            if one.fact is None and all(self.redactor.needs_no_change(text) for text in said)
            else self.writer.sanitize_candidate(one)
        )

    def _redact_rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows without secrets. What a memory says its turn said, too: no text is looked at twice."""
        known = cache(
            lambda text: text if self.redactor.needs_no_change(text) else str(self.redactor.sanitize_value(text))
        )
        found = []
        for row in rows:
            said = {}
            for key in _TEXT_FIELDS.get(row["type"], ()):
                if value := row.get(key):
                    safe = known(value) if isinstance(value, str) else self.redactor.sanitize_value(value)
                    if safe is not value:
                        said[key] = safe
            found.append(row | said if said else row)
        return found
