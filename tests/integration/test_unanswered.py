"""Pairs that a model gives no answer for: they hold up no other pair, and not for ever the space."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from muniment.memory.client import Memory
from muniment.memory.domain.consolidation import Run
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_answers import build_error
from muniment.testing.openai_server import Fail, Fails, Request, ScriptedOpenAI, structured
from tests.engine import NOON, engine, note, settings
from tests.twins import ANA, active, texts

DAY = 86_400
NONE = "no such word"
ROOMS = {
    "lamp": "attic Rosa", "boiler": "basement Theo", "shelf": "library Mira", "piano": "parlour Otto",
    "ladder": "orchard Ines",
    "mirror": "hallway Bram", "freezer": "garage Yara", "heater": "greenhouse Wim", "kettle": "kitchen Nils",
    "clock": "tower Olga", "fence": "meadow Piet", "anchor": "harbour Runa",
}  # fmt: skip


class Picky(ScriptedOpenAI):
    """A model for which all is the same, behind an endpoint that accepts no request with a certain word."""

    def __init__(self, word: str = NONE, *, fail: Fails = None) -> None:
        super().__init__(_same, fail=fail)
        self.word = word
        self.asked: list[int] = []  # pairs in each prompt

    def begin_request(self, request: Request) -> tuple[Fail | None, tuple[int, dict[str, Any]] | None]:
        """As every scripted server; a request with the word has the status 400."""
        self.asked.append(len(json.loads(request.body["messages"][-1]["content"])["pairs"]))
        fail, refusal = super().begin_request(request)
        refused = self.word in json.dumps(request.body["messages"][1:])
        return fail, (400, build_error("Invalid request", "invalid_request_error")) if refused else refusal


def _same(body: dict[str, Any]) -> str:
    pairs = json.loads(body["messages"][-1]["content"])["pairs"]
    return structured({"pairs": [{"pair": n, "verdict": "same"} for n, _ in enumerate(pairs, 1)]})


@asynccontextmanager
async def house(
    url: str, server: ScriptedOpenAI, things: int, clock: FixedClock, **changed: Any
) -> AsyncIterator[Memory]:
    """An engine that knows so many things in two ways each, of which the rules are not sure."""
    tuned = settings(url, MUNIMENT_MODEL="m", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="k")
    night = tuned.consolidation.model_copy(update={"per_prompt": 5, "per_day": 1_000} | changed)
    async with engine(url, clock=clock, tuned=tuned.model_copy(update={"consolidation": night})) as memory:
        told = [(thing, *where.split()) for thing, where in list(ROOMS.items())[:things]]
        await memory.ingest(ANA, [note(f"{who} mended {thing} {room} yesterday") for thing, room, who in told])
        await memory.ingest(ANA, [note(f"{thing} {room} mended again thanks {who}") for thing, room, who in told])
        yield memory


async def night(memory: Memory) -> Run:
    run = await memory.admin.consolidate(ANA)
    assert run is not None
    assert run in await memory.admin.list_runs(ANA)
    return run


def of(*words: str) -> Callable[[str], bool]:
    return lambda text: any(word in text for word in words)


async def test_a_page_that_is_refused_holds_up_no_other(database_url: str) -> None:
    """Of three prompts the endpoint refuses one: the pairs of the others are decided, and the run says how many were
    not."""
    with Picky(fail=[None, "bad_request", "bad_request"]) as server:
        async with house(database_url, server, 12, FixedClock(NOON)) as memory:
            run = await night(memory)
            assert (run.status, run.same, run.unanswered, run.requests) == ("done", 7, 5, 3)
            assert len(await active(memory)) == 12 + 5


async def test_an_endpoint_that_is_away_still_ends_the_run(database_url: str) -> None:
    """What is no matter of one prompt is not tried with every other one."""
    with Picky(fail=[None, "server_error"]) as server:
        async with house(database_url, server, 12, FixedClock(NOON)) as memory:
            run = await night(memory)
            assert (run.status, run.reason, run.same, run.unanswered) == ("failed", "ModelUnavailable", 5, 0)
            assert len(server.requests) == 2


async def test_a_pair_without_an_answer_is_asked_by_itself_and_shelved_after_some_nights(database_url: str) -> None:
    """What shared a prompt with it is answered the next night; it is asked three times, then the space counts as
    compared, and the pair is left alone as long as one that was answered."""
    clock = FixedClock(NOON)
    with Picky("piano") as server:
        async with house(database_url, server, 6, clock) as memory:
            first = await night(memory)
            assert (first.unanswered, first.same, first.shelved, first.surveyed) == (5, 1, 0, 0)
            clock.advance(DAY)
            server.asked.clear()
            second = await night(memory)
            assert (second.unanswered, second.same, second.shelved, second.surveyed) == (1, 4, 0, 0)
            assert set(server.asked) == {1}
            clock.advance(DAY)
            third = await night(memory)
            assert (third.status, third.unanswered, third.shelved) == ("done", 1, 1)
            assert third.surveyed > 0
            clock.advance(DAY)
            fourth = await night(memory)
            assert (fourth.seen, fourth.requests, fourth.unanswered) == (0, 0, 0)
            assert sum(map(of("piano"), await texts(memory))) == 2
            clock.advance(14 * DAY)
            server.word = NONE
            await memory.pin(ANA, next(one.id for one in await active(memory) if "piano" in one.text))
            fifth = await night(memory)
            assert (fifth.unanswered, fifth.same, fifth.shelved) == (0, 1, 0)


async def test_all_that_a_day_asks_in_vain_is_one_try(database_url: str) -> None:
    """However often one evening asks, the pair has its three days; from the second time on it is asked by itself."""
    clock = FixedClock(NOON)
    with Picky("piano") as server:
        async with house(database_url, server, 6, clock) as memory:
            assert (await night(memory)).unanswered == 5
            for times in (3, 2):
                for _ in range(times):
                    server.asked.clear()
                    run = await night(memory)
                    assert (run.status, run.unanswered, run.shelved) == ("done", 1, 0)
                    assert set(server.asked) == {1}
                clock.advance(DAY)
            assert (await night(memory)).shelved == 1
            assert (await night(memory)).seen == 0


async def test_a_pair_that_changes_is_another_question(database_url: str) -> None:
    """What was asked in vain about other words does not count against the new ones."""
    clock = FixedClock(NOON)
    with Picky("piano") as server:
        async with house(database_url, server, 4, clock) as memory:
            for _ in range(3):
                run = await night(memory)
                clock.advance(DAY)
            assert run.shelved == 1
            server.word = NONE
            with psycopg.connect(database_url) as admin:
                admin.execute("update muniment.pair_fingerprints set score = score - 1 where tries = 3")
            again = await night(memory)
            assert (again.same, again.unanswered) == (1, 0)


async def test_pairs_that_were_asked_in_vain_count_for_the_day(database_url: str) -> None:
    """A request that was refused has cost a place among the day's pairs."""
    with Picky("mended") as server:
        async with house(database_url, server, 2, FixedClock(NOON), per_day=2) as memory:
            assert [(await night(memory)).unanswered for _ in range(2)] == [2, 0]


