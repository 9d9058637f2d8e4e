"""Consolidation over a real database: what is found, what becomes of it, and what is left alone."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from time import perf_counter
from typing import Any

import psycopg
import pytest

from muniment.memory.domain.consolidation import Finding
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput, Conflict
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI, structured
from tests.engine import NOON, engine, note, said, scope, settings
from tests.integration.test_unanswered import Picky, house
from tests.twins import ANA, TWINS, active, texts


async def test_of_two_that_say_the_same_one_stays_with_what_supports_both(database_url: str) -> None:
    """The survivor has the turns, tags, importance and pin of both; the other is superseded by it and in no answer."""
    async with engine(database_url) as memory:
        first, second = note(TWINS[0], importance=4, tags=("garden",)), note(TWINS[1], pinned=True, tags=("home",))
        await memory.ingest(ANA, [first, second, note("The user reads a book about bees")])
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert (run.status, run.seen, run.checked, run.same, run.duplicates_before, run.duplicates_after) == (
            "done", 1, 1, 1, 1, 0,
        )  # fmt: skip
        heir = next(one for one in await active(memory) if "tomatoes" in one.text)
        assert (heir.importance, heir.pinned, set(heir.tags)) == (4, True, {"garden", "home"})
        assert set(heir.turns) == {*first.turns, *second.turns}
        (gone,) = await memory.list(ANA, states=("superseded",))
        assert gone.superseded_by == heir.id
        assert (await memory.admin.list_runs(ANA))[0] == run


async def test_nothing_is_merged_across_persons(database_url: str) -> None:
    """The same words of two people stay two memories, and so do two people's dogs."""
    async with engine(database_url) as memory:
        await memory.ingest(
            ANA,
            [note(TWINS[0], actor="ana"), note(TWINS[1], actor="ben"), note("The user's sister has a dog called Rex"),
             note("The user's brother has a dog called Rex")],
        )  # fmt: skip
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert (run.same, run.superseded, run.distinct) == (0, 0, 2)
        assert len(await texts(memory)) == 4


