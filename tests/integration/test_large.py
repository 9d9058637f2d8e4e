"""A large space: the plans of its searches, and that its indexes leave nothing out and let nothing in."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from uuid import UUID, uuid5

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings as hypothesis_settings, strategies as st

from muniment.memory.domain.ids import MemoryId, Revision, SpaceId, Vector
from muniment.memory.domain.maintenance import IndexingResult
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.query import Filters
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import LOWEST_MEANING, Search, SearchHit, Weights
from muniment.memory.rules.language import tokens
from muniment.memory.stores.postgres.schema import large_spaces
from muniment.memory.stores.postgres.store import PostgresStore
from tests.conftest import Clones, alone
from tests.engine import NOON, scope

MODEL, CATEGORIES = "hash-256", ("goals", "tasks", "preferences")
COUNT, WIDTH, TOPICS = 1_500, 32, 12
WORDS = [a + b for a in ["ba", "de", "ki", "lo", "mu", "ra", "so", "ti"] for b in ["nel", "rup", "sam", "tok", "vex"]]
WORDS[-2:] = "buy", "bought"
SHARES = {"floor": 0.1, "ceiling": 0.9, "semantic": 0.4, "keyword": 0.6, "actor": 0.2, "own": 0.0, "timely": 0.0}
WEIGHTS = Weights(**SHARES, before=1.0, after=1.0, traits={})
ANA, BEN, CEM = map(scope, ("ana", "ben", "cem"))


def unit(vectors: np.ndarray) -> Vector:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


CENTRES = unit(np.random.default_rng(1).standard_normal((TOPICS, WIDTH)))
NOWHERE = unit(np.random.default_rng(2).standard_normal(WIDTH))  # hardly closer to one topic than to another


def near(topic: int, rng: np.random.Generator) -> Vector:
    return unit(CENTRES[topic] + 0.15 * rng.standard_normal(WIDTH))


def made(owner: str, count: int) -> list[tuple[StoredMemory, Vector]]:
    """Memories in all categories, each of one of twelve meanings, and the same for the same owner."""
    rng, found = np.random.default_rng(len(owner)), []
    for n in range(count):
        text = f"{' '.join(rng.choice(WORDS, 6))} {owner}{n}"
        one = StoredMemory(
            id=MemoryId(uuid5(UUID(int=7), f"{owner}{n}")),
            kind="semantic",
            category=CATEGORIES[n % 3],
            text=text,
            created_at=NOON,
            updated_at=NOON,
            importance=1 + n % 5,
            pinned=n % 50 == 0,
            actor_id="Mira" if n % 300 == 0 else owner,
            agent_id="lone" if n == 700 else None,
        )
        found.append((one, near(n % TOPICS, rng)))
    return found


def plan(who: Scope, expects: int, *changes: Change) -> WritePlan:
    return WritePlan(scope=who, expected_rev=Revision(expects), node="face", at=NOON, changes=changes)


def added(rows: list[tuple[StoredMemory, Vector]]) -> tuple[Change, ...]:
    return tuple(Change(action="ADD", after=one, vector=vector) for one, vector in rows)


def search(text: str, vector: Vector, filters: Filters | None = None, **more: object) -> Search:
    asked = Search(
        vector=vector,
        terms=tokens.extract_terms(text),
        categories=CATEGORIES,
        filters=filters or Filters(),
        candidates=24,
        weights=WEIGHTS,
    )
    return replace(asked, **more)  # type: ignore[arg-type]


def reader(who: Scope, *allowed: str) -> Reader:
    return Reader(scope=who, allowed=frozenset(allowed or CATEGORIES))


def opened(url: str) -> PostgresStore:
    async def address() -> str:
        return url

    return PostgresStore(address, model=MODEL)


async def fill(url: str) -> None:
    store = opened(url)
    for who, count in ((ANA, COUNT), (BEN, COUNT // 3), (CEM, 60)):
        await store.writes.commit(plan(who, 0, *added(made(who.owner, count))))
    for who in (ANA, BEN):
        assert (await store.maintenance.index_space(who, 100)).made == ("vectors", "words")
    await store.close()


@pytest.fixture(scope="module")
def filled(clones: Clones, template: str) -> Iterator[str]:
    """Ana and Ben have indexes, Cem has few memories and none. Whoever changes something clones it."""
    for url in clones.make(template):
        alone(fill(url))
        yield url


@pytest.fixture
def own(clones: Clones, filled: str) -> Iterator[str]:
    """A copy of it for a test that writes."""
    yield from clones.make(psycopg.conninfo.conninfo_to_dict(filled)["dbname"])  # type: ignore[arg-type]


@pytest.fixture
async def store(filled: str) -> AsyncIterator[PostgresStore]:
    """A store that has learned who has indexes."""
    async for one in learned(filled):
        yield one


@pytest.fixture
async def changing(own: str) -> AsyncIterator[PostgresStore]:
    async for one in learned(own):
        yield one


async def learned(url: str) -> AsyncIterator[PostgresStore]:
    store = opened(url)
    for who in (ANA, BEN, CEM):
        await store.reads.read_snapshot(reader(who), search("", CENTRES[0]))
    assert store._indexes.indexed_spaces == {ANA.space, BEN.space}
    yield store
    await store.close()


async def found(store: PostgresStore, who: Reader, asked: Search, *, by_index: bool = True) -> tuple[SearchHit, ...]:
    """By the indexes, or as if there were none."""
    store._indexes.indexed_spaces = {ANA.space, BEN.space} if by_index else set()
    return (await store.reads.read_snapshot(who, asked)).hits


async def plans(store: PostgresStore, space: SpaceId | None) -> list[dict[str, object]]:
    """The nodes of the plan of the last search as it was sent and prepared: that of a space by its indexes, or any
    scan."""
    async with store._connections.connect() as conn:
        marks = f"%{space.hex}%" if space else "%cardinality%"
        cursor = await conn.execute(
            "select name, parameter_types::text[] as types from pg_prepared_statements"
            " where statement like %s and statement like '%%tied%%' and statement like '%%app.spaces%%'"
            " and (%s or statement not like '%%hnsw%%')",  # a space that is shared is entered before
            (marks, space is not None),
        )
        (row,) = await cursor.fetchall()
        nulls = ", ".join(f"null::{kind}" for kind in row["types"])
        text = f'explain (format json) execute "{row["name"]}" ({nulls})'
        (shown,) = await (await conn.execute(text.encode())).fetchall()
    waiting, nodes = [shown["QUERY PLAN"][0]["Plan"]], []
    while waiting:
        node = waiting.pop()
        waiting += node.pop("Plans", [])
        nodes.append(node)
    return nodes


def scans(nodes: list[dict[str, object]], table: str) -> set[tuple[object, object]]:
    """How a table is read, and by which index."""
    return {(node["Node Type"], node.get("Index Name")) for node in nodes if node.get("Relation Name") == table}


async def test_the_plan_of_a_small_space(store: PostgresStore) -> None:
    """A small space is read by its own part of a btree, as a whole, and nothing reads a table from end to end."""
    await found(store, reader(CEM), search("banel", CENTRES[1]))
    nodes = await plans(store, None)
    assert "Seq Scan" not in {node["Node Type"] for node in nodes}
    indexes = {str(node["Index Name"]) for node in nodes if "Index Name" in node}
    assert "memories_pk" in indexes
    assert not [name for name in indexes if name.startswith(("memories_near_", "postings"))]
    assert all("space_id" in str(one["Index Cond"]) for one in nodes if one.get("Index Name") == "memories_pk")


@pytest.mark.parametrize("told", [0.0, 0.3])  # of the user
async def test_the_plan_of_a_large_space(store: PostgresStore, told: float) -> None:
    """Vectors come from the space's own HNSW index, words from its lists, rows one by one, and nothing from
    another's."""
    asked = search("banel", CENTRES[1], weights=replace(WEIGHTS, own=told), hints=frozenset({9}))
    await found(store, reader(ANA), asked)
    nodes = await plans(store, ANA.space)
    assert "Seq Scan" not in {node["Node Type"] for node in nodes}
    own = large_spaces.build_index_name(ANA.space, MODEL)
    assert ("Index Scan", own) in scans(nodes, "memories")
    assert scans(nodes, "memories") - {("Index Scan", own)} <= {
        ("Index Scan", "memories_pk"),
        ("Index Scan", "memories_by_next"),
        ("Index Only Scan", "memories_by_next"),
    }
    assert {node["Index Name"] for node in nodes if str(node.get("Index Name")).startswith("postings")} == {
        "postings_pk"
    }
    lookups = [node for node in nodes if node.get("Index Name") in ("memories_pk", "postings_pk")]
    assert all("space_id" in str(node["Index Cond"]) for node in lookups)
    assert all("memory_id" in str(node["Index Cond"]) for node in lookups if node["Index Name"] == "memories_pk")
    assert all("dimension" in str(node["Index Cond"]) for node in lookups if node["Index Name"] == "postings_pk")


