"""`MunimentStore`: LangGraph's contract over one table, and the walls between owners."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import psycopg
import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from muniment.langchain import MunimentStore
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, Leaving, engine, scope

ANA = Scope(owner="ana")


@pytest.fixture
def store(memory: Memory) -> MunimentStore:
    return MunimentStore(memory, ANA)


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


async def test_a_value_stays_as_it_was_put(store: MunimentStore) -> None:
    """Also one that no database would take as it is; `created_at` stays when it is put again."""
    value = {"b": 1.0, "a": "NUL \x00 and half \ud83d", "n": 10**30, "e": 1e16, "z": None, "l": [{"": []}], "t": "  x "}
    await store.aput(("docs", "naïve\n"), "k" * 5_000, value)
    first = await store.aget(("docs", "naïve\n"), "k" * 5_000)
    assert first is not None
    assert first.value == value
    assert list(first.value) == list(value)
    assert isinstance(first.value["e"], float)
    assert await store.aget(("docs", "naïve"), "k" * 5_000) is None
    await store.aput(("docs", "naïve\n"), "k" * 5_000, {"b": 2})
    again = await store.aget(("docs", "naïve\n"), "k" * 5_000)
    assert again is not None
    assert (again.value, again.created_at) == ({"b": 2}, first.created_at)
    await store.adelete(("docs", "naïve\n"), "k" * 5_000)
    assert await store.aget(("docs", "naïve\n"), "k" * 5_000) is None
    with pytest.raises(BadInput, match="has to be JSON"):
        await store.aput(("docs",), "k", {"x": float("nan")})


async def test_a_prefix_ends_at_a_label(store: MunimentStore) -> None:
    """No label is the beginning of another, `_` and `%` are letters, and no prefix finds all of the space."""
    for namespace in (("a",), ("a", "b"), ("ab",), ("a_",), ("a%", "b")):
        await store.aput(namespace, ".".join(namespace), {})
    assert sorted(keys(await store.asearch(("a",)))) == ["a", "a.b"]
    assert keys(await store.asearch(("a_",))) == ["a_"]
    assert keys(await store.asearch(("a%",))) == ["a%.b"]
    assert len(await store.asearch(())) == 5
    with pytest.raises(InvalidNamespaceError):
        await store.abatch([PutOp(("a.b",), "k", {})])


async def test_filters_compare_numbers_as_numbers(store: MunimentStore) -> None:
    """Text as text, nothing across types, what is missing as None; an unknown operator is refused."""
    values: dict[str, dict[str, Any]] = {
        "two": {"n": 2, "d": {"x": 1, "y": [1, 2]}},
        "ten": {"n": 10.0, "t": "10"},
        "text": {"n": "3", "t": "9", "b": True},
    }
    await store.abatch([PutOp(("f",), key, value) for key, value in values.items()])

    async def found(wanted: dict[str, Any]) -> list[str]:
        return sorted(keys(await store.asearch(("f",), filter=wanted)))

    assert await found({"n": {"$gt": 2}}) == ["ten"]
    assert await found({"n": {"$gte": 2, "$lt": 10}}) == ["two"]
    assert await found({"n": 10}) == ["ten"]
    assert await found({"n": {"$ne": 2}}) == ["ten", "text"]
    assert await found({"t": {"$gt": "10"}}) == ["text"]
    assert await found({"t": None}) == ["two"]
    assert await found({"d": {"x": 1}}) == ["two"]
    assert await found({"d": {"y": [1, 2]}}) == ["two"]
    assert await found({"b": True, "n": {"$lte": "3"}}) == ["text"]
    with pytest.raises(ValueError, match="Unsupported operator"):
        await found({"n": {"$in": [2]}})


async def test_reads_of_a_batch_see_what_was_before(store: MunimentStore) -> None:
    """Results are in the order of the operations, and the last of several puts holds."""
    await store.aput(("x",), "k", {"n": 0})
    got, _, found, _, namespaces, _ = await store.abatch(
        [
            GetOp(("x",), "k"),
            PutOp(("x",), "k", {"n": 1}),
            SearchOp(("x",)),
            PutOp(("y",), "new", {"n": 1}),
            ListNamespacesOp(),
            PutOp(("x",), "k", {"n": 2}),
        ]
    )
    assert (cast("Any", got).value, keys(found), namespaces) == ({"n": 0}, ["k"], [("x",)])
    last = await store.aget(("x",), "k")
    assert last is not None
    assert last.value == {"n": 2}


async def test_namespaces_are_listed_by_their_ends(store: MunimentStore) -> None:
    """By prefix, by suffix, with a wildcard, cut off at a depth, in order and in pages."""
    for namespace in (("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "c", "f"), ("b", "a", "f")):
        await store.aput(namespace, "k", {})
    assert await store.alist_namespaces(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d")]
    assert await store.alist_namespaces(suffix=("f",)) == [("a", "c", "f"), ("b", "a", "f")]
    assert await store.alist_namespaces(prefix=("a", "*", "f")) == [("a", "c", "f")]
    assert await store.alist_namespaces(limit=1, offset=4) == [("b", "a", "f")]
    both = ListNamespacesOp((MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("e",))))
    assert await store.abatch([both]) == [[("a", "b", "d", "e")]]


async def test_an_item_is_found_by_meaning(memory: Memory, store: MunimentStore) -> None:
    """The best of its texts counts; what is not indexed comes last, without a score."""
    await store.aput(("m",), "tea", {"text": "green tea from the mountains"})
    await store.aput(("m",), "car", {"text": "a fast red car"})
    await store.aput(("m",), "none", {"text": "green tea"}, index=False)
    await store.aput(("m",), "parts", {"parts": [{"t": "a fast car"}, {"t": "tea"}]}, index=["parts[*].t"])
    found = await store.asearch(("m",), query="green tea from the mountains")
    assert keys(found)[0] == "tea"
    assert (found[-1].key, found[-1].score) == ("none", None)
    assert keys(await store.asearch(("m",), query="tea"))[0] == "parts"
    assert [item.score for item in await store.asearch(("m",))] == [None] * 4


async def test_vectors_come_later_when_the_embedder_is_away(database_url: str) -> None:
    """A put is kept without the embedder, and the next search that has one makes its vectors."""
    embedder = Leaving()
    async with engine(database_url, embedder=embedder) as memory:
        store = MunimentStore(memory, ANA)
        embedder.leave()
        await store.aput(("m",), "tea", {"text": "green tea"})
        assert [item.score for item in await store.asearch(("m",), query="tea")] == [None]
        embedder.come_back()
        memory.engine.available_embedder.note_success()
        (item,) = await store.asearch(("m",), query="tea")
        assert item.score is not None


async def test_items_expire(database_url: str) -> None:
    """After `ttl` minutes an item is gone for every read, unless one has refreshed it; maintenance removes its row."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        store = MunimentStore(memory, ANA, ttl={"default_ttl": 10.0, "refresh_on_read": True})
        for key, ttl in (("usual", 10.0), ("long", 60.0), ("ever", None)):
            await store.aput(("t",), key, {}, ttl=ttl)
        clock.advance(seconds=540)
        await store.aget(("t",), "usual")
        clock.advance(seconds=540)
        await store.asearch(("t",), refresh_ttl=False)
        assert await store.aget(("t",), "usual", refresh_ttl=False) is not None
        clock.advance(seconds=120)
        assert await store.aget(("t",), "usual") is None
        assert sorted(keys(await store.asearch(("t",)))) == ["ever", "long"]
        await memory.admin.maintain(ANA)
        with psycopg.connect(database_url) as admin:
            assert admin.execute("select count(*) from muniment.items").fetchone() == (2,)


