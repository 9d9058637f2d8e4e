"""How long what belongs to a scope is kept: the database and the rule of one mind, and spaces due when their scopes
say."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.rules.policy.retention import build_terms, find_last_touch, find_lifetime, is_forgettable
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, scope, settings

DAYS = timedelta(days=1)
WHO = [scope(), scope("atlas", owner_type="project"), scope("scratch", owner_type="agent")]


def varied(dice: random.Random) -> StoredMemory:
    """A memory of any kind that there can be, touched at a round or at an odd moment, or told long after it was so."""
    ages = [dice.randrange(800) * DAYS, 60 * DAYS, dice.uniform(0, 800) * DAYS]
    at = NOON - dice.choice(ages)
    return StoredMemory(
        id=MemoryId(uuid4()),
        kind="semantic",
        category=dice.choice(["goals", "tasks", "profile", "knowledge", "gone"]),
        text=f"note {dice.random()}",
        created_at=min(NOON, at + dice.choice([0, 0, 30, 800]) * DAYS),
        updated_at=at,
        importance=dice.randint(1, 5),
        pinned=dice.random() < 0.2,
        state=dice.choice(["active", "active", "active", "superseded", "soft_deleted", "pending"]),
        agent_id=dice.choice([None, None, "scratch", "keeper"]),
        session_id=dice.choice([None, "s"]),
        run_id=dice.choice([None, None, "r"]),
        trust=dice.choice(["user", "user", "document"]),
        source=dice.choice([None, "resource:a.md"]),
    )


def scopes(dice: random.Random) -> dict[str, int | None]:
    """Days of any scopes, of each kind and by name."""
    names = ["user:ana", "user:eve", "project:atlas", "agent:scratch", "agent:keeper", "agent:nobody"]
    kinds = {kind: dice.choice([None, None, 7, 400, 10**12]) for kind in ("user", "project", "agent", "session", "run")}
    return kinds | {name: dice.choice([None, 1, 90, 500]) for name in names if dice.random() < 0.3}


async def test_the_database_selects_what_the_rule_decides(database_url: str) -> None:
    """Random memories under random settings: the same are forgotten, and the next of them at the same moment."""
    dice = random.Random(20261122)
    made = [varied(dice) for _ in range(300)]
    (vector,) = await HashEmbedder().embed_documents(["-"])
    changes = tuple(Change(action="ADD", after=one, vector=vector) for one in made)
    async with engine(database_url) as memory:
        store, base = memory.engine.store, memory.engine.settings
        for who in WHO:
            await store.writes.commit(
                WritePlan(scope=who, expected_rev=Revision(0), node="face", at=NOON, changes=changes)
            )
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute(
                """update muniment.memories set last_accessed_at = updated_at + random() * (%s - updated_at)
                            where random() < 0.5""",
                (NOON,),
            )
            rows = conn.execute("select space_id, memory_id, last_accessed_at from muniment.memories").fetchall()
        read = {(space, id_): at for space, id_, at in rows}
        for _ in range(40):
            tuned = base.forgetting.model_copy(
                update={
                    "untouched_days": dice.choice([1, 60, 400]),
                    "importance_below": dice.randint(1, 6),
                    "fade_days": dice.choice([1, 30, 180]),
                    "scopes": scopes(dice),
                    "categories": dice.choice([{}, {"tasks": 30, "knowledge": None}, {"profile": 1, "tasks": 10**12}]),
                }
            )
            own, who = build_terms(tuned, base.session_ledger, base.categories), dice.choice(WHO)
            seen = [replace(one, last_accessed_at=read[who.space, one.id]) for one in made]
            due = await store.maintenance.find_due(who, NOON, own, 1_000)
            assert due
            assert {one.id for one in due.forget} == {one.id for one in seen if is_forgettable(who, one, own, NOON)}
            ends = [
                find_last_touch(one) + lasting for one in seen if (lasting := find_lifetime(who, one, own)) is not None
            ]
            ends = [min(end, NOON + timedelta(days=3_650)) for end in ends]
            assert (due.next_due_at is None) == (not ends)
            assert due.next_due_at is None or abs(due.next_due_at - min(ends)) < timedelta(seconds=1)


LIVES = [  # who keeps something, how important it is, and after how many days it goes
    (scope("ana"), 1, 60),
    (scope("bob"), 3, 180),
    (scope("carl", agent="scratch"), 5, 7),
    (scope("dan", agent="keeper"), 1, 60),
    (scope("emma", run="r"), 5, 3),
    (scope("eve", agent="scratch"), 4, 5),
    (scope("atlas", owner_type="project"), 1, 365),
    (scope("borealis", owner_type="project", run="r"), 5, 3),
    (scope("scratch", owner_type="agent"), 4, 7),
    (scope("keeper", owner_type="agent"), 1, 60),
]


async def test_a_space_is_due_when_its_scopes_say(database_url: str, tmp_path: Path) -> None:
    """What one file of settings says of scopes holds, to the second, in spaces that nobody looks at meanwhile."""
    file = tmp_path / "own.yaml"
    file.write_text("""session_ledger: {events_days: 1000}
forgetting:
  scopes: {run: 3, project: 365, "agent:scratch": 7, "user:eve": 5}
""")
    tuned, clock = settings(database_url, MUNIMENT_CONFIG=str(file)), FixedClock(NOON)
    async with engine(database_url, clock=clock, tuned=tuned) as memory:
        for who, importance, _ in LIVES:
            await memory.keep_candidates(who, [note("The kiosk sells umbrellas", importance=importance)])
            await memory.admin.maintain(who)
        for who, _, days in sorted(LIVES, key=lambda one: one[2]):
            ends = NOON + days * DAYS
            assert (await memory.read_status(who))["tended_next"] == ends.isoformat()
            clock.advance((ends - clock.now()).total_seconds() - 1)
            assert (await memory.admin.maintain(who)).forgotten == 0
            clock.advance(1)
            assert (await memory.admin.maintain(who)).forgotten == 1
            assert (await memory.read_status(who))["tended_next"] == (ends + 30 * DAYS).isoformat()


@pytest.mark.parametrize(
    ("changed", "days"), [("forgetting: {scopes: {user: 9}}", 9), ("session_ledger: {events_days: 5}", 5)]
)
async def test_other_settings_hold_where_nobody_speaks(
    database_url: str, tmp_path: Path, changed: str, days: int
) -> None:
    """A space that would never be looked at again is, once, when somebody has changed how long things are kept."""
    clock, (file, who) = FixedClock(NOON), (tmp_path / "own.yaml", scope())

    async def standing() -> str | None:
        told: str | None = (await memory.read_status(who))["tended_next"]
        return told

    async with engine(database_url, clock=clock) as memory:
        assert await standing() is None
        await memory.keep_candidates(who, [note("The kiosk sells umbrellas", importance=5)])
        await memory.admin.maintain(who)
        assert await standing() == (NOON + 90 * DAYS).isoformat()  # the events of this day
        assert await memory.jobs.enqueue_due() == 0
    file.write_text(changed)
    async with engine(database_url, clock=clock, tuned=settings(database_url, MUNIMENT_CONFIG=str(file))) as memory:
        assert await standing() == NOON.isoformat()
        assert await memory.jobs.enqueue_due() == 1
        await memory.admin.maintain(who)
        assert await standing() == (NOON + days * DAYS).isoformat()
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute("delete from jobs.queue")
        assert await memory.jobs.enqueue_due() == 0
