"""A batch that cannot be handed over, is collected twice, called off, or that nobody can come for: no money and no text
is left."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Event
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from muniment.faces.cli.app import run_command as program
from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.jobs import Job
from muniment.memory.errors import BadInput, Conflict, NotFound, NotReady
from muniment.memory.ports.llm import ChatAnswer, ChatMessage
from muniment.testing.fakes import ScriptedChat
from muniment.testing.openai_server import Fail, structured
from tests.engine import NOON, engine, note
from tests.integration.test_batch import ANA, CONFIG, THINGS, Place, judge, place, place_at, told
from tests.integration.test_batch_kills import HERE, STOP

DAY = 86_400.0


def deaf_to(method: str, path: str) -> Callable[[str, str], None]:
    """What is asked so is done, and the connection is lost before it is told."""

    def hold(asked: str, at: str) -> None:
        if (asked, at) == (method, path):
            raise ConnectionResetError

    return hold


async def spotless(here: Place, over: Run) -> None:
    """The day is charged with what the record says, and nothing of it is at the endpoint."""
    assert await here.spent() == (over.input_tokens + over.output_tokens, over.micros)
    assert here.server.files == {}
    assert over.batch is None
    assert over.ended_at is not None


@pytest.mark.parametrize(
    "fail",
    [["rate_limit"], ["bad_request"], ["drop"], [None, "rate_limit"], [None, "bad_request"], [None, "server_error"]],
    ids=str,
)
async def test_what_could_not_be_handed_over_costs_nothing(
    database_url: str, tmp_path: Path, fail: list[Fail | None]
) -> None:
    """The upload fails, or the endpoint makes no batch of it: the money is back at once, and the file is gone."""
    async with place(database_url, tmp_path, things=2, fail=fail) as here:
        run = await here.night()
        assert run.status == "failed"
        assert run.unanswered == 2
        assert (run.requests, run.micros) == (0, 0)
        await spotless(here, run)
        assert await here.collect(run) == run
        assert (await here.collect(await here.night())).same == 2


async def test_a_file_whose_name_was_never_heard_is_found_by_its_own(database_url: str, tmp_path: Path) -> None:
    """It arrived, and the connection was lost: without a name there is no batch, so the money is back, and it goes."""
    async with place(database_url, tmp_path, things=2, hold=deaf_to("POST", "/v1/files")) as here:
        run = await here.night()
        assert run.status == "failed"
        await spotless(here, run)


@pytest.mark.parametrize("ends", ["expired", "failed"])
async def test_a_batch_that_came_to_nothing_leaves_nothing(database_url: str, tmp_path: Path, ends: Any) -> None:
    """Neither money nor a file."""
    async with place(database_url, tmp_path, things=2, ends=ends, fate=lambda _: "missing") as here:
        await spotless(here, await here.collect(await here.night()))


async def test_a_batch_that_never_ends_leaves_no_file(database_url: str, tmp_path: Path) -> None:
    """What was reserved stays charged, for nobody knows; the texts go."""
    async with place(database_url, tmp_path, things=2) as here:
        run = await here.night()
        here.server.batches["batch_1"].status = "finalizing"
        here.clock.advance(3 * DAY + 3600)
        over = await here.collect(run)
        assert (over.status, over.reason, over.micros) == ("failed", "ModelTimeout", run.micros)
        await spotless(here, over)


async def test_files_that_cannot_be_removed_now_are_removed_later(database_url: str, tmp_path: Path) -> None:
    """The run is over; its job goes on until they are gone."""

    def hold(method: str, _: str) -> None:
        if method == "DELETE" and down:
            raise ConnectionResetError

    down = [True]
    async with place(database_url, tmp_path, things=2, hold=hold) as here:
        run = await here.night()
        with pytest.raises(Exception, match="model"):
            await here.collect(run)
        over = await here.record(run)
        assert (over.status, over.same) == ("done", 2)
        down.clear()
        await spotless(here, await here.collect(run))
        assert (await here.record(run)).same == 2


async def test_half_of_the_answers(database_url: str, tmp_path: Path) -> None:
    """One of two prompts comes back, and of its pairs the first half: that is done and paid for, nothing else is, and
    other nights ask for the rest until nothing is left."""

    def half(body: dict[str, Any]) -> str:
        said = json.loads(judge(body))["pairs"]
        return structured({"pairs": said[: (len(said) + 1) // 2] if scarce else said})

    scarce = [True]
    async with place(
        database_url, tmp_path, reply=half, fate=lambda n: "missing" if n and scarce else "answered"
    ) as here:
        run = await here.night()
        assert (run.requests, len(run.asked)) == (2, 8)
        over = await here.collect(run)
        assert (over.status, over.requests, over.same, over.unanswered) == ("done", 1, 3, 5)
        assert len(await here.active()) == 13
        await spotless(here, over)
        scarce.clear()
        nights = [over]
        while sum(one.same for one in nights) < 8:
            here.clock.advance(DAY)
            nights.append(await here.collect(await here.night()))
            assert len(nights) < 4
        assert len(await here.active()) == 8
        assert await here.spent() == (
            sum(one.input_tokens + one.output_tokens for one in nights),
            sum(one.micros for one in nights),
        )
        assert here.server.files == {}


async def test_two_who_collect_at_once(database_url: str, tmp_path: Path) -> None:
    """Both have the answers in hand: one does what they say and pays for them, and the other sees that it is done."""
    both = Barrier(2)

    def hold(method: str, path: str) -> None:
        if method == "GET" and path.endswith("/content"):
            both.wait(10)

    async with (
        place(database_url, tmp_path, things=3, hold=hold) as here,
        place_at(database_url, tmp_path / "batch.yaml", here.server, here.clock) as other,
    ):
        run = await here.night()
        job = Job(name="collect", scope=ANA, key=str(run.id))
        with psycopg.connect(database_url, autocommit=True) as conn:
            # The first one cannot end the run before the second one has come to the same point.
            ends = "when (old.ended_at is null and new.ended_at is not null)"
            conn.execute(STOP.format(here=HERE, event="update on muniment.consolidation_runs", when=ends))
            conn.execute("select pg_advisory_lock(%s)", (HERE,))
            tasks = [asyncio.create_task(one.jobs.perform_job(job)) for one in (here.memory, other)]
            done, left = await asyncio.wait(tasks, timeout=8, return_when=asyncio.FIRST_COMPLETED)
            assert [type(one.exception()) for one in done] == [Conflict]
            conn.execute("select pg_advisory_unlock(%s)", (HERE,))
            await asyncio.gather(*left)
        over = await here.collect(run)
        assert (over.status, over.same, len(await here.active())) == ("done", 3, 3)
        (line,) = (await here.memory.admin.read_usage(ANA, 9)).lines
        assert (line.requests, line.micros) == (over.requests, over.micros) == (1, over.micros)
        await spotless(here, over)
        with psycopg.connect(database_url) as conn:
            merged = "select count(*), count(distinct memory_id) from muniment.journal where action = 'MERGE'"
            assert conn.execute(merged).fetchone() == (6, 6)


async def test_patience_begins_with_the_handing_over(database_url: str, tmp_path: Path) -> None:
    """A run that had much to do before is not late; the day that pays is the one on which it asked."""
    async with place(database_url, tmp_path, things=2, hold=deaf_to("POST", "/v1/batches")) as here:
        here.clock.advance(11.9 * 3600)
        begun = await here.memory.admin.begin_run(ANA)
        assert begun
        run, portions = await here.memory.admin.survey_run(begun)
        for portion in portions:
            run, found = await here.memory.admin.check_run(run, portion)
            run = await here.memory.admin.apply_run(run, found)
        here.clock.advance(1200)
        run = await here.memory.admin.end_run(run)
        assert (run.status, run.batch) == ("waiting", None)
        asked, here.server.batches = here.server.batches, {}
        with pytest.raises(NotReady):
            await here.collect(run)
        here.server.batches = asked
        assert (await here.collect(run)).same == 2
        ((day, _),) = (await here.memory.admin.read_usage(ANA, 9)).days.items()
        assert day == NOON.date() + timedelta(days=1)


@pytest.mark.parametrize("ahead", [365 * DAY, 3600.0, -3600.0])
async def test_a_clock_that_was_wrong_when_it_was_handed_over(database_url: str, tmp_path: Path, ahead: float) -> None:
    """The job has its time from the queue, and nobody waits for the year to come."""
    async with place(database_url, tmp_path, things=0) as here:
        here.clock.advance(ahead)
        await here.memory.ingest(ANA, [note(text) for thing in THINGS[:2] for text in told(thing)])
        run = await here.night()
        here.clock.advance(60 - ahead)
        with psycopg.connect(database_url) as conn:
            waits = "select scheduled_at < now() + interval '3 minutes' from jobs.queue where name = 'collect'"
            assert conn.execute(waits).fetchone() == (True,)
        over = await here.collect(run)
        assert (over.status, over.same) == ("done", 2)
        await spotless(here, over)


async def test_who_has_no_endpoint_says_so_once_and_gives_up_in_the_end(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker whose model has none waits as long as a batch may take; what was reserved stays charged."""
    model = ScriptedChat(lambda *_: ChatAnswer(message=ChatMessage(role="assistant", content="OK."), model="other"))
    async with place(database_url, tmp_path, things=2) as here:
        run = await here.night()
        job = Job(name="collect", scope=ANA, key=str(run.id))
        async with engine(database_url, clock=here.clock, model=model) as other:
            with caplog.at_level(logging.WARNING):
                for _ in range(3):
                    with pytest.raises(NotReady):
                        await other.jobs.perform_job(job)
                    here.clock.advance(3600)
            assert sum("endpoint" in one.getMessage() for one in caplog.records) == 1
            here.clock.advance(3 * DAY)
            await other.jobs.perform_job(job)
        over = await here.record(run)
        assert (over.status, over.reason, over.micros) == ("failed", "ModelUnavailable", run.micros)
        assert await here.spent() == (run.input_tokens + run.output_tokens, run.micros)


