"""A switch of the embedder among others: writers, rivals, and whoever kills it."""

import asyncio
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.embedding import DATABASE
from muniment.memory.domain.ids import Revision
from muniment.memory.errors import Conflict, WrongEmbedder
from muniment.memory.flows.background import reembed
from muniment.memory.models.hash_embedder import HashEmbedder
from tests.conftest import Clones
from tests.engine import engine, note, scope
from tests.switching import NEXT, WORDS, Watched, answers, counts, fill, ought, some, unopened, untidy, without

ROOT = Path(__file__).parents[2]


@pytest.fixture
def other_url(clones: Clones, template: str) -> Iterator[str]:
    """A second database, for what the answers ought to be."""
    yield from clones.make(template)


async def test_nothing_written_during_a_cut_over_slips_through(database_url: str, other_url: str) -> None:
    """Writers and imports go on until they are refused; all that was acknowledged has a vector of the new model."""
    acknowledged = 0

    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        mine = await fill(old, "ana", 40, 2)

        async def write() -> None:
            nonlocal acknowledged
            for n in range(10_000):
                space = mine if n < 190 else scope(f"ana {n // 190}")  # more are not kept in a day
                kept = await old.keep_candidates(space, [note(f"ana walked {n} miles by the {WORDS[n % len(WORDS)]}")])
                acknowledged += sum(change.action == "ADD" for change in kept.changes)
                await asyncio.sleep(0.03)

        async def bring(owner: str, count: int) -> None:
            nonlocal acknowledged
            for n in range(10_000):
                added = await old.ingest(scope(owner), [note(f"{owner} {n} {text}") for text in some(count, n)])
                acknowledged += added
                await asyncio.sleep(0.01)

        async def pin() -> None:
            one = (await old.list(mine, limit=1))[0]
            for n in range(10_000):
                await old.pin(mine, one.id, pinned=n % 2 == 0)
                await asyncio.sleep(0.03)

        pinning = asyncio.create_task(pin())  # needs no vector, so nobody refuses it
        work = [write(), bring("one", 1), bring("two", 1), bring("bulk", 5)]
        writers = [asyncio.create_task(one) for one in work]
        await asyncio.sleep(0.2)
        async with new.admin.switch_embedder() as switch:
            await switch.embed_missing()
            await switch.activate_embedder()
            ends = await asyncio.wait_for(asyncio.gather(*writers, return_exceptions=True), 20)
            assert [type(one) for one in ends] == [WrongEmbedder] * 4
            assert not pinning.done()
            pinning.cancel()
            await asyncio.wait([pinning])
            assert without(database_url, "hash-40") == 0
        assert counts(database_url, "select count(*) from muniment.memories") == acknowledged + 40 + 1
        assert await answers(new, mine) == await ought(other_url, await new.export(mine), mine)
        with pytest.raises(WrongEmbedder):
            await old.load(scope("late"), await new.export(mine))
        assert await old.list(scope("late")) == []


async def test_kill_and_go_on(database_url: str, other_url: str) -> None:
    """Killed while it sweeps, cuts over and tidies, the switch is finished by the next one, and no query was ever
    wrong."""
    chance = random.Random(7)
    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        mine = await fill(old, "ana", 250, 3)
        await fill(old, "bob", 50, 4)
        before = await answers(old, mine, 1)
        expected = await ought(other_url, await old.export(mine), mine, 1)
        for stage, wait in (("sweep", 0.3), ("cut", 0.01), ("tidy", 0.02)):
            with process(database_url) as run:
                assert run.stdout is not None
                told = ""
                while told != stage and not told.startswith("done"):
                    told = run.stdout.readline().strip()
                await asyncio.sleep(chance.uniform(0, wait))
                run.send_signal(signal.SIGKILL)
            now = (await new.admin.read_switch_progress()).used
            assert await answers(old if now == "hash-256" else new, mine, 1) == (
                before if now == "hash-256" else expected
            )
        done = await again(new)
        assert done < 300
        assert untidy(database_url) == without(database_url, "hash-40") == 0
        assert await answers(new, mine, 1) == expected


async def again(new: Memory) -> int:
    """Switch as soon as the server has noticed that the one who was at it is gone."""
    for _ in range(100):
        try:
            return await new.admin.reembed()
        except Conflict:
            await asyncio.sleep(0.05)
    raise AssertionError("the switch is still another's")


