"""What the search of every store must do; Postgres is the first."""

from dataclasses import replace

import pytest

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Relation
from muniment.memory.domain.query import Filters, ListRequest
from muniment.memory.domain.search import Search, Weights
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.language import tokens
from muniment.memory.stores.postgres.store import PostgresStore
from tests.contract.test_store import CATEGORIES, added, memory, plan, reader
from tests.engine import NOON, scope

WEIGHTS = Weights(
    floor=0.1, ceiling=0.9, semantic=0.4, keyword=0.6, actor=0.2, own=0.0, timely=0.0, before=1.0, after=1.0, traits={}
)


def search(text: str, categories: tuple[str, ...] = CATEGORIES, filters: Filters | None = None) -> Search:
    return Search(
        vector=hash_vector(text),
        terms=tokens.extract_terms(text),
        categories=categories,
        filters=filters or Filters(),
        candidates=50,
        weights=WEIGHTS,
    )


async def test_a_hit_by_words_alone_is_found(store: PostgresStore) -> None:
    """The channels are a true union: with a meaningless vector the keyword still finds its memory."""
    await store.writes.commit(
        plan(scope(), 0, *added(memory("The user plays the bandoneon"), memory("Something else")))
    )
    asked = replace(search("bandoneon"), vector=hash_vector("zzz qqq"), candidates=1)
    found = (await store.reads.read_snapshot(reader(scope()), asked)).hits
    best = max(found, key=lambda one: one.keyword)
    assert best.memory.text == "The user plays the bandoneon"
    assert best.keyword > 0


async def test_a_rare_word_weighs_more_than_a_common_one(store: PostgresStore) -> None:
    """Keywords carry their rarity in the space (IDF)."""
    common = [memory(f"The user runs race number {n}") for n in range(8)]
    rare = memory("The user plays the bandoneon")
    await store.writes.commit(plan(scope(), 0, *added(*common, rare)))
    found = (await store.reads.read_snapshot(reader(scope()), search("race bandoneon"))).hits
    shares = {one.memory.text: one.keyword for one in found}
    assert shares[rare.text] > 1.5 * shares[common[0].text] > 0


async def test_a_verb_is_found_in_each_of_its_forms(store: PostgresStore) -> None:
    """Who asks what somebody bought says "did they buy": in a small space, and in one that has indexes."""
    await store.writes.commit(plan(scope(), 0, *added(memory("Ana bought an accordion"), memory("Ana keeps bees"))))
    small = (await store.reads.read_snapshot(reader(scope()), search("buy"))).hits
    assert (await store.maintenance.index_space(scope(), 1)).made == ("vectors", "words")
    await store.reads.read_snapshot(reader(scope()), search(""))
    large = (await store.reads.read_snapshot(reader(scope()), search("buy"))).hits
    for found in (small, large):
        assert [one.memory.text for one in found if one.keyword] == ["Ana bought an accordion"]


async def test_what_is_told_of_the_user_is_picked(store: PostgresStore) -> None:
    """Where the query is about them, before what is as near; and a word that tells what is asked picks one of
    several."""
    told = [memory(f"{how} keeps bees") for how in ("The user", "the user", "User")] + [memory("用户养了一只猫")]
    others = [memory(f"{who} keeps bees") for who in ("Ana", "Their user", "USER")]
    note, theirs = memory("My sister keeps bees", actor_id="ana"), memory("Our sister keeps bees", actor_id="bob")
    unsigned = memory("我养蜂")
    await store.writes.commit(plan(scope(), 0, *added(*told, note, theirs, unsigned, *others)))

    async def picked(candidates: int, weights: Weights) -> set[str]:
        asked = replace(search("keeps bees"), candidates=candidates, weights=weights)
        return {one.memory.text for one in (await store.reads.read_snapshot(reader(scope()), asked)).hits}

    assert await picked(6, replace(WEIGHTS, own=5.0)) == {one.text for one in (*told, note, unsigned)}
    (hint,) = {tokens.hash_lexeme(word) for word in tokens.extract_terms("Ana")}
    assert await picked(1, replace(WEIGHTS, traits={hint: 5.0})) == {others[0].text}


async def test_an_edge_brings_a_memory_that_neither_channel_finds(store: PostgresStore) -> None:
    """A related memory is a channel of its own, with the strength of its edge."""
    hit, far = memory("The user trains for a marathon"), memory("qqq zzz xxx")
    more = [memory(f"marathon {n}") for n in range(3)]
    edge = Relation(a=hit.id, b=far.id, strength=0.7)
    await store.writes.commit(plan(scope(), 0, *added(hit, far, *more), relations=(edge, edge)))
    found = (await store.reads.read_snapshot(reader(scope()), replace(search("marathon trains"), candidates=1))).hits
    assert {one.memory.text: one.edges for one in found}[far.text][hit.id] == pytest.approx(0.7)