async def test_each_owner_has_a_store(memory: Memory) -> None:
    """In a run the store is that of the run's user; outside of one, and without a scope, a sentence says what to do."""
    store = MunimentStore(memory)

    async def write(state: MessagesState) -> dict[str, Any]:
        await store.aput(("notes",), "k", {"text": str(state["messages"][-1].content)})
        return {}

    graph = StateGraph(MessagesState, context_schema=cast("Any", dict))
    graph.add_node("write", write)
    graph.add_edge(START, "write")
    graph.add_edge("write", END)
    agent = graph.compile(store=store)
    for user in ("ana", "bob"):
        await agent.ainvoke(cast("Any", {"messages": [("user", user)]}), context=cast("Any", {"user": user}))
    for user in ("ana", "bob"):
        (item,) = await MunimentStore(memory, Scope(owner=user)).asearch(())
        assert item.value == {"text": user}
    with pytest.raises(BadInput, match=r"the store cannot tell whose memory it is: .*; or give MunimentStore a scope"):
        await store.aget(("notes",), "k")


async def test_row_level_security_keeps_owners_apart(memory: Memory, database_url: str) -> None:
    """The application sees no item but of the space it has entered, and none with an allowlist of categories."""
    for user in ("ana", "bob"):
        await MunimentStore(memory, Scope(owner=user)).aput(("n",), "k", {})
    with psycopg.connect(database_url) as conn:
        conn.execute("set role muniment_app")
        counts = []
        for allowed in (None, ["goals"]):
            with conn.transaction():
                conn.execute("select muniment.enter_space(%s, %s)", (ANA.space, allowed))
                counts.append(conn.execute("select count(*) from muniment.items").fetchone())
        assert counts == [(1,), (0,)]
        assert conn.execute("select count(*) from muniment.items").fetchone() == (0,)


async def test_items_are_erased_with_their_owner(memory: Memory) -> None:
    """And they are no memories: nothing lists or finds them there."""
    store = MunimentStore(memory, scope().owner_scope)
    await store.aput(("n",), "k", {"text": "I am allergic to peanuts"})
    assert not await memory.list(scope())
    receipt = await memory.admin.erase_space(scope())
    assert receipt.counts["items"] == 1
    assert await store.asearch(()) == []


async def test_a_thread_may_use_it(store: MunimentStore) -> None:
    """Synchronous callers in a thread are served; on the loop of the memory they are refused."""
    await asyncio.to_thread(store.put, ("s",), "k", {"n": 1})
    found = await asyncio.to_thread(store.get, ("s",), "k")
    assert found is not None
    with pytest.raises(BadInput, match="await the asynchronous method"):
        store.get(("s",), "k")


async def test_many_calls_at_once_wait_for_each_other(store: MunimentStore) -> None:
    """They share the connections of the memory, and none finds all of them in use."""
    await asyncio.gather(*(store.aput(("many",), f"k{n}", {"n": n}, index=False) for n in range(200)))
    assert len(await store.asearch(("many",), limit=1_000)) == 200
