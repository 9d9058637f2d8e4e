"""All that is kept of one person, in portions: for an export, an archive and a dossier."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from muniment.memory.config.settings import OPENAI, Settings
from muniment.memory.domain.layers.person import (
    DOSSIER_PARTS,
    EXPORTED_TABLES,
    MEMORY_PARTS,
    PERSON_TABLES,
    PersonRow,
)
from muniment.memory.domain.memory import State
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.process_state import WriteBehind
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.layers.person import PersonReads, PersonSnapshot
from muniment.memory.rules.policy.openings import list_openings
from muniment.memory.rules.provenance.recalls import RecallIndex

_MAX_OCCASIONS = 20  # of a memory, the latest, beside their number


@dataclass(slots=True)
class _Told:
    """When a memory was put before a model."""

    count: int = 0
    first: str | None = None
    last: str | None = None
    latest: list[dict[str, Any]] = field(default_factory=list)

    def add_occasion(self, occasion: dict[str, Any]) -> None:
        at = str(occasion["at"])
        self.count += 1
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
        self.latest = [*self.latest[1 - _MAX_OCCASIONS :], occasion]

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "first": self.first, "last": self.last, "latest": self.latest}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecords:
    """Reads what is kept of one person. Each stream is of one snapshot and holds a connection until it is closed: who
    takes from it writes to a disk, and waits for nobody else."""

    clock: Clock
    person_reads: PersonReads
    settings: Settings
    write_behind: WriteBehind

    async def stream_export(self, scope: Scope, *, content: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of an export, in its order; with `content` memories and relations without revisions. Raises
        StoreError."""
        async with self.person_reads.open_snapshot(scope) as snapshot:
            async for rows in snapshot.read_content() if content else snapshot.read_export():
                for row in rows:
                    yield row

    async def stream_memories(self, scope: Scope, states: tuple[State, ...]) -> AsyncIterator[dict[str, Any]]:
        """Yield the memories in these states by category, oldest first. Raises StoreError."""
        async with self.person_reads.open_snapshot(scope) as snapshot:
            async for rows in snapshot.read_memories(states):
                for row in rows:
                    yield row

    async def stream_archive(self, scope: Scope) -> AsyncIterator[PersonRow]:
        """Yield the rows of an export as part `export`, and then those of the other tables, each as the part of its
        name. Raises StoreError."""
        await self.write_behind.flush(scope)
        async with self.person_reads.open_snapshot(scope) as snapshot:
            async for rows in snapshot.read_export():
                for row in rows:
                    yield PersonRow(part="export", row=row)
            for table in PERSON_TABLES:
                if table not in EXPORTED_TABLES:
                    async for rows in snapshot.read_table(table):
                        for row in rows:
                            yield PersonRow(part=table, row=row)

    async def stream_dossier(self, scope: Scope) -> AsyncIterator[PersonRow]:
        """Yield what a dossier has: one row `person`, and then the rows of each of the `DOSSIER_PARTS`. Raises
        StoreError."""
        await self.write_behind.flush(scope)
        async with self.person_reads.open_snapshot(scope) as snapshot:
            person = await self._describe_person(scope, snapshot)
            yield PersonRow(part="person", row=person)
            told = await _find_told(snapshot)
            for part in DOSSIER_PARTS:
                states = MEMORY_PARTS.get(part)
                async for rows in snapshot.read_memories(states) if states else snapshot.read_table(part):
                    for row in rows:
                        yield PersonRow(part=part, row=self._add_around(row, told, person) if states else row)

    def _add_around(self, row: dict[str, Any], told: Mapping[UUID, _Told], person: Mapping[str, Any]) -> dict[str, Any]:
        """Return a memory with when it was put before a model, and the tokens by which it could be read."""
        since, tokens = datetime.fromisoformat(row["created_at"]), person["access"]["tokens"]
        opened_by = list_openings(row["category"], since, tokens, self.settings.allowlists)
        known = told.get(UUID(row["memory_id"])) or _Told()
        return row | {"told": known.to_json(), "tokens": opened_by}

    async def _describe_person(self, scope: Scope, snapshot: PersonSnapshot) -> dict[str, Any]:
        settings = self.settings
        readers = {
            name: [agent for agent, allowed in sorted(settings.allowlists.items()) if name in allowed]
            for name in sorted(settings.categories)
        }
        access = dict(await snapshot.describe_readers())
        return {
            "user": scope.owner,
            "tenant": scope.tenant,
            "at": self.clock.now().isoformat(),
            "counts": dict(await snapshot.count_rows()),
            "readers": readers,
            "access": access,
            "opened_by": {
                name: list_openings(name, None, access["tokens"], settings.allowlists)
                for name in sorted(settings.categories)
            },
            "processors": _list_processors(settings),
            "labels": {name: each.label for name, each in settings.categories.items()},
            "retention": _describe_retention(settings),
        }


async def _find_told(snapshot: PersonSnapshot) -> dict[UUID, _Told]:
    """Return when which memories were put before a model."""
    index = RecallIndex()
    async for rows in snapshot.read_texts():
        await asyncio.to_thread(_add_texts, index, rows)
    told: dict[UUID, _Told] = {}
    async for rows in snapshot.read_recalls():
        await asyncio.to_thread(_add_recalls, index, rows, told)
    async for rows in snapshot.read_shown_items():
        for row in rows:
            told.setdefault(UUID(row.pop("memory_id")), _Told()).add_occasion(row)
    return told


def _add_texts(index: RecallIndex, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        index.add_text(UUID(row["memory_id"]), row["text"])


def _add_recalls(index: RecallIndex, rows: list[dict[str, Any]], told: dict[UUID, _Told]) -> None:
    for row in rows:
        recalled = row.pop("recalled")
        for memory in index.find_memories(recalled):
            told.setdefault(memory, _Told()).add_occasion(row)


def _describe_retention(settings: Settings) -> dict[str, Any]:
    """Return for how many days what is kept, as the settings say; null for ever."""
    forgetting = settings.forgetting
    return {
        "untouched_days": forgetting.untouched_days,
        "importance_below": forgetting.importance_below,
        "categories": dict(forgetting.categories),
        "scopes": dict(forgetting.scopes),
        "soft_delete_days": settings.write.soft_delete_days,
        "said_days": settings.session_ledger.retention_days,
        "events_days": settings.session_ledger.events_days,
        "consent_days": settings.consent.days,
        "checkpoint_days": settings.checkpoints.ttl_days,
        "comparison_days": settings.consolidation.fingerprint_days,
        "request_days": 1,
    }


def _list_processors(settings: Settings) -> list[dict[str, Any]]:
    """Return which models get words of the person by these settings, and on which host; null: the usual one of
    OpenAI."""
    named = [("embedder", settings.embedder if settings.embedder.startswith(OPENAI) else None)]
    named.append(("model", settings.chat_model))
    host = urlsplit(settings.base_url).hostname if settings.base_url else None
    return [{"task": task, "model": name.removeprefix(OPENAI), "host": host} for task, name in named if name]
