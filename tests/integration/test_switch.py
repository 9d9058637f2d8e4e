"""A switch of the embedder beside the live index: what a query answers at every step of it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from muniment.memory.errors import ModelUnavailable, WrongEmbedder
from muniment.memory.flows.background import reembed
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.stores.postgres.operation import embedder_switch
from tests.conftest import Clones
from tests.engine import engine, note, said, scope
from tests.switching import NEXT, QUERIES, Watched, answers, counts, fill, ought, unopened, untidy, without

ROOT = Path(__file__).parents[2]


@pytest.fixture
def other_url(clones: Clones, template: str) -> Iterator[str]:
    """A second database, for what the answers ought to be."""
    yield from clones.make(template)


async def test_every_query_is_right_at_every_step(
    database_url: str, other_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is swept, moved or written in between: the answers are those of one embedder, now and as of before."""
    monkeypatch.setattr(reembed, "_BATCH", 16)
    monkeypatch.setattr(embedder_switch, "_AT_ONCE", 2)
    async with engine(database_url) as old:
        mine = await fill(old, "ana", 60, 1)
        before = await answers(old, mine, 1, 61)
        expected = await ought(other_url, await old.export(mine), mine, 1, 61)
        assert before != expected
        steps, sweeping = 0, True

        async def step() -> None:
            nonlocal steps
            steps += sweeping
            assert await answers(old, mine, 61) == [one for one in before if one[1] != 1]
            if sweeping:  # at the cut-over it would wait for itself
                await old.ingest(scope("bob"), [note(f"sailing to island {steps}")])

        async with unopened(database_url, Watched(40, step)) as new:
            async with new.admin.switch_embedder() as switch:
                await switch.embed_missing()
                assert without(database_url, "hash-40") <= 1  # what bob said at the very last
                assert await answers(new, mine, 1, 61) == before  # with the space's embedder, made by its name
                assert await answers(old, mine, 1, 61) == before
                sweeping = False
                await switch.activate_embedder()
                assert await answers(new, mine, 1, 61) == expected
                with pytest.raises(WrongEmbedder, match="switch hash-256"):
                    await answers(old, mine)
                tidying = asyncio.create_task(switch.move_vectors())
                seen = 0
                while not tidying.done():
                    assert await answers(new, mine, 61) == [one for one in expected if one[1] != 1]
                    seen += 1
                assert await tidying >= 60
            assert steps > 4
            assert seen > 1
            assert untidy(database_url) == without(database_url, "hash-40") == 0
            assert await answers(new, mine, 1, 61) == expected
            assert len(await new.list(scope("bob"))) == steps


async def test_back_again_with_and_without_tidying(database_url: str) -> None:
    """There and back, interrupted before anything was tidied: the answers are what they were; so they are on to a
    third."""
    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        mine = await fill(old, "ana", 30, 6)
        before = await answers(old, mine, 1)
        async with new.admin.switch_embedder() as there:
            await there.embed_missing()
            await there.activate_embedder()
        after = await answers(new, mine, 1)
        await new.pin(mine, (await new.list(mine, limit=1))[0].id)  # archives a row that is not tidied
        async with unopened(database_url, HashEmbedder(50)) as third:
            async with third.admin.switch_embedder() as on:
                await on.embed_missing()
            assert await answers(new, mine, 1) == after
            async with third.admin.switch_embedder() as on:
                await on.activate_embedder()
            assert await answers(third, mine, 1) != after
            assert without(database_url, "hash-50") == 0
        assert await old.admin.reembed() > 30
        assert await answers(old, mine, 1) == before
        assert untidy(database_url) == without(database_url, "hash-256") == 0


async def test_a_switch_is_given_up_by_a_switch_to_what_is_in_use(database_url: str) -> None:
    """What it had made is gone, and the one that was given up begins anew."""
    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        mine = await fill(old, "ana", 10, 8)
        before = await answers(old, mine)
        async with new.admin.switch_embedder() as switch:
            assert await switch.embed_missing() > 10
        tally = await old.admin.read_switch_progress()
        assert (tally.used, tally.next, tally.done) == ("hash-256", "hash-40", tally.rows)
        assert await old.admin.reembed() == 0
        tally = await old.admin.read_switch_progress()
        assert (tally.used, tally.next, tally.untidy, tally.done) == ("hash-256", None, 0, tally.rows)
        assert untidy(database_url) == 0
        assert await answers(old, mine) == before
        assert await new.admin.reembed() > 10


