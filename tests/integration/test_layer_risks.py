"""The risks that the design of the layers names, a test of each."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg

from muniment.memory.client import Memory
from muniment.memory.domain.layers.projections import ProjectionRequest
from muniment.memory.domain.query import Query
from muniment.memory.prompts import load_prompt
from muniment.testing.fakes import ScriptedChat
from tests.engine import engine, said, scope, settings

WHO = scope()
SAID = ("I live in Porto.", "My sister Anna works at a bakery.", "我们决定用 pnpm", "I am lactose intolerant.")
TABLES = ("sessions", "turns", "observations", "memories", "projections", "journal")


def count(url: str) -> dict[str, int]:
    """The rows of each table of the layers."""
    with psycopg.connect(url) as conn:
        found = {}
        for table in TABLES:
            row = conn.execute(f"select count(*) from muniment.{table}").fetchone()
            assert row is not None
            found[table] = row[0]
        return found


async def test_duplicate_writes_in_the_overlap(database_url: str) -> None:
    """Two processes that learn, record, build and end the same session leave the rows of one that does so once."""
    turns = [said(text, key=text) for text in SAID]
    async with engine(database_url) as one, engine(database_url) as other:
        for turn in turns:
            await one.learn(WHO, turn)
        await one.conversation.record(WHO, turns)
        await one.sessions.end(WHO, "A")
        before = count(database_url)
        assert all(before.values())

        async def repeat(memory: Memory) -> None:
            for turn in turns:
                await memory.learn(WHO, turn)
            await memory.conversation.record(WHO, turns)
            await memory.sessions.end(WHO, "A")

        await asyncio.gather(repeat(one), repeat(other))
        assert count(database_url) == before


async def test_materializations_do_not_drift(database_url: str) -> None:
    """After statements, corrections, a request to forget and an erasure, projections made anew are the same rows."""
    async with engine(database_url) as memory:
        for text in (*SAID, "I moved to Oslo.", "I live in Oslo."):
            await memory.learn(WHO, said(text))
        first, second, *_ = await memory.list(WHO)
        await memory.forget(WHO, first.id)
        await memory.restore(WHO, first.id)
        await memory.admin.erase(WHO, second.id)
        rebuilt = await memory.projections.rebuild(WHO)
        assert rebuilt.after > 0
        assert (rebuilt.before, rebuilt.changed) == (rebuilt.after, 0)


async def test_a_changed_prompt_is_seen(database_url: str, tmp_path: Path) -> None:
    """Each look of a model is recorded with the version of its prompt, so that a shift can be told from the data."""
    own = tmp_path / "extract.md"
    own.write_text("extract-mine-7\nRead the turns and answer with facts.\n", encoding="utf-8")
    plain = settings(database_url)
    mine = plain.model_copy(update={"model": plain.model.model_copy(update={"prompt_folder": str(tmp_path)})})
    for tuned, session in ((plain, "A"), (mine, "B")):
        async with engine(database_url, tuned=tuned, model=ScriptedChat(lambda *_: '{"facts": []}')) as memory:
            turn = said("I think that the kayak was mine once.", thread=session)
            await memory.conversation.record(scope(thread=session), [turn])
            await memory.sessions.build(scope(thread=session), session)
    with psycopg.connect(database_url) as conn:
        found = conn.execute(
            "select prompt from muniment.extractions where source = 'model' order by at, prompt"
        ).fetchall()
    assert {prompt for (prompt,) in found} == {load_prompt("extract").version, "extract-mine-7"}


async def test_what_is_written_is_read(database_url: str) -> None:
    """Every table of the layers that one session fills is read by a call of the engine."""
    turns = [said(text) for text in SAID]
    async with engine(database_url) as memory:
        for turn in turns:
            await memory.learn(WHO, turn)
        await memory.conversation.record(WHO, turns)
        await memory.sessions.end(WHO, "A")
        record = await memory.sessions.get(WHO, "A")
        assert (record.session.ended_why, len(record.turns)) == ("call", len(SAID))
        assert [hit.turn.text for hit in await memory.sessions.search(WHO, "pnpm")] == [SAID[2]]
        (home, *_) = (await memory.query(WHO, "supervisor", Query(text="Where do I live?"))).hits
        assert home.memory.text == "The user lives in Porto"
        reader = memory.engine.settings.make_owner_reader(WHO)
        stores = memory.engine.layer_stores
        observed = await stores.observations.list_of_memory(reader, home.memory.id)
        assert [each.turns for each in observed] == [(turns[0].id,)]
        slots = await stores.projections.list_projections(reader, ProjectionRequest(types=("user_profile",), limit=100))
        assert home.memory.id in {slot.memory for slot in slots}