async def test_a_space_whose_answers_nobody_comes_for_is_consolidated_again(database_url: str, tmp_path: Path) -> None:
    """No worker has a model any more: after its days the tending of the space gives the run up and makes another."""
    async with place(database_url, tmp_path, things=2) as here:
        run = await here.night()
        async with engine(database_url, clock=here.clock) as other:
            here.clock.advance(3 * DAY)
            assert (await other.admin.maintain(ANA)).run is None
            here.clock.advance(DAY)
            await other.ingest(ANA, [note("The green door is locked"), note("The green door is locked.")])
            done = await other.admin.maintain(ANA)
        assert done.run
        assert (done.run.status, done.run.same) == ("done", 1)
        over = await here.record(run)
        assert (over.status, over.reason) == ("failed", "ModelUnavailable")
        assert (await here.collect(run)).batch is None
        assert here.server.files == {}


async def test_an_endpoint_that_lets_nobody_in_is_given_up(database_url: str, tmp_path: Path) -> None:
    """A key that is no longer valid, for ever: the run ends when its days are over."""
    async with place(database_url, tmp_path, things=2) as here:
        run = await here.night()
        here.server._share, here.server._kinds = 1.0, ("unauthorized",)
        with pytest.raises(Exception, match="401"):
            await here.collect(run)
        here.clock.advance(3 * DAY + 3600)
        with pytest.raises(Exception, match="401"):
            await here.collect(run)  # its files are still there
        over = await here.record(run)
        assert (over.status, over.reason) == ("failed", "ModelUnavailable")
        here.clock.advance(DAY)
        await here.collect(run)


