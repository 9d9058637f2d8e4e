"""Accounts of the plugin beside the engine: turns, switches and audit lines, in the space of each user."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from muniment.memory.bootstrap.plugin_accounts import make_plugin_accounts
from muniment.plugin.book.engine_book import EngineBook
from muniment.plugin.domain.book import AuditLine, TurnReport
from muniment.plugin.domain.item import ItemOwner
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, scope

ANA = ItemOwner(user="ana", session="s1", project="web")
BEN = ItemOwner(user="ben", session="s1")
ANA_ELSEWHERE = ItemOwner(tenant="acme", user="ana", session="s1")
REPORT = TurnReport(
    turn_id="t1",
    owner=ANA,
    at=NOON,
    recall=True,
    recall_reason="session start",
    is_hit=True,
    item_ids=("4f2a91bc-0000-4000-8000-000000000001",),
    tokens=40,
    written=2,
    duplicates=1,
    refusals={"near duplicate": 1},
    remote_reads=1,
    remote_writes=1,
    queue_length=3,
    milliseconds={"local search": 10.0},
)
TABLES = ("plugin_turns", "plugin_switches", "plugin_audit")


async def test_a_turn_is_kept_and_the_later_report_of_it_counts(database_url: str) -> None:
    """P-46: the report is read back as it was, a second one of the turn takes its place, and both go with the book."""
    async with engine(database_url) as memory:
        book = EngineBook(make_plugin_accounts(memory))
        await book.record_turn(REPORT)
        assert await book.read_last_turn(ANA) == REPORT
        await book.record_turn(replace(REPORT, written=5))
        await book.record_turn(replace(REPORT, turn_id="t2", at=NOON + timedelta(seconds=1), written=1))
        await book.close()
        assert await book.count_writes(ANA, NOON) == 6
        assert await book.count_writes(ANA, NOON + timedelta(seconds=1)) == 1
        assert await book.read_last_turn(replace(ANA, session="s2")) is None


async def test_what_is_counted_by_policy_for_a_user_and_a_tenant(database_url: str) -> None:
    """P-26, P-46, P-104, P-118: hits, tokens, duplicates, refusals, requests, queue and latency, in all and by
    policy, a policy in shadow apart; a tenant's are those of all its users and of nobody else."""
    misses = replace(
        REPORT, turn_id="t2", policy="eager", is_shadow=True, is_hit=False, milliseconds={}, queue_length=9
    )
    skipped = replace(REPORT, turn_id="t3", recall=False, is_hit=None, milliseconds={"local search": 30.0})
    async with engine(database_url) as memory:
        book = EngineBook(make_plugin_accounts(memory))
        for report in (
            REPORT,
            replace(misses, at=NOON + timedelta(seconds=1)),
            skipped,
            replace(REPORT, owner=BEN),
            replace(REPORT, owner=ANA_ELSEWHERE),
            replace(REPORT, turn_id="old", at=NOON - timedelta(days=2)),
        ):
            await book.record_turn(report)
        mine = await book.read_stats("default", "ana", NOON)
        all_users = await book.read_stats("default", None, NOON)
        nobody = await book.read_stats("nowhere", None, NOON)
    assert (mine.turns, mine.searched, mine.hits, mine.tokens, mine.queue_length) == (3, 2, 1, 120, 9)
    assert (mine.refusals, mine.hit_share, mine.remote_calls_per_100_turns) == ({"near duplicate": 3}, 0.5, 200.0)
    assert mine.duplicate_share == pytest.approx(1 / 3)
    assert mine.milliseconds == {"local search": (20.0, 29.0)}
    assert {name: each.turns for name, each in mine.policies.items()} == {"default": 2, "eager (shadow)": 1}
    assert (mine.policies["eager (shadow)"].hits, mine.policies["default"].hits) == (0, 1)
    assert all_users.turns == 4
    assert (nobody.turns, nobody.hit_share, nobody.policies) == (0, None, {})


async def test_a_switch_is_of_one_session_of_one_user(database_url: str) -> None:
    """P-23, P-110: off holds in another engine over the same database, and nowhere else."""
    async with engine(database_url) as memory:
        await EngineBook(make_plugin_accounts(memory)).write_switch(ANA, is_on=False)
    async with engine(database_url) as memory:
        book = EngineBook(make_plugin_accounts(memory))
        others = (replace(ANA, session="s2"), BEN, ANA_ELSEWHERE, replace(ANA, session=None))
        assert [await book.read_switch(owner) for owner in (ANA, *others)] == [False, True, True, True, True]
        await book.write_switch(ANA, is_on=True)
        assert await book.read_switch(ANA)


