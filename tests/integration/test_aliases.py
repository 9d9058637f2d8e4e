"""Other names of what a memory is about: it is found by them, and they are kept, versioned and erased with it."""

import asyncio

import numpy as np
import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.models.hash_embedder import HashEmbedder, hash_vector
from muniment.memory.rules.merging.aliases import MAX_ALIASES, MAX_CHARS
from tests.engine import engine, note, said, scope
from tests.switching import unopened

TEXT = "Production runs in two zones of Frankfurt."
SECRET = "ghp_" + "a1B2" * 9


async def keep(memory: Memory, text: str = TEXT, aliases: tuple[str, ...] = ()) -> StoredMemory:
    [change] = (await memory.keep_candidates(scope(), [note(text, aliases=aliases)])).changes
    return change.after


async def found(memory: Memory, text: str, who: Scope | None = None) -> list[str]:
    answer = await memory.query(who or scope(), "supervisor", Query(text=text))
    return [hit.memory.text for hit in answer.hits]


def vector_of(url: str, id_: MemoryId) -> np.ndarray:
    with psycopg.connect(url) as conn:
        row = conn.execute("select embedding::text from muniment.memories where memory_id = %s", (id_,)).fetchone()
    assert row is not None
    return np.fromstring(row[0].strip("[]"), sep=",")


async def test_a_memory_is_found_by_its_other_names(database_url: str) -> None:
    """By the words and by the vector, which is of the text with the names; and no longer when they are taken away."""
    async with engine(database_url) as memory:
        one = await keep(memory)
        assert await found(memory, "kubernetes cluster") == []
        [change] = (await memory.set_aliases(scope(), one.id, ["Kubernetes  cluster", "k8s", "K8S"])).changes
        assert change.after.aliases == ("Kubernetes cluster", "k8s")
        assert change.action == "UPDATE"
        assert await found(memory, "kubernetes cluster") == [TEXT]
        named = hash_vector(f"{TEXT} (Kubernetes cluster, k8s)")
        assert float(vector_of(database_url, one.id) @ named) > 0.999
        assert (await memory.set_aliases(scope(), one.id, ["Kubernetes cluster", "k8s"])).changes == ()
        await memory.set_aliases(scope(), one.id, [])
        assert await found(memory, "kubernetes cluster") == []
        assert float(vector_of(database_url, one.id) @ hash_vector(TEXT)) > 0.999


async def test_they_are_a_revision_like_others(database_url: str) -> None:
    """The journal tells the change, not the names; the memory as of before has the former ones and their vector."""
    async with engine(database_url) as memory:
        one = await keep(memory, aliases=("k8s",))
        [change] = (await memory.set_aliases(scope(), one.id, ["kube"])).changes
        assert [line.meta for line in await memory.history(scope(), one.id)] == [{"why": "aliases"}, {}]
        assert (await memory.get(scope(), one.id)).aliases == ("kube",)
        assert (await memory.get(scope(), one.id, as_of=one.rev)).aliases == ("k8s",)
        assert change.after.rev == one.rev + 1
        then = await memory.query(scope(), "supervisor", Query(text="k8s", as_of=one.rev))
        assert [hit.memory.id for hit in then.hits] == [one.id]
        assert await found(memory, "k8s") == []


async def test_they_come_with_what_is_told(database_url: str) -> None:
    """With a turn, a text to remember, an ingest, and plain rows; a statement merged into a known one adds its own."""
    async with engine(database_url) as memory:
        await memory.learn(scope("a"), said("I work at Contoso."), aliases=["the office"])
        [one] = await memory.list(scope("a"))
        assert one.aliases == ("the office",)
        await memory.remember(scope("b"), "I live in Lisbon", aliases=["Lisboa"])
        [two] = await memory.list(scope("b"))
        assert two.aliases == ("Lisboa",)
        await memory.remember(scope("b"), "I live in Porto", aliases=["Oporto"])
        [three] = await memory.list(scope("b"))
        assert (three.id, three.aliases) == (two.id, ("Lisboa", "Oporto"))
        assert float(vector_of(database_url, two.id) @ hash_vector(f"{three.text} (Lisboa, Oporto)")) > 0.999
        await memory.remember(scope("b"), "I live in Porto", aliases=["Invicta"])
        assert (await memory.get(scope("b"), two.id)).aliases == ("Lisboa", "Oporto", "Invicta")
        await memory.ingest(scope("c"), [note(TEXT, aliases=("k8s",))])
        assert await found(memory, "k8s", scope("c")) == [TEXT]
        await memory.load(scope("d"), [{"text": "User lives in Rome", "aliases": ["the eternal city"]}, {"text": TEXT}])
        assert {one.text: one.aliases for one in await memory.list(scope("d"))} == {
            "The user lives in Rome": ("the eternal city",),
            TEXT: (),
        }


