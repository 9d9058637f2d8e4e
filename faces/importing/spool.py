"""Records of an import in the order of their time: on disk while they wait, in a file without a name."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Self, TypeAlias

from muniment.memory.domain.layers.imports import (
    ImportedMemory,
    ImportedMessage,
    ImportRecord,
    ImportTotals,
    OmittedRecord,
)
from muniment.memory.errors import BadInput

ANY_OWNER = "*"
_BATCH = 128  # memories that are kept together
_MESSAGES = 64  # of one conversation that are learned together
_BATCH_CHARS = 2**17  # of either, after which a batch takes no more: Ctrl-C waits for the batch that has begun
_PREVIOUS = 2  # messages before them that say what they answer
_MAX_LISTED = 5
_MAX_OWNERS = 100_000
_TIMES = ("at", "ended_at", "began_at")
_Given: TypeAlias = ImportedMemory | ImportedMessage
_TABLE = "create table record (number integer primary key, at real, conversation text, kind text, body text) strict"
_INSERT = "insert into record (at, conversation, kind, body) values (?, ?, ?, ?)"
_ORDERED = "select kind, body from record order by at is null, at, conversation, number"


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Memories, or messages of one conversation with those before them."""

    memories: tuple[ImportedMemory, ...] = ()
    messages: tuple[ImportedMessage, ...] = ()
    previous: tuple[ImportedMessage, ...] = ()


class RecordSpool:
    """The records of an import. SQLite removes its file from the folder when it opens it, so that nothing is left of
    it when the process ends, however that is."""

    def __init__(self) -> None:
        # It is filled before the loop begins, and then read by one thread at a time.
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.executescript(f"pragma journal_mode = off; pragma temp_store = file; {_TABLE}; begin")
        self.totals = ImportTotals()  # what its reader left out
        self.kinds: Counter[str] = Counter()
        self.owners: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    @property
    def total(self) -> int:
        """How many records wait."""
        return sum(self.kinds.values())

    def take_records(self, records: Iterable[ImportRecord], only: str | None = None) -> None:
        """Take all records in, so that the whole of a file is checked before the first of it is written.

        With `only` those of one owner, or of namespaces that begin like it. Raises BadInput for records of several
        owners of which none is chosen."""
        for record in records:
            owner = record.owner
            if owner is not None and len(self.owners) < _MAX_OWNERS:
                self.owners[owner] += 1
            if isinstance(record, OmittedRecord):
                self.totals.add("left_out", record.reason, record.place)
            elif owner is not None and only not in (None, ANY_OWNER) and not _is_of(owner, str(only)):
                self.totals.add("left_out", "of another owner", record.place)
            else:
                self._add(record)
        if only is None and len(self.owners) > 1:
            listed = ", ".join(sorted(self.owners)[:_MAX_LISTED]) + (" …" if len(self.owners) > _MAX_LISTED else "")
            raise BadInput(
                f"these are records of {len(self.owners):,} owners ({listed}): name one with --only, or all of them "
                f"with --only '{ANY_OWNER}'"
            )

    def _add(self, record: _Given) -> None:
        is_message = isinstance(record, ImportedMessage)
        at = record.began_at if isinstance(record, ImportedMessage) else record.at
        conversation = f"{record.origin}/{record.conversation}" if isinstance(record, ImportedMessage) else ""
        body = {key: value.isoformat() if isinstance(value, datetime) else value for key, value in _list_fields(record)}
        kind = "message" if is_message else "memory"
        self.kinds[f"{record.role} {kind}" if is_message else kind] += 1
        values = (at.timestamp() if at else None, conversation, kind, json.dumps(body, ensure_ascii=False))
        self._database.execute(_INSERT, values)

    def read_batches(self) -> Iterator[RecordBatch]:
        """Yield the records in the order of their time, a conversation by that of its beginning; those without a time
        come last."""
        memories: list[ImportedMemory] = []
        messages: list[ImportedMessage] = []
        previous: list[ImportedMessage] = []
        chars = 0
        for record in self._read_all():
            is_full = chars >= _BATCH_CHARS
            is_next = isinstance(record, ImportedMessage) and (
                not messages or record.conversation == messages[0].conversation
            )
            if memories and (isinstance(record, ImportedMessage) or len(memories) >= _BATCH or is_full):
                yield RecordBatch(memories=tuple(memories))
                memories, chars = [], 0
            if messages and (not is_next or len(messages) >= _MESSAGES or is_full):
                yield RecordBatch(messages=tuple(messages), previous=tuple(previous))
                previous, messages, chars = messages[-_PREVIOUS:] if is_next else [], [], 0
            if isinstance(record, ImportedMemory):
                memories.append(record)
                previous = []
            else:
                previous = previous if previous and previous[0].conversation == record.conversation else []
                messages.append(record)
            chars += len(record.text)
        if memories or messages:
            yield RecordBatch(memories=tuple(memories), messages=tuple(messages), previous=tuple(previous))

    def list_sample(self, most: int) -> list[_Given]:
        """Return the first records."""
        sample: list[_Given] = []
        for record in self._read_all():
            if len(sample) >= most:
                break
            sample.append(record)
        return sample

    def _read_all(self) -> Iterator[_Given]:
        cursor = self._database.execute(_ORDERED)
        for kind, body in cursor:
            yield _parse_record(kind, json.loads(body))


def _is_of(owner: str, only: str) -> bool:
    return owner == only or owner.startswith(f"{only.rstrip('/')}/")


def _list_fields(record: _Given) -> Iterable[tuple[str, Any]]:
    return ((each.name, getattr(record, each.name)) for each in fields(record))


def _parse_record(kind: str, body: dict[str, Any]) -> _Given:
    for name in _TIMES:
        if body.get(name) is not None:
            body[name] = datetime.fromisoformat(body[name])
    if kind == "message":
        return ImportedMessage(**body)
    return ImportedMemory(**body | {"tags": tuple(body["tags"])})