async def test_the_closest_are_found(store: PostgresStore) -> None:
    """At least 98 of 100 of the ten closest by numpy are found, and the cosine of each is the exact one."""
    rows, rng = made("ana", COUNT), np.random.default_rng(3)
    vectors = np.stack([vector for _, vector in rows]).astype(np.float16).astype(np.float64)
    hit = 0
    for n in range(30):
        query = near(n % TOPICS, rng)
        cosines = vectors @ query.astype(np.float16).astype(np.float64)
        closest = {rows[place][0].id: cosines[place] for place in np.argsort(-cosines)[:10]}
        seen = {one.memory.id: one.cosine for one in await found(store, reader(ANA), search("", query))}
        hit += len(closest.keys() & seen.keys())
        assert all(seen[id_] == pytest.approx(closest[id_], abs=1e-5) for id_ in closest.keys() & seen.keys())
    assert hit >= 0.98 * 300


@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**20),
    text=st.lists(st.sampled_from([*WORDS, "ana77", "nowhere"]), max_size=5).map(" ".join),
    allowed=st.sets(st.sampled_from(CATEGORIES), min_size=1).map(sorted),
    filters=st.sampled_from([
        Filters(), Filters(pinned=False), Filters(importance_min=2), Filters(category="tasks"), Filters(pinned=True),
        Filters(agent_id="lone"), Filters(actor_id="Mira"), Filters(importance_min=5, importance_max=1),
    ]),
)  # fmt: skip
@example(seed=61969, text="banel", allowed=["goals", "tasks"], filters=Filters())  # a word that many have alike
@example(seed=1, text="buy banel", allowed=["goals", "tasks"], filters=Filters())  # some have both forms
async def test_an_answer_is_that_of_a_scan(
    store: PostgresStore, seed: int, text: str, allowed: list[str], filters: Filters
) -> None:
    """With any filter and allowlist both ways find the same best, with the same cosine, and nothing but what may be
    read; a search without a filter, or for a category, also sees the same weight of every word."""
    who = reader(ANA, *allowed)
    asked = search(text, near(seed % TOPICS, np.random.default_rng(seed)), filters)
    seen, exact = await found(store, who, asked), await found(store, who, asked, by_index=False)
    passing = {one.id for one, _ in made("ana", COUNT) if fits(one, filters) and one.category in allowed}
    assert passing >= {one.memory.id for one in seen}
    assert len(seen) == len(exact) == min(asked.candidates, len(passing))
    best, theirs = sorted(exact, key=place), {one.memory.id: one for one in seen}
    shared = [one for one in best[:10] if one.memory.id in theirs]
    assert len(shared) >= min(10, len(best)) - 1
    for one in shared:
        assert theirs[one.memory.id].cosine == one.cosine
        if filters in (Filters(), Filters(category="tasks")):
            assert theirs[one.memory.id].keyword == pytest.approx(one.keyword, abs=1e-9)