async def test_a_pair_is_not_looked_at_twice(database_url: str) -> None:
    """What was checked is checked again only after `fingerprint_days`."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(ANA, [note("The user went running on 3 May"), note("The user went running on 4 May")])
        runs = [await memory.admin.consolidate(ANA) for _ in range(2)]
        assert [one.checked for one in runs if one] == [1, 0]
        clock.advance(15 * 86_400)
        await memory.pin(ANA, (await active(memory))[0].id)
        again = await memory.admin.consolidate(ANA)
        assert again is not None
        assert again.checked == 1


async def test_every_script_is_compared_in_its_own_way(database_url: str) -> None:
    """An embedder that knows no Chinese has Chinese compared by its words, and what a cosine says does not count."""
    tuned = settings(database_url)
    foreign = tuned.embedders["default"].model_copy(update={"scripts": ("latin",)})
    tuned = tuned.model_copy(update={"embedders": tuned.embedders | {"default": foreign}})
    async with engine(database_url, tuned=tuned) as memory:
        await memory.ingest(
            ANA, [note("用户每天早上在阳台给番茄浇水"), note("用户每天早上在阳台给番茄浇水。"), note("用户喜欢弹钢琴")]
        )
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert (run.seen, run.same) == (1, 1)
        assert len(await texts(memory)) == 2


async def test_a_model_is_asked_by_the_page_and_held_to_the_guards(database_url: str) -> None:
    """Pairs that the rules doubt go to the model, several in a prompt; what it calls the same stays two where numbers,
    persons or a denial stand between; a pair without an answer is asked again."""
    asked: list[list[dict[str, Any]]] = []

    def reply(body: dict[str, Any]) -> str:
        pairs = json.loads(body["messages"][-1]["content"])["pairs"]
        asked.append(pairs)
        return structured(
            {"pairs": [{"pair": one["pair"], "verdict": "same"} for one in pairs if "figs" not in str(one)]}
        )

    told = [
        "The user goes to the harbour for a swim every morning", "Every morning the user takes a swim at the harbour",
        "The user paid 40 euros for the old bicycle", "The user paid 60 euros for the old bicycle",
        "The user grows figs in a big pot", "In a pot the user has lots of figs, a big one",
    ]  # fmt: skip
    with ScriptedOpenAI(reply) as server:
        tuned = settings(database_url, MUNIMENT_MODEL="m", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="k")
        async with engine(database_url, tuned=tuned) as memory:
            await memory.ingest(ANA, [note(one) for one in told])
            found: list[Finding] = []
            run = await memory.admin.consolidate(ANA, on_findings=found.extend)
            assert run is not None
            assert (run.status, run.requests, run.same, run.unanswered) == ("done", 1, 1, 1)
            assert run.input_tokens > 0
            assert run.prompt == "consolidate-1"
            assert {one.judgement for one in found if "euros" in one.pair.newer.text} == {"different"}
            left = await texts(memory)
            assert len(left) == 5
            assert sum("euros" in one for one in left) == 2
            again = await memory.admin.consolidate(ANA)
            assert again is not None
            assert [[one["earlier"]["text"] for one in page] for page in asked[1:]] == [[told[4]]]


@pytest.mark.parametrize(
    ("fail", "status", "reason", "unanswered"),
    [
        ("server_error", "failed", "ModelUnavailable", 0),
        ("cut_off", "done", None, 1),
        ("wrong_schema", "done", None, 1),
    ],
)
async def test_a_model_that_fails_or_talks_nonsense(
    database_url: str, fail: Any, status: str, reason: str | None, unanswered: int
) -> None:
    """What the rules were sure of stays; one that fails ends the run, which says how, and another run can begin; an
    answer that cannot be used leaves its pairs without one."""
    with ScriptedOpenAI("?", fail=[fail] * 9) as server:
        tuned = settings(database_url, MUNIMENT_MODEL="m", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="k")
        async with engine(database_url, tuned=tuned) as memory:
            await memory.ingest(
                ANA,
                [
                    note(one)
                    for one in (
                        *TWINS,
                        "The user grows figs in a big pot",
                        "In a pot the user has lots of figs, a big one",
                    )
                ],
            )
            run = await memory.admin.consolidate(ANA)
            assert run is not None
            assert (run.status, run.reason, run.same, run.unanswered) == (status, reason, 1, unanswered)
            assert run.requests == unanswered
            assert await memory.admin.consolidate(ANA) is not None


async def test_the_budget_of_the_day_is_a_hard_stop(database_url: str) -> None:
    """A tenant without budget is not asked for, and the run says why it ended."""
    with ScriptedOpenAI("{}") as server:
        tuned = settings(database_url, MUNIMENT_MODEL="m", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="k")
        tuned = tuned.model_copy(update={"spend": tuned.spend.model_copy(update={"daily_tokens": 1})})
        async with engine(database_url, tuned=tuned) as memory:
            await memory.ingest(
                ANA, [note("The user grows figs in a big pot"), note("In a pot the user has lots of figs, a big one")]
            )
            first = await memory.admin.consolidate(ANA)
            assert first is not None
            assert (first.status, first.requests, first.unanswered) == ("done", 1, 1)  # the day was not used up before
            run = await memory.admin.consolidate(ANA)
            assert run is not None
            assert (run.status, run.reason, run.requests) == ("over_budget", "OverBudget", 0)
            assert len(server.requests) == 1


async def test_what_changes_meanwhile_is_left_alone(database_url: str) -> None:
    """A memory that says something else by the time of the answer is not touched, and the pair counts as outdated; one
    that was only pinned keeps its pin."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(one) for one in (*TWINS, "The user plants beans", "The user plants beans.")])
        run = await memory.admin.begin_run(ANA)
        assert run is not None
        run, portions = await memory.admin.survey_run(run)
        run, findings = await memory.admin.check_run(run, portions[0])
        assert len(findings) == 2
        beans = [one for one in await active(memory) if "beans" in one.text]
        await memory.forget(ANA, next(one.id for one in await active(memory) if "tomatoes" in one.text))
        await memory.pin(ANA, beans[0].id)
        run = await memory.admin.end_run(await memory.admin.apply_run(run, findings))
        assert (run.same, run.outdated, run.checked) == (1, 1, 1)
        assert [one.pinned for one in await active(memory) if "beans" in one.text] == [True]
        assert len(await texts(memory)) == 2


