"""Whole spaces in and out: ingesting many candidates, export and import."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import uuid4

import numpy as np

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.memory import compose_document
from muniment.memory.domain.plan import Change, ImportReport, PackedRow, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn, make_memory
from muniment.memory.flows.process_state import SpaceEngines, SpaceLocks
from muniment.memory.flows.writing.import_rows import (
    ROWS_AT_ONCE,
    ImportLine,
    ImportRows,
    ImportTally,
    RowCheck,
    group_lines,
)
from muniment.memory.flows.writing.importing.restore import ExportRestore
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.rules.merging.placement import sanitize_candidate
from muniment.memory.rules.redaction.redact import Redactor, find_denial

OnProgress = Callable[[int], None]
CLOSE_GRACE_SECONDS = 3.0  # that a cancelled caller waits for a write that has begun
_BATCH = 128  # texts that are embedded at once
_BATCH_CHARS = 2**17  # of lines that are kept together, after which no more join them
_MAX_TRANSACTION = 1024  # memories of one transaction, and up to a batch more
_PACK_SIZE = 16  # memories that are packed before other tasks have a turn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfer:
    """Ingests many candidates, exports a space, and imports rows."""

    clock: Clock
    embedder: Embedder
    engines: SpaceEngines[Any]
    export_restore: ExportRestore
    import_rows: ImportRows
    locks: SpaceLocks
    reads: MemoryReads
    redactor: Redactor
    settings: Settings
    writer: Writer
    writes: MemoryWrites

    def open_source(self, candidates: Iterable[Candidate]) -> IngestSource:
        """Return candidates for `ingest_candidates`, without those with a denied tag."""
        return IngestSource(each for each in candidates if find_denial(self.settings.redact, tags=each.tags) is None)

    async def ingest_candidates(self, scope: Scope, source: IngestSource, on_progress: OnProgress | None) -> int:
        """Store candidates as they are, redacted, without merging. Returns the number of new ones.

        A candidate of a turn that is consumed already is left out. What is not stored when this fails stays in the
        source. Raises StoreError, ModelError."""
        if self.redactor.find_denial_reason(scope):
            return 0
        pipeline = _IngestPipeline(self, scope, source, on_progress)
        try:
            while batch := source.take_batch():
                await pipeline.add_batch(batch)
        except asyncio.CancelledError:
            pipeline.stop()
            raise
        finally:
            await pipeline.start_write()
            await pipeline.finish_write()
        return source.added_count

    async def export_space(self, scope: Scope, *, content: bool = False) -> tuple[dict[str, Any], ...]:
        """Return the space as JSON rows in a fixed order; with `content` its memories and relations without
        revisions."""
        return await self.writes.read_content(scope) if content else (await self.writes.dump_space(scope)).rows

    async def load_rows(
        self, scope: Scope, rows: Sequence[Mapping[str, Any]], on_progress: OnProgress | None
    ) -> ImportReport:
        """Import the rows of an export into an empty space, or plain rows into any. `on_progress` gets numbers of rows.

        What it takes does not grow with the rows, which may be in a file. Raises BadInput, StoreError, ModelError."""
        check = RowCheck()
        for start in range(0, len(rows), ROWS_AT_ONCE):
            await asyncio.to_thread(self.import_rows.check_rows, check, rows, start)
        check.raise_errors()
        if check.is_export:
            count = await self.export_restore.restore_rows(scope, rows, on_progress)
            return ImportReport(changes=count, added=count)
        # A later statement corrects an earlier one, in whatever order they stand; one without a time is of now.
        order = np.argsort(np.array(check.times), kind="stable")
        rev_before, _ = await self.reads.find_neighbours(scope, (), 0)
        tally = ImportTally()
        start = 0
        while start < len(order):
            lines = await asyncio.to_thread(self._parse_lines, scope, rows, order[start : start + _BATCH].tolist())
            await self._load_lines(scope, lines, rev_before, tally, on_progress)
            start += len(lines)
        return tally.make_report()

    async def _load_lines(
        self,
        scope: Scope,
        lines: Sequence[ImportLine],
        rev_before: Revision,
        tally: ImportTally,
        on_progress: OnProgress | None,
    ) -> None:
        # A correction that was made since an earlier import of the same rows must stay.
        texts = [each.text for line in lines if line.is_undated for each in line.candidates]
        outdated = await self.writes.find_given_up_texts(scope, texts, rev_before) if texts else frozenset()
        # One call for all fills the embedder's cache, and is much faster than one a statement.
        if parsed := [
            compose_document(each.text, each.aliases) for line in lines if line.is_parsed for each in line.candidates
        ]:
            await self.embedder.embed_documents(parsed)
        for group in group_lines(lines):
            candidates = tuple(
                each for line in group for each in line.candidates if each.text not in outdated or not line.is_undated
            )
            tally.count_changes(group, await self._keep_lines(scope, group, candidates, on_progress))

    def _parse_lines(self, scope: Scope, rows: Sequence[Mapping[str, Any]], places: Sequence[int]) -> list[ImportLine]:
        """Return the rows at these places as lines, not more of them than are kept together, with candidates that are
        redacted, so that nobody does it again where others wait."""
        lines: list[ImportLine] = []
        chars = 0
        for place in places:
            row, number = rows[place], place + 1
            lines.append(self.import_rows.parse_line(scope, number, row, self.import_rows.parse_candidate(row, number)))
            chars += len(row["text"])
            if chars >= _BATCH_CHARS:
                break
        redactor = self.writer.redactor
        return [
            replace(line, candidates=tuple(sanitize_candidate(each, redactor) for each in line.candidates))
            for line in lines
        ]

    async def _keep_lines(
        self,
        scope: Scope,
        lines: Sequence[ImportLine],
        candidates: tuple[Candidate, ...],
        on_progress: OnProgress | None,
    ) -> tuple[Change, ...]:
        """Keep the candidates of these lines and return the changes.

        A caller that is cancelled, as by Ctrl-C, waits for the write, so that its progress is reported."""

        async def write_lines() -> tuple[Change, ...]:
            receipt: Receipt = await self.engines.run(
                scope,
                lambda engine: engine.writer.keep_candidates(
                    scope, candidates, (), node="face", said_at=lines[0].at, file_rows=len(lines)
                ),
            )
            if on_progress:
                on_progress(len(lines))
            return receipt.changes

        writing = asyncio.create_task(write_lines())
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(writing, return_exceptions=True), CLOSE_GRACE_SECONDS)
            raise


class IngestSource:
    """Candidates to store, and how many are stored: what fails with one embedder goes on with another."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._batches = _split_batches(candidates)
        self._taken: list[Candidate] = []  # that are not stored, in order
        self.added_count = 0

    def take_batch(self) -> list[Candidate]:
        """Return the next candidates to embed, empty at the end."""
        batch = next(self._batches, [])
        self._taken += batch
        return batch

    def note_stored(self, count: int, added: int) -> None:
        """Note that the first `count` candidates that were taken are stored, `added` of them as new ones."""
        del self._taken[:count]
        self.added_count += added

    def put_back(self) -> None:
        """Put what was taken and not stored before the rest."""
        taken, self._taken = self._taken, []
        self._batches = chain([taken] if taken else [], self._batches)


