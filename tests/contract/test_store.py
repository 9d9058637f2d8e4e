"""What every store must do; Postgres is the first."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, ExtractionRecord, Relation, WritePlan
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.errors import Conflict, WrongEmbedder
from muniment.memory.models.hash_embedder import HashEmbedder, hash_vector
from muniment.memory.rules.language import tokens
from muniment.memory.stores.postgres.store import PostgresStore
from tests.engine import NOON, said, scope

CATEGORIES = ("goals", "tasks", "preferences")


def memory(text: str, category: str = "goals", **more: object) -> StoredMemory:
    made = StoredMemory(
        id=MemoryId(uuid4()), kind="semantic", category=category, text=text, created_at=NOON, updated_at=NOON
    )
    return replace(made, **more)  # type: ignore[arg-type]


def added(*memories: StoredMemory) -> tuple[Change, ...]:
    return tuple(Change(action="ADD", after=one, vector=hash_vector(one.text)) for one in memories)


def plan(who: Scope, expects: int, *changes: Change, **more: object) -> WritePlan:
    made = WritePlan(scope=who, expected_rev=Revision(expects), node="face", at=NOON, changes=changes)
    return replace(made, **more)  # type: ignore[arg-type]


def reader(who: Scope, *allowed: str) -> Reader:
    return Reader(scope=who, allowed=frozenset(allowed or CATEGORIES))


async def test_a_plan_numbers_its_changes_from_the_revision_it_expects(store: PostgresStore) -> None:
    """Three changes take a new space from 0 to 3, and each has its own revision."""
    receipt = await store.writes.commit(plan(scope(), 0, *added(memory("a"), memory("b"), memory("c"))))
    assert receipt.rev == 3
    assert [change.after.rev for change in receipt.changes] == [1, 2, 3]
    assert [line.rev for line in await store.reads.read_history(reader(scope()), None, 10)] == [3, 2, 1]


async def test_a_stale_plan_writes_nothing(store: PostgresStore) -> None:
    """A plan that expects a former revision is a Conflict and leaves no trace."""
    await store.writes.commit(plan(scope(), 0, *added(memory("a"))))
    with pytest.raises(Conflict):
        await store.writes.commit(plan(scope(), 0, *added(memory("b"))))
    assert [one.text for one in (await store.reads.list_memories(reader(scope()), ListRequest())).memories] == ["a"]


async def test_a_plan_is_all_or_nothing(store: PostgresStore) -> None:
    """When the last change cannot be stored, the first is not there either, and the revision stands."""
    good, bad = memory("good"), memory("bad", importance=9)
    with pytest.raises(Exception, match="importance"):
        await store.writes.commit(plan(scope(), 0, *added(good, bad)))
    assert await store.reads.get_memory(reader(scope()), good.id) is None
    assert (await store.reads.find_neighbours(scope(), (), 0))[0] == 0


async def test_a_consumed_turn_makes_the_plan_a_replay(store: PostgresStore) -> None:
    """The same turn twice is one write, whatever the second plan holds."""
    turn = said("once", key="1")
    await store.writes.commit(plan(scope(), 0, *added(memory("once")), turns=(turn,)))
    receipt = await store.writes.commit(plan(scope(), 1, *added(memory("twice")), turns=(turn,)))
    assert receipt.replayed
    assert [one.text for one in (await store.reads.list_memories(reader(scope()), ListRequest())).memories] == ["once"]
    assert (await store.reads.find_neighbours(scope(), (), 0))[0] == 1


async def test_a_former_version_stays_readable_in_the_history(store: PostgresStore) -> None:
    """A correction keeps the id; each line of the history shows the text of its own revision."""
    first = memory("Ship v1 by August")
    await store.writes.commit(plan(scope(), 0, *added(first)))
    change = Change(
        action="UPDATE",
        before=first,
        after=replace(first, text="Ship v1 by September"),
        vector=hash_vector("Ship v1 by September"),
    )
    await store.writes.commit(plan(scope(), 1, change))
    lines = await store.reads.read_history(reader(scope()), first.id, 10)
    assert [(line.action, line.text) for line in lines] == [
        ("UPDATE", "Ship v1 by September"),
        ("ADD", "Ship v1 by August"),
    ]
    assert (lines[0].old_ref, lines[0].new_ref) == (f"{first.id}@1", f"{first.id}@2")


async def test_a_memory_changed_twice_in_a_plan_has_both_revisions(store: PostgresStore) -> None:
    """Each change of a plan sees the one before it, also of the same memory: versions, history and vector."""
    first = memory("Ship v1 by August")
    await store.writes.commit(plan(scope(), 0, *added(first)))
    second = replace(first, text="Ship v1 by September")
    gone = replace(second, state="soft_deleted")
    await store.writes.commit(
        plan(
            scope(),
            1,
            Change(action="UPDATE", before=first, after=second),
            Change(action="DELETE", before=second, after=gone),
            *added(memory("Rest")),
        )
    )
    lines = await store.reads.read_history(reader(scope()), first.id, 10)
    assert [(line.rev, line.action, line.text, line.old_ref) for line in lines] == [
        (3, "DELETE", "Ship v1 by September", f"{first.id}@2"),
        (2, "UPDATE", "Ship v1 by September", f"{first.id}@1"),
        (1, "ADD", "Ship v1 by August", None),
    ]
    assert [row["from_rev"] for row in (await store.writes.dump_space(scope())).rows if row["type"] == "version"] == [
        1,
        2,
    ]
    assert [one.text for one in (await store.reads.list_memories(reader(scope()), ListRequest())).memories] == ["Rest"]


async def test_what_goes_with_a_plan_fails_with_it(
    store: PostgresStore, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A stale or replayed plan enqueues nothing, the connection that it failed on goes on, and the driver complains of
    nothing."""
    look = ExtractionRecord(turn=said("once", key="1").id, source="rules")
    await store.writes.commit(plan(scope(), 0, *added(memory("a")), extracted=look))
    job = Job(name="expire", scope=scope(), key="never")
    for count in range(1, 50):  # statements: the answer to the first may be there before the last is sent
        with pytest.raises(Conflict):
            await store.writes.commit(plan(scope(), 0, *added(*[memory("b")] * count), jobs=(job,)))
    assert (await store.writes.commit(plan(scope(), 1, *added(memory("c")), extracted=look, jobs=(job,)))).replayed
    assert (await store.writes.commit(plan(scope(), 1, *added(memory("d"))))).rev == 2
    assert not caplog.messages
    with psycopg.connect(database_url) as admin:
        assert admin.execute("select count(*) from jobs.queue").fetchone() == (0,)
    assert {one.text for one in (await store.reads.list_memories(reader(scope()), ListRequest())).memories} == {
        "a",
        "d",
    }