def fits(one: StoredMemory, filters: Filters) -> bool:
    wanted = (filters.pinned, filters.agent_id, filters.actor_id, filters.category)
    own = (one.pinned, one.agent_id, one.actor_id, one.category)
    ranged = (filters.importance_min or 0) <= one.importance <= (filters.importance_max or 5)
    return ranged and all(value in (None, its) for value, its in zip(wanted, own, strict=True))


def place(one: SearchHit) -> tuple[float, MemoryId]:
    """The smaller, the better."""
    near = max(LOWEST_MEANING, min(1.0, ((one.cosine or 0.0) - 0.1) / 0.8))
    return -WEIGHTS.keyword * one.keyword - WEIGHTS.semantic * near, one.memory.id


async def test_a_query_names_a_speaker(store: PostgresStore) -> None:
    """All that the one speaker whom a query names has said is looked at, however far its meaning is."""
    asked = search("what did mira say", NOWHERE, speakers=("what", "did", "mira", "say"))
    sight, exact = (
        await store.reads.read_snapshot(reader(ANA), asked),
        await found(store, reader(ANA), asked, by_index=False),
    )
    assert sight.speakers == ("mira",)
    hers = {one.memory.id for one in exact if one.memory.actor_id == "Mira"}
    assert set() < hers <= {one.memory.id for one in sight.hits}