@pytest.mark.parametrize("how", ["forget", "erase"])
async def test_a_model_is_not_asked_about_what_is_gone(database_url: str, how: str) -> None:
    """What was forgotten or erased after the survey is in no prompt any more; the other pairs of its prompt are."""
    with Picky() as server:
        async with house(database_url, server, 12, FixedClock(NOON)) as memory:
            run = await memory.admin.begin_run(ANA)
            assert run is not None
            run, portions = await memory.admin.survey_run(run)
            first, *others = portions[-3:]  # before them come the pairs that the rules are sure of
            run = await memory.admin.apply_run(*await memory.admin.check_run(run, first))
            pair = others[0][0]
            await getattr(memory.admin if how == "erase" else memory, how)(ANA, pair.older.id)
            for some in others:
                run = await memory.admin.apply_run(*await memory.admin.check_run(run, some))
            run = await memory.admin.end_run(run)
            assert (run.status, run.same, run.outdated, run.requests) == ("done", 11, 1, 3)
            assert server.asked == [5, 4, 2]
            assert pair.older.text not in str([one.body for one in server.requests])


async def test_one_run_of_a_space_at_a_time(database_url: str) -> None:
    """A second run waits for nothing and does nothing; one whose lease is over is given up, and cannot write any
    more."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(one) for one in TWINS])
        run = await memory.admin.begin_run(ANA)
        assert run is not None
        assert await memory.admin.consolidate(ANA) is None
        run, portions = await memory.admin.survey_run(run)
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.consolidation_runs set leased_until = now() - interval '1 second'")
        second = await memory.admin.consolidate(ANA)
        assert second is not None
        assert second.same == 1
        _, findings = await memory.admin.check_run(run, portions[0])
        with pytest.raises(Conflict):
            await memory.admin.apply_run(run, findings)
        assert {one.status for one in await memory.admin.list_runs(ANA)} == {"done", "interrupted"}


async def test_a_run_that_is_cancelled_while_it_begins_is_not_left_open(database_url: str) -> None:
    """Wherever a cancellation falls, also upon the commit of the record, the next run need not wait for a lease."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(one) for one in TWINS])
        started = perf_counter()
        await memory.admin.consolidate(ANA, limit=5)
        took = perf_counter() - started
        for n in range(60):
            run = asyncio.create_task(memory.admin.consolidate(ANA, limit=5))
            await asyncio.sleep(took * n / 200)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            assert all(one.ended_at for one in await memory.admin.list_runs(ANA, limit=100)), f"after {n} of 200"


async def test_a_clock_that_was_set_back_hides_no_run(database_url: str) -> None:
    """The run that is under way comes first among the records, and a dry run goes on from what was compared, whichever
    run the clock calls the newest."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(ANA, [note(TWINS[0])])
        first = await memory.admin.consolidate(ANA)
        assert first is not None
        clock.advance(-2 * 86_400)
        await memory.ingest(ANA, [note(TWINS[1])])
        open_ = await memory.admin.begin_run(ANA)
        assert open_ is not None
        assert [one.id for one in await memory.admin.list_runs(ANA)] == [open_.id, first.id]
        assert [one.id for one in await memory.admin.list_runs(ANA, run=first.id)] == [first.id]
        open_, _ = await memory.admin.survey_run(open_)
        over = await memory.admin.end_run(replace(open_, seen=0))
        assert over.surveyed > first.surveyed
        dry = await memory.admin.begin_run(ANA, dry=True)
        assert dry is not None
        assert dry.surveyed == over.surveyed


async def test_a_step_whose_answer_was_lost_stays_in_the_record(database_url: str) -> None:
    """Whoever gives a run up after a step that was written, and does not know it, takes no count back."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(one) for one in TWINS])
        run = await memory.admin.begin_run(ANA)
        assert run is not None
        run, portions = await memory.admin.survey_run(run)
        checked, findings = await memory.admin.check_run(run, portions[0])
        await memory.admin.apply_run(checked, findings)
        await memory.engine.consolidation.abandon_run(run)
        (record,) = await memory.admin.list_runs(ANA)
        assert (record.status, record.same, record.checked) == ("interrupted", 1, 1)
        assert (await memory.admin.undo_consolidation(ANA, run.id)).restored > 0