async def test_another_space_sees_nothing(store: PostgresStore) -> None:
    """Neither search, list, history nor id reaches into another owner's or tenant's space."""
    mine = memory("The user has a secret garden")
    await store.writes.commit(plan(scope("ana"), 0, *added(mine)))
    for other in (scope("bob"), scope("ana", tenant="other"), scope("ana", owner_type="agent")):
        assert (await store.reads.read_snapshot(reader(other), search("secret garden"))).hits == ()
        assert (await store.reads.list_memories(reader(other), ListRequest())).memories == ()
        assert await store.reads.read_history(reader(other), None, 10) == []
        assert await store.reads.get_memory(reader(other), mine.id) is None


async def test_row_security_hides_what_the_search_forgot_to_exclude(store: PostgresStore) -> None:
    """A reader whose allowlist lacks a category gets none of it, though the search names it."""
    await store.writes.commit(
        plan(scope(), 0, *added(memory("Call the dentist", "tasks"), memory("Be brief", "preferences")))
    )
    sight = await store.reads.read_snapshot(
        reader(scope(), "preferences"),
        search("dentist brief", ("tasks", "preferences")),
        stable=("tasks",),
        thread="T",
        horizon=NOON,
    )
    assert {one.memory.category for one in sight.hits} == {"preferences"}
    assert sight.stable == ()
    assert sight.delta is not None
    assert {line.category for line in sight.delta.entries} == {"preferences"}


@pytest.mark.parametrize(
    ("filters", "texts"),
    [
        (Filters(pinned=True), {"b"}),
        (Filters(importance_min=4), {"c"}),
        (Filters(importance_max=1), {"a"}),
        (Filters(actor_id="bob"), {"b"}),
        (Filters(agent_id="helper"), {"c"}),
        (Filters(run_id="r1"), {"a"}),
        (Filters(role="assistant"), {"c"}),
        (Filters(category="tasks"), {"b"}),
        (Filters(updated_after=NOON.replace(year=2027)), {"c"}),
        (Filters(updated_before=NOON), {"a", "b"}),
        (Filters(session_id="s1"), {"a"}),
        (Filters(project_id="harbour"), {"b"}),
        (Filters(app_id="editor"), {"b"}),
        (Filters(reach="project"), {"b"}),
        (Filters(source="notes.md"), {"c"}),
        (Filters(event_after=NOON), {"c"}),
        (Filters(event_before=NOON), {"a"}),
        (Filters(fact_kind="decision"), {"b"}),
        (Filters(predicate="USES"), {"b"}),
        (Filters(person="mei lin"), {"b"}),
        (Filters(person="wayfinder"), {"b"}),
        (Filters(entity="PNPM"), {"b"}),
        (Filters(location="杭州"), {"b"}),
        (Filters(topic="Builds"), {"b"}),
        (Filters(topic="other"), set()),
        (Filters(), {"a", "b", "c"}),
        (Filters(pinned=True, importance_min=4), set()),
    ],
)
async def test_filters_narrow_the_search(store: PostgresStore, filters: Filters, texts: set[str]) -> None:
    """Each filter of memory.query leaves just the memories that it describes."""
    fact = Fact(
        kind="decision",
        predicate="uses",
        object="pnpm",
        subject="Wayfinder",
        persons=("Mei Lin",),
        entities=("pnpm",),
        location="杭州",
        topic="builds",
    )
    harbour = replace(scope(), project="harbour")
    await store.writes.commit(
        plan(
            scope(),
            0,
            *added(
                memory("a", importance=1, run_id="r1", session_id="s1", event_time=NOON.replace(year=2020)),
                memory(
                    "b",
                    "tasks",
                    pinned=True,
                    actor_id="bob",
                    fact=fact,
                    project_id="harbour",
                    app_id="editor",
                    reach="project",
                ),
                memory(
                    "c",
                    importance=5,
                    agent_id="helper",
                    role="assistant",
                    updated_at=NOON.replace(year=2028),
                    source="notes.md",
                    event_time=NOON.replace(year=2027),
                ),
            ),
        )
    )
    found = (await store.reads.read_snapshot(reader(harbour), search("a b c", filters=filters))).hits
    assert {one.memory.text for one in found} == texts