async def test_an_export_brings_them_back(database_url: str) -> None:
    """With the vectors and words of all versions; the rows of an older export have none."""
    async with engine(database_url) as memory:
        one = await keep(memory, aliases=("k8s",))
        await memory.set_aliases(scope(), one.id, ["kube"])
        rows = await memory.export(scope())
        await memory.load(scope("copy"), rows)
        assert await memory.export(scope("copy")) == rows
        assert await found(memory, "kube", scope("copy")) == [TEXT]
        older = [{name: value for name, value in row.items() if name != "aliases"} for row in rows]
        await memory.load(scope("older"), older)
        assert [one.aliases for one in await memory.list(scope("older"))] == [()]


@pytest.mark.parametrize(
    ("aliases", "problem"),
    [
        ([" "], "empty"),
        (["x" * (MAX_CHARS + 1)], f"81 characters; allowed: {MAX_CHARS}"),
        ([f"name {n}" for n in range(MAX_ALIASES + 1)], f"at most {MAX_ALIASES}"),
        ([f"password: {SECRET}"], "secret"),
    ],
)
async def test_a_name_that_cannot_be_kept_is_refused(database_url: str, aliases: list[str], problem: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory)
        with pytest.raises(BadInput, match=problem):
            await memory.set_aliases(scope(), one.id, aliases)
        with pytest.raises(BadInput, match=problem):
            await memory.remember(scope(), "I live in Lisbon", aliases=aliases)
        with pytest.raises(BadInput, match=problem):
            await memory.ingest(scope(), [note("Another note.", aliases=tuple(aliases))])
        assert [one.aliases for one in await memory.list(scope())] == [()]
        assert SECRET not in str(await memory.export(scope()))


async def test_rows_with_wrong_names_are_refused(database_url: str) -> None:
    async with engine(database_url) as memory:
        for wrong in ("k8s", [1], ["x" * (MAX_CHARS + 1)]):
            with pytest.raises(BadInput, match="row 1: field 'aliases'"):
                await memory.load(scope(), [{"text": TEXT, "aliases": wrong}])


async def test_a_forgotten_memory_and_another_space_get_none(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory)
        with pytest.raises(NotFound):
            await memory.set_aliases(scope("bob"), one.id, ["k8s"])
        await memory.forget(scope(), one.id)
        with pytest.raises(BadInput, match="forgotten"):
            await memory.set_aliases(scope(), one.id, ["k8s"])


async def test_an_erasure_leaves_no_name(database_url: str) -> None:
    async with engine(database_url) as memory:
        one = await keep(memory, aliases=("zanzibar",))
        await memory.set_aliases(scope(), one.id, ["madagascar"])
        await memory.admin.erase(scope(), one.id)
        rows = str(await memory.export(scope()))
        assert "zanzibar" not in rows
        assert "madagascar" not in rows


async def test_a_switch_embeds_the_names(database_url: str) -> None:
    """The vectors of the next embedder are of the text with the names, of former versions too."""
    async with engine(database_url) as memory:
        one = await keep(memory, aliases=("k8s",))
        await memory.set_aliases(scope(), one.id, ["kube"])
    async with unopened(database_url, HashEmbedder(64)) as following, following.admin.switch_embedder() as switch:
        await switch.embed_missing()
        await switch.activate_embedder()
        await switch.move_vectors()
    assert float(vector_of(database_url, one.id) @ hash_vector(f"{TEXT} (kube)", 64)) > 0.999
    with psycopg.connect(database_url) as conn:
        former = conn.execute("select embedding::text from muniment.memory_versions").fetchone()
    assert former is not None
    assert float(np.fromstring(former[0].strip("[]"), sep=",") @ hash_vector(f"{TEXT} (k8s)", 64)) > 0.999


async def test_what_a_night_makes_one_has_the_names_of_both(database_url: str) -> None:
    """With a vector of all of them; an undo takes both back."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(TEXT, aliases=("k8s",)), note(TEXT, aliases=("kube",))])
        run = await memory.admin.consolidate(scope())
        assert run is not None
        [one] = await memory.list(scope())
        assert sorted(one.aliases) == ["k8s", "kube"]
        assert float(vector_of(database_url, one.id) @ hash_vector(f"{TEXT} ({', '.join(one.aliases)})")) > 0.999
        await memory.admin.undo_consolidation(scope(), run.id)
        assert sorted(one.aliases for one in await memory.list(scope())) == [("k8s",), ("kube",)]
        [own] = [each for each in await memory.list(scope()) if each.id == one.id]
        assert float(vector_of(database_url, own.id) @ hash_vector(f"{TEXT} ({own.aliases[0]})")) > 0.999


async def test_many_writers_lose_no_name(database_url: str) -> None:
    """Names of several memories at once: each is kept with its own vector."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(f"Thing number {n} stands in hall {n}.") for n in range(8)])
        kept = await memory.list(scope())
        await asyncio.gather(*(memory.set_aliases(scope(), one.id, [f"nick{n}"]) for n, one in enumerate(kept)))
        for n, one in enumerate(kept):
            assert float(vector_of(database_url, one.id) @ hash_vector(f"{one.text} (nick{n})")) > 0.999
