"""Questions about the user in a large space: what is told of them is found by its indexes as by a scan."""

from collections.abc import AsyncIterator, Iterator

import numpy as np
import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.stores.postgres.schema import large_spaces
from tests.engine import engine, settings

WHO = Scope(owner="ana")
SYLLABLES = ("ba", "de", "ki", "lo", "mu", "ra", "so", "ti", "ven", "zor")
ASKED = ("What is my job?", "What pets do I have?", "Where do I live?", "Which car do I drive?")


def told(text: str, actor: str | None = None, category: str = "activity") -> Candidate:
    return Candidate(text=text, category=category, actor=actor)


def talk(count: int) -> list[Candidate]:
    """What Sheila says: nearer to a question than what is told of the user, and nothing of what it asks for."""
    rng = np.random.default_rng(7)
    return [
        told(f"what do i have, which is my {''.join(rng.choice(SYLLABLES, 4))} {n}", "Sheila") for n in range(count)
    ]


OWN = (
    told("The user works as a nurse", category="profile"),
    told("We keep two hamsters called Bob and Rob", "ana"),
    told("The user rents a flat in Ghent", category="profile"),
    told("My Honda is silver", "ana"),
)


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    tuned = settings(database_url)
    async with engine(
        database_url, tuned=tuned.model_copy(update={"recall": tuned.recall.model_copy(update={"index_from": 100})})
    ) as opened:
        yield opened


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if hardly anything could be looked at as a whole."""
    monkeypatch.setattr(large_spaces, "_FEW", 2)
    large_spaces.fill_search_text.cache_clear()
    yield
    large_spaces.fill_search_text.cache_clear()


async def answers(memory: Memory) -> list[list[str]]:
    """The texts for each question, once the process knows what indexes there are."""
    await memory.query(WHO, "supervisor", Query(text="hello"))
    return [[hit.memory.text for hit in (await memory.query(WHO, "supervisor", Query(text=one))).hits] for one in ASKED]


async def test_little_that_is_told_of_the_user(memory: Memory) -> None:
    """All of it is looked at, also what came after the index."""
    await memory.ingest(WHO, [*talk(400), *OWN[:3]])
    scanned = await answers(memory)
    assert [found[:1] for found in scanned[:3]] == [[one.text] for one in OWN[:3]]
    assert (await memory.admin.index(WHO)).indexed
    assert await answers(memory) == scanned
    await memory.ingest(WHO, OWN[3:])
    assert [found[:1] for found in await answers(memory)] == [[one.text] for one in OWN]


async def test_much_that_is_told_of_the_user(memory: Memory, few: None) -> None:
    """What has a word that tells what is asked is looked at."""
    await memory.ingest(WHO, [*talk(400), *OWN])
    assert [found[:1] for found in await answers(memory)] == [[one.text] for one in OWN]
    assert (await memory.admin.index(WHO)).indexed
    assert [found[:1] for found in await answers(memory)] == [[one.text] for one in OWN]


async def test_lists_of_an_older_version_are_made_anew(memory: Memory, database_url: str) -> None:
    """They do not say what is told of the user: until then it is found by its words and its meaning alone."""
    await memory.ingest(WHO, [*talk(400), *OWN])
    assert (await memory.admin.index(WHO)).made == ("vectors", "words")
    with psycopg.connect(database_url) as conn:
        conn.execute("delete from muniment.postings where dimension = %s", [large_spaces._USER_LIST])
    assert [found[:1] for found in await answers(memory)] != [[one.text] for one in OWN]
    await memory.jobs.perform_job(Job(name="index", scope=WHO))
    assert [found[:1] for found in await answers(memory)] == [[one.text] for one in OWN]
    assert (await memory.admin.index(WHO)).made == ()
