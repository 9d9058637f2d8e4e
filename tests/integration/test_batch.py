"""Questions about pairs that a batch endpoint answers hours later: nothing is lost, asked twice or paid for twice."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.errors import ModelRateLimited, NotReady
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.clock import Clock
from muniment.testing.batch_server import ScriptedBatches
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import structured
from tests.engine import NOON, note, scope, settings
from tests.faces.conftest import PROGRAM

ANA = scope(thread="")
WHERE = {
    "lamp": "attic Rosa", "boiler": "basement Theo", "shelf": "library Mira", "piano": "parlour Otto",
    "ladder": "orchard Ines",
    "mirror": "hallway Bram", "freezer": "garage Yara", "heater": "greenhouse Wim",
}  # fmt: skip
THINGS = tuple(WHERE)
CONFIG = """
consolidation: {batch: true, per_prompt: 5, per_day: 1000}
spend: {prices: {tiny-1: {input: 2.0, output: 4.0}}}
"""


def told(thing: str) -> tuple[str, str]:
    """Two ways to say one thing; the rules are not sure of them."""
    room, who = WHERE[thing].split()
    return f"{who} mended {thing} {room} yesterday", f"{thing} {room} mended again thanks {who}"


def judge(body: dict[str, Any]) -> str:
    """A model that knows its things."""
    asked = json.loads(body["messages"][-1]["content"])["pairs"]
    found = [
        {
            "pair": one["pair"],
            "verdict": "same" if _thing(one["earlier"]["text"]) == _thing(one["later"]["text"]) else "different",
        }
        for one in asked
    ]
    return structured({"pairs": found})


def _thing(text: str) -> str:
    return next(one for one in THINGS if one in text)


class Place:
    """An engine beside a batch endpoint, and its clock."""

    def __init__(self, memory: Memory, server: ScriptedBatches, clock: FixedClock) -> None:
        self.memory, self.server, self.clock = memory, server, clock

    async def active(self) -> list[StoredMemory]:
        return list(await self.memory.list(ANA))

    async def night(self) -> Run:
        run = await self.memory.admin.consolidate(ANA)
        assert run is not None
        return run

    async def collect(self, run: Run) -> Run:
        """The job, once."""
        await self.memory.jobs.perform_job(Job(name="collect", scope=ANA, key=str(run.id)))
        return await self.record(run)

    async def record(self, run: Run) -> Run:
        return next(one for one in await self.memory.admin.list_runs(ANA) if one.id == run.id)

    async def spent(self) -> tuple[int, int]:
        """Tokens and money charged to the day."""
        days = (await self.memory.admin.read_usage(ANA, 9)).days
        return sum(one[0] for one in days.values()), sum(one[1] for one in days.values())


@asynccontextmanager
async def place_at(url: str, config: Path, server: ScriptedBatches, clock: Clock) -> AsyncIterator[Memory]:
    """An engine whose model is at the server."""
    model = OpenAIChat("tiny-1", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=2, max_retries=0)
    tuned = settings(url, MUNIMENT_CONFIG=str(config))
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=clock, model=model) as memory:
        yield memory


@asynccontextmanager
async def place(
    url: str, folder: Path, *, config: str = CONFIG, things: int = 8, reply: Any = judge, **script: Any
) -> AsyncIterator[Place]:
    file = folder / "batch.yaml"
    file.write_text(config)
    clock = FixedClock(NOON)
    with ScriptedBatches(reply, **script) as server:
        async with place_at(url, file, server, clock) as memory:
            if things:
                await memory.ingest(ANA, [note(text) for thing in THINGS[:things] for text in told(thing)])
            yield Place(memory, server, clock)


async def test_the_run_waits_and_the_answers_are_applied_when_they_come(database_url: str, tmp_path: Path) -> None:
    """Twice it is too early; then of each two that say the same one is left, at the price of a batch, and no file
    stays."""
    async with place(database_url, tmp_path, polls=2) as here:
        run = await here.night()
        assert (run.status, run.batch, run.requests) == ("waiting", "batch_1", 2)
        assert [one.place for one in run.asked] == [1, 2, 3, 4, 5, 1, 2, 3]
        assert await here.record(run) == run
        reserved = await here.spent()
        assert reserved == (run.input_tokens + run.output_tokens, run.micros)
        for _ in range(2):
            with pytest.raises(NotReady):
                await here.collect(run)
        over = await here.collect(run)
        assert (over.status, over.asked, over.batch, over.unanswered, over.outdated) == ("done", (), None, 0, 0)
        assert over.same == 8
        assert over.checked == run.checked + 8
        assert len(await here.active()) == 8
        assert await here.spent() == (over.input_tokens + over.output_tokens, over.micros)
        assert over.micros < reserved[1]
        (line,) = (await here.memory.admin.read_usage(ANA, 9)).lines
        assert (line.purpose, line.requests, line.micros) == ("consolidate", over.requests, over.micros)
        full = over.input_tokens * 2.0 + over.output_tokens * 4.0
        assert full / 2 <= over.micros < full / 2 + over.requests
        assert here.server.files == {}
        await here.collect(run)
        assert await here.record(run) == over


async def test_while_it_waits_the_space_has_no_other_run(database_url: str, tmp_path: Path) -> None:
    """Not the next night either, and not when the usual lease is over."""
    async with place(database_url, tmp_path, polls=1) as here:
        run = await here.night()
        with psycopg.connect(database_url) as conn:
            conn.execute(
                "update muniment.consolidation_runs set leased_until = leased_until - interval '3 days 23 hours'"
            )
        assert await here.memory.admin.consolidate(ANA) is None
        assert (await here.record(run)).status == "waiting"


async def test_what_changed_meanwhile_is_left_alone(database_url: str, tmp_path: Path) -> None:
    """A pair of which one memory is not what the model was shown is outdated; another night asks again."""
    async with place(database_url, tmp_path) as here:
        run = await here.night()
        lamp, boiler = [[one for one in await here.active() if thing in one.text] for thing in ("lamp", "boiler")]
        await here.memory.pin(ANA, lamp[0].id)
        await here.memory.forget(ANA, boiler[0].id)
        over = await here.collect(run)
        touched = {lamp[0].id, boiler[0].id}
        assert over.outdated == sum(bool({one.older, one.newer} & touched) for one in run.asked)
        assert over.same == 6
        left = [one.text for one in await here.active()]
        assert sum("lamp" in text for text in left) == 2
        again = await here.collect(await here.night())
        assert (again.same, again.outdated) == (1, 0)


@pytest.mark.parametrize(("fate", "paid"), [("missing", 0), ("error", 0), ("cut_off", 1)])
async def test_what_got_no_answer_is_asked_another_night(
    database_url: str, tmp_path: Path, fate: Any, paid: int
) -> None:
    """A prompt without an answer leaves no mark but the number of its pairs; what was cut off is paid for."""
    async with place(database_url, tmp_path, fate=lambda n: "answered" if n else fate) as here:
        run = await here.night()
        over = await here.collect(run)
        assert (over.unanswered, over.same, over.requests) == (5, 3, 1 + paid)
        here.server.fate = lambda _: "answered"
        again = await here.collect(await here.night())
        assert (again.unanswered, again.same, len(await here.active())) == (0, 5, 8)


@pytest.mark.parametrize("ends", ["expired", "failed"])
async def test_a_batch_that_comes_to_nothing_ends_its_run(database_url: str, tmp_path: Path, ends: Any) -> None:
    """Nothing is merged, nothing is paid for, and the next night may ask again."""
    async with place(database_url, tmp_path, ends=ends, fate=lambda _: "missing") as here:
        run = await here.night()
        over = await here.collect(run)
        assert (over.status, over.reason) == (("failed", "BatchFailed") if ends == "failed" else ("done", None))
        assert (over.unanswered, over.micros, over.requests) == (len(run.asked), 0, 0)
        assert await here.spent() == (0, 0)
        assert (await here.night()).status == "waiting"


async def test_nobody_waits_for_ever(database_url: str, tmp_path: Path) -> None:
    """After `batch_days` the batch is cancelled; what was answered before that is taken, and of one that never comes to
    an end what was reserved stays charged."""
    async with place(database_url, tmp_path, polls=10**6) as here:
        run = await here.night()
        here.clock.advance(timedelta(days=3).total_seconds() - 1)
        with pytest.raises(NotReady):
            await here.collect(run)
        assert here.server.batches["batch_1"].status == "in_progress"
        here.clock.advance(2)
        with pytest.raises(NotReady):
            await here.collect(run)
        assert here.server.batches["batch_1"].status == "cancelling"
        assert (await here.collect(run)).status == "done"
        second = await here.night()
        here.server.batches["batch_2"].status = "finalizing"
        here.clock.advance(timedelta(days=3, hours=2).total_seconds())
        before = await here.spent()
        over = await here.collect(second)
        assert (over.status, over.reason, over.micros) == ("failed", "ModelTimeout", second.micros)
        assert await here.spent() == before


async def test_a_budget_holds_for_a_batch(database_url: str, tmp_path: Path) -> None:
    """What the day can pay for is asked; the run says that there was more. A day that has nothing left asks nothing."""
    tight = CONFIG.replace("spend: {", "spend: {daily_tokens: 1000, ")
    async with place(database_url, tmp_path, config=tight) as here:
        run = await here.night()
        assert (run.requests, len(run.asked)) == (1, 5)
        over = await here.collect(run)
        assert (over.status, over.reason) == ("over_budget", "OverBudget")
        assert over.same == 5
    broke = CONFIG.replace("spend: {", "spend: {daily_tokens: 1, ")
    async with place(database_url, tmp_path, config=broke, things=0) as here:
        rest = await here.night()
        assert (rest.status, rest.requests, here.server.batches) == ("over_budget", 0, {})


async def test_an_endpoint_that_refuses_ends_the_run_and_gives_the_money_back(
    database_url: str, tmp_path: Path
) -> None:
    """429 has cost nothing: the run has failed by name, and its job finds nothing to wait for."""
    async with place(database_url, tmp_path, fail=["rate_limit"]) as here:
        run = await here.night()
        assert (run.status, run.reason) == ("failed", ModelRateLimited.__name__)
        assert await here.spent() == (0, 0)
        assert await here.collect(run) == run
        assert (await here.night()).status == "waiting"


async def test_an_answer_that_was_lost_on_the_way_is_found_again(database_url: str, tmp_path: Path) -> None:
    """The batch was made, but nobody heard its name: it is known by the run's id, and asked for once."""
    async with place(database_url, tmp_path, hold=_deaf) as here:
        run = await here.night()
        assert (run.status, run.batch) == ("waiting", None)
        assert len(here.server.batches) == 1
        over = await here.collect(run)
        assert (over.status, over.same, len(here.server.batches)) == ("done", 8, 1)


