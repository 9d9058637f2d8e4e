"""What is erased and scrubbed is in no file of the database's server any more: not in tables, statistics, log or dump."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from psycopg.conninfo import make_conninfo

from muniment.graph.checkpointer import open_saver
from muniment.graph.erasing import holding
from muniment.graph.janitor import delete_threads
from muniment.graph.supervisor import build
from muniment.graph.turn import thread_key
from muniment.memory.engine import Memory
from muniment.memory.errors import Conflict, Denied
from muniment.memory.models.fakes import hash_vector
from muniment.memory.plan import Change, Job, OpsEvent, Proposal, Relation
from muniment.memory.records import Memory as Record, MemoryId, Scope, Turn, evolve
from muniment.memory.rules import words
from muniment.memory.stores import place, scrubbing, server
from muniment.memory.stores.migrate import migrate
from muniment.memory.stores.postgres import PostgresStore
from muniment.nodes.state import Input, Who
from tests.engine import NOON, engine, note, said, scope, settings
from tests.erasing import LATER, commit, kept

GONE, STAYS = "quillonberry", "marzipantree"
OWNER = "owner-of-quillonberry"


async def lived(memory: Memory, url: str, who: Scope, word: str) -> MemoryId:
    """A user in whose space a word is everywhere; the id of what says it."""
    async with open_saver(url) as saver:
        graph = build(memory, None, memory.house.settings).compile(checkpointer=saver)
        for thread, text in (("A", f"I am allergic to {word}."), ("B", "What am I allergic to?")):
            config = RunnableConfig(configurable={"thread_id": thread_key(who.space, thread)})
            await graph.ainvoke(
                Input(messages=[HumanMessage(text)]), config, context=Who(user=who.owner, thread=thread)
            )
    held = next(one for one in await memory.list(who) if word in one.text and one.kind == "semantic")
    turn = said(f"Yes, I am still allergic to {word}", key="again")
    reply = Turn.make(
        session="A", key="r", role="assistant", text=f"So you are allergic to {word}.", at=NOON, thread="A"
    )
    await memory.record(who, [turn, reply])
    episode = await kept(memory, f"The user said to be allergic to {word}", who)
    made = Record(id=MemoryId(uuid4()), kind="insight", category="goals", text=f"Fears {word}", created_at=NOON,
                  updated_at=NOON, turns=held.turns)  # fmt: skip
    now = evolve(held, text=f"User is allergic to {word} since May", context=f"allergic to {word}, said Ana")
    await commit(
        memory, who,
        Change(action="ADD", after=made, vector=hash_vector(made.text)),
        Change(action="UPDATE", before=held, after=now, meta={"why": "same", "was": held.text}),
        relations=(Relation(a=held.id, b=episode, strength=0.9),),
        proposals=(Proposal(field="city", value=word, memory=held.id, turns=(turn.id,), expires_at=LATER),),
    )  # fmt: skip
    await memory.ingest(who, [evolve(note("Vera teaches there"), context=f"I am allergic to {word}")])
    await memory.house.store.enqueue([Job(name="extract", scope=who, key=str(turn.id))])
    await memory.track(who, OpsEvent(node="face", op="search", status="ok", ts=NOON, memory_id=held.id))
    await memory.flush(who)
    await memory.house.store.index(who, 1)
    return held.id


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
    wanted = [str(place.binaries(None, Path()) / "pg_dump"), "--data-only", f"--dbname={url}"]
    told = subprocess.run(wanted, check=True, capture_output=True, text=True).stdout
    return [line for line in told.splitlines() if word in line]


async def forgotten(memory: Memory, url: str, who: Scope, id_: MemoryId | None) -> None:
    """As the command does it: the threads' checkpoints first."""
    traces = await memory.traces(who, id_)
    async with open_saver(url) as saver:
        await delete_threads(saver, await holding(saver, who.space, traces.threads, traces.texts))
    await (memory.erase_space(who) if id_ is None else memory.erase(who, id_))


@pytest.mark.timeout(60)
async def test_no_file_holds_what_was_erased(home: Path) -> None:
    """A memory of one user and all of another: before, their word is in tables, statistics and log; then nowhere, while
    what was never erased still is."""
    url = await server.ensure(home, fsync=False)
    await migrate(url)
    async with engine(url, tuned=settings(url)) as memory:
        ids = {who: await lived(memory, url, scope(who), word)
               for who, word in (("ana", GONE), (OWNER, GONE), ("ben", STAYS))}  # fmt: skip
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("analyze")
            admin.execute("checkpoint")
        before = files(home, GONE)
        assert dumped(url, GONE)
        assert {name.split("/")[-2] for name in before} >= {"pg_wal"}
        assert len(before) > 5
        await forgotten(memory, url, scope("ana"), ids["ana"])
        await forgotten(memory, url, scope(OWNER), None)
        assert dumped(url, GONE) == []
        assert files(home, GONE)
        done = await memory.scrub()
        assert (done.statistics, done.log) == (True, True)
        assert done.tables > 20
        assert files(home, GONE) == []
        assert files(home, STAYS)
        assert dumped(url, STAYS)
        with psycopg.connect(url) as admin:
            dimension = words.dimension(next(iter(words.lexemes(GONE))))
            lists = admin.execute(
                "select count(*) from muniment.postings where dimension = %s", (dimension,)
            ).fetchone()
        assert lists == (0,)


async def test_who_does_not_own_the_tables_cannot_scrub(database_url: str) -> None:
    """The application's own role is told whose work it is."""

    async def address() -> str:
        return make_conninfo(database_url, options="-c role=muniment_app")

    store = PostgresStore(address, model="hash-256")
    with pytest.raises(Denied, match="owns the tables"):
        await store.scrub()
    await store.close()


async def test_a_scrub_waits_for_who_still_sees_it(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that a transaction still sees would be written anew with the rest: nothing is said to be scrubbed then."""
    monkeypatch.setattr(scrubbing, "_WAIT_SECONDS", 0.01)
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I am allergic to walnuts"))
        with psycopg.connect(database_url) as other:
            other.execute("set transaction isolation level repeatable read")
            other.execute("select count(*) from pg_catalog.pg_class")
            await memory.erase_space(scope())
            with pytest.raises(Conflict, match="still sees"):
                await memory.scrub()