def process(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.switcher", url, "40"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


async def test_one_switch_at_a_time(database_url: str) -> None:
    """The second is told so at once, whichever embedder it is for; when the first is over, it can begin."""
    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        await fill(old, "ana", 3, 5)
        async with unopened(database_url, HashEmbedder(50)) as rival, new.admin.switch_embedder() as switch:
            for late in (rival, old, new):
                with pytest.raises(Conflict, match="another process"):
                    await late.admin.reembed()
            await switch.embed_missing()
            await switch.activate_embedder()
        assert await new.admin.reembed() == 0


async def test_a_switch_that_was_overtaken_writes_nothing(database_url: str) -> None:
    """Who lost its place to another switch without noticing is refused at its next batch and at the cut-over."""
    async with engine(database_url) as old, unopened(database_url, NEXT) as new:
        mine = await fill(old, "ana", 3, 5)
        async with new.admin.switch_embedder() as switch:
            run = switch._run
            assert run is not None
            await switch.embed_missing()
        async with unopened(database_url, HashEmbedder(50)) as rival:
            async with rival.admin.switch_embedder() as second:
                await second.embed_missing()
                _, found = await new.engine.store.embedder_switch.list_unembedded(
                    mine, Revision(0), None, reembed._FIRST, 1
                )
                with pytest.raises(Conflict, match="has begun"):
                    await new.engine.store.embedder_switch.write_vectors(
                        mine, run, [(found[0], (await NEXT.embed_documents([found[0].text]))[0])]
                    )
                with pytest.raises(Conflict):
                    await new.engine.store.embedder_switch.activate_in_space(mine, run, nothing)
                with pytest.raises(Conflict):
                    await new.engine.store.embedder_switch.finish_switch(run, DATABASE, nothing)
                await second.activate_embedder()
                await second.move_vectors()
            assert (await rival.admin.read_switch_progress()).used == "hash-50"
        assert untidy(database_url) == without(database_url, "hash-50") == 0


@pytest.mark.parametrize("anew", [False, True])
async def test_a_space_that_is_erased_while_it_is_swept(database_url: str, *, anew: bool) -> None:
    """The switch goes on; what the space is begun anew with gets its vectors, too."""
    async with engine(database_url) as old:
        mine = await fill(old, "ana", 3, 5)

        async def erased() -> None:
            if not embedder.texts > 3:
                return
            embedder.hook = None
            await old.admin.erase_space(mine)
            if anew:
                await old.ingest(mine, [note(text) for text in some(2, 6)])

        embedder = Watched(40, erased)
        async with unopened(database_url, embedder) as new:
            await new.admin.reembed()
            assert embedder.hook is None
            assert untidy(database_url) == without(database_url, embedder.name) == 0
            assert len(await new.list(mine)) == 2 * anew


async def nothing() -> None:
    """Nobody has anything left to do."""


async def test_writers_do_not_wait_for_a_slow_embedder(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody always writes and the embedder is slow: there is no cut-over, the writers hardly waited, nothing is
    lost."""
    monkeypatch.setattr(reembed, "_ACTIVATION_SECONDS", 0.05)
    monkeypatch.setattr(reembed, "_ATTEMPTS", 3)
    monkeypatch.setattr(reembed, "_RETRY_SECONDS", 0.0)
    slow, longest, writing = True, 0.0, True

    async def hook() -> None:
        if slow:
            await asyncio.sleep(0.3)

    async with engine(database_url) as old, unopened(database_url, Watched(40, hook)) as new:
        await fill(old, "ana", 3, 10)

        async def write() -> int:
            nonlocal longest
            n = 0
            while writing:
                started = asyncio.get_running_loop().time()
                await old.ingest(scope("bob"), [note(f"mile {n} by the {WORDS[n % len(WORDS)]}")])
                longest, n = max(longest, asyncio.get_running_loop().time() - started), n + 1
                await asyncio.sleep(0.01)
            return n

        task = asyncio.create_task(write())
        with pytest.raises(Conflict, match="try again when less is written"):
            await new.admin.reembed()
        assert (await new.admin.read_switch_progress()).used == "hash-256"
        writing = False
        written = await task
        assert longest < 2
        slow = False
        await new.admin.reembed()
        assert len(await new.list(scope("bob"), limit=1000)) == written
        assert without(database_url, "hash-40") == 0
