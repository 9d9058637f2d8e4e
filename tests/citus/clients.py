"""Clients that write and search without a pause, and what is left of what they were told."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from muniment.memory.client import Memory
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import MunimentError
from tests.engine import engine, said, scope

SPACES_OF_A_CLIENT = 2
PAUSE_SECONDS = 0.05  # after an error
PAGE = 500
AGENT = "supervisor"


@dataclass
class Tally:
    """What became of the calls of one phase."""

    answered: int = 0
    missed: int = 0  # searches that did not find what was acknowledged before
    errors: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0  # seconds of a call


@dataclass
class Client:
    """Says one sentence after another in spaces of its own, each until it is acknowledged, and searches for it."""

    number: int
    tally: Tally = field(default_factory=Tally)
    acknowledged: dict[Scope, list[str]] = field(default_factory=dict)
    begun: dict[Scope, set[str]] = field(default_factory=dict)
    written: dict[Scope, float] = field(default_factory=dict)  # when a space last acknowledged
    is_over: bool = False

    async def run(self, url: str) -> None:
        words = random.Random(self.number)
        spaces = [scope(f"client{self.number}-{n}") for n in range(SPACES_OF_A_CLIENT)]
        waiting: dict[Scope, Turn | None] = dict.fromkeys(spaces)
        async with engine(url) as memory:
            while not self.is_over:
                for space in spaces:
                    waiting[space] = await self.write(memory, space, waiting[space] or _make_turn(words))
                    if waiting[space] is None:
                        await self.search(memory, space)

    async def write(self, memory: Memory, space: Scope, turn: Turn) -> Turn | None:
        """Return the turn when it was not acknowledged."""
        self.begun.setdefault(space, set()).add(_state(turn))
        began = time.monotonic()
        try:
            await memory.learn(space, turn)
        except MunimentError as error:
            await self.note_error(error)
            return turn
        self.note_answer(began)
        self.acknowledged.setdefault(space, []).append(_state(turn))
        self.written[space] = time.monotonic()
        return None

    async def search(self, memory: Memory, space: Scope) -> None:
        wanted = self.acknowledged[space][-1]
        began = time.monotonic()
        try:
            answer = await memory.query(space, AGENT, Query(text=wanted))
        except MunimentError as error:
            await self.note_error(error)
            return
        self.note_answer(began)
        self.tally.missed += wanted not in [hit.memory.text for hit in answer.hits]

    def note_answer(self, began: float) -> None:
        self.tally.answered += 1
        self.tally.longest = max(self.tally.longest, time.monotonic() - began)

    async def note_error(self, error: MunimentError) -> None:
        kind = type(error).__name__
        self.tally.errors[kind if kind == "StoreDown" else f"{kind}: {error}"] += 1
        await asyncio.sleep(PAUSE_SECONDS)


@dataclass(frozen=True)
class Losses:
    """What is there of what was acknowledged; all but the first are zero when nothing was lost."""

    acknowledged: int
    gone: int
    doubled: int
    unasked: int


async def count_losses(url: str, clients: list[Client]) -> Losses:
    """Compare what the spaces have with what the clients were told."""
    acknowledged = gone = doubled = unasked = 0
    async with engine(url) as memory:
        for client in clients:
            for space, told in client.acknowledged.items():
                found = Counter(await _list_texts(memory, space))
                acknowledged += len(told)
                gone += sum(not found[text] for text in told)
                doubled += sum(count > 1 for count in found.values()) + len(told) - len(set(told))
                unasked += len(found.keys() - client.begun[space])
    return Losses(acknowledged, gone, doubled, unasked)


async def _list_texts(memory: Memory, space: Scope) -> list[str]:
    texts: list[str] = []
    while True:
        page = await memory.list_page(space, ListRequest(limit=PAGE, offset=len(texts)))
        texts += [one.text for one in page.memories]
        if not page.memories:
            return texts


def _make_turn(words: random.Random) -> Turn:
    """A turn that no other resembles."""
    name, place, city = ("".join(words.choice("bdfgklmnprstvz") + words.choice("aeiou") for _ in "....") for _ in "...")
    return said(f"I met {name.capitalize()} at the {place} of {city.capitalize()}")


def _state(turn: Turn) -> str:
    """What the memory says of a turn."""
    return turn.text.replace("I met", "The user met") + "."
