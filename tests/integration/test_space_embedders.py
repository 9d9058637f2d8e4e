"""An embedder belongs to a space: two of them in one database, while one space is switched."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.embedding import SwitchRange
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict, NotFound, WrongEmbedder
from muniment.memory.flows.background import reembed
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.fakes import FixedClock
from tests.conftest import Clones
from tests.engine import NOON, Leaving, engine, note, said, scope, settings
from tests.switching import NEXT, QUERIES, WORDS, Answers, Watched, answers, fill, ought, unopened, untidy

ROOT = Path(__file__).parents[2]


@pytest.fixture
def other_url(clones: Clones, template: str) -> Iterator[str]:
    """A second database, for what the answers ought to be."""
    yield from clones.make(template)


@contextmanager
def visitor(url: str, *owners: str) -> Iterator[subprocess.Popen[str]]:
    """A process that reads and writes with the database's embedder configured, until its input is closed."""
    command = [sys.executable, "-m", "tests.visitor", url, *owners]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        yield run


def both(url: str) -> Memory:
    """A memory of the database's embedder that has the other one, too, and whose days have no end."""
    tuned = settings(url)
    tuned = tuned.model_copy(update={"write": tuned.write.model_copy(update={"per_day": 100_000})})
    return bootstrap.create_memory(tuned, embedder=(HashEmbedder(), NEXT), clock=FixedClock(NOON))


async def switch(url: str, spaces: SwitchRange, embedder: HashEmbedder = NEXT) -> int:
    async with unopened(url, embedder) as following:
        return await following.admin.reembed(spaces=spaces)


def of(mine: Scope) -> SwitchRange:
    return SwitchRange.of_space(mine)


class Crowd:
    """Readers of two spaces and writers of others, until somebody stops them."""

    def __init__(self, memory: Memory, moved: Scope, quiet: Scope, written: list[Scope]) -> None:
        self.memory, self.moved, self.quiet, self.written = memory, moved, quiet, written
        self.seen: Answers = []
        self.wrote = 0
        self.is_over = False

    async def read(self, still: Answers, before: Answers, after: Answers) -> None:
        """Every answer of the space that moves is of one embedder, and the other space answers as ever."""
        for text in cycle(QUERIES):
            if self.is_over:
                break
            [answer] = await answers(self.memory, self.moved, texts=[text])
            assert answer in before or answer in after
            self.seen.append(answer)
            assert (await answers(self.memory, self.quiet, texts=[text]))[0] in still

    async def write(self, n: int) -> None:
        """What is written is found by its words and by its vector, whichever embedder the space has by then."""
        for step in count(1):
            if self.is_over:
                break
            mine = self.written[(n + step) % len(self.written)]
            if step % 4:
                text = f"writer {n} walked {step} miles to the harbour"
                self.wrote += len((await self.memory.keep_candidates(mine, [note(text)])).changes)
            else:
                self.wrote += await self.memory.ingest(mine, [note(f"writer {n} {step} {word}") for word in WORDS[:3]])
            assert (await self.memory.query(mine, "supervisor", Query(text="harbour miles"))).hits
            await asyncio.sleep(0.01)

    async def wait_for(self, wrote: int) -> None:
        """Wait until so much is written."""
        async with asyncio.timeout(30):
            while self.wrote < wrote:
                await asyncio.sleep(0.01)


def count_models(url: str, mine: Scope) -> dict[str, int]:
    """How many memories of a space have a vector of which model; all vectors have the same dimensions."""
    with psycopg.connect(url) as conn:
        question = """select embedding_model, count(*), count(distinct vector_dims(embedding))
                      from muniment.memories where space_id = %s group by embedding_model"""
        rows = conn.execute(question, [mine.space]).fetchall()
    assert all(dimensions == 1 for _, _, dimensions in rows)
    return {model: number for model, number, _ in rows}


