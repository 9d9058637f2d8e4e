"""A database whose queue is in Procrastinate's tables: an upgrade loses no job, and a job stays what it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from tests.engine import engine, scope

FORMER = Path(__file__).with_name("queue_of_procrastinate.sql")
LAST = "0012"  # the last migration of the version that used these tables
TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
ENQUEUE = """
    insert into jobs.procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
    values (%(name)s, %(name)s, 0, %(lock)s, %(once)s, %(args)s, %(at)s)
    on conflict (queueing_lock) where status = 'todo' do nothing returning id"""


@pytest.fixture
async def former(empty_database_url: str, tmp_path: Path) -> str:
    """The address of a database as the former version left it, with an empty queue."""
    for file in files("muniment.migrations").iterdir():
        if file.name.endswith(".sql") and file.name[:4] <= LAST:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    await apply_migrations(empty_database_url, tmp_path)
    ask(empty_database_url, FORMER.read_text(encoding="utf-8"))
    return empty_database_url


def ask(url: str, query: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as conn:
        cursor = conn.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def former_row(who: Scope, name: str, key: str, at: datetime | None = None) -> dict[str, Any]:
    """A job as the former version enqueued it."""
    once = f"{who.space}:{name}:{key}"
    args = {"tenant": who.tenant, "owner": who.owner, "owner_type": who.owner_type, "key": key}
    lock = str(who.space) if name == "extract" else once
    return {"name": name, "lock": lock, "once": once, "args": Jsonb(args), "at": at}


async def test_jobs_are_carried_over(former: str) -> None:
    """Each with its order, time, attempts, locks and worker; the former tables are empty afterwards, and still
    there."""
    ana, ben = scope("ana"), scope("ben")
    for who, name, key, at in (
        (ana, "extract", "1", None),
        (ana, "extract", "2", None),
        (ben, "extract", "3", None),
        (ben, "extract", "4", None),
        (ana, "expire", "", TOMORROW),
    ):
        ask(former, ENQUEUE, former_row(who, name, key, at))
    ask(
        former,
        "insert into jobs.procrastinate_workers default values; insert into jobs.procrastinate_workers default values",
    )
    ask(former, "update jobs.procrastinate_jobs set status = 'doing', worker_id = 2 where args ->> 'key' = '3'")
    ask(former, "update jobs.procrastinate_jobs set attempts = 5, priority = -1 where args ->> 'key' = '1'")
    ask(former, "insert into jobs.procrastinate_jobs (queue_name, task_name, status) values ('x', 'x', 'succeeded')")
    ask(former, "insert into jobs.procrastinate_periodic_defers (task_name, defer_timestamp) values ('round', 86400)")
    assert (await apply_migrations(former))[0] == "0013_own_queue.sql"
    columns = (
        "id, name, args ->> 'key', args ->> 'owner', lock, dedup_key, status, scheduled_at, attempts, priority, "
        "worker_id"
    )
    assert ask(former, f"select {columns} from jobs.queue order by id") == [
        (1, "extract", "1", "ana", f"{ana.space}", f"{ana.space}:extract:1", "todo", None, 5, -1, None),
        (2, "extract", "2", "ana", f"{ana.space}", f"{ana.space}:extract:2", "todo", None, 0, 0, None),
        (3, "extract", "3", "ben", f"{ben.space}", f"{ben.space}:extract:3", "doing", None, 0, 0, 2),
        (4, "extract", "4", "ben", f"{ben.space}", f"{ben.space}:extract:4", "todo", None, 0, 0, None),
        (5, "expire", "", "ana", f"{ana.space}:expire:", f"{ana.space}:expire:", "todo", TOMORROW, 0, 0, None),
    ]
    for table in ("jobs", "workers", "periodic_defers", "events"):
        assert ask(former, f"select count(*) from jobs.procrastinate_{table}") == [(0,)]
    assert await apply_migrations(former) == []


async def test_jobs_that_were_carried_over_are_done(former: str) -> None:
    """In their order, each once; one that ran is tried again when its worker has been silent, and holds up its space
    until then."""
    ana, ben = scope("ana"), scope("ben")
    for who, key in ((ben, "3"), (ana, "1"), (ana, "2"), (ben, "4")):
        ask(former, ENQUEUE, former_row(who, "extract", key))
    ask(former, "insert into jobs.procrastinate_workers (last_heartbeat) values (now() - interval '40 seconds')")
    ask(former, "update jobs.procrastinate_jobs set status = 'doing', worker_id = 1 where args ->> 'key' = '3'")
    ask(former, "insert into jobs.procrastinate_periodic_defers (task_name, defer_timestamp) values ('round', 86400)")
    await apply_migrations(former)
    async with engine(former) as memory:
        store = memory.engine.store
        await store.jobs.enqueue_jobs(
            [Job(name="extract", scope=ana, key="1"), Job(name="extract", scope=ana, key="5")]
        )
        number = await store.jobs.register_worker()
        assert number == 2
        assert await store.jobs.requeue_abandoned(60) == 0
        keys = []
        while ticket := await store.jobs.take_job(number, ["extract"]):
            keys.append(ticket.job.key)
            await store.jobs.finish_job(ticket)
        assert keys == ["1", "2", "5"]
        assert await store.jobs.requeue_abandoned(30) == 1
        while ticket := await store.jobs.take_job(number, ["extract"]):
            keys.append(ticket.job.key)
            assert ticket.attempts == (1 if ticket.job.key == "3" else 0)
            await store.jobs.finish_job(ticket)
        assert keys == ["1", "2", "5", "3", "4"]
        assert not await store.maintenance.enqueue_periodic("round", datetime.fromtimestamp(86400, UTC))
        assert await store.maintenance.enqueue_periodic("round", datetime.fromtimestamp(86400 * 2, UTC))


async def test_what_the_former_version_still_enqueues_is_handed_over(former: str) -> None:
    """A process that was started before the upgrade loses nothing, as the application's role; a worker hears of the
    job."""
    await apply_migrations(former)
    job = former_row(scope("ana"), "extract", "1")
    with psycopg.connect(former, autocommit=True) as listener, psycopg.connect(former) as conn:
        listener.execute('listen "muniment_jobs#extract"')
        conn.execute("set role muniment_app")
        for _ in range(2):
            assert conn.execute(ENQUEUE, job).fetchall() == []
        conn.commit()
        assert [note.channel for note in listener.notifies(timeout=5, stop_after=1)] == ["muniment_jobs#extract"]
    assert ask(former, "select count(*) from jobs.procrastinate_jobs") == [(0,)]
    async with engine(former) as memory:
        ticket = await memory.engine.store.jobs.take_job(await memory.engine.store.jobs.register_worker(), ["extract"])
        assert ticket is not None
        assert (ticket.job.name, ticket.job.scope.space, ticket.job.key) == ("extract", scope("ana").space, "1")


async def test_a_new_database_has_nothing_of_the_former_queue(database_url: str) -> None:
    """Three tables and what keeps them; every function has a search path of its own."""
    tables = "select tablename from pg_tables where schemaname = 'jobs' order by 1"
    assert ask(database_url, tables) == [("queue",), ("slots",), ("workers",)]
    functions = "select proname, proconfig is not null from pg_proc where pronamespace = 'jobs'::regnamespace"
    assert ask(database_url, functions) == [("notify_workers", True)]
