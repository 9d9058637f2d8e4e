"""A cluster keeps a search on one node, hides what is not entered, says when a node is lost, and can be taken back."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import AsyncRawCursor, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import StoreDown, StoreError
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.schema import migrate
from muniment.memory.stores.postgres.search import build_reader_params
from muniment.memory.stores.postgres.store import PostgresStore
from muniment.testing.fakes import FixedClock
from tests.citus import databases as citus
from tests.citus.databases import clustered
from tests.engine import NOON, engine, note, said, scope

DIES_AT_COMMIT = """
    set citus.override_table_visibility = off; set citus.enable_manual_changes_to_shards = on;
    set citus.enable_ddl_propagation = off; set citus.enable_unsafe_triggers = on;
    create function public.die() returns trigger language plpgsql as $$
    begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
    do $$ declare shard regclass; begin
      for shard in select oid from pg_class where relname ~ '^spaces_[0-9]+$' and relkind = 'r' loop
        execute format('create constraint trigger dies after update on %s deferrable initially deferred '
          'for each row execute function public.die()', shard);
      end loop;
    end $$"""


@clustered
@pytest.mark.parametrize("scan", [True, False])
async def test_a_search_is_one_task(database_url: str, *, scan: bool) -> None:
    """The coordinator sends a search, whole, to the one node that has the space; there an index of the space's own is
    used."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(f"Green tea with number {n}") for n in range(1_500)])
        store = memory.engine.store
        assert isinstance(store, PostgresStore)
        if not scan:
            assert (await store.maintenance.index_space(scope(), 1)).made == ("vectors", "words")
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute("analyze muniment.memories")  # as autovacuum does it on each node
        reader, search = await memory.engine.recall.authorize_query(scope(), "supervisor", Query(text="green tea"))
        space = build_reader_params(reader, None) | {"limited": False}
        text, asked = store.searches.build(space, search, scan=scan)
        async with store._connections.connect() as conn:
            cursor = AsyncRawCursor(conn, row_factory=dict_row)
            explained = b"explain " + (text if isinstance(text, bytes) else text.encode())
            shown = await (await cursor.execute(explained, asked)).fetchall()
    lines = [row["QUERY PLAN"].strip() for row in shown]
    assert "Task Count: 1" in lines
    assert not [line for line in lines if "Distributed Subplan" in line]
    indexes = set(re.findall(r"using (memories_[a-z]+(?:_[a-z]+)?)_[0-9a-f]+", "\n".join(lines)))
    assert ("memories_near" in indexes) is not scan
    assert "Seq Scan" not in str(lines)


@clustered
async def test_the_nodes_hide_what_is_not_entered(database_url: str) -> None:
    """Also who speaks to a node, and to a shard by its name, sees nothing without a space and nothing of another."""
    async with engine(database_url) as memory:
        await memory.keep_candidates(scope("ana"), [note("Green tea with Vera")])
        await memory.keep_candidates(scope("ben"), [note("A garden in Lisbon")])
    seen = []
    name = str(conninfo_to_dict(database_url)["dbname"])
    for worker in citus.WORKERS:
        with psycopg.connect(make_conninfo(worker, dbname=name), autocommit=True) as conn:
            conn.execute("set citus.override_table_visibility = off")
            shards = conn.execute(
                "select relname from pg_class where relname ~ '^memories_[0-9]+$' and relkind = 'r'"
            ).fetchall()
            assert shards
            conn.execute("set role muniment_app")
            for (shard,) in shards:
                for entered in ("", *(f"{{{scope(owner).space}}}" for owner in ("ana", "ben", "cem"))):
                    with conn.transaction():
                        conn.execute("select set_config('app.spaces', %s, true)", (entered,))
                        conn.execute("select set_config('app.categories', '*', true)")
                        rows = conn.execute(f"select space_id from muniment.{shard}").fetchall()
                    assert {f"{{{space}}}" for (space,) in rows} <= {entered}
                    seen += rows
    assert {space for (space,) in seen} == {scope("ana").space, scope("ben").space}


async def _write_all(memory: Memory, who: Scope, sale: Candidate) -> StoredMemory:
    """Write in every way, and return one of the memories."""
    for n, text in enumerate(("I live in Porto", "I live in Rome", "I'm allergic to walnuts", "I live in Oslo")):
        turn = said(text, key=str(n))
        await memory.conversation.record(who, [turn])
        await memory.learn(who, turn)
    await memory.sessions.build(who, "A")
    await memory.ingest(who, [note("Green tea"), note("A garden", reach="project", category="goals"), sale])
    await memory.relate(who, "Wayfinder", "depends on", "Kafka")
    first, second, *_ = await memory.list(who)
    await memory.pin(who, second.id)
    await memory.forget(who, first.id)
    await memory.restore(who, first.id)
    return first