async def test_an_audit_line_is_kept(database_url: str) -> None:
    """P-88: what a person changed, by whom, where and when."""
    async with engine(database_url) as memory:
        accounts = make_plugin_accounts(memory)
        await EngineBook(accounts).record_audit(AuditLine(owner=ANA, at=NOON, action="forget", item_id="x"))
        (line,) = await accounts.list_changes(scope())
        assert (line.action, line.item_id, line.session_id, line.project_id, line.at) == (
            "forget",
            "x",
            "s1",
            "web",
            NOON,
        )
        assert await accounts.list_changes(scope("ben")) == []


async def test_row_level_security_alone_keeps_users_apart(database_url: str) -> None:
    """The application sees in one space its rows, and in none no row; the keeper reads no session and no item."""
    async with engine(database_url) as memory:
        book = EngineBook(make_plugin_accounts(memory))
        for owner in (ANA, BEN):
            await book.record_turn(replace(REPORT, owner=owner))
            await book.write_switch(owner, is_on=False)
            await book.record_audit(AuditLine(owner=owner, at=NOON, action="off"))
        await book.close()
    with psycopg.connect(database_url) as conn:
        for table in TABLES:
            query = f"select count(*) from muniment.{table}"
            enter = "select muniment.enter_space(%s, null), set_config('role', 'muniment_app', true)"
            conn.execute(enter, (scope().space,))
            assert conn.execute(query).fetchall() == [(1,)]
            conn.rollback()
            conn.execute("set local role muniment_app")
            assert conn.execute(query).fetchall() == [(0,)]
            conn.rollback()
        conn.execute("set local role muniment_keeper")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("select session_id, item_ids from muniment.plugin_turns")


async def test_old_turns_go_when_the_oldest_is_due(database_url: str) -> None:
    """A space is due when its oldest report is past its days, to the second, in whatever order they were written;
    younger reports stay until their own time."""
    clock, day = FixedClock(NOON), timedelta(days=1)
    async with engine(database_url, clock=clock) as memory:
        accounts = make_plugin_accounts(memory)
        book, kept = EngineBook(accounts), accounts.retention

        async def record(*days: int) -> str:
            for number in days:
                await book.record_turn(replace(REPORT, turn_id=f"t{number}", at=NOON + number * day))
            await book.read_last_turn(ANA)  # writes what waits
            return str((await memory.read_status(scope()))["tended_next"])

        await record(20)
        await memory.admin.maintain(scope())
        assert await record(15, 10) == (NOON + 10 * day + kept).isoformat()
        assert await record(0) == (NOON + kept).isoformat()
        assert await record(5) == (NOON + kept).isoformat()
        clock.advance(kept.total_seconds() - 1)
        for seconds, left, due in ((0, 5, 0), (2, 4, 5), (5 * 86_400, 3, 10), (5 * 86_400, 2, 15), (5 * 86_400, 1, 20)):
            clock.advance(seconds)
            await memory.admin.maintain(scope())
            assert (await book.read_stats("default", "ana", NOON)).turns == left
            assert (await memory.read_status(scope()))["tended_next"] == (NOON + due * day + kept).isoformat()
        await book.close()


async def test_erasure_and_retention_remove_them(database_url: str) -> None:
    """An erased user has no row left, and what waited in a buffer is not written after; old rows go by themselves."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        book = EngineBook(make_plugin_accounts(memory))
        await book.record_turn(REPORT)
        await book.write_switch(ANA, is_on=False)
        await book.record_audit(AuditLine(owner=ANA, at=NOON, action="off"))
        await book.read_last_turn(ANA)
        await book.record_turn(replace(REPORT, turn_id="late"))
        await memory.admin.erase_space(scope())
        await book.close()
        assert (await book.read_stats("default", "ana", NOON)).turns == 0
        with psycopg.connect(database_url) as conn:
            assert [conn.execute(f"select count(*) from muniment.{name}").fetchone() for name in TABLES] == [(0,)] * 3
        clock.advance(86_400)
        await book.record_turn(replace(REPORT, at=clock.now()))
        await book.record_audit(AuditLine(owner=ANA, at=clock.now(), action="on"))
        await book.close()
        clock.advance(91 * 86_400)
        await memory.admin.maintain(scope())
        with psycopg.connect(database_url) as conn:
            assert [conn.execute(f"select count(*) from muniment.{name}").fetchone() for name in TABLES] == [(0,)] * 3