async def test_a_chain_ends_in_one_memory(database_url: str) -> None:
    """Of three that say the same one stays; its line in the delta header is one, whatever was merged into it."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(one) for one in (*TWINS, f"{TWINS[0]}!", "The user reads about bees")])
        thread = scope(thread="T")
        await memory.conversation.mark_seen(thread, (await memory.brief(thread, "supervisor", "tomatoes")).rev)
        runs = [await memory.admin.consolidate(ANA) for _ in range(2)]
        assert [one and one.duplicates_after for one in runs] == [0, 0]
        assert len(await texts(memory)) == 2
        header = (await memory.brief(thread, "supervisor", "tomatoes")).header
        assert header.splitlines()[1:] == [f"- ↔merged: Combined 3 notes about {TWINS[0]}!"]
        gone = await memory.list(ANA, states=("superseded",))
        why = await memory.why_not(ANA, "supervisor", gone[0].id, Query(text="tomatoes"))
        assert why.reason == "superseded"
        assert str(gone[0].superseded_by) in why.sentence


async def test_writers_and_a_consolidation_do_not_overwrite_each_other(database_url: str) -> None:
    """Writers of another process come between its steps: all of theirs is there, no revision is missing, and it
    ends."""
    async with engine(database_url) as memory, engine(database_url) as other:
        await memory.ingest(ANA, [note(f"The user rides the number {n // 2} tram{'.' * (n % 2)}") for n in range(30)])

        async def writing() -> None:
            for n in range(15):
                await other.learn(ANA, said(f"My goal is to climb {n} hills."))

        run, _ = await asyncio.gather(memory.admin.consolidate(ANA), writing())
        assert run is not None
        assert run.status == "done"
        assert run.same == 15
        lines = await memory.history(ANA, limit=1000)
        assert [one.rev for one in lines] == list(range(len(lines), 0, -1))
        assert sum("tram" in one for one in await texts(memory)) == 15


async def test_where_a_survey_looks(database_url: str) -> None:
    """What changed since it was last compared; else what changed lately, is important, or among the most retrieved;
    with partners of the same category and kind that share a word or a number, and changed within `partner_days`."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        house = memory.engine

        def twice(text: str, **more: Any) -> list[Candidate]:
            return [note(text, **more), note(f"{text}.", **more)]

        told = [*twice("The user waters tomatoes"), *twice("The user keeps bees", importance=3)]
        told += [*twice("The user mends a violin"), *twice("The user follows how-to steps")]
        told += [note("The user plants beans"), note("The user plants beans", "projects")]
        await memory.ingest(ANA, told)
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.memories set access_count = 3 where text like '%violin'")
            admin.execute("update muniment.memories set kind = 'procedural' where text like '%steps%'")
        rev = Revision((await memory.read_status(ANA))["rev"])

        async def seen(since: int, **bounds: Any) -> set[str]:
            told = replace(house.consolidation._make_bounds(), **bounds)
            found = await house.store.runs.survey_space(ANA, told, 100, since=Revision(since))
            return {one.older.text.rstrip(".").split()[-1] for one in found.pairs if one.sim > 0.8}

        assert await seen(0) == await seen(rev) == {"tomatoes", "bees", "violin"}
        clock.advance(80 * 3_600)
        assert await seen(0) == {"tomatoes", "bees", "violin"}
        assert await seen(rev) == {"bees", "violin"}
        assert await seen(rev, importance=4, retrieved=0.0) == set()
        assert len(await seen(rev, pool=1)) == 1
        clock.advance(90 * 86_400)
        assert await seen(0) == set()


async def test_a_day_has_its_cap(database_url: str) -> None:
    """So many pairs of a user are checked a day (UTC), over all runs; a person may ask for more, and the next day has
    its own. The space counts as compared only when nothing is left."""
    clock = FixedClock(NOON)
    tuned = settings(database_url)
    tuned = tuned.model_copy(update={"consolidation": tuned.consolidation.model_copy(update={"per_day": 1})})
    async with engine(database_url, clock=clock, tuned=tuned) as memory:
        told = [
            f"The user {done} the {thing}"
            for done, thing in (("waters", "figs"), ("keeps", "bees"), ("mends", "boats"))
        ]
        await memory.ingest(ANA, [note(f"{one}{end}") for one in told for end in ("", ".")])

        async def run(limit: int | None = None) -> tuple[int, int]:
            done = await memory.admin.consolidate(ANA, limit=limit)
            assert done is not None
            return done.same, done.surveyed

        assert [await run(), await run()] == [(1, 0), (0, 0)]
        assert await run(limit=1) == (1, 0)
        clock.advance(12 * 3_600)
        assert await run() == (1, 10)
        with pytest.raises(BadInput, match="limit"):
            await memory.admin.consolidate(ANA, limit=0)
