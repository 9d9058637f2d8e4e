"""mem0: what `get_all` returns (a list, or an object with `results` and `relations`), and rows of its history."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, Self

from muniment.faces.importing import fields
from muniment.faces.importing.fields import Fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.json_records import Layout, read_records
from muniment.memory.domain.layers.imports import ImportedMemory, ImportRecord, OmittedRecord

_ORIGIN = "mem0"
_SEVERAL = 2  # owners from which something without one is nobody's
_HISTORY = frozenset({"old_memory", "new_memory"})
_LISTS = ("results", "memories")
_TABLES = """
create table latest (id text primary key, number integer not null) strict, without rowid;
create table owners (id text primary key, owner text not null) strict, without rowid;
"""
_NOBODY = "of nobody that is known, in a file with several owners"
_KNOWN = frozenset({
    "id", "memory", "text", "hash", "metadata", "score", "created_at", "updated_at", "user_id", "agent_id", "run_id",
    "actor_id", "role", "attributed_to", "expiration_date", "categories", "owner", "text_lemmatized",
})  # fmt: skip


class Mem0Format:
    """Memories and histories of mem0."""

    name = "mem0"
    title = "mem0's memories and history"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether a file has memories or a history of mem0."""
        return any(_find_lists(layout) for layout in source.layouts.values())

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield the memories and the relations, then what the history says of earlier words."""
        found = {name: _find_lists(source.layouts.get(name)) for name in source.list_json()}
        has_memories = any(kind == "memories" for lists in found.values() for _, kind in lists)
        places = [(name, *each) for name, lists in found.items() for each in lists or [(None, "memories")]]
        with _Histories(has_memories=has_memories) as histories:
            for name, below, kind in places:
                if kind == "memories":
                    yield from histories.note_owners(_read_memories(source, name, below))
            for name, below, kind in places:
                if kind == "relations":
                    yield from _read_relations(source, name, below, histories)
            for name, below, kind in places:
                if kind == "history":
                    yield from _read_history(source, name, below, histories)


def _find_lists(layout: Layout | None) -> list[tuple[str | None, str]]:
    """Return the lists of a file that are of mem0: the field of each, None for the file itself, and what it holds."""
    if layout is None:
        return []
    found: list[tuple[str | None, str]] = []
    for below in (None, *_LISTS, "history", "relations"):
        shown = layout.find_fields(below or "") | (layout.fields if below is None else frozenset())
        if shown >= _HISTORY:
            found.append((below, "history"))
        elif "memory" in shown and "id" in shown:
            found.append((below, "memories"))
        elif below == "relations" and {"source", "relationship"} <= shown:
            found.append((below, "relations"))
    return found


def _read_memories(source: ImportFiles, name: str, below: str | None) -> Iterator[ImportRecord]:
    for number, value in read_records(source.files, name, below):
        place = f"{name}, record {number}"
        record = fields.check_object(value, place)
        text = fields.read_text(record, "memory" if "memory" in record else "text", place)
        owner = _find_owner(record)
        if problem := fields.find_problem(text):
            yield OmittedRecord(place=place, reason=problem, owner=owner)
            continue
        metadata = fields.check_object(record.get("metadata") or {}, place)
        source.unread.note_names(each for each in record if each not in _KNOWN)
        categories = {"category": record.get("categories")} if record.get("categories") else {}
        is_own = "assistant" not in (record.get("role"), record.get("attributed_to"))
        yield ImportedMemory(
            place=place,
            origin=_ORIGIN,
            key=fields.read_text(record, "id", place),
            text=text,
            role="user" if is_own else "assistant",
            at=fields.read_time(record, "updated_at", place) or fields.read_time(record, "created_at", place),
            ended_at=fields.read_time(record, "expiration_date", place),
            tags=fields.make_tags({**metadata, **categories}, source.unread),
            actor=fields.find_text(record, "actor_id", place),
            owner=owner,
        )


def _find_owner(record: Fields) -> str | None:
    """Return whose memory it is: the user's, else that of the agent or of the run."""
    return next((record[each] for each in ("user_id", "agent_id", "run_id") if isinstance(record.get(each), str)), None)


