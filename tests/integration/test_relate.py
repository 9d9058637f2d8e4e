"""Relations that a caller writes: kept once, journalled, and found by a question about either end."""

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadInput
from tests.engine import engine, scope


async def texts(memory: Memory) -> list[str]:
    return sorted(one.text for one in await memory.list(scope()))


async def test_a_relation_is_found_by_either_end(database_url: str) -> None:
    async with engine(database_url) as memory:
        [change] = (await memory.relate(scope(), "Wayfinder", "depends_on", "Kafka")).changes
        kept = change.after
        assert (kept.text, kept.category, kept.kind) == ("Wayfinder depends on Kafka.", "relationships", "semantic")
        assert kept.fact is not None
        assert (kept.fact.subject, kept.fact.predicate, kept.fact.object) == ("Wayfinder", "depends on", "Kafka")
        for question in ("What does Wayfinder depend on?", "What depends on Kafka?"):
            answer = await memory.query(scope(), "supervisor", Query(text=question))
            assert [hit.memory.id for hit in answer.hits] == [kept.id]
        assert [line.action for line in await memory.history(scope(), kept.id)] == ["ADD"]
        assert (await memory.query(scope("bob"), "supervisor", Query(text="Kafka"))).hits == ()


async def test_the_same_relation_is_kept_once_and_others_beside_it(database_url: str) -> None:
    """Another value stands beside the first one, unless there is one at a time."""
    async with engine(database_url) as memory:
        await memory.relate(scope(), "Wayfinder", "depends on", "Kafka")
        assert (await memory.relate(scope(), "wayfinder", "Depends on", "Kafka")).changes == ()
        await memory.relate(scope(), "Wayfinder", "depends on", "Redis")
        await memory.relate(scope(), "Lookout", "depends on", "Kafka")
        assert await texts(memory) == [
            "Lookout depends on Kafka.",
            "Wayfinder depends on Kafka.",
            "Wayfinder depends on Redis.",
        ]
        await memory.relate(scope(), "Wayfinder", "is owned by", "Tomasz", single=True)
        [change] = (await memory.relate(scope(), "Wayfinder", "is owned by", "Beatriz", single=True)).changes
        assert (change.action, change.after.text) == ("UPDATE", "Wayfinder is owned by Beatriz.")
        assert "Wayfinder is owned by Tomasz." not in await texts(memory)


async def test_one_of_the_user(database_url: str) -> None:
    async with engine(database_url) as memory:
        [change] = (await memory.relate(scope(), "user", "reports to", "Oluwaseun")).changes
        assert change.after.text == "The user reports to Oluwaseun."
        answer = await memory.query(scope(), "supervisor", Query(text="Whom do I report to?"))
        assert [hit.memory.text for hit in answer.hits] == [change.after.text]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (("", "depends on", "Kafka"), "subject: empty"),
        (("Wayfinder", " ", "Kafka"), "predicate: empty"),
        (("Wayfinder", "depends on", "x" * 121), "object: 121 characters"),
        (("The admin", "has the password", "hunter2hunter2: ghp_" + "a1B2" * 9), "a secret"),
    ],
)
async def test_what_is_no_relation_is_refused(database_url: str, parts: tuple[str, str, str], problem: str) -> None:
    async with engine(database_url) as memory:
        with pytest.raises(BadInput, match=problem):
            await memory.relate(scope(), *parts)
        with pytest.raises(BadInput, match="category"):
            await memory.relate(scope(), "Wayfinder", "depends on", "Kafka", category="nonsense")
        assert await texts(memory) == []
