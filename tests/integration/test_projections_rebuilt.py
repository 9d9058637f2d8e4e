"""What was kept step by step is, byte for byte, what is made anew: after random writes, merges, undos and erasures."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import STATES, Fact, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import MunimentError
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.procedures.procedure import Procedure, render_procedure
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope, settings
from tests.erasing import commit
from tests.integration.test_projections import dump

WRITES = int(os.environ.get("MUNIMENT_TEST_PROJECTION_WRITES", "150"))
PLACES = ("Porto", "Oslo", "Rome", "Lima", "杭州")
SAID = (
    "I live in {}.", "I moved to {} in March 2024.", "I don't live in {} anymore.", "I love {}.", "我住在{}。",
    "My sister Anna lives in {}.", "I work as a baker in {}.", "2024年8月我搬到了{}", "I'm allergic to {} nuts.",
    "Remember that the {} gate is closed.",
)  # fmt: skip
FACTS = (
    ("identity", "lives_in"), ("identity", "city"), ("preference", "likes"), ("preference", "favourite_tea"),
    ("event", "moved_to"), ("skill", "skilled_in"), ("relationship", "spouse"), ("identity", "employer"),
)  # fmt: skip
GOALS = ("convert report-1.pdf to text", "convert report-2.pdf to text", "deploy to staging", "deploy to production")


def a_fact(random: Random) -> Candidate:
    """A statement that another source may contradict."""
    kind, predicate = random.choice(FACTS)
    place = random.choice(PLACES)
    return Candidate(
        text=f"The user's {predicate} is {place} ({random.randrange(10_000)})",
        category=random.choice(("profile", "preferences", "knowledge")),
        fact=Fact(
            kind=kind,  # type: ignore[arg-type]
            predicate=predicate,
            object=place,
            subject=random.choice(("user", "user", "Anna")),
            single=random.random() < 0.3,
        ),
        trust=random.choice(("user", "tool", "document", "agent")),
        event_time=random.choice((None, NOON, NOON - timedelta(days=random.randrange(500)))),
    )


def a_procedure(random: Random) -> StoredMemory:
    """How something is done, as it may be found in the work of an agent."""
    steps = tuple(f"call tool {random.randrange(5)}" for _ in range(random.randrange(1, 4)))
    avoid = tuple({f"tool {random.randrange(3)} (exit code {random.randrange(2)})" for _ in range(random.randrange(3))})
    at = NOON + timedelta(seconds=random.randrange(10_000))
    return StoredMemory(
        id=MemoryId(UUID(int=random.getrandbits(128))),
        kind="procedural",
        category="procedural",
        text=render_procedure(Procedure(goal=random.choice(GOALS), steps=steps, avoid=tuple(sorted(avoid)))),
        created_at=at,
        updated_at=at,
        trust="tool",
        state=random.choice(("active", "pending", "rejected")),
    )


class Storm:
    """Random changes of a space, each by the call that a person, an agent or a worker has for it; and how many of each
    were made."""

    def __init__(self, memory: Memory, random: Random, clock: FixedClock) -> None:
        self.memory, self.random, self.clock = memory, random, clock
        self.runs: list[UUID] = []
        self.done = Counter[str]()

    async def step(self) -> None:
        """Make one change; one that is refused is a change that was tried."""
        kinds: list[tuple[Callable[[], Awaitable[Any]], int]] = [
            (self.say, 8), (self.bring, 5), (self.work, 3), (self.decide, 3), (self.forget, 3), (self.restore, 2),
            (self.pin, 1), (self.erase, 1), (self.supersede, 3), (self.edit, 3), (self.consolidate, 1), (self.undo, 1),
            (self.maintain, 1),
        ]  # fmt: skip
        act = self.random.choices([act for act, _ in kinds], [weight for _, weight in kinds])[0]
        with suppress(MunimentError):
            await act()
            self.done[act.__name__] += 1

    async def pick(self, *states: str) -> StoredMemory | None:
        """Any memory in one of the states."""
        found = await self.memory.list(scope(), states=states or STATES, limit=60)
        return self.random.choice(list(found)) if found else None

    async def say(self) -> None:
        await self.memory.learn(scope(), said(self.random.choice(SAID).format(self.random.choice(PLACES))))

    async def bring(self) -> None:
        if self.random.random() < 0.5:
            await self.memory.ingest(scope(), [a_fact(self.random) for _ in range(3)])
        else:
            await self.memory.keep_candidates(scope(), [a_fact(self.random)])

    async def work(self) -> None:
        found = a_procedure(self.random)
        await commit(self.memory, scope(), Change(action="ADD", after=found, vector=hash_vector(found.text, 256)))

    async def decide(self) -> None:
        if pending := await self.pick("pending"):
            await self.memory.decide_consents(scope(), [pending.id], approve=self.random.random() < 0.6)

    async def forget(self) -> None:
        if one := await self.pick("active"):
            await self.memory.forget(scope(), one.id)

    async def restore(self) -> None:
        if one := await self.pick("soft_deleted"):
            await self.memory.restore(scope(), one.id)

    async def pin(self) -> None:
        if one := await self.pick("active"):
            await self.memory.pin(scope(), one.id, pinned=not one.pinned)

    async def erase(self) -> None:
        if one := await self.pick():
            await self.memory.admin.erase(scope(), one.id)

    async def supersede(self) -> None:
        one, two = await self.pick("active"), await self.pick("active")
        if one and two and one.id != two.id:
            after = replace(one, state="superseded", superseded_by=two.id)
            await commit(self.memory, scope(), Change(action="MERGE", before=one, after=after))

    async def edit(self) -> None:
        """Another value, or twice the same memory in one plan: its slot may be another one each time."""
        if (one := await self.pick("active")) and one.fact:
            changes, before = [], one
            for _ in range(self.random.randrange(1, 3)):
                fact = replace(one.fact, object=self.random.choice(PLACES), single=self.random.random() < 0.5)
                after = replace(before, fact=fact, updated_at=self.clock.now())
                changes.append(Change(action="UPDATE", before=before, after=after))
                before = after
            await commit(self.memory, scope(), *changes)

    async def consolidate(self) -> None:
        if run := await self.memory.admin.consolidate(scope()):
            self.runs.append(run.id)

    async def undo(self) -> None:
        if self.runs:
            await self.memory.admin.undo_consolidation(scope(), self.runs.pop())

    async def maintain(self) -> None:
        self.clock.advance(self.random.randrange(40 * 86_400))
        await self.memory.admin.maintain(scope())


async def test_what_was_kept_is_what_is_made_anew(database_url: str) -> None:
    """After any changes a rebuild changes no byte, and an export that is read back has the same rows."""
    random, clock = Random(27), FixedClock(NOON)
    async with engine(database_url, clock=clock, tuned=settings(database_url)) as memory:
        storm, statuses = Storm(memory, random, clock), set[str]()
        for n in range(WRITES):
            await storm.step()
            if n % 25 == 24 or n == WRITES - 1:
                before = dump(database_url)
                done = await memory.projections.rebuild(scope())
                assert done.changed == 0, n
                assert dump(database_url) == before
                statuses |= {each.status for each in await memory.projections.list(scope(), limit=1_000)}
        assert len(storm.done) == 13, storm.done
        assert statuses >= {"active", "support", "conflict", "outranked", "pending", "superseded"}
        assert await memory.engine.layer_stores.projections.find_lag(scope()) == 0
        mine = await memory.projections.list(scope(), limit=1_000)
        assert mine == await memory.projections.list(
            scope(), limit=1_000, as_of=(await memory.read_status(scope()))["rev"]
        )
        await memory.load(scope("twin"), await memory.export(scope()))
        assert await memory.projections.list(scope("twin"), limit=1_000) == mine
