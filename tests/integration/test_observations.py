"""Observations: every find has a row, written with what came of it, and the same row when it is found again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import NotFound
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope, settings
from tests.logins import build_login_url


async def of_session(memory: Memory, who: Scope, session: str = "A") -> list[Observation]:
    reader = memory.engine.settings.make_owner_reader(who)
    return await memory.engine.layer_stores.observations.list_of_session(reader, session, 100)


def rows(url: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as conn:
        return conn.execute("select * from muniment.observations order by rev, observation_id").fetchall()


async def test_a_find_of_the_rules_has_its_observation(database_url: str) -> None:
    """It names its turn, its memory and what came of it; another user sees nothing."""
    who = scope()
    async with engine(database_url) as memory:
        turn = said("I'm allergic to peanuts.")
        receipt = await memory.learn(who, turn)
        [one] = await of_session(memory, who)
        assert (one.type, one.outcome, one.memory) == ("constraint", "added", receipt.changes[0].after.id)
        assert (one.found_by, one.turns, one.statement) == ("rules", (turn.id,), receipt.changes[0].after.text)
        assert one.rev == receipt.rev
        assert one.fact == receipt.changes[0].after.fact
        assert await of_session(memory, scope("ben")) == []


async def test_a_find_is_one_row_a_session(database_url: str) -> None:
    """What is said again in a session is the row that there is; in another session it has the same stable key."""
    who = scope()
    async with engine(database_url) as memory:
        await memory.learn(who, said("I live in Trondheim and I'm allergic to peanuts."))
        first = await of_session(memory, who)
        await memory.learn(who, said("I'm allergic to peanuts, and I like skiing."))
        again = await of_session(memory, who)
        assert {one.id for one in first} < {one.id for one in again}
        [peanuts] = [one for one in again if one.type == "constraint"]
        assert len(peanuts.turns) == 2
        other = replace(who, session="B", thread="B")
        await memory.learn(other, said("I'm allergic to peanuts, and I moved to Oslo.", thread="B"))
        [there] = [one for one in await of_session(memory, who, "B") if one.type == "constraint"]
        assert (there.stable_key, there.memory, there.outcome) == (peanuts.stable_key, peanuts.memory, "known")
        assert there.id != peanuts.id


async def test_why_nothing_came_of_it(database_url: str) -> None:
    """A find that is refused has a row without a memory, and with the reason."""
    who = scope()
    bound = settings(database_url)
    tuned = bound.model_copy(update={"write": bound.write.model_copy(update={"per_day": 1})})
    async with engine(database_url, tuned=tuned) as memory:
        receipt = await memory.learn(who, said("I'm allergic to peanuts. I live in Oslo."))
        assert receipt.refused == ("more than 1 a day",)
        found = {one.outcome: one for one in await of_session(memory, who)}
        assert found.keys() == {"added", "more than 1 a day"}
        assert found["more than 1 a day"].memory is None


async def test_what_a_person_asks_to_remember_is_observed(database_url: str) -> None:
    """A text to remember is read by the rules, too; a candidate that a program gives is no find."""
    who = scope()
    async with engine(database_url) as memory:
        receipt = await memory.remember(who, "I'm allergic to peanuts.")
        [row] = rows(database_url)
        assert row["memory_id"] == receipt.changes[0].after.id
        await memory.relate(who, "Wayfinder", "depends on", "Kafka")
        assert len(rows(database_url)) == 1


async def test_an_erasure_takes_the_observations(database_url: str) -> None:
    """Those of the memory, of its turns, and others that say the same; erasing the user removes all."""
    who = scope()
    async with engine(database_url) as memory:
        await memory.learn(who, said("I'm allergic to peanuts."))
        await memory.learn(who, said("I live in Oslo."))
        await memory.learn(replace(who, session="B", thread="B"), said("I'm allergic to peanuts!", thread="B"))
        [known] = await memory.list(who, categories=["constraints"])
        receipt = await memory.admin.erase(who, known.id)
        assert receipt.counts["observations"] >= 1
        assert [row["statement"] for row in rows(database_url)] == ["The user lives in Oslo"]
        await memory.admin.erase_space(who)
        assert rows(database_url) == []


async def test_an_export_has_the_observations(database_url: str) -> None:
    """A second space has the same rows, and exports them alike."""
    who = scope()
    async with engine(database_url) as memory:
        for text in ("I'm allergic to peanuts.", "I live in Oslo."):
            turn = said(text)
            await memory.learn(who, turn)
            await memory.conversation.record(who, [turn])
        exported = list(await memory.export(who))
        assert sum(row["type"] == "observation" for row in exported) == 2
        await memory.load(scope("copy"), exported)
        assert list(await memory.export(scope("copy"))) == exported
        assert [one.positions for one in await of_session(memory, scope("copy"))] == [(0,), (1,)]


async def test_observations_go_with_their_session(database_url: str) -> None:
    """What came of them stays."""
    who = scope()
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.learn(who, said("I'm allergic to peanuts."))
        clock.advance(15 * 86_400)
        await memory.admin.maintain(who)
        assert rows(database_url) == []
        assert len(await memory.list(who)) == 1


async def test_two_tenants_see_their_own(database_url: str) -> None:
    """With the same names, and without the engine's own checks: by space, and by the categories of who reads."""
    ours, theirs = scope(), replace(scope(), tenant="other")
    async with engine(database_url) as memory:
        for who, text in ((ours, "I'm allergic to peanuts. I live in Oslo."), (theirs, "I live in Rome.")):
            await memory.learn(who, said(text))
        assert {one.statement for one in await of_session(memory, theirs)} == {"The user lives in Rome"}
        assert len(await of_session(memory, ours)) == 2
    read = "select statement from muniment.observations order by 1"
    expected = {
        (ours, None): ["The user is allergic to peanuts", "The user lives in Oslo"],
        (ours, ("constraints",)): ["The user is allergic to peanuts"],
        (ours, ()): [],
        (theirs, None): ["The user lives in Rome"],
    }
    for (who, allowed), statements in expected.items():
        with psycopg.connect(build_login_url(database_url)) as conn:
            conn.execute("set role muniment_app")
            assert conn.execute(read).fetchall() == []
            names = None if allowed is None else list(allowed)
            conn.execute("select muniment.enter_space(%s, %s)", (who.space, names))
            assert [text for (text,) in conn.execute(read).fetchall()] == statements
            changed = conn.execute("update muniment.observations set at = at where space_id <> %s", (who.space,))
            assert changed.rowcount == 0


async def test_an_observation_names_the_revision_of_its_memory(database_url: str) -> None:
    """As of it there is the memory as it was observed, and before it none or the former value."""
    who = scope()
    async with engine(database_url) as memory:
        for text in ("I like skiing.", "I live in Oslo.", "I moved to Rome."):
            await memory.learn(who, said(text))
        found = await of_session(memory, who)
        assert [one.outcome for one in sorted(found, key=lambda one: one.rev)] == ["added", "added", "updated"]
        for one in found:
            assert one.memory is not None
            then = await memory.get(who, one.memory, as_of=Revision(one.rev))
            assert (then.text, then.state) == (one.statement, "active")
            if one.outcome == "updated":
                before = await memory.get(who, one.memory, as_of=Revision(one.rev - 1))
                assert before.text == "The user lives in Oslo"
                continue
            with pytest.raises(NotFound):
                await memory.get(who, one.memory, as_of=Revision(one.rev - 1))