async def test_what_was_never_handed_over_is_given_up(database_url: str, tmp_path: Path) -> None:
    """When the lease is over and the endpoint knows of nothing: what was reserved is free again."""
    async with place(database_url, tmp_path, hold=_deaf) as here:
        run = await here.night()
        here.server.batches.clear()
        with pytest.raises(NotReady):
            await here.collect(run)
        here.clock.advance(15 * 60)
        over = await here.collect(run)
        assert (over.status, over.unanswered) == ("interrupted", len(run.asked))
        assert await here.spent() == (0, 0)


async def test_a_batch_of_a_space_that_was_erased_is_cancelled(database_url: str, tmp_path: Path) -> None:
    """Nobody waits for it, and its texts do not stay at the endpoint."""
    async with place(database_url, tmp_path, polls=9) as here:
        run = await here.night()
        with psycopg.connect(database_url) as conn:
            conn.execute("delete from muniment.consolidation_runs where run_id = %s", (UUID(str(run.id)),))
        await here.memory.jobs.perform_job(Job(name="collect", scope=ANA, key=str(run.id)))
        assert here.server.batches["batch_1"].status != "in_progress"
        assert here.server.files == {}


def _deaf(method: str, path: str) -> None:
    """The batch is made, and the connection is lost before it is told."""
    if (method, path) == ("POST", "/v1/batches"):
        raise ConnectionResetError


