"""`import` of what other memories hold: read, checked as a whole, and written in the order of its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from muniment.faces.cli import session
from muniment.faces.cli.output import screen, terminal
from muniment.faces.importing.formats import Format, ImportFiles, choose_format
from muniment.faces.importing.registry import FORMATS
from muniment.faces.importing.sources import open_source
from muniment.faces.importing.spool import RecordBatch, RecordSpool
from muniment.memory.config.settings import Settings
from muniment.memory.domain.layers.imports import ImportedMemory, ImportTotals
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.client import Memory

_SAMPLE = 8  # records that --dry-run shows
_SAMPLE_CHARS = 200
_MAX_LISTED = 20  # fields that were not read
_FATES = {
    "kept": "kept as memories",
    "merged": "changed a memory that there was already",
    "known": "added nothing: memory knows them already, or something later about them",
    "learned": "messages from which something was learned",
    "recorded": "messages that are recorded alone",
    "refused": "refused",
    "left_out": "left out",
}


def import_records(
    settings: Settings, file: str, layout: str | None, user: str, *, only: str | None, dry_run: bool, as_json: bool
) -> None:
    """Import the file, folder or archive of another memory, and print what became of its records.

    With `dry_run` it is read and checked only. Raises BadInput, StoreError, ModelError."""
    scope = session.make_scope(settings, user)
    with open_source(file) as files, RecordSpool() as spool:
        source = ImportFiles(files, datetime.now(UTC))
        format_ = choose_format(FORMATS, source, layout)
        with terminal.show_spinner("reading…", quiet=as_json):
            spool.take_records(format_.read(source), only)
        if not spool.total and not spool.totals.total:
            raise BadInput(f"{files.title}: has no record of {format_.title}")
        totals = spool.totals
        if dry_run:
            _print_preview(settings, spool, format_, source, as_json)
            return
        written = ImportTotals()
        try:
            session.run_async(_write_records(settings, scope, spool, written, as_json))
        except BaseException:
            if not as_json:
                screen.print_stderr(f"muniment: {files.title}: {_describe_progress(written)}")
            raise
        for (fate, reason), count in totals.counts.items():
            written.counts[fate, reason] = count
            written.places[fate, reason] = totals.places[fate, reason]
    _print_outcome(scope, format_, source, written, as_json)


async def _write_records(
    settings: Settings, scope: Scope, spool: RecordSpool, written: ImportTotals, quiet: bool
) -> None:
    batches = spool.read_batches()
    async with session.open_memory(settings, quiet=quiet) as memory:
        with terminal.show_progress("import", spool.total, quiet=quiet) as move:
            # The spool is a file: it is read beside the loop.
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                await _write_batch(memory, scope, batch, written, move)


async def _write_batch(
    memory: Memory, scope: Scope, batch: RecordBatch, written: ImportTotals, move: Callable[[int], None]
) -> None:
    outcomes = [
        *(await memory.imports.keep_memories(scope, batch.memories) if batch.memories else ()),
        *(await memory.imports.learn_messages(scope, batch.messages, previous=batch.previous)),
    ]
    for outcome in outcomes:
        written.add(outcome.fate, outcome.reason, outcome.place)
    move(len(outcomes))


def _describe_progress(written: ImportTotals) -> str:
    if written.total:
        return f"{written.total:,} of its records are done and stay; give the same command again to go on from there"
    return "it was only just begun; give the same command again, which adds nothing twice"


def _print_preview(settings: Settings, spool: RecordSpool, format_: Format, source: ImportFiles, as_json: bool) -> None:
    """Print what an import would read: counts, what is left out, and a sample without secrets."""
    # It brings the patterns of secrets: nothing for `--help` to wait for.
    from muniment.memory.bootstrap import make_redactor  # noqa: PLC0415

    redact = make_redactor(settings)
    sample = [
        {
            "kind": "memory" if isinstance(record, ImportedMemory) else "message",
            "place": record.place,
            "role": record.role,
            "at": record.at.isoformat() if record.at else None,
            "text": _shorten(str(redact(record.text))),
        }
        for record in spool.list_sample(_SAMPLE)
    ]
    if as_json:
        screen.print_json(
            {
                "format": format_.name,
                "records": spool.total + spool.totals.total,
                "to_import": dict(spool.kinds),
                "owners": {str(redact(name)): count for name, count in spool.owners.most_common(_MAX_LISTED)},
                "left_out": _list_reasons(spool.totals, "left_out"),
                "not_read": dict(source.unread.counts),
                "sample": sample,
            }
        )
        return
    records = screen.format_count(spool.total + spool.totals.total, "record")
    screen.print_line(f"{format_.title}: {records}, nothing is written")
    for kind, count in spool.kinds.most_common():
        screen.print_line(f"  {count:,} of kind {kind}")
    for line in _describe_fate(spool.totals, "left_out"):
        screen.print_line(line)
    for each in sample:
        screen.print_line(f"  {each['at'] or 'no time'}  {each['role']}: {each['text']}")
    _print_unread(source)


def _shorten(text: str) -> str:
    words = screen.join_lines(text)
    return words if len(words) <= _SAMPLE_CHARS else f"{words[: _SAMPLE_CHARS - 1]}…"


def _print_outcome(scope: Scope, format_: Format, source: ImportFiles, written: ImportTotals, as_json: bool) -> None:
    if as_json:
        outcome: dict[str, Any] = {"user": scope.owner, "format": format_.name, "records": written.total}
        for fate in _FATES:
            reasons = _list_reasons(written, fate)
            outcome[fate] = sum(reasons.values())
            if any(reasons):
                outcome[f"{fate}_reasons"] = reasons
        places = {
            f"{fate}: {reason}" if reason else fate: shown
            for (fate, reason), shown in written.places.items()
            if fate in ("merged", "refused", "left_out")
        }
        screen.print_json(outcome | {"places": places, "not_read": dict(source.unread.counts)})
        return
    screen.print_line(f"{scope.owner}: {screen.format_count(written.total, 'record')} of {format_.title}")
    for fate in _FATES:
        for line in _describe_fate(written, fate):
            screen.print_line(line)
    _print_unread(source)


def _list_reasons(totals: ImportTotals, fate: str) -> dict[str, int]:
    return {reason: count for (each, reason), count in totals.counts.items() if each == fate}


def _describe_fate(totals: ImportTotals, fate: str) -> Iterator[str]:
    """Yield the number of records with a fate, and a line for each of its reasons with a first place."""
    reasons = _list_reasons(totals, fate)
    if not reasons:
        return
    yield f"  {sum(reasons.values()):,} {_FATES[fate]}"
    for reason, count in sorted(reasons.items(), key=lambda each: -each[1]):
        if reason:
            yield f"    {count:,}: {reason} (first: {screen.join_lines(totals.places[fate, reason][0])})"


def _print_unread(source: ImportFiles) -> None:
    if counts := source.unread.counts:
        names = ", ".join(f"{screen.join_lines(name)[:40]!r}" for name, _ in counts.most_common(_MAX_LISTED))
        screen.print_stderr(f"not read: {names}{' …' if len(counts) > _MAX_LISTED else ''}")
