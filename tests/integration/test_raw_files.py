"""What is erased and scrubbed is in no file of the database's server any more: not in tables, statistics, log or
dump."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg.sql import Identifier

from muniment.graph.checkpointer import open_saver, open_savers
from muniment.graph.consolidation import build as consolidation
from muniment.graph.erasure import erase_with_checkpoints
from muniment.graph.janitor import list_space_threads
from muniment.graph.supervisor import build
from muniment.graph.turn import make_thread_key
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.consent import Proposal
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, Relation
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import Conflict, Denied
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.language import tokens
from muniment.memory.stores.postgres.embedded import cluster_dir, server
from muniment.memory.stores.postgres.schema import scrub
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.nodes.state import Input, Who
from tests.engine import NOON, engine, note, said, scope, settings
from tests.erasing import LATER, commit, kept

GONE, STAYS = "quillonberry", "marzipantree"
OWNER = "owner-of-quillonberry"


async def lived(memory: Memory, url: str, who: Scope, word: str) -> MemoryId:
    """A user in whose space a word is everywhere; the id of what says it."""
    async with open_saver(url, tenant=who.tenant) as saver:
        graph = build(memory, None, memory.engine.settings).compile(checkpointer=saver)
        for thread, text in (("A", f"I want to grow {word} jam."), ("B", "What do I want to grow?")):
            await say(graph, who, thread, text)
        held = next(one for one in await memory.list(who) if word in one.text and one.kind == "semantic")
        short = await say(graph, who, "cut", f"I told you: I want to grow {word} jam!", interrupt_before=["context"])
        assert "space" not in short
        dread = StoredMemory(
            id=MemoryId(uuid4()),
            kind="insight",
            category="goals",
            text=f"Dreads breakfast for {word} in it",
            created_at=NOON,
            updated_at=NOON,
            turns=held.turns,
        )
        rev = await commit(memory, who, Change(action="ADD", after=dread, vector=hash_vector(dread.text)))
        await memory.conversation.mark_seen(replace(who, thread="C", session="C"), rev)
        recalled = await say(graph, who, "C", "Who dreads breakfast?")
        assert [line for line in recalled["bullets"] if word in line] == [f"[goals] {dread.text}"]
        assert [name for name, value in recalled.items() if held.text in str(value)] == []
        twin = replace(held, id=MemoryId(uuid4()), text=f"{held.text}.", stable_key=None, turns=())
        await commit(memory, who, Change(action="ADD", after=twin, vector=hash_vector(twin.text)))
        night = consolidation(memory, memory.engine.settings).compile(checkpointer=saver)
        shown = await night.ainvoke({"user": who.owner, "dry_run": True}, at(who, "night"))
        assert word in str(shown["shown"])
    again = said(f"Yes, I still want to grow {word} jam", key="again")
    reply = Turn.make(
        session="A",
        key="r",
        role="assistant",
        text=f"So you want to grow {word} jam.",
        at=NOON,
        thread="A",
    )
    await memory.conversation.record(who, [again, reply])
    episode = await kept(memory, f"The user said to want to grow {word} jam", who)
    now = replace(
        held,
        text=f"User wants to grow {word} jam since May",
        context=f"wants to grow {word} jam, said Ana",
    )
    await commit(
        memory,
        who,
        Change(action="UPDATE", before=held, after=now, meta={"why": "same", "was": held.text}),
        relations=(Relation(a=held.id, b=episode, strength=0.9),),
        proposals=(Proposal(field="city", value=word, memory=held.id, turns=(again.id,), expires_at=LATER),),
    )
    await memory.ingest(who, [replace(note("Vera teaches there"), context=f"I want to grow {word} jam")])
    await memory.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=who, key=str(again.id))])
    await memory.conversation.track(who, OpsEvent(node="face", op="search", status="ok", ts=NOON, memory_id=held.id))
    await memory.conversation.flush(who)
    await memory.engine.store.maintenance.index_space(who, 1)
    return held.id


def at(who: Scope, thread: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": make_thread_key(who.space, thread)})


async def say(graph: Any, who: Scope, thread: str, text: str, **how: Any) -> dict[str, Any]:
    """One turn; the state after it."""
    whose = Who(user=who.owner, thread=thread)
    await graph.ainvoke(Input(messages=[HumanMessage(text)]), at(who, thread), context=whose, **how)
    state: dict[str, Any] = (await graph.aget_state(at(who, thread))).values
    return state


def files(home: Path, word: str) -> list[str]:
    """The files of the server that hold a word, by the parts of their names that say what they are."""
    found = []
    for path in sorted(home.rglob("*")):
        with suppress(FileNotFoundError):  # the server goes on
            if path.is_file() and word.encode() in path.read_bytes():
                found.append("/".join(path.relative_to(home).parts[-3:]))
    return found


def dumped(url: str, word: str) -> list[str]:
    """The lines of a dump of all the data that hold a word."""
    wanted = [str(cluster_dir.find_binaries(None, Path()) / "pg_dump"), "--data-only", f"--dbname={url}"]
    told = subprocess.run(wanted, check=True, capture_output=True, text=True).stdout
    return [line for line in told.splitlines() if word in line]


@pytest.mark.timeout(60)
async def test_no_file_holds_what_was_erased(home: Path) -> None:
    """A memory of one user and all of another: before, their word is in tables, statistics and log; then nowhere, while
    what was never erased still is, until its user, the last one, goes, too."""
    url = await server.ensure_server(home, fsync=False)
    await apply_migrations(url)
    async with engine(url, tuned=settings(url)) as memory:
        ids = {
            who: await lived(memory, url, scope(who), word)
            for who, word in (("ana", GONE), (OWNER, GONE), ("ben", STAYS))
        }
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("analyze")
            admin.execute("checkpoint")
        before = files(home, GONE)
        assert dumped(url, GONE)
        assert {name.split("/")[-2] for name in before} >= {"pg_wal"}
        assert len(before) > 5
        async with open_savers(memory.engine.settings, memory.conversation.redact) as savers:
            assert len(await list_space_threads(savers[0], scope("ana").space)) == 5
            await erase_with_checkpoints(memory, savers, scope("ana"), ids["ana"])
            assert await list_space_threads(savers[0], scope("ana").space) == []
            await erase_with_checkpoints(memory, savers, scope(OWNER))
        assert dumped(url, GONE) == []
        assert files(home, GONE)
        done = await bootstrap.scrub_database(memory.engine.settings)
        assert (done.statistics, done.log, done.held) == (True, True, 0)
        assert done.tables > 20
        assert files(home, GONE) == []
        assert files(home, STAYS)
        assert dumped(url, STAYS)
        with psycopg.connect(url) as admin:
            dimension = tokens.hash_lexeme(next(iter(tokens.extract_lexemes(GONE))))
            lists = admin.execute(
                "select count(*) from muniment.postings where dimension = %s", (dimension,)
            ).fetchone()
        assert lists == (0,)
        async with open_savers(memory.engine.settings, memory.conversation.redact) as savers:
            await erase_with_checkpoints(memory, savers, scope("ben"))
        await bootstrap.scrub_database(memory.engine.settings)
        assert files(home, STAYS) == []


async def test_who_does_not_own_the_tables_cannot_scrub(database_url: str) -> None:
    """The application's own role is told whose work it is."""
    with pytest.raises(Denied, match="owns the tables"):
        await scrub.scrub_database(make_conninfo(database_url, options="-c role=muniment_app"))