def test_a_process_that_is_killed_between_asking_and_noting_the_name_asks_once(
    database_url: str, tmp_path: Path
) -> None:
    """Kill -9 when the batch is made and nobody knows its name: another process finds it, and does what it says."""
    made, go_on = Event(), Event()

    def hold(method: str, path: str) -> None:
        if (method, path) == ("POST", "/v1/batches") and not made.is_set():
            made.set()
            go_on.wait(30)

    async def prepare() -> None:
        async with place_at(database_url, file, server, SystemClock()) as memory:
            await memory.ingest(ANA, [note(text) for thing in THINGS[:3] for text in told(thing)])

    async def finish() -> tuple[Run, int]:
        async with place_at(database_url, file, server, SystemClock()) as memory:
            (run,) = await memory.admin.list_runs(ANA)
            assert (run.status, run.batch, len(run.asked)) == ("waiting", None, 3)
            await memory.jobs.perform_job(Job(name="collect", scope=ANA, key=str(run.id)))
            return (await memory.admin.list_runs(ANA))[0], len(await memory.list(ANA))

    file = tmp_path / "batch.yaml"
    file.write_text(CONFIG)
    with ScriptedBatches(judge, hold=hold) as server:
        asyncio.run(prepare())
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")} | {
            "MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_CONFIG": str(file),
            "MUNIMENT_MODEL": "tiny-1", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base_url,
        }  # fmt: skip
        night = subprocess.Popen([PROGRAM, "consolidate", "--user", "ana", "--json"], env=environment)
        assert made.wait(30)
        night.kill()
        night.wait()
        go_on.set()
        over, left = asyncio.run(finish())
        assert len(server.batches) == 1
    assert (over.status, over.same, left) == ("done", 3, 3)