class _IngestPipeline:
    """Embeds and packs batches while earlier ones are written, one transaction at a time.

    With a slow embedder each batch is written at once; with a quick one, all that is ready when the last write ends.
    Batches that are ready when the embedder fails are written; after a write that fails none is."""

    def __init__(self, transfer: Transfer, scope: Scope, source: IngestSource, on_progress: OnProgress | None) -> None:
        self.transfer, self.scope, self.source, self.on_progress = transfer, scope, source, on_progress
        source.put_back()
        self._ready: list[PackedRow] = []
        self._writing: asyncio.Task[None] | None = None

    async def add_batch(self, batch: Sequence[Candidate]) -> None:
        """Redact, embed and pack a batch; begin to write if no write is under way."""
        redactor = self.transfer.writer.redactor
        safe = [sanitize_candidate(candidate, redactor) for candidate in batch]
        vectors = await self.transfer.embedder.embed_documents(
            [compose_document(candidate.text, candidate.aliases) for candidate in safe]
        )
        packed: list[PackedRow] = []
        for start in range(0, len(safe), _PACK_SIZE):
            part = slice(start, start + _PACK_SIZE)
            packed += await self._pack_batch(safe[part], vectors[part])
            await asyncio.sleep(0)
        # Only when the whole batch is packed: a part of a turn's candidates would consume the turn.
        self._ready += packed
        if self._writing is None or self._writing.done() or len(self._ready) >= 2 * _MAX_TRANSACTION:
            await self.start_write()

    async def start_write(self) -> None:
        """Begin to write what is ready, after the write under way."""
        await self.finish_write()
        ready, self._ready = self._ready, []
        if ready:
            self._writing = asyncio.create_task(self._write_rows(ready))

    async def finish_write(self) -> None:
        """Wait for the write under way. Raises its error once; what was ready is dropped then."""
        writing, self._writing = self._writing, None
        if writing is not None:
            ready, self._ready = self._ready, []
            await writing
            self._ready = ready

    def stop(self) -> None:
        """Drop what is ready and cancel the write under way, which is done or undone as a whole."""
        self._ready.clear()
        if self._writing is not None:
            self._writing.cancel()

    async def _pack_batch(self, batch: Sequence[Candidate], vectors: Sequence[Vector]) -> tuple[PackedRow, ...]:
        at, scope = self.transfer.clock.now(), self.scope
        changes = tuple(
            Change(action="ADD", vector=vector, band="new", after=make_memory(each, MemoryId(uuid4()), scope, at))
            for each, vector in zip(batch, vectors, strict=True)
        )
        turns = tuple(_make_turn(each, turn, scope, at) for each in batch for turn in each.turns)
        return await self.transfer.writes.pack_rows(_make_plan(scope, at, changes, turns))

    async def _write_rows(self, ready: Sequence[PackedRow]) -> None:
        plan = _make_plan(self.scope, self.transfer.clock.now())
        async with self.transfer.locks.space_lock(self.scope.space):
            self.source.note_stored(len(ready), await self.transfer.writes.insert_packed(plan, ready))
        if self.on_progress:
            self.on_progress(len(ready))


def _make_plan(scope: Scope, at: datetime, changes: tuple[Change, ...] = (), turns: tuple[Turn, ...] = ()) -> WritePlan:
    """Return a plan that only adds, at whatever revision the space is."""
    return WritePlan(scope=scope, expected_rev=Revision(0), node="face", at=at, changes=changes, turns=turns)


def _make_turn(candidate: Candidate, turn: TurnId, scope: Scope, at: datetime) -> Turn:
    return Turn(
        id=turn,
        role=candidate.role or "user",
        text=candidate.text,
        at=candidate.event_time or at,
        session=scope.session,
        thread=scope.thread,
        actor=candidate.actor,
    )


def _split_batches(candidates: Iterable[Candidate]) -> Iterator[list[Candidate]]:
    """Yield the candidates in batches to embed. Those of one turn stay together: a consumed turn takes no more of
    them."""
    batch: list[Candidate] = []
    for each in candidates:
        if len(batch) >= _MAX_TRANSACTION or (len(batch) >= _BATCH and set(batch[-1].turns).isdisjoint(each.turns)):
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch
