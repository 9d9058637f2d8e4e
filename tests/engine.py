"""What many tests need: an engine over a test's own database, and things to tell it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.ids import TurnId, Vector
from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import ModelUnavailable
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import ChatModel
from muniment.testing.fakes import FixedClock

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
_numbers = count()
_home = TemporaryDirectory(prefix="muniment-tests-")  # of all engines of this process, which so have one key


def settings(url: str, **changed: str) -> Settings:
    """The default settings over a test's database, with the embedder that needs no model."""
    given = {"MUNIMENT_DATABASE_URL": url, "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_HOME": _home.name}
    return load_settings(given | {"HOME": "/nonexistent"} | changed)


@asynccontextmanager
async def engine(
    url: str,
    *,
    clock: FixedClock | None = None,
    embedder: Embedder | None = None,
    tuned: Settings | None = None,
    model: ChatModel | None = None,
) -> AsyncIterator[Memory]:
    """An open engine with a clock that stands at NOON."""
    chosen = embedder or HashEmbedder()
    memory = bootstrap.create_memory(
        tuned or settings(url), embedder=chosen, clock=clock or FixedClock(NOON), model=model
    )
    async with memory:
        yield memory


class Leaving(HashEmbedder):
    """Answers `left` more requests, and is away then."""

    left = 1_000_000
    requests = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self._answer()
        return await super().embed_documents(texts)

    async def embed_query(self, text: str) -> Vector:
        self._answer()
        return await super().embed_query(text)

    def _answer(self) -> None:
        self.requests += 1
        if self.left <= 0:
            raise ModelUnavailable("nobody there")
        self.left -= 1

    def leave(self, after: int = 0) -> None:
        self.left = after

    def come_back(self) -> None:
        self.left = 1_000_000


def scope(owner: str = "ana", thread: str = "A", **more: Any) -> Scope:
    return Scope(owner=owner, thread=thread, session=thread, **more)


def said(text: str, *, thread: str = "A", key: str | None = None, at: datetime = NOON) -> Turn:
    """A user's turn; without a key it is a new one each time."""
    return Turn.make(
        session=thread, key=key or f"m{next(_numbers)}", role="user", text=text, at=at, thread=thread, actor=None
    )


def statement(
    text: str, category: str = "goals", *, kind: FactKind = "goal", value: str | None = None, **more: Any
) -> Candidate:
    """A candidate about the user; `value` is the fact's object, the text itself if not given."""
    return Candidate(
        text=text,
        category=category,
        turns=(TurnId(said(text).id),),
        fact=Fact(kind=kind, predicate="wants", object=value or text),
        **more,
    )


def note(text: str, category: str = "activity", **more: Any) -> Candidate:
    """An episodic candidate: kept as it stands."""
    return Candidate(text=text, category=category, kind="episodic", turns=(TurnId(said(text).id),), **more)


def reads(plan: Any) -> list[int]:
    """The rows that each node of a plan gives or throws away, as `explain (analyze, format json)` tells it."""
    here = [plan.get("Actual Rows", 0) + plan.get("Rows Removed by Filter", 0)]
    return here + [n for one in plan.get("Plans", ()) for n in reads(one)]
