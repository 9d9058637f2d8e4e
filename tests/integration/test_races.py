"""Writers and readers of the same spaces at once: every answer is of one revision, whole and of its owner alone."""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from string import ascii_lowercase
from time import monotonic
from typing import TypeVar
from uuid import UUID

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.query import Answer, Brief, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput
from tests.engine import engine, note, said, scope, settings

SECONDS = float(os.environ.get("MUNIMENT_RACE_SECONDS", "8"))
ENGINES = 3
OWNERS = ("ana", "bob")
PAUSE = 0.03  # seconds: without one, who writes fastest wins every round
AGAIN = 40  # answers and briefs of each owner that are asked for again
FOREVER = 2**60
# No caps, no edges: what a space was at a revision is all that an answer may come from, and edges have no past.
T = TypeVar("T")
Past = dict[MemoryId, list[tuple[int, int, str, str]]]  # from, to before, state, text
TUNED = "write: {per_day: 1000000, per_turn: 100, link_min: 1.0}\n"


@dataclass
class Seen:
    """What the readers of one owner were told; since when what was forgotten was away, and until when if it came
    back."""

    answers: list[tuple[Query, Answer]] = field(default_factory=list)
    briefs: list[tuple[str, Brief]] = field(default_factory=list)
    gone: dict[MemoryId, list[Revision]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)


@pytest.fixture
async def engines(database_url: str, tmp_path: Path) -> AsyncIterator[list[Memory]]:
    """Several engines over one database, as several processes have them."""
    file = tmp_path / "free.yaml"
    file.write_text(TUNED)
    tuned = settings(database_url, MUNIMENT_CONFIG=str(file))
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(engine(database_url, tuned=tuned)) for _ in range(ENGINES)]


def who(owner: str, thread: str = "A") -> Scope:
    return scope(owner, thread)


def odd(*about: object) -> str:
    """Words of its own, so that nothing is taken for the same as anything else."""
    dice = Random(repr(about))
    return " ".join("".join(dice.choices(ascii_lowercase, k=9)) for _ in range(4))


def lives(owner: str, n: int) -> Candidate:
    """A fact that has one value at a time."""
    fact = Fact(kind="identity", predicate="lives_in", object=f"Town{n}", single=True)
    text = f"{owner.title()} lives in Town{n}"
    return Candidate(text=text, category="relationships", fact=fact, turns=(TurnId(said(text).id),))


async def pairs(memory: Memory, owner: str, seen: Seen, n: int) -> None:
    """Two memories in one plan."""
    halves = [note(f"{owner} {odd(n, side)} beside pair{n}") for side in ("left", "right")]
    receipt = await memory.keep_candidates(who(owner), halves)
    assert len(receipt.changes) == 2
    await read_back(memory, owner, f"pair{n}", receipt.rev, seen)


async def moves(memory: Memory, owner: str, seen: Seen, n: int) -> None:
    """A fact that supersedes the one before."""
    receipt = await memory.keep_candidates(who(owner), [lives(owner, n)])
    assert [change.action for change in receipt.changes] == ["UPDATE" if n else "ADD"]


async def forgets(memory: Memory, owner: str, seen: Seen, n: int) -> None:
    """A memory of its own that goes, and every other time comes back."""
    kept = (await memory.keep_candidates(who(owner), [note(f"{owner} {odd(n, 'hat')} on a pier")])).changes[0].after
    gone = (await memory.forget(who(owner), kept.id)).rev
    seen.gone[kept.id] = [gone]
    await read_back(memory, owner, odd(n, "hat"), gone, seen)
    if n % 2:
        back = (await memory.restore(who(owner), kept.id)).rev
        seen.gone[kept.id].append(back)


async def pins(memory: Memory, owner: str, seen: Seen, n: int) -> None:
    """A change that every order depends on, of whatever there is."""
    known = await memory.list(who(owner), limit=20)
    if known:
        one = Random(n).choice(known)
        try:
            await memory.pin(who(owner), one.id, pinned=not one.pinned)
        except BadInput:  # it is forgotten since it was listed, as only these ever are
            assert one.text.endswith("on a pier")


async def read_back(memory: Memory, owner: str, text: str, rev: Revision, seen: Seen) -> None:
    """Who wrote reads it at once."""
    asked = Query(text=text)
    answer = await memory.query(who(owner), "supervisor", asked)
    assert answer.rev >= rev
    seen.answers.append((asked, answer))


