"""The read path beside a plain Python one: random spaces and questions, the same answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count, pairwise
from math import isclose
from pathlib import Path
from random import Random
from typing import Any, cast
from uuid import NAMESPACE_OID, uuid5

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import Fact, StoredMemory
from muniment.memory.domain.plan import Change, Relation, WritePlan
from muniment.memory.domain.query import Answer, Filters, Query
from muniment.memory.errors import Denied
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.payload import dump_compact, encode_answer, fence_text
from muniment.memory.ports.store import Store
from muniment.memory.rules.retrieval import render
from tests.engine import NOON, engine, note, scope, settings
from tests.oracle import Line, PlainStore, Row, World, halved

VOCABULARY = (
    "Ana", "bo", "bought", "buys", "cello?", "coffee", "Crème brûlée", "doesn't", "garden", "green", "in 2024",
    "Lisbon", "marathon", "music",
    "not", "rents", "running", "SQL", "straße", "tea", "the", "tulips", "user's", "杭州", "电商运营", "绿茶",
    "配偶是王敏", "妻子",
    "wife", "spouse",
)  # fmt: skip
CATEGORIES = ("goals", "activity", "profile", "knowledge", "tasks", "relationship_dynamic")
AGENTS = ("supervisor", "supervisor", "planner", "researcher")
ACTORS = ("Bo", "Ana", "José")
OWNERS = count()
CANDIDATES = 12
QUESTIONS = 5
DAYS = tuple(NOON - timedelta(days=days) for days in (0, 1, 5, 40, 400))

STATES = ("active",) * 8 + ("pending", "superseded", "soft_deleted", "rejected")
TRUSTS = ("user", "user", "tool", "document", "agent")
KINDS = ("semantic", "semantic", "episodic", "procedural", "insight")


class Dice(Random):
    """What a world is made of. Thrown from a seed: a space has some hundred values, and few matter."""

    def text(self) -> str:
        return self.choice(("", "", "The user ", "用户")) + " ".join(
            sorted(self.sample(VOCABULARY, self.randint(1, 6)))
        )

    def some(self, values: dict[str, tuple[Any, ...]], odds: float) -> dict[str, Any]:
        """Some of these fields, each with one of its values."""
        return {name: self.choice(choices) for name, choices in values.items() if self.random() < odds}

    def looks(self, odds: float) -> dict[str, Any]:
        """What of a memory may change."""
        values = {
            "text": (self.text(),), "category": CATEGORIES, "importance": (1, 2, 3, 4, 5), "pinned": (False, True),
            "state": STATES, "trust": TRUSTS, "updated_at": DAYS, "context": (None, self.text()),
        }  # fmt: skip
        return self.some(values, odds)

    def born(self) -> dict[str, Any]:
        """A new memory."""
        facts = [
            Fact(kind="goal", predicate=name, object=self.choice(("tea", "a boat"))) for name in ("wants", "likes")
        ]
        often = {"kind": KINDS, "actor_id": ACTORS, "agent_id": ("a1", "a2"), "run_id": ("r1", "r2")}
        seldom = {"role": ("user", "assistant"), "event_time": DAYS, "confidence": (0.25, 0.5), "fact": tuple(facts)}
        always = {"kind": "semantic", "created_at": self.choice(DAYS)}
        return always | self.looks(1) | self.some(often, 0.5) | self.some(seldom, 0.3)

    def filters(self) -> Filters:
        values = {
            "agent_id": ("a1", "a2"), "run_id": ("r1", "r2"), "actor_id": ACTORS, "role": ("user",),
            "category": CATEGORIES, "pinned": (False, True), "importance_min": (0, 2, 3, 6),
            "importance_max": (0, 3, 5),
            "updated_after": DAYS, "updated_before": DAYS,
        }  # fmt: skip
        return Filters(**self.some(values, self.choice((0.0, 0.1, 0.2))))

    def question(self, rev: Revision) -> Query:
        return Query(
            text=self.choice(
                (
                    self.text(),
                    self.text(),
                    "bo's tea",
                    "Ana and José?",
                    "",
                    "what is the",
                    "🦔",
                    "tea with Vera in May 2026",
                    "what does Ana drink, and what sport does she like?",
                    "whom did Bo marry? 我结婚了吗",
                    "what do I like to drink, and where is my boat?",
                    f"the user's {self.text()}",
                    "who rents a garden since April 2025?",
                )
            ),
            categories=tuple(self.sample(CATEGORIES, self.choice((0, 0, 0, 1, 2)))),
            filters=self.filters(),
            top_k=self.choice((1, 3, 8, 20)),
            returns=self.choice(("bullets", "full")),
            budget_tokens=self.choice((0, 60, 120, 200, 500, 100_000)),
            threshold=self.choice((None, None, 0.0, 0.1, 0.5, 0.9)),
            explain=self.choice((False, True)),
            as_of=self.choice(
                (None, None, Revision(self.randint(0, rev)), NOON - timedelta(hours=self.randint(0, 150)))
            ),
        )


thorough = hypothesis_settings(
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
async def memory(database_url: str, tmp_path: Path) -> AsyncIterator[Memory]:
    """An engine with so few candidates that they have to be the right ones."""
    file = tmp_path / "few.yaml"
    file.write_text(f"recall: {{candidates: {CANDIDATES}, candidates_own: {CANDIDATES}}}\n")
    async with engine(database_url, tuned=settings(database_url, MUNIMENT_CONFIG=str(file))) as opened:
        yield opened


@pytest.fixture
def admin(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


async def lived(memory: Memory, admin: psycopg.Connection, dice: Dice, born: int, edited: int) -> World:
    """A space of its own: so many memories, so many changes of them, edges, and some vectors of another model. Ids are
    the same in every space."""
    world = World(scope=scope(f"owner {next(OWNERS)}"))
    strangers = {_id(n) for n in range(born) if dice.random() < 0.1}
    steps = [_born] * born + [_edited] * edited
    made: list[Change] = []
    for n, step in enumerate(steps):
        at = NOON - timedelta(hours=3 * (len(steps) - n))
        change = step(dice, world)
        world.lines.append(Line(memory=change.after.id, action=change.action, at=at))
        after = replace(change.after, rev=world.rev)
        vector = None if after.id in strangers else halved(hash_vector(after.text))
        world.states.append(world.states[-1] | {after.id: Row(memory=after, vector=vector)})
        made.append(change)
        if dice.random() < 0.2 or n + 1 == len(steps):
            world.lines[-len(made) :] = [replace(line, at=at) for line in world.lines[-len(made) :]]
            await _write(memory, world, at, made)
            made = []
    await _tie(memory, world, dice)
    for table in ("memories", "memory_versions"):
        admin.execute(
            f"update muniment.{table} set embedding_model = 'old' where space_id = %s and memory_id = any(%s)",
            (world.scope.space, list(strangers)),
        )
    return world


async def _write(memory: Memory, world: World, at: datetime, made: list[Change]) -> None:
    expects = Revision(world.rev - len(made))
    plan = WritePlan(scope=world.scope, expected_rev=expects, node="worker", at=at, changes=tuple(made))
    await memory.engine.store.writes.commit(plan)


def _id(n: int) -> MemoryId:
    return MemoryId(uuid5(NAMESPACE_OID, str(n)))


def _born(dice: Dice, world: World) -> Change:
    one = StoredMemory(id=_id(len(world.states[-1])), **dice.born())
    return Change(action="ADD", after=one, vector=hash_vector(one.text))


def _edited(dice: Dice, world: World) -> Change:
    before = dice.choice(list(world.states[-1].values())).memory
    after = replace(before, **dice.looks(0.3))
    gone, back = after.state == "soft_deleted", before.state == "soft_deleted"
    action: Any = "UPDATE" if gone == back else "DELETE" if gone else "RESTORE"
    vector = hash_vector(after.text) if after.text != before.text else None
    return Change(action=action, before=before, after=after, vector=vector)


async def _tie(memory: Memory, world: World, dice: Dice) -> None:
    ids = sorted(world.states[-1])
    for _ in range(len(ids) // 3):
        low, high = sorted(dice.sample(ids, 2))
        world.edges[low, high] = dice.randint(0, 8) / 8
    tied = tuple(Relation(a=a, b=b, strength=strength) for (a, b), strength in world.edges.items())
    plan = WritePlan(scope=world.scope, expected_rev=world.rev, node="worker", at=NOON, relations=tied)
    if tied:
        await memory.engine.store.writes.commit(plan)


def beside(memory: Memory, world: World) -> Memory:
    """The same engine over the plain store."""
    house, store = memory.engine, PlainStore(memory.engine.store, world)
    plain = house.rebuild(store=cast("Store", store))
    return Memory(plain)


def within_budget(answer: Answer, asked: Query) -> None:
    """What a model is really given costs no more than it may, and what the answer says."""
    payload = render.count_tokens(fence_text(dump_compact(encode_answer(answer))))
    assert payload == answer.tokens
    assert payload <= asked.budget_tokens or not answer.hits


@thorough
@given(seed=st.integers(0, 2**32), born=st.integers(0, 36), edited=st.integers(0, 8), agent=st.sampled_from(AGENTS))
async def test_every_answer_is_that_of_the_rules(
    memory: Memory, admin: psycopg.Connection, seed: int, born: int, edited: int, agent: str
) -> None:
    """The same hits in the same order, the same left out for the same reasons, within allowlist, filters and budget;
    the parts of a score add up to it."""
    dice = Dice(seed)
    world = await lived(memory, admin, dice, born, edited if born else 0)
    plain = beside(memory, world)
    allowed = memory.engine.recall.make_reader(world.scope, agent).allowed
    for _ in range(QUESTIONS):
        query = dice.question(world.rev)
        named = {*query.categories, query.filters.category} - {None}
        if not named <= allowed:
            with pytest.raises(Denied):
                await memory.query(world.scope, agent, query)
            continue
        answer = await memory.query(world.scope, agent, query)
        assert answer == await plain.query(world.scope, agent, query)
        within_budget(answer, query)
        assert len(answer.hits) <= query.top_k
        assert all(isclose(sum(hit.parts.values()), hit.score, abs_tol=1e-9) for hit in answer.hits)
        assert all(hit.memory.category in (set(query.categories) or allowed) for hit in answer.hits)


@thorough
@given(seed=st.integers(0, 2**32), born=st.integers(0, 30), edited=st.integers(0, 12), agent=st.sampled_from(AGENTS))
async def test_every_brief_is_that_of_the_rules(
    memory: Memory, admin: psycopg.Connection, seed: int, born: int, edited: int, agent: str
) -> None:
    """Lasting part, header and bullets, as they are and as they were."""
    dice = Dice(seed)
    world = await lived(memory, admin, dice, born, edited if born else 0)
    plain = beside(memory, world)
    for as_of in (None, Revision(dice.randint(0, world.rev))):
        text = dice.text()
        brief = await memory.brief(world.scope, agent, text, as_of=as_of)
        assert brief == await plain.brief(world.scope, agent, text, as_of=as_of)
        assert brief.rev == (world.rev if as_of is None else as_of)
        assert render.count_tokens(brief.moving) <= memory.engine.settings.recall.context_budget_tokens


async def test_a_crowd_hides_nobody(memory: Memory) -> None:
    """However many say the same as one before them, the rest of the places are given to who comes after them."""
    many = [note("Green tea in the garden", actor=f"nr {n}") for n in range(5 * CANDIDATES)]
    few = [
        note(f"Green {thing} for {whom} and for all of the others")
        for thing, whom in (("beans", "Bo"), ("cups", "Vera"))
    ]
    await memory.ingest(scope(), [*many, *few])
    asked = Query(text="green tea in the garden", threshold=0.0)
    hits = (await memory.query(scope(), "supervisor", asked)).hits
    assert {one.text for one in few} <= {hit.memory.text for hit in hits}


async def test_the_order_of_equals_lasts(memory: Memory, admin: psycopg.Connection, database_url: str) -> None:
    """What ties is ordered by id: at the first and at the second time, on any connection, wherever the rows lie."""
    dice = Dice(7)
    twins = [
        note(f"Green tea with {name}") for name in ("Vera", "Milo", "Nina", "Olga", "Hugo", "Lena") for _ in range(4)
    ]
    dice.shuffle(twins)
    await memory.ingest(scope(), twins)
    known = await memory.list(scope())
    asked = Query(text="green tea", threshold=0.0, explain=True, top_k=20, budget_tokens=5_000)
    first = await memory.query(scope(), "supervisor", asked)
    order = [hit.memory.id for hit in first.hits]
    assert len(order) == 6
    for above, below in pairwise(first.hits):
        assert (above.score, below.memory.id) > (below.score, above.memory.id)
    assert {hit.memory.id for hit in first.hits} == {
        min(one.id for one in known if one.text == hit.memory.text) for hit in first.hits
    }
    async with engine(database_url, tuned=memory.engine.settings) as other:
        for upset in ("select 1", "update muniment.memories set access_count = access_count + 1 where random() < 0.5",
                      "vacuum full muniment.memories", "analyze muniment.memories"):  # fmt: skip
            admin.execute(upset)
            for one in (memory, other):
                assert await one.query(scope(), "supervisor", asked) == await memory.query(scope(), "supervisor", asked)
                again = await one.query(scope(), "supervisor", asked)
                assert [hit.memory.id for hit in again.hits] == order
                assert [left.id for left in again.omissions] == [left.id for left in first.omissions]
        await other.keep_candidates(scope("somebody else"), [note("Green tea with Vera")])
        assert [hit.memory.id for hit in (await other.query(scope(), "supervisor", asked)).hits] == order


async def test_of_equals_the_smaller_ids_are_candidates(memory: Memory) -> None:
    """Where there is no room for all that tie, it is not the order of writing that decides."""
    await memory.ingest(scope(), [note("Green tea with Vera") for _ in range(3 * CANDIDATES)])
    known = await memory.list(scope())
    reader, search = await memory.engine.recall.authorize_query(scope(), "supervisor", Query(text="green tea"))
    for _ in range(2):
        found = (await memory.engine.store.reads.read_snapshot(reader, search)).hits
        assert sorted(one.memory.id for one in found) == sorted(one.id for one in known)[: search.candidates]
        await memory.pin(scope(), max(one.id for one in known))