def _read_relations(source: ImportFiles, name: str, below: str | None, histories: _Histories) -> Iterator[ImportRecord]:
    """Yield the relations, which name no owner: they are the owner's of the memories beside them."""
    for number, value in read_records(source.files, name, below):
        place = f"{name}, relation {number}"
        record = fields.check_object(value, place)
        goal = "target" if "target" in record else "destination"
        parts = [fields.read_text(record, each, place) for each in ("source", "relationship", goal)]
        text = " ".join(parts).replace("_", " ")
        if problem := histories.find_doubt() or fields.find_problem(text):
            yield OmittedRecord(place=place, reason=problem)
        else:
            key = "relation/" + "|".join(parts)
            yield ImportedMemory(
                place=place, origin=_ORIGIN, key=key, text=text, tags=("relation",), owner=histories.find_owner()
            )


def _read_history(source: ImportFiles, name: str, below: str | None, histories: _Histories) -> Iterator[ImportRecord]:
    """Yield the words that a memory had before each change, as something that ended; without a file of the memories
    also the words that the last change gave it."""
    histories.forget_changes()
    for number, value in read_records(source.files, name, below):
        place = f"{name}, record {number}"
        histories.note_change(fields.read_text(fields.check_object(value, place), "memory_id", place), number)
    for number, value in read_records(source.files, name, below):
        place = f"{name}, record {number}"
        if doubt := histories.find_doubt(fields.read_text(value, "memory_id", place)):
            yield OmittedRecord(place=place, reason=doubt)
        else:
            yield from _read_change(value, place, histories, number)


class _Histories:
    """Whose the memories are, and the number of the last change of each: in a file without a name, as a history may be
    long. It names no user, and holds the changes of all users of an installation."""

    def __init__(self, *, has_memories: bool) -> None:
        self.has_memories = has_memories
        self._owners: set[str] = set()  # no more than two
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.executescript(f"pragma journal_mode = off; {_TABLES} begin")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def note_owners(self, records: Iterator[ImportRecord]) -> Iterator[ImportRecord]:
        """Yield the records, and note whose each memory is."""
        for record in records:
            if record.owner is not None and len(self._owners) < _SEVERAL:
                self._owners.add(record.owner)
            if isinstance(record, ImportedMemory) and record.owner is not None:
                self._database.execute("insert or replace into owners values (?, ?)", (record.key, record.owner))
            yield record

    def find_owner(self, id_: str | None = None) -> str | None:
        """Return whose a memory is; of one that is not there, and without one, the only owner that there is."""
        found = self._database.execute("select owner from owners where id = ?", (id_,)).fetchone()
        only = next(iter(self._owners)) if len(self._owners) == 1 else None
        return str(found[0]) if found else only

    def find_doubt(self, id_: str | None = None) -> str | None:
        """Return why it cannot be said whose a memory is that is not there; None where it can."""
        return _NOBODY if len(self._owners) >= _SEVERAL and self.find_owner(id_) is None else None

    def forget_changes(self) -> None:
        """Begin with another history."""
        self._database.execute("delete from latest")

    def note_change(self, id_: str, number: int) -> None:
        """Note a change; the last one of a memory holds."""
        self._database.execute("insert or replace into latest values (?, ?)", (id_, number))

    def is_last(self, id_: str, number: int) -> bool:
        """Return whether no change of the memory comes after this one."""
        found = self._database.execute("select number from latest where id = ?", (id_,)).fetchone()
        return bool(found == (number,))


def _read_change(record: Mapping[str, Any], place: str, histories: _Histories, number: int) -> Iterator[ImportRecord]:
    id_ = fields.read_text(record, "memory_id", place)
    began_at = fields.read_time(record, "created_at", place)
    changed_at = fields.read_time(record, "updated_at", place) or began_at
    old, new = fields.find_text(record, "old_memory", place), fields.find_text(record, "new_memory", place)
    is_last, owner = histories.is_last(id_, number), histories.find_owner(id_)
    is_deleted = record.get("event") == "DELETE" or bool(record.get("is_deleted"))
    yielded = False
    if old and changed_at is not None and fields.find_problem(old) is None and (old != new or is_deleted):
        yielded = True
        yield ImportedMemory(
            place=place,
            origin=_ORIGIN,
            key=f"{id_}/before {changed_at.isoformat()}",
            text=old,
            at=began_at,
            ended_at=changed_at,
            tags=("past",),
            owner=owner,
        )
    if new and is_last and not is_deleted and not histories.has_memories:
        if (problem := fields.find_problem(new)) is None:
            yield ImportedMemory(place=place, origin=_ORIGIN, key=id_, text=new, at=changed_at, owner=owner)
        else:
            yield OmittedRecord(place=place, reason=problem)
    elif not yielded:
        yield OmittedRecord(place=place, reason="a change whose words another record has")