async def test_a_failing_embedder_keeps_what_is_done(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third batch fails: the old embedder stays in use, and the next attempt makes the rest only."""
    monkeypatch.setattr(reembed, "_BATCH", 8)
    failing, asked = True, 0

    async def hook() -> None:
        nonlocal asked
        asked += 1
        if failing and asked == 3:
            raise ModelUnavailable

    embedder = Watched(40, hook)
    async with engine(database_url) as old, unopened(database_url, embedder) as new:
        mine = await fill(old, "ana", 40, 9)
        before = await answers(old, mine)
        with pytest.raises(ModelUnavailable):
            await new.admin.reembed()
        assert await answers(old, mine) == before
        failing, embedder.texts = False, 0
        left = without(database_url, "hash-40")
        assert await new.admin.reembed() == left
        assert embedder.texts <= left
        assert without(database_url, "hash-40") == 0


async def test_a_text_that_changes_loses_its_next_vector(database_url: str, other_url: str) -> None:
    """A correction between sweep and cut-over is swept again, with the former text that it leaves behind."""
    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        mine = await fill(old, "ana", 5, 11)
        rev = (await old.read_status(mine))["rev"]
        async with new.admin.switch_embedder() as switch:
            await switch.embed_missing()
            await old.learn(mine, said("I live in Lisbon."))
            assert without(database_url, "hash-40") == 1
            await switch.activate_embedder()
        assert without(database_url, "hash-40") == 0
        expected = await ought(other_url, await new.export(mine), mine, rev)
        assert await answers(new, mine, rev) == expected
        assert any("Lisbon" in hits[0][0] for text, as_of, hits in expected if "live" in text and as_of is None)
        assert any("Oslo" in hits[0][0] for text, as_of, hits in expected if "live" in text and as_of == rev)


async def test_a_comparison_tells_what_only_one_finds(database_url: str) -> None:
    """Questions that are texts of memories do not find themselves; the same embedder agrees with itself; nothing is
    changed."""
    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        mine = await fill(old, "ana", 60, 12)
        await fill(old, "bob", 60, 13)
        async with new.admin.switch_embedder() as switch:
            await switch.embed_missing()
            found = await switch.compare_answers(HashEmbedder())
            assert len(found) == 100
            assert {one.scope.owner for one in found} == {"ana", "bob"}
            assert switch.summarize_contrasts(found)["mean"] < 0.9
            for one in found:
                assert len(one.only_used) == len(one.only_next) == round(10 * (1 - one.overlap))
                assert one.question not in {held.text for held in one.only_used + one.only_next}
                assert not {held.id for held in one.only_used} & {held.id for held in one.only_next}
            asked = await switch.compare_answers(HashEmbedder(), [(mine, "harbour coffee"), (mine, "zzz")])
            assert [(one.number, one.question) for one in asked] == [(1, "harbour coffee"), (2, "zzz")]
            agreed = await switch.compare_answers(NEXT, [(mine, text) for text in QUERIES])
            assert switch.summarize_contrasts(agreed) == {"questions": 5, "mean": 1.0, "worst": 1.0}
        assert (await old.admin.read_switch_progress()).used == "hash-256"


async def test_the_keeper_sees_no_word(database_url: str) -> None:
    """Who counts over all spaces may read the models of the rows and nothing else of them."""
    async with engine(database_url) as old:
        await fill(old, "ana", 2, 14)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("set role muniment_keeper")
        assert conn.execute("select distinct embedding_model from muniment.memories").fetchall() == [("hash-256",)]
        for table in ("memories", "memory_versions"):
            for column in ("text", "fact", "embedding", "words"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    conn.execute(f"select {column} from muniment.{table}")


async def test_whoever_is_refused_leaves_nothing_open(database_url: str) -> None:
    """An engine of another embedder, which cannot be opened, keeps no connection."""
    async with engine(database_url) as old:
        await fill(old, "ana", 1, 1)
        before = len(asyncio.all_tasks())
        async with unopened(database_url, NEXT) as new:
            with pytest.raises(WrongEmbedder):
                async with new:
                    pass
            assert len(asyncio.all_tasks()) == before


async def test_an_empty_database_is_switched_at_once(database_url: str) -> None:
    """Also when it never had an embedder: then it has this one."""
    async with unopened(database_url, NEXT) as new:
        assert (await new.admin.read_switch_progress()).used is None
        assert await new.admin.reembed() == 0
        assert (await new.admin.read_switch_progress()).used == "hash-40"
        await new.keep_candidates(scope(), [note("the harbour at dawn")])
        assert without(database_url, "hash-40") == 0


async def test_a_database_whose_first_embedder_comes_while_it_is_switched(database_url: str) -> None:
    """It gives way, like one that was there before."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with unopened(database_url, NEXT) as new:
        await new.admin.read_switch_progress()
        with psycopg.connect(database_url) as first:
            first.execute("insert into muniment.embedders (model, active) values ('hash-256', true)")
            switched = asyncio.create_task(new.admin.reembed())
            while not counts(database_url, waiting):
                await asyncio.sleep(0.01)
        await switched
        assert (await new.admin.read_switch_progress()).used == NEXT.name