async def _read_all(memory: Memory, who: Scope, one: StoredMemory) -> None:
    """Read in every way."""
    for as_of in (None, Revision(2)):
        assert (await memory.query(who, "supervisor", Query(text="Where do I live?", as_of=as_of))).hits
        await memory.brief(who, "supervisor", "Where do I live?", as_of=as_of)
    await memory.history(who, one.id)
    await memory.changes(who, agent="supervisor")
    assert await memory.projections.list(who)
    await memory.projections.list_conflicts(who)
    await memory.projections.trace_lineage(who, one.id)
    assert await memory.sessions.search(who, "walnuts")
    await memory.sessions.get(who, "A")
    await memory.sessions.list(who)
    await memory.admin.read_activity(who, 1)


@clustered
async def test_what_concerns_one_space_asks_one_node(database_url: str) -> None:
    """Writing, reading and tending a space, by one statement or several, and in functions: Citus refuses nothing while
    it is told to refuse what it would send to more shards than one."""
    name = str(conninfo_to_dict(database_url)["dbname"])
    narrowed = sql.SQL("alter database {} set citus.multi_task_query_log_level = 'error'").format(sql.Identifier(name))
    for node in (database_url, *(make_conninfo(worker, dbname=name) for worker in citus.WORKERS)):
        citus.on(node, sql.SQL("set citus.enable_ddl_propagation = off; ") + narrowed)
    who, clock = scope(project="atlas", app="desk"), FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        with pytest.raises(StoreError, match="multi-task query"):
            await memory.admin.list_spaces()
        one = await _write_all(memory, who, note("The sale of tea", expires_at=NOON + timedelta(hours=1)))
        clock.advance(7_200)
        await _read_all(memory, who, one)
        await memory.projections.rebuild(who)
        await memory.sessions.keep(who, "A", days=1)
        await memory.sessions.end(who, "A")
        await memory.admin.consolidate(who)
        await memory.admin.maintain(who)
        await memory.admin.clean_ledger(who)
        await memory.admin.refile_space(who)
        await memory.load(scope("ben"), await memory.export(who))
        await memory.admin.erase(who, one.id)


@clustered
async def test_a_node_that_is_lost_at_a_commit_is_a_store_that_is_down(database_url: str) -> None:
    """The coordinator says so without a code."""
    name = str(conninfo_to_dict(database_url)["dbname"])
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I live in Porto"))
    for worker in citus.WORKERS:
        with psycopg.connect(make_conninfo(worker, dbname=name), autocommit=True) as conn:
            conn.execute(DIES_AT_COMMIT)
    with (
        psycopg.connect(database_url, autocommit=True) as conn,
        pytest.raises(StoreDown, match="could not commit transaction"),
        translate_errors(),
        conn.transaction(),
    ):
        conn.execute("update muniment.spaces set rev = rev where space_id = %s", (scope().space,))


@clustered
async def test_it_goes_back_to_the_coordinator_and_out_again(database_url: str, empty_database_url: str) -> None:
    """With its rows, its policies and its rights: so a migration finds tables as on one Postgres."""
    await migrate.apply_migrations(empty_database_url)
    found: list[Any] = []
    made: list[Any] = []
    for step in (None, citus.undistribute, citus.distribute):
        if step is not None:
            step(database_url)
        async with engine(database_url) as memory:
            await memory.learn(scope(), said("I live in Porto", key="1"))
            assert [one.text for one in await memory.list(scope())] == ["The user lives in Porto"]
            assert (await memory.query(scope(), "supervisor", Query(text="Where do I live?"))).hits
        with psycopg.connect(database_url) as conn:
            places = conn.execute("select count(*) from pg_dist_partition").fetchone()
            rights = conn.execute("""
                select c.relname, c.relacl::text, c.relforcerowsecurity, a.attname, a.attacl::text,
                  case when relkind = 'v' then pg_get_viewdef(c.oid) end, c.reloptions::text,
                  col_description(c.oid, a.attnum)
                from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
                where c.relnamespace = 'muniment'::regnamespace and c.relkind in ('r', 'v')
                order by 1, a.attnum""").fetchall()
            functions = conn.execute("""
                select p.oid::regprocedure::text, p.proacl::text, obj_description(p.oid, 'pg_proc'), p.prosrc
                from pg_proc p where p.pronamespace = 'muniment'::regnamespace order by 1""").fetchall()
        assert places is not None
        assert (places[0] == 0) is (step is citus.undistribute)
        found.append((rights, functions))
        made.append(citus.list_policies(database_url))
    for after in found[1:]:
        for before, here in zip(found[0], after, strict=True):
            assert here == before
    assert made[0] == made[2] != made[1]
    assert made[1] == citus.list_policies(empty_database_url)
