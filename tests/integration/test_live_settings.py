"""Settings that are changed while processes run: who follows, what is refused, and what of two writers at once."""

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.errors import BadInput
from muniment.memory.flows import live_settings
from muniment.memory.payload import parse_agent_query
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope, settings


async def change(memory: Memory, *resets: str, rev: int | None = None, **values: Any) -> None:
    """Change settings, whose names have two underscores for the dot."""
    named = {name.replace("__", "."): value for name, value in values.items()}
    await memory.configuration.change_settings(named, resets, by="test", expected_rev=rev)


async def test_a_change_is_in_force_at_once_and_after_a_start(database_url: str) -> None:
    """The process that changes a setting has it at once, and one that starts later from its first call on."""
    async with engine(database_url) as memory:
        await change(memory, recall__top_k=3)
        assert memory.engine.settings.recall.top_k == 3
    async with engine(database_url) as later:
        assert later.engine.settings.recall.top_k == 3


async def test_another_process_follows_without_a_call(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory that does nothing meanwhile has the change after the interval, and no call of it asks the database."""
    monkeypatch.setattr(live_settings, "FOLLOW_SECONDS", 0.05)
    async with engine(database_url) as idle, engine(database_url) as memory:
        await change(memory, limits__memory_chars=77, redact__email=True)
        async with asyncio.timeout(10):
            while idle.engine.settings.limits.memory_chars != 77:
                await asyncio.sleep(0.02)
        assert idle.conversation.redact("write to ana@example.org") != "write to ana@example.org"


async def test_a_memory_closes_whenever_it_looks(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the driver has forgotten that it was cancelled, as when an answer arrives at the same moment."""
    looking, forgotten = asyncio.Event(), asyncio.Event()

    async def look(_: live_settings.LiveSettings) -> None:
        looking.set()
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            if forgotten.is_set():
                raise
            forgotten.set()

    async with engine(database_url) as memory:
        await memory.engine.live_settings.stop()
        monkeypatch.setattr(live_settings, "FOLLOW_SECONDS", 0.0)
        await memory.engine.live_settings.start()
        monkeypatch.setattr(live_settings.LiveSettings, "_look_once", look)
        async with asyncio.timeout(10):
            await looking.wait()
        monkeypatch.setattr(live_settings, "FOLLOW_SECONDS", 60.0)
        following = memory.engine.live_settings._following
        async with asyncio.timeout(5):
            await memory.engine.live_settings.stop()
        assert following is not None
        assert following.cancelled()
    assert forgotten.is_set()


async def test_a_reset_brings_back_the_own_file(database_url: str) -> None:
    """After a reset each process has its own file's value again, and the history has both values and who it was."""
    own = settings(database_url)
    own = own.model_copy(update={"recall": own.recall.model_copy(update={"top_k": 5})})
    async with engine(database_url, tuned=own) as memory:
        await change(memory, recall__top_k=3)
        await change(memory, "recall.top_k")
        assert memory.engine.settings.recall.top_k == 5
        assert own.recall.top_k == 5
        history = await memory.configuration.read_history()
        assert [(each.rev, each.former, each.value, each.is_reset) for each in history] == [
            (2, 3, 5, True),
            (1, 5, 3, False),
        ]
        assert {each.by for each in history} == {"test"}


async def test_of_two_writers_with_a_revision_one_is_refused(database_url: str) -> None:
    """Two writers that have seen the same settings: one is told to look again; without a revision both are in order."""
    async with engine(database_url) as one, engine(database_url) as two:
        done = await asyncio.gather(
            change(one, rev=0, recall__top_k=3), change(two, rev=0, recall__top_k=4), return_exceptions=True
        )
        assert sorted(type(each).__name__ for each in done) == ["Conflict", "NoneType"]
        await asyncio.gather(*(change(each, recall__top_k=n) for each in (one, two) for n in range(5, 10)))
        history = await one.configuration.read_history()
        assert [each.rev for each in history] == list(range(11, 0, -1))
        for later, former in pairwise(history):
            assert later.former == former.value


async def test_values_that_do_not_fit_together_are_refused_and_change_nothing(database_url: str) -> None:
    """Bands out of order are refused one by one and taken together; what is refused leaves no trace."""
    low = "embedders.default.check"
    async with engine(database_url) as memory:
        with pytest.raises(BadInput, match=r"embedders.default.auto: allowed: auto >= check"):
            await memory.configuration.change_settings({"embedders.default.auto": 0.5}, by="test")
        with pytest.raises(BadInput, match=r"recall\.top_k: is 300; allowed: at most limits\.top_k"):
            await memory.configuration.change_settings({"recall.gate": 0.4, "recall.top_k": 300}, by="test")
        assert await memory.configuration.read_history() == []
        await memory.configuration.change_settings({"embedders.default.auto": 0.5, low: 0.4}, by="test")
        assert memory.engine.settings.embedders["default"].auto == 0.5
        with pytest.raises(BadInput, match=r"check"):
            await memory.configuration.change_settings({}, [low], by="test")


async def test_an_override_that_a_process_cannot_take_is_left_out_and_said(database_url: str) -> None:
    """Another version's key and a value that does not fit the own file stop nobody: the view says why they are out."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            "insert into muniment.setting_overrides values ('recall.unheard', '1', 1, 'x', now()),"
            " ('recall.gate', '\"x\"', 1, 'x', now()), ('recall.top_k', '4', 1, 'x', now())"
        )
        conn.execute("insert into muniment.setting_changes values (1, 'recall.top_k', '8', '4', false, 'x', now())")
    async with engine(database_url) as memory:
        view = await memory.configuration.read_settings("retrieval")
        assert sorted(view.ignored) == ["recall.gate", "recall.unheard"]
        assert {each.key for each in view.settings if each.source == "override"} == {"recall.top_k"}
        assert memory.engine.settings.recall.top_k == 4


async def test_a_database_that_is_away_leaves_the_settings_as_they_are(database_url: str) -> None:
    """While the database is away the last known settings stay."""
    async with engine(database_url) as memory:
        await change(memory, recall__top_k=3)
        await memory.engine.store.close()
        await memory.engine.live_settings._look_once()
        assert memory.engine.settings.recall.top_k == 3


async def test_the_engine_reads_but_does_not_write(database_url: str) -> None:
    """The application's role reads overrides and changes none; the keeper changes nothing in the history."""
    async with engine(database_url) as memory:
        await change(memory, recall__top_k=3)
    with psycopg.connect(database_url) as conn:
        conn.execute("set role muniment_app")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("delete from muniment.setting_overrides")
        conn.rollback()
        conn.execute("set role muniment_keeper")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("update muniment.setting_changes set changed_by = ''")


async def test_a_worker_that_runs_follows(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker cleans the ledger by the days that were set while it ran."""
    monkeypatch.setattr(live_settings, "FOLLOW_SECONDS", 0.05)
    later = FixedClock(NOON + timedelta(days=5))
    async with engine(database_url, clock=later) as worked, engine(database_url, clock=later) as memory:
        await memory.learn(scope(), said("I love sailing", at=NOON))
        async with bootstrap.run_worker(settings(database_url), worked), asyncio.timeout(30):
            await change(memory, session_ledger__cleanup_interval_seconds=0.1)  # jobs are spread over it
            while worked.engine.settings.session_ledger.cleanup_interval_seconds != 0.1:
                await asyncio.sleep(0.05)
            await worked.jobs.enqueue_due()
            while (await memory.read_status(scope()))["tended"] is None:
                await asyncio.sleep(0.05)
            assert (await memory.read_status(scope()))["turns"] == 1
            await change(memory, session_ledger__retention_days=3)
            while worked.engine.settings.session_ledger.retention_days != 3:
                await asyncio.sleep(0.05)
            await worked.jobs.enqueue_due()
            while (await memory.read_status(scope()))["turns"]:
                await asyncio.sleep(0.05)


async def test_profiles_agents_and_tags_are_followed(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another process, with its next query: how many are found, through whom, and what is left out by its tag."""
    monkeypatch.setattr(live_settings, "FOLLOW_SECONDS", 0.05)
    async with engine(database_url) as idle, engine(database_url) as memory:
        await memory.ingest(scope(), [note(f"Tea number {n}", "tasks", tags=("legacy",) * (n > 3)) for n in range(6)])

        async def count(agent: str = "supervisor", **more: Any) -> int:
            asked = parse_agent_query(idle.engine.settings, agent, {"query": "tea", **more}, threshold=0.0)
            return len((await idle.query(scope(), agent, asked)).hits)

        assert (await count(), await count("planner")) == (6, 6)
        profile = {"terse": {"top_k": 1}}
        values = {"recall.profiles": profile, "recall.agents": {"planner": "terse"}}
        await memory.configuration.change_settings(
            values | {"recall.without_tags": {"user:ana": ["legacy"]}}, by="test"
        )
        async with asyncio.timeout(10):
            while await count() != 4:
                await asyncio.sleep(0.02)
        assert await count("planner") == await count(profile="terse") == 1
        with pytest.raises(BadInput, match="unknown profile 'verbose'; allowed: terse"):
            await count(profile="verbose")
        await change(memory, "recall.agents", "recall.without_tags", "recall.profiles")
        async with asyncio.timeout(10):
            while await count("planner") != 6:
                await asyncio.sleep(0.02)