async def test_a_run_that_waits_is_called_off(database_url: str, tmp_path: Path) -> None:
    """Its money is free, the batch is cancelled, no text stays; twice is once, its job finds nothing to do, and the
    pairs are asked about another night."""
    async with place(database_url, tmp_path, things=2, polls=9) as here:
        run = await here.night()
        over = await here.memory.admin.cancel_consolidation(ANA, run.id)
        assert (over.status, over.unanswered, over.same, over.requests) == ("cancelled", 2, 0, 0)
        assert here.server.batches["batch_1"].status == "cancelled"
        assert await here.spent() == (0, 0)
        await spotless(here, over)
        assert await here.memory.admin.cancel_consolidation(ANA, run.id) == over
        assert await here.collect(run) == over
        here.server.polls = 0
        done = await here.collect(await here.night())
        assert done.same == 2
        for wanted, error in ((done.id, BadInput), (uuid4(), NotFound)):
            with pytest.raises(error, match="consolidation"):
                await here.memory.admin.cancel_consolidation(ANA, wanted)


async def test_what_was_answered_before_it_was_called_off_is_paid_for(database_url: str, tmp_path: Path) -> None:
    """Once, and to the cent; but nothing of it is done."""
    async with place(database_url, tmp_path, things=8) as here:
        run = await here.night()
        assert here.memory.engine.batches
        paid = await here.memory.engine.batches.fetch_results("batch_1")
        assert paid
        over = await here.memory.admin.cancel_consolidation(ANA, run.id)
        assert (over.status, over.requests, over.same) == ("cancelled", 2, 0)
        assert (over.input_tokens, over.output_tokens) == tuple(map(sum, zip(*paid.tokens.values(), strict=True)))
        (line,) = (await here.memory.admin.read_usage(ANA, 9)).lines
        assert (line.requests, line.micros) == (2, over.micros)
        await spotless(here, over)
        assert await here.collect(run) == over
        assert len(await here.active()) == 16