async def repeat(
    step: Callable[[Memory, str, Seen, int], Awaitable[None]], memory: Memory, owner: str, seen: Seen, until: float
) -> None:
    n = 0
    while monotonic() < until:
        await step(memory, owner, seen, n)
        seen.done[step.__name__] += 1
        n += 1
        await asyncio.sleep(PAUSE)


async def reads(memory: Memory, owner: str, seen: Seen, until: float) -> None:
    """Asks for what is being written, in a thread that never looked; its revision never goes back."""
    last, dice = Revision(0), Random(owner)
    while monotonic() < until:
        pair = f"pair{dice.randint(0, seen.done['pairs'] + 1)}"
        text = dice.choice(
            (f"{owner} lives in which town?", pair, pair, odd(dice.randint(0, seen.done["forgets"]), "hat"))
        )
        asked = Query(text=text, threshold=0.05, budget_tokens=2_000)
        answer = await memory.query(who(owner), "supervisor", asked)
        assert answer.rev >= last
        brief = await memory.brief(who(owner, "never looked"), "supervisor", text)
        assert brief.rev >= answer.rev
        last = brief.rev
        seen.answers.append((asked, answer))
        seen.briefs.append((text, brief))
        seen.done["reads"] += 1
        await asyncio.sleep(PAUSE)


async def was(memory: Memory, owner: str) -> Past:
    """What each memory was, from which revision to before which."""
    past: Past = defaultdict(list)
    for row in await memory.export(who(owner)):
        if row["type"] in ("memory", "version"):
            span = (row["rev"], FOREVER) if row["type"] == "memory" else (row["from_rev"], row["to_rev"])
            past[MemoryId(UUID(row["memory_id"]))].append((*span, row["state"], row["text"]))
    return past


def whole(asked: Query, answer: Answer, past: Past, owner: str) -> None:
    """Fails unless each hit was active in these words at the revision of the answer, nothing superseded is beside its
    successor, and no plan is torn."""
    for one in (hit.memory for hit in answer.hits):
        then = [(state, text) for start, end, state, text in past[one.id] if start <= answer.rev < end]
        assert then == [("active", one.text)]
        assert one.text.lower().startswith(owner)
    texts = [hit.memory.text for hit in answer.hits]
    assert sum(" lives in " in text for text in texts) <= 1
    if asked.text.startswith("pair"):
        assert sum(text.endswith(f" {asked.text}") for text in texts) in (0, 2)


@pytest.mark.timeout(60 + 2 * SECONDS)
async def test_readers_among_writers(engines: list[Memory]) -> None:
    """Half a plan, a fact beside its successor, a stranger's memory, a forgotten one, a revision that goes back, a
    header of one revision over bullets of another: none is ever seen. Every answer is given again as of its
    revision."""
    told = {owner: Seen() for owner in OWNERS}
    until = monotonic() + SECONDS
    async with asyncio.TaskGroup() as group:
        for owner, seen in told.items():
            for n, step in enumerate((pairs, moves, forgets, pins)):
                group.create_task(repeat(step, engines[n % ENGINES], owner, seen, until))
            for memory in engines[1:]:
                group.create_task(reads(memory, owner, seen, until))
    for owner, seen in told.items():
        assert min(seen.done[name] for name in ("pairs", "moves", "forgets", "pins", "reads")) > 0, seen.done
        await judged(engines[0], owner, seen)


async def judged(memory: Memory, owner: str, seen: Seen) -> None:
    """Fails where anything that was seen cannot have been so."""
    past, dice = await was(memory, owner), Random(1)
    for asked, answer in seen.answers:
        whole(asked, answer, past, owner)
        hits = {hit.memory.id for hit in answer.hits}
        for id_, (start, *end) in seen.gone.items():
            assert not (start <= answer.rev < min(end, default=FOREVER) and id_ in hits)
    for asked, answer in _some(seen.answers, dice):
        again = await memory.query(who(owner), "supervisor", replace(asked, as_of=answer.rev))
        assert _unused(again) == _unused(answer)
    for text, brief in _some(seen.briefs, dice):
        assert await memory.brief(who(owner, "never looked"), "supervisor", text, as_of=brief.rev) == brief


def _unused(answer: Answer) -> Answer:
    """How often a memory was used is no part of a revision: it is written when there are two thousand uses, whoever
    reads."""
    hits = (replace(hit, memory=replace(hit.memory, access_count=0, last_accessed_at=None)) for hit in answer.hits)
    return replace(answer, hits=tuple(hits))


def _some(all_: list[T], dice: Random) -> list[T]:
    return dice.sample(all_, min(AGAIN, len(all_)))
