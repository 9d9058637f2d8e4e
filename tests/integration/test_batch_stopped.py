"""A batch whose run is stopped, called off or erased while it is handed over: nobody has to wait, and nothing of it is
left."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event

import psycopg
import pytest

from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.jobs import Job
from muniment.memory.errors import Conflict
from tests.engine import note
from tests.integration.test_batch import ANA, THINGS, place, told
from tests.integration.test_batch_kills import HERE, STOP, WAITS
from tests.integration.test_batch_trouble import spotless


async def broken_off(night: asyncio.Task[Run | None]) -> None:
    night.cancel()
    with pytest.raises(asyncio.CancelledError):
        await night


async def test_who_is_stopped_before_the_handing_over_gives_the_run_up(database_url: str, tmp_path: Path) -> None:
    """What was to be asked is noted and nothing of it was handed over: the next one need not wait, and nothing was
    reserved."""

    def tell(found: object) -> None:
        if not found:
            night.cancel()

    async with place(database_url, tmp_path, things=2) as here:
        night = asyncio.create_task(here.memory.admin.consolidate(ANA, on_findings=tell))
        with pytest.raises(asyncio.CancelledError):
            await night
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute(STOP.format(here=HERE, event="insert on muniment.spend_days", when=""))
            conn.execute("select pg_advisory_lock(%s)", (HERE,))
            night = asyncio.create_task(here.memory.admin.consolidate(ANA))
            while not conn.execute(WAITS, (HERE,)).fetchall():
                assert not night.done()
                await asyncio.sleep(0.01)
            await broken_off(night)
            conn.execute("select pg_advisory_unlock(%s)", (HERE,))
        stopped = await here.memory.admin.list_runs(ANA)
        assert [(one.status, one.asked) for one in stopped] == [("interrupted", ())] * 2
        assert await here.spent() == (0, 0)
        assert (await here.collect(await here.night())).same == 2


async def test_who_is_stopped_in_the_handing_over_leaves_a_run_that_waits(database_url: str, tmp_path: Path) -> None:
    """It may be there by now: the job looks for it, and does what it says."""
    made, go_on = Event(), Event()

    def hold(method: str, path: str) -> None:
        if (method, path) == ("POST", "/v1/batches"):
            made.set()
            go_on.wait(10)

    async with place(database_url, tmp_path, things=2, hold=hold) as here:
        night = asyncio.create_task(here.memory.admin.consolidate(ANA))
        assert await asyncio.to_thread(made.wait, 10)
        await broken_off(night)
        go_on.set()
        (run,) = await here.memory.admin.list_runs(ANA)
        assert (run.status, len(run.asked)) == ("waiting", 2)
        over = await here.collect(run)
        assert (over.status, over.same) == ("done", 2)
        await spotless(here, over)


@pytest.mark.parametrize("erased", [False, True])
async def test_over_before_it_could_be_handed_over(database_url: str, tmp_path: Path, *, erased: bool) -> None:
    """Called off, or erased with its space, while its file goes up: whether the endpoint makes a batch of it then or
    refuses to, the run is told as called off, or as gone, and nothing of it is there or paid for."""
    up, go_on = Event(), Event()

    def hold(method: str, path: str) -> None:
        if (method, path) == ("POST", "/v1/files") and not up.is_set():
            up.set()
            go_on.wait(10)

    async with place(database_url, tmp_path, things=2, polls=9, hold=hold) as here:
        for refused in (False, True):
            up.clear()
            go_on.clear()
            night = asyncio.create_task(here.night())
            assert await asyncio.to_thread(up.wait, 10)
            (run, *_) = await here.memory.admin.list_runs(ANA)
            if erased:
                await here.memory.admin.erase_space(ANA)
            else:
                await here.memory.admin.cancel_consolidation(ANA, run.id)
            here.server._share, here.server._kinds = float(refused), ("rate_limit",)
            go_on.set()
            if erased:
                with pytest.raises(Conflict):
                    await night
            else:
                assert (await night).status == "cancelled"
            here.server._share = 0.0
            assert {one.status for one in here.server.batches.values()} <= {"cancelling", "cancelled"}
            assert await here.spent() == (0, 0)
            await here.memory.jobs.perform_job(Job(name="collect", scope=ANA, key=str(run.id)))
            assert here.server.files == {}
            await here.memory.ingest(
                ANA, [note(text) for thing in THINGS[:2] for text in told(thing)] if erased else []
            )


@pytest.mark.parametrize("whole", [False, True])
async def test_what_was_called_off_is_erased_before_anybody_came_for_it(
    database_url: str, tmp_path: Path, *, whole: bool
) -> None:
    """The endpoint was away when the run was called off: the files, which may show what is erased, go with it or its
    space."""
    down: list[bool] = [True]

    def hold(_: str, path: str) -> None:
        if down and path.startswith("/v1/batches/"):
            raise ConnectionResetError

    async with place(database_url, tmp_path, things=2, polls=9, hold=hold) as here:
        run = await here.night()
        assert (await here.memory.admin.cancel_consolidation(ANA, run.id)).batch == "batch_1"
        down.clear()
        assert here.server.files != {}
        await (here.memory.admin.erase_space(ANA) if whole else here.memory.admin.erase(ANA, run.asked[0].newer))
        assert here.server.files == {}
        assert here.server.batches["batch_1"].status in {"cancelling", "cancelled"}


@pytest.mark.parametrize("away", [False, True])
async def test_a_memory_is_erased_while_a_batch_shows_it(database_url: str, tmp_path: Path, *, away: bool) -> None:
    """Its text leaves the endpoint, at the latest when that is back, and the batch's other pairs are asked about again.
    A batch that shows others goes on."""
    down: list[bool] = []

    def hold(_: str, path: str) -> None:
        if down and path.startswith("/v1/batches/"):
            raise ConnectionResetError

    async with place(database_url, tmp_path, things=2, polls=9, hold=hold) as here:
        run = await here.night()
        await here.memory.ingest(ANA, [note("Nora sings in the choir")])
        shown = run.asked[0].newer
        (other,) = [one.id for one in await here.active() if "choir" in one.text]
        await here.memory.admin.erase(ANA, other)
        assert (await here.record(run)).status == "waiting"
        down += [away] * away
        await here.memory.admin.erase(ANA, shown)
        over = await here.record(run)
        assert (over.status, over.unanswered) == ("cancelled", 2)
        assert await here.spent() == (0, 0)
        down.clear()
        if away:
            over = await here.collect(run)
        await spotless(here, over)
        assert here.server.batches["batch_1"].status == "cancelled"
        here.server.polls = 0
        again = await here.night()
        assert [(one.older, one.newer) for one in again.asked] == [(one.older, one.newer) for one in run.asked[1:]]
        assert (await here.collect(again)).same == 1