async def test_what_the_rules_doubted_is_asked_when_there_is_a_model(database_url: str) -> None:
    """Without one the space counts as compared, every night; a model that is configured later is asked about what they
    doubted, not about what they are sure of, and what it said holds when it is gone again."""
    clock = FixedClock(NOON)

    async def alone() -> Run:
        async with engine(database_url, clock=clock) as memory:
            clock.advance(DAY)
            return await night(memory)

    with Picky() as server:
        async with house(database_url, server, 6, clock):
            first = await alone()
            assert (first.same, first.distinct, first.surveyed) == (0, first.seen, first.to_rev)
            assert first.seen > 20
            assert (await alone()).seen == 0
        async with house(database_url, server, 0, clock) as memory:
            assert not (await memory.engine.store.runs.read_compared_revision(ANA))[1]
            run = await night(memory)
            assert (run.seen, run.same, run.distinct, sum(server.asked)) == (6, 6, 0, 6)
        assert (await alone()).seen == 0


async def test_a_day_is_not_used_up_by_what_can_come_to_nothing(database_url: str) -> None:
    """What only a model can tell comes before the many pairs that the rules hold apart; these have their turn after
    it."""
    with Picky() as server:
        async with house(database_url, server, 6, FixedClock(NOON), per_day=6) as memory:
            run = await night(memory)
            assert run.seen > 20
            assert (run.checked, run.same, run.distinct) == (6, 6, 0)