async def test_an_edge_is_there_once(store: PostgresStore, database_url: str) -> None:
    """Said from both ends, and by writers who know nothing of each other, it is one row; the last strength holds."""
    a, b = memory("a"), memory("b")
    await store.writes.commit(plan(scope(), 0, *added(a, b)))

    async def link(n: int) -> None:
        ends = (a.id, b.id) if n % 2 else (b.id, a.id)
        both = Relation(a=ends[0], b=ends[1], strength=0.2), Relation(a=ends[1], b=ends[0], strength=0.7)
        while True:
            rev, _ = await store.reads.find_neighbours(scope(), (), 0)
            try:
                await store.writes.commit(plan(scope(), rev, *added(memory(f"note {n}")), relations=both))
            except Conflict:
                await asyncio.sleep(0.001 * n)
            else:
                return

    await asyncio.gather(*(link(n) for n in range(8)))
    with psycopg.connect(database_url) as admin:
        rows = admin.execute("select from_id, to_id, strength::numeric from muniment.relations").fetchall()
    assert [(low, high, float(strength)) for low, high, strength in rows] == [(*sorted((a.id, b.id)), 0.7)]


async def test_a_turn_named_twice_is_consumed_once(store: PostgresStore) -> None:
    """Two candidates of one turn bring it along twice."""
    turn = said("once", key="1")
    receipt = await store.writes.commit(plan(scope(), 0, *added(memory("a"), memory("b")), turns=(turn, turn)))
    assert (receipt.rev, receipt.replayed) == (2, False)
    assert await store.ledger.find_consumed_turns(scope(), [turn.id]) == {turn.id}