async def test_a_pair_that_no_batch_answers_is_shelved_after_some(database_url: str, tmp_path: Path) -> None:
    """From the second batch on it has a prompt of its own; a batch that was never made is no try."""
    async with place(database_url, tmp_path, things=2, fate=lambda _: "missing", hold=_deaf) as here:
        lost = await here.night()
        here.server.batches.clear()
        here.clock.advance(15 * 60)
        assert (await here.collect(lost)).unanswered == 2
        here.server.hold = lambda _method, _path: None
        over = []
        for _ in range(3):
            here.clock.advance(86_400)
            run = await here.night()
            over.append((run.requests, (await here.collect(run)).shelved))
        assert over == [(1, 0), (2, 0), (2, 2)]
        here.clock.advance(86_400)
        assert (await here.night()).seen == 0


async def test_batches_of_one_day_are_one_try(database_url: str, tmp_path: Path) -> None:
    """The day on which no answer was there counts, whenever it was asked for."""
    async with place(database_url, tmp_path, things=2, fate=lambda _: "missing") as here:
        over = []
        for hours in (6, 1, 6, 24, 6, 12):
            run = await here.night()
            here.clock.advance(3_600)
            over.append((run.requests, (await here.collect(run)).shelved))
            here.clock.advance((hours - 1) * 3_600)
        assert over == [(1, 0), (2, 0), (2, 0), (2, 0), (2, 2), (0, 0)]
