"""Hosts whose turns are timed, over stores that count what is asked of them or take long to write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.counted_store import CountedStore
from muniment.chain import FaultReport, Host, Identity, Message, TurnContext, TurnOutput, build_answer
from muniment.chain.placement import place_additions
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Vector
from muniment.memory.ports.embedders import Embedder
from muniment.plugin import open_plugin
from muniment.plugin.book.file_book import FileBook
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner, MemoryItem, StoredItem
from muniment.plugin.stores.local.store import open_local_store

OWNER = ItemOwner(tenant="acme", user="ana")
DRAIN_SECONDS = 60.0


@dataclass(slots=True)
class CountedEmbedder:
    """Passes each call to an embedder on, and counts it."""

    embedder: Embedder
    calls: int = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self.embedder.name

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text."""
        self.calls += 1
        return await self.embedder.embed_documents(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        self.calls += 1
        return await self.embedder.embed_query(text)

    async def close(self) -> None:
        """Leave the embedder to whoever opened it."""


class SlowStore(CountedStore):
    """A store over another one, each write of which takes so many seconds."""

    seconds = 0.0

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        """Write items, late."""
        await asyncio.sleep(self.seconds)
        return await CountedStore.upsert(self, items)


class NotingBook(FileBook):
    """A book that shows the report of the last turn without being read."""

    report: TurnReport | None = None

    async def record_turn(self, report: TurnReport) -> None:
        """Take the report of a turn."""
        self.report = report
        await FileBook.record_turn(self, report)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTurn:
    """How long a turn took, what the gate said, and what was asked for it before the reply."""

    kind: str
    milliseconds: float
    reason: str = ""  # of the gate
    is_searched: bool = False
    is_shown: bool = False  # something was put before the model
    calls: int = 0  # of the store and the embedder


@dataclass(slots=True, kw_only=True)
class Way:
    """A host by which turns are run, with what its plugin asks."""

    host: Host
    book: NotingBook | None = None
    store: CountedStore | None = None
    embedder: CountedEmbedder | None = None
    turns: list[TimedTurn] = field(default_factory=list)

    def count_calls(self) -> int:
        """Return how often store and embedder were called so far."""
        return (self.store.total if self.store else 0) + (self.embedder.calls if self.embedder else 0)

    async def time_turn(self, kind: str, context: TurnContext) -> TimedTurn:
        """Return the figures of a turn, once what is done behind its reply is done."""
        before = self.count_calls()
        began = perf_counter()
        output = await self.host.run_turn(context, answer_at_once)
        spent, calls = 1_000 * (perf_counter() - began), self.count_calls() - before
        await self.host.drain(DRAIN_SECONDS)
        report = self.book.report if self.book else None
        return TimedTurn(
            kind=kind,
            milliseconds=spent,
            reason=report.recall_reason if report else "",
            is_searched=bool(report and report.recall),
            is_shown=output.text != context.user_text,
            calls=calls,
        )


def choose_plugin(settings: Settings, file: Path, **plugin: Any) -> Settings:
    """Return settings with a plugin that is on, and keeps what it writes in this file."""
    changed = settings.plugin.model_copy(update={"enabled": True, "file": str(file), **plugin})
    return settings.model_copy(update={"plugin": changed})


def make_context(session: str, turn: str, text: str, *, is_machine: bool = False) -> TurnContext:
    """Return a turn of the owner whose message has this text."""
    at = datetime.now(UTC)
    return TurnContext(
        turn_id=f"{session}-{turn}",
        identity=Identity(tenant=OWNER.tenant, user=OWNER.user, session=session),
        messages=(Message(role="user", text=text, id=f"{session}-{turn}", at=at),),
        at=at,
        is_machine=is_machine,
    )


async def answer_at_once(context: TurnContext) -> TurnOutput:
    """Repeat what a model is given in place of the user's message."""
    placed = next(each for each in reversed(place_additions(context)) if each.role == "user")
    return build_answer(placed.text, context.at)


async def answer_late(seconds: float, context: TurnContext) -> TurnOutput:
    """The same, after so many seconds."""
    await asyncio.sleep(seconds)
    return await answer_at_once(context)


@asynccontextmanager
async def open_slow(
    settings: Settings, file: Path, seconds: float, on_fault: Callable[[FaultReport], None], max_pending: int = 1_000
) -> AsyncIterator[Host]:
    """Open a host over a file each write of which takes so many seconds."""
    chosen = choose_plugin(settings, file, store="local", vectors=False)
    store = SlowStore(open_local_store(chosen))
    store.seconds = seconds
    async with (
        open_plugin(chosen, store=store) as plugin,
        Host([plugin], max_pending=max_pending, on_fault=on_fault) as host,
    ):
        yield host
    await store.close()
