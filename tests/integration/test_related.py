"""What an edge brings along: at the end, at most two, strong, within budget and allowlist, and never instead of a
hit."""

from __future__ import annotations

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.plan import Relation, WritePlan
from muniment.memory.domain.query import Answer, Query
from muniment.memory.domain.scope import Reader
from tests.engine import NOON, engine, note, scope

HUB = "The user rents a cello from the music school"
BESIDE = ("Lessons are on Tuesdays at six", "Vera teaches there", "A concert is planned for June")
ASKED = "which cello does the user rent?"


async def tied(memory: Memory, *strengths: float, category: str = "activity", hub: str = HUB) -> list[MemoryId]:
    """A memory that is found, and others that are not, tied to it by edges of these strengths; the hub's id first."""
    candidates = [note(hub), *(note(text, category) for text in BESIDE[: len(strengths)])]
    await memory.ingest(scope(), candidates)
    by_text = {one.text: one.id for one in await memory.list(scope())}
    ids = [by_text[one.text] for one in candidates]
    edges = [Relation(a=ids[0], b=id_, strength=strength) for id_, strength in zip(ids[1:], strengths, strict=True)]
    rev = (
        await memory.engine.store.reads.read_snapshot(Reader(scope=scope(), allowed=frozenset({"activity"})), None)
    ).rev
    plan = WritePlan(scope=scope(), expected_rev=rev, node="worker", at=NOON, relations=tuple(edges))
    await memory.engine.store.writes.commit(plan)
    return list(ids)


def texts(answer: Answer) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


async def test_the_two_strongest_come_at_the_end(database_url: str) -> None:
    """Each says to which hit it is related; without its edge none of them would be there."""
    async with engine(database_url) as memory:
        hub, *_ = await tied(memory, 0.7, 0.9, 0.8)
        answer = await memory.query(scope(), "supervisor", Query(text=ASKED))
        assert texts(answer) == [HUB, BESIDE[1], BESIDE[2]]
        assert [hit.related_to for hit in answer.hits] == [None, hub, hub]
        assert all("relation" in hit.channels for hit in answer.hits[1:])
        assert {one.reason for one in answer.omissions} == {"below threshold"}
        brief = await memory.brief(scope(), "supervisor", ASKED)
        assert [bullet.removeprefix("[activity] ") for bullet in brief.bullets] == [HUB, BESIDE[1], BESIDE[2]]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Query(text=ASKED, top_k=1), [HUB]),
        (Query(text=ASKED, threshold=0.3), [HUB]),
        (Query(text=ASKED, budget_tokens=75), [HUB]),
        (Query(text="quarterly tax return"), []),
    ],
)
async def test_they_take_nobodys_place(database_url: str, asked: Query, expected: list[str]) -> None:
    """Not over top_k or budget, not for who wants more relevance than usual, and not where nothing was found."""
    async with engine(database_url) as memory:
        await tied(memory, 0.9)
        assert texts(await memory.query(scope(), "supervisor", asked)) == expected


async def test_a_weak_edge_brings_nothing(database_url: str) -> None:
    """Below `write.link_min`, or the check band, it says nothing; the hit itself is found all the same."""
    async with engine(database_url) as memory:
        await tied(memory, 0.59)
        assert texts(await memory.query(scope(), "supervisor", Query(text=ASKED))) == [HUB]


async def test_an_edge_does_not_lead_out_of_the_allowlist(database_url: str) -> None:
    """What the agent may not read is not brought along either."""
    async with engine(database_url) as memory:
        await tied(memory, 0.9, category="procedural")
        assert texts(await memory.query(scope(), "supervisor", Query(text=ASKED))) == [HUB]


async def test_the_edges_of_a_memory(database_url: str) -> None:
    """From both ends, strongest first; what is forgotten is gone from them."""
    async with engine(database_url) as memory:
        hub, first, second = (await tied(memory, 0.7, 0.9))[:3]
        assert [(one.memory.id, round(one.sim, 2)) for one in await memory.find_related(scope(), hub)] == [
            (second, 0.9),
            (first, 0.7),
        ]
        assert [one.memory.id for one in await memory.find_related(scope(), first)] == [hub]
        await memory.forget(scope(), second)
        assert [one.memory.id for one in await memory.find_related(scope(), hub)] == [first]