async def test_the_cursor_never_goes_back(store: PostgresStore) -> None:
    """A thread that has seen revision 2 is not shown it again because a late step says 1."""
    await store.writes.commit(plan(scope(), 0, *added(memory("a"), memory("b"))))
    await store.writes.advance_cursor(scope(), "T", Revision(2))
    await store.writes.advance_cursor(scope(), "T", Revision(1))
    sight = await store.reads.read_snapshot(reader(scope()), None, thread="T", horizon=NOON)
    assert sight.delta is not None
    assert (sight.delta.since, sight.delta.entries) == (2, ())


async def test_neighbours_share_a_key_or_are_close(store: PostgresStore) -> None:
    """The probe's own key comes first with similarity 1, then by cosine; another kind is no neighbour."""
    same = memory("Lives in Porto", stable_key="identity|user|lives_in|")
    close = memory("The user drinks green tea")
    other = memory("The user drinks green tea too", kind="episodic")
    await store.writes.commit(plan(scope(), 0, *added(same, close, other)))
    probe = NeighbourProbe(
        vector=hash_vector("The user drinks green tea daily"),
        kind="semantic",
        stable_key="identity|user|lives_in|",
        attribute="identity|user|lives_in|",
    )
    rev, near = await store.reads.find_neighbours(scope(), [probe], 5)
    assert rev == 3
    assert [(one.memory.text, one.sim == 1.0) for one in near[0]] == [(same.text, True), (close.text, False)]


async def test_vectors_of_another_model_are_refused(store: PostgresStore, database_url: str) -> None:
    """A database that belongs to one embedder refuses another by name, with the command that changes it."""
    await store.open()

    async def address() -> str:
        return database_url

    stranger = PostgresStore(address, model="other-model")
    with pytest.raises(WrongEmbedder, match="muniment embedder switch openai:other-model"):
        await stranger.open()
    await stranger.close()
    assert HashEmbedder().name == "hash-256"


async def test_writers_of_one_space_leave_no_gap(store: PostgresStore) -> None:
    """Forty writers who all start from revision 0 and retry end with revisions 1 to 40, each once."""

    async def write(n: int) -> None:
        while True:
            rev, _ = await store.reads.find_neighbours(scope(), (), 0)
            try:
                await store.writes.commit(plan(scope(), rev, *added(memory(f"note {n}"))))
            except Conflict:
                await asyncio.sleep(0.001 * n)
            else:
                return

    await asyncio.gather(*(write(n) for n in range(40)))
    lines = await store.reads.read_history(reader(scope()), None, 100)
    assert [line.rev for line in lines] == list(range(40, 0, -1))
    assert {line.text for line in lines} == {f"note {n}" for n in range(40)}


async def test_connections_come_back_clean(store: PostgresStore, database_url: str) -> None:
    """What a transaction entered is gone with it: a connection outside enter_space sees no row."""
    await store.writes.commit(plan(scope(), 0, *added(memory("a"))))
    async with store._connections.connect() as conn:
        found = await (await conn.execute("select count(*) as n from muniment.memories")).fetchone()
        who = await (
            await conn.execute("select current_user::text as who, current_setting('app.spaces', true) as s")
        ).fetchone()
    assert found == {"n": 0}
    assert who is not None
    assert who["who"] == "muniment_app"
    assert not who["s"]
    with psycopg.connect(database_url) as admin:
        row = admin.execute("select rolsuper, rolbypassrls from pg_roles where rolname = 'muniment_app'").fetchone()
    assert row == (False, False)


@given(st.text(max_size=200))
def test_any_text_makes_weights_below_their_ceiling(text: str) -> None:
    """Whatever was said, each lexeme has a dimension that pgvector can store and a weight that BM25 can reach."""
    found = tokens.compute_weights(text)
    assert set(found) == {tokens.hash_lexeme(lexeme) for lexeme in tokens.extract_lexemes(text)}
    assert all(
        1 <= place <= tokens.DIMENSIONS and 0 < weight < tokens.WEIGHT_CEILING for place, weight in found.items()
    )