async def test_an_endpoint_that_is_away_holds_up_no_calling_off(database_url: str, tmp_path: Path) -> None:
    """The run is over and its money free at once; the job sees to the rest when it is back."""

    def hold(_: str, path: str) -> None:
        if down and path.startswith("/v1/batches/"):
            raise ConnectionResetError

    down: list[bool] = []
    async with place(database_url, tmp_path, things=2, polls=9, hold=hold) as here:
        run = await here.night()
        down.append(True)
        over = await here.memory.admin.cancel_consolidation(ANA, run.id)
        assert (over.status, over.batch) == ("cancelled", "batch_1")
        assert await here.spent() == (0, 0)
        with pytest.raises(Exception, match="model"):
            await here.collect(run)
        down.clear()
        await spotless(here, await here.collect(run))


async def test_called_off_while_it_is_handed_over(database_url: str, tmp_path: Path) -> None:
    """The batch is made when its run is over already: whoever made it ends it."""
    made, go_on = Event(), Event()

    def hold(method: str, path: str) -> None:
        if (method, path) == ("POST", "/v1/batches"):
            made.set()
            go_on.wait(10)

    async with place(database_url, tmp_path, things=2, polls=9, hold=hold) as here:
        night = asyncio.create_task(here.night())
        assert await asyncio.to_thread(made.wait, 10)
        (run,) = await here.memory.admin.list_runs(ANA)
        hidden, here.server.batches = here.server.batches, {}
        assert (await here.memory.admin.cancel_consolidation(ANA, run.id)).status == "cancelled"
        here.server.batches = hidden
        go_on.set()
        assert (await night).status == "cancelled"
        assert here.server.batches["batch_1"].status.startswith("cancel")
        assert here.server.files == {}
        assert await here.spent() == (0, 0)


async def test_a_space_is_erased_while_it_waits(database_url: str, tmp_path: Path) -> None:
    """Its texts do not stay at the endpoint, and its tenant has the money back."""
    async with place(database_url, tmp_path, things=2, polls=9) as here:
        await here.night()
        await here.memory.admin.erase_space(ANA)
        assert here.server.batches["batch_1"].status == "cancelled"
        assert here.server.files == {}
        assert await here.spent() == (0, 0)


async def test_an_answer_that_was_cut_off_costs_what_it_has_cost(database_url: str, tmp_path: Path) -> None:
    """In the record as in the books, where nobody waits and where somebody does."""
    plain = CONFIG.replace("batch: true, ", "")
    async with place(database_url, tmp_path, config=plain, things=2, fail="too_long") as here:
        run = await here.night()
        assert (run.requests, run.unanswered) == (1, 2)
        assert run.input_tokens > 0
        assert await here.spent() == (run.input_tokens + run.output_tokens, run.micros)


def test_calling_off_on_the_command_line(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the beginning of an id; what cannot be is said, with its own exit code."""

    async def prepare() -> Run:
        async with place(database_url, tmp_path, things=2, polls=9) as here:
            return await here.night()

    run = asyncio.run(prepare())
    for name, value in {"DATABASE_URL": database_url, "EMBEDDER": "hash-256", "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(f"MUNIMENT_{name}", value)
    typed = ["consolidate", "--user", "ana", "--cancel"]
    assert program([*typed, str(run.id)[:8]]) == 0
    assert "called off" in capsys.readouterr().out
    assert program([*typed, str(run.id)[:8], "--json"]) == 0
    assert '"status": "cancelled"' in capsys.readouterr().out
    assert program([*typed, "ffffffff"]) == 4
    assert program([*typed, "nothing"]) == 2
    assert program([*typed, str(run.id)[:8], "--runs"]) == 2
    assert "--cancel" in capsys.readouterr().err