async def test_a_word_makes_a_candidate(store: PostgresStore) -> None:
    """Who has the word of the query is looked at before the many that are nearer in meaning, by scan and by index."""
    for who, text, place in ((CEM, "cem7", 7), (ANA, "ana703", 703)):
        seen = await found(store, reader(who), search(text, CENTRES[(place + 1) % TOPICS]), by_index=who == ANA)
        assert made(who.owner, place + 1)[place][0].id in {one.memory.id for one in seen}


async def test_nothing_of_another_space(store: PostgresStore) -> None:
    """Whatever Ben asks, nothing of Ana's is in the answer, though hers is as near and has the same words."""
    for topic in range(TOPICS):
        seen = await found(store, reader(BEN), search(" ".join(WORDS[topic::12]), CENTRES[topic]))
        assert len(seen) == 24
        assert all(one.memory.actor_id in ("ben", "Mira") and "ben" in one.memory.text for one in seen)


async def test_an_allowlist_holds_below_the_statement(store: PostgresStore) -> None:
    """A search that names more than its reader may see finds only what row-level security shows, also among the
    words."""
    asked = search(" ".join(WORDS[:6]), CENTRES[2])
    seen = await found(store, reader(ANA, "tasks"), asked)
    assert [one.memory.category for one in seen] == 24 * ["tasks"]
    narrow = await found(store, reader(ANA, "tasks"), replace(asked, categories=("tasks",)))
    assert {one.memory.id: one.keyword for one in seen} == {one.memory.id: one.keyword for one in narrow}


async def test_what_is_written_later_is_found_at_once(changing: PostgresStore) -> None:
    """A new memory is found by meaning and by word, a changed one by its new words only, a forgotten one not at all;
    lists that are made anew say the same."""
    rows = made("ana", COUNT)
    (changed, vector), (gone, _) = rows[10], rows[11]
    fresh = replace(changed, id=MemoryId(UUID(int=1)), text="quixotic zebra")
    after = replace(changed, text="marzipan altogether")
    await changing.writes.commit(
        plan(
            ANA,
            COUNT,
            *added([(fresh, near(3, np.random.default_rng(5)))]),
            Change(action="UPDATE", before=changed, after=after, vector=vector),
            Change(action="DELETE", before=gone, after=replace(gone, state="soft_deleted")),
        )
    )

    async def check() -> None:
        by_word = await found(changing, reader(ANA), search("quixotic", NOWHERE))
        assert [one.memory.id for one in by_word if one.keyword > 0] == [fresh.id]
        by_meaning = await found(changing, reader(ANA), search("", near(3, np.random.default_rng(5))))
        assert fresh.id in {one.memory.id for one in by_meaning}
        for text, own in (("marzipan", 1), ("ana10", 0), ("ana11", 0), ("ana12", 1)):
            seen = [one for one in await found(changing, reader(ANA), search(text, NOWHERE)) if one.keyword > 0]
            assert len(seen) == own, text
        assert gone.id not in {one.memory.id for one in await found(changing, reader(ANA), search("", rows[11][1]))}

    await check()
    assert await changing.maintenance.index_space(ANA, 100) == IndexingResult(memories=COUNT, indexed=True)
    assert (await changing.maintenance.index_space(ANA, 100, force=True)).made == ("words",)
    await check()


async def test_a_brief_is_of_one_revision_and_by_index(changing: PostgresStore) -> None:
    """The search beside the stable memories uses the indexes too, and falls back within the same snapshot."""
    for filters in (Filters(), Filters(agent_id="lone")):
        asked = search(WORDS[0], CENTRES[1], filters)
        sight = await changing.reads.read_snapshot(reader(ANA), asked, stable=("goals",), stable_limit=5)
        assert (sight.rev, len(sight.stable)) == (COUNT, 5)
        assert len(sight.hits) == (1 if filters.agent_id else 24)


async def test_as_of_reads_no_index(changing: PostgresStore) -> None:
    """What is in no index, as former versions, is found by a scan."""
    seen = await changing.reads.read_snapshot(reader(ANA), search("ana5", CENTRES[1]), as_of=Revision(6))
    assert {one.memory.rev for one in seen.hits} == {1, 2, 3, 4, 5, 6}
