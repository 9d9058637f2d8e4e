"""What is past its end is in no projection at that moment, before the maintenance has seen it, and it is so as the
maintenance makes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.layers.projections import Projection
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import NotFound
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope
from tests.integration.test_consent import profile
from tests.integration.test_projections import home
from tests.sessions import PARSER, PARSER_TOLD, after, learned

HOUR = timedelta(hours=1)
END = NOON + HOUR
EVENT = Fact(kind="event", predicate="moved_to", object="Rome")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
async def memory(database_url: str, clock: FixedClock) -> AsyncIterator[Memory]:
    async with engine(database_url, clock=clock) as opened:
        yield opened


async def read_all(memory: Memory, **more: Any) -> list[Projection]:
    return [*await memory.projections.list(scope(), **more)]


async def stable(memory: Memory, agent: str = "supervisor") -> str:
    return (await memory.brief(scope(thread="S"), agent, "hello")).stable


async def test_a_slot_goes_to_the_next_at_that_moment(memory: Memory, clock: FixedClock) -> None:
    """What stood back is active, before the model too; what disputed it disputes nothing more. The maintenance that
    follows changes none of it, and a read of before has it as it was."""
    await memory.ingest(
        scope(),
        [
            home("Oslo", trust="document"),
            home("Porto", expires_at=END),
            Candidate(text="The user moved to Rome", category="event", fact=EVENT, event_time=NOON, expires_at=END),
            Candidate(
                text="The user likes tea",
                category="profile",
                fact=Fact(kind="preference", predicate="likes", object="tea"),
            ),
        ],
    )
    before = await read_all(memory)
    values = {each.data.get("value", each.title): each.status for each in before}
    assert (values["Porto"], values["Oslo"], values["The user moved to Rome"]) == ("active", "outranked", "active")
    assert "Oslo" not in await stable(memory)
    rev = (await memory.read_status(scope()))["rev"]
    clock.advance(HOUR.total_seconds() - 1)
    await memory.ingest(scope(), [note("The cello is rented")])
    assert await read_all(memory) == before
    clock.advance(1)
    then = await read_all(memory)
    assert "Porto" not in str(then)
    assert "Rome" not in str(then)
    assert {each.data.get("value"): each.status for each in then}["Oslo"] == "active"
    block = await stable(memory)
    assert ("Porto" in block, "Oslo" in block) == (False, True)
    assert await read_all(memory, types=("episode",)) == []
    assert await read_all(memory, limit=1, offset=1) == then[1:2]
    assert await read_all(memory, statuses=("active",)) == [each for each in then if each.status == "active"]
    gone = next(each for each in before if each.data.get("value") == "Porto")
    with pytest.raises(NotFound):
        await memory.projections.list_slot(scope(), str(gone.id))
    assert await read_all(memory, allowed=frozenset({"event"})) == []
    await memory.admin.maintain(scope())
    assert await read_all(memory) == then
    assert await stable(memory) == block
    assert await read_all(memory, as_of=rev) == before


async def test_a_dispute_ends_with_one_of_its_sides(memory: Memory, clock: FixedClock) -> None:
    await memory.ingest(scope(), [home("Oslo"), home("Porto", expires_at=END)])
    assert len(await memory.projections.list_conflicts(scope())) == 1
    clock.advance(HOUR.total_seconds())
    assert await memory.projections.list_conflicts(scope()) == []
    [only] = await read_all(memory)
    assert (only.data["value"], only.status, only.memories) == ("Oslo", "active", (only.memory,))


async def test_an_approved_value_ends_with_its_memory(memory: Memory, clock: FixedClock) -> None:
    """Also before an agent that may not read the memory, now and as of the last revision."""
    await memory.remember(scope(), "I live in Porto", expires_at=END)
    [request] = await memory.list_consents(scope())
    await memory.decide_consents(scope(), [request.id], approve=True)
    rev = (await memory.read_status(scope()))["rev"]
    shown = await profile(memory)
    assert any("Porto" in line for line in shown)
    clock.advance(HOUR.total_seconds())
    assert await profile(memory) == []
    assert await profile(memory, as_of=rev) == []
    await memory.learn(scope(), said("My pronouns are she/her.", at=clock.now()))
    assert await profile(memory, as_of=rev) == []
    assert "Porto" not in await stable(memory, "stylist")
    await memory.admin.maintain(scope())
    assert await profile(memory) == []


async def test_a_skill_ends(database_url: str) -> None:
    """It is in no list and no file."""
    clock = after()
    async with engine(database_url, clock=clock) as memory:
        await learned(memory, PARSER)
        [skill] = await memory.projections.list_skills(scope())
        await memory.projections.review_skill(scope(), str(skill.id), publish=True)
        assert len(await memory.projections.render_skills(scope())) == 1
        [row] = [each for each in await memory.export(scope(), content=True) if each.get("text") == PARSER_TOLD]
        other = Scope(owner="bo", thread="A", session="A")
        await memory.load(other, [row | {"expires_at": (clock.now() + HOUR).isoformat()}])
        assert len(await memory.projections.render_skills(other)) == 1
        clock.advance(HOUR.total_seconds())
        assert await memory.projections.list_skills(other) == []
        assert await memory.projections.render_skills(other) == {}
        assert len(await memory.projections.render_skills(scope())) == 1


async def test_the_views_of_a_former_design(memory: Memory, database_url: str) -> None:
    """They go by the clock of the database, which is past this end already."""
    await memory.ingest(scope(), [home("Oslo"), home("Porto", expires_at=END)])
    assert len(await read_all(memory)) == 2
    with psycopg.connect(database_url) as conn:
        rows = conn.execute("select payload ->> 'value' from muniment.memory_materializations").fetchall()
        disputed = conn.execute("select count(*) from muniment.memory_projection_conflicts").fetchone()
    assert (rows, disputed) == ([("Oslo",)], (0,))


async def test_a_space_without_an_end_is_asked_no_more(memory: Memory, database_url: str) -> None:
    """The function that looks at ends is not called."""
    await memory.ingest(scope(), [home("Oslo", trust="document"), home("Porto")])
    with psycopg.connect(database_url) as conn:
        conn.execute(
            "create or replace function muniment.has_ended(at_space uuid, memory uuid, at_rev bigint, "
            "moment timestamptz) returns boolean language plpgsql as $$ begin raise 'asked'; end $$"
        )
    assert "Porto" in await stable(memory)