async def test_a_scrub_waits_for_who_still_sees_it(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that a transaction still sees would be written anew with the rest: nothing is said to be scrubbed then."""
    monkeypatch.setattr(scrub, "_WAIT_SECONDS", 0.01)
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I am allergic to walnuts"))
        with psycopg.connect(database_url) as other:
            other.execute("set transaction isolation level repeatable read")
            other.execute("select count(*) from pg_catalog.pg_class")
            await memory.admin.erase_space(scope())
            with pytest.raises(Conflict, match="still sees"):
                await scrub.scrub_database(database_url)


async def test_who_sees_nothing_of_others_waits_for_them(database_url: str) -> None:
    """A role that may not see what another's session does is told all the same that it still looks."""
    mine, other = (f"{name}_{uuid4().hex}" for name in ("mine", "other"))
    with psycopg.connect(database_url, autocommit=True) as admin:
        for name in (mine, other):
            admin.execute(f"create role {name} login password 'secret'")
        admin.execute(f"grant {admin.info.user} to {mine}")
        url = make_conninfo(database_url, user=mine, password="secret")
        try:
            with psycopg.connect(make_conninfo(database_url, user=other, password="secret")) as watching:
                watching.execute("set transaction isolation level repeatable read")
                watching.execute("select count(*) from pg_catalog.pg_class")
                admin.execute("select pg_current_xact_id()")
                with psycopg.connect(url) as looking:
                    now = looking.execute(load_blocks("scrub")["now"]).fetchone()
                    assert now
                    asked = {"id": now[0]}
                    assert looking.execute(load_blocks("scrub")["watched"], asked).fetchone() == (1, 0, 0)
            done = await scrub.scrub_database(url)
            assert (done.statistics, done.log, done.held) == (False, False, 0)
        finally:
            for name in (mine, other):
                admin.execute(f"drop role {name}")


async def test_dead_rows_that_are_taken_along_are_counted(database_url: str) -> None:
    """Whoever still sees them, and whether it can be known who: Postgres says how many there were."""
    async with await psycopg.AsyncConnection[DictRow].connect(
        database_url, autocommit=True, row_factory=dict_row
    ) as conn:
        await conn.execute("create table seen as select * from generate_series(1, 9) n")
        with psycopg.connect(database_url) as other:
            other.execute("set transaction isolation level repeatable read")
            other.execute("select count(*) from pg_catalog.pg_class")
            await conn.execute("delete from seen where n < 4")
            assert await scrub._rewrite_table(conn, Identifier("seen")) == 3
        async with asyncio.timeout(20):  # the server's own analysis of a table looks for a moment, too
            while await scrub._rewrite_table(conn, Identifier("seen")):
                await asyncio.sleep(0.1)


def test_ids_of_transactions_begin_anew(database_url: str) -> None:
    """Who began before is told from who began after when the ids have more than 32 bits, too."""
    with psycopg.connect(database_url, autocommit=True) as admin:
        now = admin.execute(load_blocks("scrub")["now"]).fetchone()
        assert now
        for epoch in (0, 1, 5):
            later = {"id": str(int(now[0]) + epoch * 2**32)}
            assert admin.execute(load_blocks("scrub")["watched"], later).fetchone() == (0, 0, 0)
        with psycopg.connect(database_url) as other:
            other.execute("set transaction isolation level repeatable read")
            other.execute("select 1")
            later = {"id": str(int(now[0]) + 2**32 + 10)}
            assert admin.execute(load_blocks("scrub")["watched"], later).fetchone() == (1, 0, 0)


async def test_one_scrub_at_a_time(database_url: str) -> None:
    """Another one in the same database is refused."""
    with psycopg.connect(database_url) as other:
        other.execute("select pg_advisory_lock(%s)", (scrub._LOCK,))
        with pytest.raises(Conflict, match="another process"):
            await scrub.scrub_database(database_url)
        assert await scrub.is_same_database(database_url, f"{database_url} connect_timeout=9")
        assert not await scrub.is_same_database(database_url, make_conninfo(database_url, dbname="postgres"))


@pytest.mark.timeout(60)
async def test_what_else_holds_rows_and_log(home: Path) -> None:
    """A prepared transaction, which no session shows, is waited for and named; a replication slot keeps the log, which
    is said."""
    url = await server.ensure_server(home, fsync=False)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("alter system set max_prepared_transactions = 2")
        admin.execute("alter system set wal_level = 'logical'")
    await server.stop_server(home)
    url = await server.ensure_server(home, fsync=False)
    with psycopg.connect(url) as admin:
        admin.execute("create table waits ()")
        admin.execute("prepare transaction 'one'")
    with psycopg.connect(url, autocommit=True) as admin:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scrub, "_WAIT_SECONDS", 0.01)
            with pytest.raises(Conflict, match="pg_prepared_xacts") as told:
                await scrub.scrub_database(url)
            assert told.value.data == {"transactions": 0, "prepared": 1, "slots": 0}
            admin.execute("rollback prepared 'one'")
            admin.execute("select pg_create_logical_replication_slot('two', 'pgoutput')")
            assert not (await scrub.scrub_database(url)).log
            admin.execute("select pg_drop_replication_slot('two')")
        assert (await scrub.scrub_database(url)).log