async def test_readers_and_writers_while_a_space_is_switched(
    database_url: str, other_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen of them here, and others in a process that was never told: each answer is of one embedder, no call
    fails, and the other space answers as before."""
    monkeypatch.setattr(reembed, "_BATCH", 8)
    async with both(database_url) as memory:
        quiet, moved = await fill(memory, "quiet", 60, 1), await fill(memory, "moved", 60, 2)
        written = [await fill(memory, f"busy {n}", 20, 3 + n) for n in range(3)]
        await switch(database_url, of(written[1]))
        before, still = await answers(memory, moved), await answers(memory, quiet)
        expected = await ought(other_url, await memory.export(moved), moved)
        assert before != expected
        crowd = Crowd(memory, moved, quiet, written)
        with visitor(database_url, "busy 0", "busy 1", "busy 2") as stranger:
            assert stranger.stdout is not None
            assert stranger.stdout.readline() == "began\n"
            work = [asyncio.create_task(crowd.read(still, before, expected)) for _ in range(8)]
            work += [asyncio.create_task(crowd.write(n)) for n in range(8)]
            for wanted, mine in ((5, moved), (10, written[0])):
                await crowd.wait_for(wanted)
                await switch(database_url, of(mine))
            await crowd.wait_for(20)
            crowd.is_over = True
            await asyncio.gather(*work)
            out, err = stranger.communicate(timeout=20)
            assert (stranger.returncode, err) == (0, "")
        assert int(out) > 0
        assert crowd.seen[0] in before
        assert crowd.seen[-1] in expected
        assert await answers(memory, moved) == expected
        assert await answers(memory, quiet) == still
        assert untidy(database_url) == 0
        models = [[*count_models(database_url, mine)] for mine in (quiet, moved, *written)]
        assert models == [["hash-256"], ["hash-40"], ["hash-40"], ["hash-40"], ["hash-256"]]


async def test_new_spaces_have_the_choice_of_their_tenant(database_url: str) -> None:
    """A switch of a tenant is of its users, present and new; the others stay, and one of the database is of all."""
    async with both(database_url) as memory:
        ours, theirs = (scope("ana", tenant=tenant) for tenant in ("ours", "theirs"))
        for mine in (ours, theirs):
            await memory.learn(mine, said("I live in Porto."))
        assert await switch(database_url, SwitchRange(tenant="ours")) == 1
        for tenant in ("ours", "theirs"):
            for owner in ("ana", "bob"):
                mine = scope(owner, tenant=tenant)
                assert (await memory.read_status(mine))["embedder"] == ("hash-40" if tenant == "ours" else "hash-256")
                await memory.learn(mine, said("I play the cello."))
                assert [*count_models(database_url, mine)] == ["hash-40" if tenant == "ours" else "hash-256"]
        told = await memory.admin.read_switch_progress(SwitchRange(tenant="ours"))
        assert (told.used, told.database, told.tenant, told.next) == ("hash-40", "hash-256", "hash-40", None)
        assert (told.rows, told.done) == (3, 3)
        told = await memory.admin.read_switch_progress(of(theirs))
        assert (told.used, told.database, told.tenant) == ("hash-256", "hash-256", None)
        assert await switch(database_url, SwitchRange()) == 3
        told = await memory.admin.read_switch_progress(SwitchRange(tenant="ours"))
        assert (told.used, told.database, told.tenant) == ("hash-40", "hash-40", None)
        assert await switch(database_url, of(theirs), HashEmbedder()) == 2
        assert (await memory.read_status(theirs))["embedder"] == "hash-256"


@pytest.mark.parametrize("stage", ["sweep", "cut", "tidy"])
async def test_a_switch_of_a_space_goes_on_after_a_kill(database_url: str, other_url: str, stage: str) -> None:
    """What it has embedded is kept, the answers are of one embedder, and the next attempt finishes it."""
    async with both(database_url) as memory:
        mine = await fill(memory, "ana", 100, 3)
        other = await fill(memory, "bob", 10, 4)
        before, still = await answers(memory, mine), await answers(memory, other)
        expected = await ought(other_url, await memory.export(mine), mine)
        command = [sys.executable, "-m", "tests.switcher", database_url, "40", "ana"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            while run.stdout.readline().strip() != stage:
                assert run.poll() is None
            run.kill()
        assert await answers(memory, mine) in (before, expected)
        for _ in range(100):  # the server notices after a moment that the one who was at it is gone
            try:
                embedded = await switch(database_url, of(mine))
                break
            except Conflict:
                await asyncio.sleep(0.05)
        assert embedded < 110
        assert await answers(memory, mine) == expected
        assert await answers(memory, other) == still
        assert untidy(database_url) == 0
        assert (await memory.admin.read_switch_progress(of(mine))).next is None


async def test_an_embedder_that_cannot_be_made_is_named(database_url: str) -> None:
    """Whoever does not have it is refused in that space alone, with what is missing and the way back."""
    async with engine(database_url) as memory:
        mine, other = await fill(memory, "ana", 3, 1), await fill(memory, "bob", 3, 2)
        await switch(database_url, of(mine))
        with pytest.raises(
            WrongEmbedder, match=r"'hash-40', which this process does not have: .*OPENAI_API_KEY"
        ) as told:
            await memory.query(mine, "supervisor", Query(text="harbour"))
        assert "`muniment embedder switch hash-256 --user ana`" in str(told.value)
        assert told.value.data == {"database": "hash-40", "configured": "hash-256"}
        for call in (
            memory.learn(mine, said("I play the cello.")),
            memory.brief(mine, "supervisor", "harbour"),
            memory.ingest(mine, [note("the harbour at dawn")]),
            memory.load(mine, [{"text": "The user plays the cello"}]),
            memory.admin.consolidate(mine),
        ):
            with pytest.raises(WrongEmbedder):
                await call
        assert (await memory.query(other, "supervisor", Query(text="harbour", threshold=0.0))).hits
        assert len(await memory.list(mine)) == 4  # what needs no vector is not refused
        assert await switch(database_url, of(mine), HashEmbedder()) > 0
        assert (await memory.query(mine, "supervisor", Query(text="harbour", threshold=0.0))).hits


async def test_everything_of_a_space_is_of_its_embedder(database_url: str) -> None:
    """Imports and exports, the merging of duplicates, undoing it, indexes, consent: each with the space's embedder."""
    async with both(database_url) as memory:
        mine = await fill(memory, "ana", 30, 5)
        await switch(database_url, of(mine))
        await memory.ingest(mine, [note(f"the garden in week {n}") for n in range(300)])
        await memory.load(mine, [{"text": "The user has a kayak"}, {"text": "The user lives in Bonn"}])
        copied = scope("copy")
        await memory.keep_candidates(copied, [note("to be erased")])
        await switch(database_url, of(copied))
        await memory.admin.erase_space(copied)
        await memory.load(copied, await memory.export(mine))
        run = await memory.admin.consolidate(mine)
        assert run is not None
        assert run.status == "done"
        assert [
            one.run.status async for one in memory.admin.consolidate_each([mine, copied], unchanged=True) if one.run
        ]
        await memory.admin.undo_consolidation(mine, run.id)
        why = (await memory.list(mine, limit=1))[0].id
        await memory.why_not(mine, "supervisor", why, Query(text="cello"))
        for space, model in ((mine, "hash-40"), (copied, "hash-256")):
            assert [*count_models(database_url, space)] == [model]


async def test_an_import_goes_on_after_the_space_was_switched(database_url: str) -> None:
    """What was stored before stays, and the rest follows with the other embedder: nothing is lost or twice."""
    async with both(database_url) as memory:
        mine = await fill(memory, "ana", 1, 1)
        before = count_models(database_url, mine)["hash-256"]
        switched = False

        async def hook() -> None:
            nonlocal switched
            if watched.texts > 2_000 and not switched:
                switched = True
                await switch(database_url, of(mine))

        watched = Watched(256, hook)
        async with bootstrap.create_memory(settings(database_url), embedder=(watched, NEXT)) as importing:
            texts = [f"mile {n} of the walk to the harbour" for n in range(5_000)]
            assert await importing.ingest(mine, (note(text) for text in texts)) == 5_000
            assert switched
    assert count_models(database_url, mine) == {"hash-40": before + 5_000}
    assert untidy(database_url) == 0


async def test_a_space_that_does_not_exist_is_not_switched(database_url: str) -> None:
    async with engine(database_url):
        with pytest.raises(NotFound, match="nothing of 'ana'"):
            await switch(database_url, of(scope("ana")))


async def test_the_embedder_of_a_space_is_remembered(database_url: str) -> None:
    """Only the first call asks the configured one in vain, and the first after the switch back the other one."""
    first, other = Leaving(), Leaving(40)
    async with bootstrap.create_memory(settings(database_url), embedder=(first, other)) as memory:
        mine = await fill(memory, "ana", 3, 1)
        await switch(database_url, of(mine))
        first.requests = 0
        for _ in range(3):
            await memory.query(mine, "supervisor", Query(text="harbour"))
        assert (first.requests, other.requests) == (1, 3)
        await memory.learn(mine, said("I play the cello."))
        assert first.requests == 1
        await switch(database_url, of(mine), HashEmbedder())
        other.requests = 0
        for _ in range(3):
            await memory.query(mine, "supervisor", Query(text="harbour"))
        assert (first.requests, other.requests) == (4, 1)


async def test_a_process_of_the_former_version_is_held_to_it(database_url: str) -> None:
    """Its statements name the model alone, and it founds spaces without one: its tenant's choice holds for them."""
    async with both(database_url) as memory:
        mine, other = await fill(memory, "ana", 1, 1), await fill(memory, "bob", 1, 2)
        await switch(database_url, of(mine))
        await switch(database_url, SwitchRange(tenant="ours"))
    founded = scope("eve", tenant="ours")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("set role muniment_app")
        for space, used in ((mine, "hash-40"), (other, "hash-256"), (founded, "hash-40")):
            with conn.transaction():
                conn.execute("select muniment.enter_space(%s)", [space.space])
                conn.execute(
                    "insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at) "
                    "values (%s, %s, %s, 'user', 0, now()) on conflict do nothing",
                    [space.space, space.tenant, space.owner],
                )
            for model in ("hash-256", "hash-40"):
                told = "fine"
                try:
                    with conn.transaction():
                        conn.execute("select muniment.enter_space(%s)", [space.space])
                        conn.execute("select muniment.expect_embedder(%s)", [model])
                except psycopg.Error as error:
                    told = f"{error.sqlstate} {error.diag.message_primary}"
                assert told == ("fine" if model == used else f"MU002 {used}")


async def test_nobody_sees_the_choice_of_another_tenant(database_url: str) -> None:
    async with both(database_url) as memory:
        mine = await fill(memory, "ana", 1, 1)
        for tenant in ("ours", mine.tenant):
            await switch(database_url, SwitchRange(tenant=tenant))
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("set role muniment_app")
        assert conn.execute("select tenant_id from muniment.tenant_embedders").fetchall() == []
        with conn.transaction():
            conn.execute("select muniment.enter_space(%s)", [mine.space])
            assert conn.execute("select tenant_id from muniment.tenant_embedders").fetchall() == [(mine.tenant,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("update muniment.tenant_embedders set model = 'mine'")
