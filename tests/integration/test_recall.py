"""What a query reads beyond its first candidates, whom it takes for a stranger, and edges of the past."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from math import isclose
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from muniment.memory import query_codec
from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, Relation, WritePlan
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Reader
from muniment.memory.domain.search import Search, SearchSnapshot
from muniment.memory.domain.turn import Turn
from muniment.memory.payload import encode_answer
from muniment.memory.stores.postgres import ledger, search as store_search
from muniment.memory.stores.postgres.store import PostgresStore
from tests.engine import NOON, engine, note, reads, scope, settings, statement

WHO = scope("ana")


def said(text: str, category: str = "activity", actor: str | None = None) -> StoredMemory:
    return StoredMemory(
        id=MemoryId(uuid4()),
        kind="episodic",
        category=category,
        text=text,
        created_at=NOON,
        updated_at=NOON,
        actor_id=actor,
    )


PLACES = [f"{letter}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
NOISE = [said(f"The user did {'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}{n} twice.") for n in range(300)]


async def told(memory: Memory, *records: StoredMemory, rev: int = 0, relations: tuple[Relation, ...] = ()) -> None:
    vectors = await memory.engine.embedder.embed_documents([one.text for one in records])
    changes = tuple(
        Change(action="ADD", after=one, vector=vector) for one, vector in zip(records, vectors, strict=True)
    )
    await memory.engine.store.writes.commit(
        WritePlan(
            scope=WHO,
            expected_rev=Revision(rev),
            node="face",
            at=NOON + timedelta(days=rev),
            changes=changes,
            relations=relations,
        )
    )


def tuned(memory: Memory, **changed: float) -> Memory:
    """One beside it with other settings."""
    house = memory.engine
    own = house.settings.model_copy(update={"recall": house.settings.recall.model_copy(update=changed)})
    return Memory(house.rebuild(settings=own))


async def looked(memory: Memory, asked: Query, agent: str = "supervisor") -> tuple[list[str], Sequence[int]]:
    """What is found, and how many candidates each look at the store had."""
    counts, look = [], memory.engine.store.reads.read_snapshot

    async def counted(reader: Reader, search: Search | None, **more: Any) -> SearchSnapshot:
        counts.append(search.candidates if search else 0)
        return await look(reader, search, **more)

    memory.engine.store.reads.read_snapshot = counted  # type: ignore[method-assign]
    answer = await memory.query(WHO, agent, asked)
    memory.engine.store.reads.read_snapshot = look  # type: ignore[method-assign]
    return [hit.memory.text for hit in answer.hits], counts


async def test_one_twin_among_the_relevant_is_no_reason_to_look_again(database_url: str) -> None:
    """What stands behind the irrelevant is not relevant either: a space is not read to its end for two equal texts."""
    tea = "The user likes green tea in the morning."
    async with engine(database_url) as memory:
        await told(memory, said(tea), said(tea[:-1], "preferences"), *NOISE)
        found, counts = await looked(memory, Query(text="What tea in the morning?"))
        assert len(found) == len(counts) == 1


@pytest.mark.parametrize(
    ("text", "top_k", "candidates"), [("What tea?", 8, 12), ("What is my tea?", 8, 16), ("What tea?", 40, 50)]
)
async def test_who_asks_about_themselves_is_read_more_closely(
    database_url: str, text: str, top_k: int, candidates: int
) -> None:
    """More candidates, and for many hits some to spare."""
    async with engine(database_url) as memory:
        assert (await looked(memory, Query(text=text, top_k=top_k)))[1] == [candidates]


async def test_a_query_looks_deeper_than_a_context(database_url: str) -> None:
    """A category gives a query as many as it asks for, and a context `rag_length`: there others are looked for behind
    those of a full category."""
    bread = [note(f"How to bake the bread of day number {n}.") for n in range(120)]
    tuned_settings = settings(database_url)
    activity = tuned_settings.categories["activity"]
    assert activity.rag_length == 50
    few = {**tuned_settings.categories, "activity": activity.model_copy(update={"rag_length": 2})}
    async with engine(database_url, tuned=tuned_settings.model_copy(update={"categories": few})) as memory:
        await memory.ingest(WHO, [*bread, note("The user bakes bread on a day off.", "tasks")])
        asked = Query(text="bake bread day number", top_k=200, budget_tokens=100_000)
        assert len((await memory.query(WHO, "supervisor", asked)).hits) == 121
        bullets = (await memory.brief(WHO, "supervisor", asked.text)).bullets
        assert sum(bullet.startswith("[activity]") for bullet in bullets) == 2
        assert "[tasks] The user bakes bread on a day off." in bullets


async def test_a_known_speaker_with_an_accent_is_no_stranger(database_url: str) -> None:
    """The terms of a query have no accents, so the speakers are compared without theirs."""
    async with engine(database_url) as memory:
        await told(memory, said("The restaurant near the station is good.", actor="José"))
        found, _ = await looked(memory, Query(text="which restaurant did José like?"))
        assert found == ["The restaurant near the station is good."]


async def test_an_edge_of_later_is_not_in_an_answer_as_of_before(database_url: str) -> None:
    """As of a revision an edge that came after it brings nothing along; as of its own it does."""
    tea, boat, paper = (
        said("The user drinks green tea."),
        said("The neighbour owns a boat."),
        said("Paper is sold out."),
    )
    async with engine(database_url) as memory:
        await told(memory, tea, boat)
        await told(memory, paper, rev=2, relations=(Relation(a=tea.id, b=boat.id, strength=0.99),))
        before, _ = await looked(memory, Query(text="green tea", as_of=Revision(2)))
        after, _ = await looked(memory, Query(text="green tea", as_of=Revision(3)))
        assert before == [tea.text]
        assert after == [tea.text, boat.text]


async def test_two_long_texts_that_differ_in_a_number_are_two_facts(database_url: str) -> None:
    """Nearly all words in common do not make them the same."""
    paid = (
        "In March the user paid the gardener Milan {} euros for work on the hedges, the front lawn, the gravel "
        "path, the old "
        "apple trees, the roses, the pond, the wooden fence and the vegetable beds behind the brick house in Tartu."
    )
    async with engine(database_url) as memory:
        await told(memory, said(paid.format(300)), said(paid.format(450)))
        found, _ = await looked(memory, Query(text="What did the gardener get for the hedges?"))
        assert sorted(found) == [paid.format(300), paid.format(450)]


async def test_a_question_is_read_closely(database_url: str) -> None:
    """What a trade tells is found in other words and in another language, what is somebody else's is not; where it is
    switched off, words and meaning are all. A turn of a conversation, of whomever it may be, tells something among few
    memories only."""
    nurse, daughter = (
        said("The user is a nurse", "profile"),
        said("The user's daughter Nell was born in Rome", "profile"),
    )
    turn = said("Twins since Friday, a boy and a girl!", "activity")
    async with engine(database_url) as memory:
        await told(memory, nurse, daughter)

        async def asked(text: str, **changed: float) -> list[str]:
            return (await looked(tuned(memory, **changed), Query(text=text)))[0]

        for among in (250, 1):
            assert await asked("What do I do for a living?", told_among=among) == [nurse.text]
            assert await asked("我是做什么工作的？", told_among=among) == [nurse.text]
            assert await asked("Where was Nell born?", told_among=among) == [daughter.text]
            assert not await asked("Where was I born?", told_among=among)
        assert not await asked("What do I do for a living?", told_weight=0.0)
        assert await asked("Where was I born?", told_weight=0.0) == [daughter.text]
        await told(memory, turn, rev=2)
        assert turn.text not in await asked("Which children were born?")
        assert turn.text in await asked("Which children were born?", cut_share=0.0)
        assert turn.text not in await asked("Which children were born?", cut_share=0.0, told_among=1)


async def test_what_is_told_of_the_user_is_found_among_what_others_say(database_url: str) -> None:
    """However much of it has the words of the question, which what tells the answer has not: of a nurse a job is
    told."""
    nurse = said("The user is a nurse", "profile")
    long = (
        "has to ask them twice, and then to wait until the winter is over, the snow gone and the road to the valley "
        "open again"
    )
    talk = [said(f"Whoever wants a job at the {place} {long}", "activity") for place in PLACES]
    async with engine(database_url) as memory:
        await told(memory, nurse, *talk)

        async def found(text: str, **changed: float) -> bool:
            return nurse.text in (await looked(tuned(memory, told_among=1, **changed), Query(text=text)))[0]

        assert await found("What is my job?")
        assert await found("the user's job")
        assert not await found("What is Sheila's job?")
        assert not await found("What is my job?", own_boost=0.0)


async def test_what_the_user_says_of_themselves_is_found_among_what_others_say(database_url: str) -> None:
    """In the first person: it is of the user who has said it, and of nobody else's user."""
    mine, theirs = (
        replace(said("We have a tortoise called Hector", "activity"), actor_id=WHO.owner),
        replace(said("We have a hamster called Bob", "activity"), actor_id="Sheila"),
    )
    async with engine(database_url) as memory:
        await told(memory, mine, theirs, *NOISE)
        closely = tuned(memory, told_among=1)
        assert (await looked(closely, Query(text="What pets do I have?")))[0] == [mine.text]
        assert not (await looked(tuned(closely, own_boost=0.0, hint_boost=0.0), Query(text="What pets do I have?")))[0]


async def test_what_others_say_of_themselves_stands_behind_what_is_known_of_the_user(database_url: str) -> None:
    """However many words of the question it has; where nothing is known of the user, it is as good as before."""
    nurse, plan = said("The user is a nurse", "profile"), said("The user collects stamps", "profile")
    theirs = replace(said("My job at the bakery is a job like any other job", "activity"), actor_id="Sheila")
    async with engine(database_url) as memory:
        await told(memory, plan, theirs)
        assert (await looked(memory, Query(text="What is my job?")))[0][:1] == [theirs.text]
        await told(memory, nurse, rev=2)
        assert (await looked(memory, Query(text="What is my job?")))[0][:1] == [nurse.text]
        hits = (await memory.query(WHO, "supervisor", Query(text="What is my job?", threshold=0.0))).hits
        assert {hit.memory.text for hit in hits if hit.parts["another"] < 0} == {theirs.text}
        assert all(isclose(sum(hit.parts.values()), hit.score) for hit in hits)
        free = tuned(memory, another_penalty=0.0)
        assert (await looked(free, Query(text="What is my job?")))[0][:1] == [theirs.text]


async def test_a_weight_next_to_nothing_weighs_nothing(database_url: str) -> None:
    """A number that Postgres has no float for is a setting like another."""
    async with engine(database_url) as memory:
        await told(memory, said("A parrot in the yard whistles"), *NOISE)
        question = Query(text="Which parrot whistles?", threshold=0.0)
        least, none = [await looked(tuned(memory, dated_boost=one), question) for one in (1e-300, 0.0)]
        assert least[0] == none[0] != []


async def test_what_others_say_is_less_relevant_to_who_asks_about_themselves(database_url: str) -> None:
    """Not so what nobody or the asker has said, what is told of the user, nor for who asks about anything else."""
    theirs = said("The parrot in the kitchen whistles", actor="Vera")
    rest = [
        said("The parrot in the attic whistles"),
        said("A parrot in the yard whistles", actor=WHO.owner),
        said("The user has a parrot that whistles", actor="Vera"),
    ]
    async with engine(database_url) as memory:
        await told(memory, theirs, *rest)

        async def relevance(text: str, penalty: float) -> dict[str, float]:
            query = Query(text=text, threshold=0.0, budget_tokens=10_000)
            answer = await tuned(memory, others_penalty=penalty).query(WHO, "supervisor", query)
            return {hit.memory.text: hit.relevance for hit in answer.hits}

        fair, held = [await relevance("Does my parrot whistle?", penalty) for penalty in (0.0, 0.2)]
        assert held[theirs.text] == 0.8 * fair[theirs.text] > 0
        assert all(held[one.text] == fair[one.text] > 0 for one in rest)
        assert await relevance("Does a parrot whistle?", 0.2) == await relevance("Does a parrot whistle?", 0.0)


async def test_what_a_thread_has_seen_is_not_read_again(database_url: str) -> None:
    """Of a long journal the delta and the count of a day read what is new, and of the memories those that it names."""
    day = {"nodes": ["face"], "since": NOON + timedelta(hours=1)}
    asked = day | {"space": WHO.space, "thread": "A", "as_of": None, "horizon": NOON, "changes": 3}
    async with engine(database_url) as memory:
        await told(memory, *NOISE)
        await told(memory, said("The user has a boat."), rev=len(NOISE))
        await memory.conversation.mark_seen(WHO, Revision(len(NOISE)))
        store = memory.engine.store
        assert isinstance(store, PostgresStore)
        sight = await store.reads.read_snapshot(
            Reader(scope=WHO, allowed=frozenset({"activity"})), None, thread="A", horizon=NOON
        )
        assert sight.delta is not None
        assert [line.text for line in sight.delta.entries] == ["The user has a boat."]
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute("analyze muniment.journal, muniment.memories")  # as autovacuum does
        blocks = store_search._SEARCH
        delta = blocks["delta"].replace("{source}", blocks["current"]).replace("{limited}", "")
        for text in (delta, ledger._LEDGER["changes"]):
            async with store._connections.reading(WHO) as conn:
                plan = await (await conn.execute(f"explain (analyze, format json) {text}", asked)).fetchall()
            assert max(reads(plan[0]["QUERY PLAN"][0]["Plan"])) < 5


async def test_a_verb_in_all_of_its_forms_is_no_more_than_all(database_url: str) -> None:
    """What tells each form of what is asked has all of the query's words, and not more than all: nothing else gives way
    to it."""
    async with engine(database_url) as memory:
        await told(memory, said("Wake, woke, woken."), *NOISE)
        asked = await memory.engine.recall.prepare_search(Query(text="wake"), ("activity",))
        hits = (
            await memory.engine.store.reads.read_snapshot(Reader(scope=WHO, allowed=frozenset({"activity"})), asked)
        ).hits
        assert max((hit.keyword, hit.memory.text) for hit in hits) == (1.0, "Wake, woke, woken.")


async def test_of_very_many_changes_those_that_matter_most_are_told(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an import a turn does not read all of it: the most important, then the last, in the order in which they
    came."""
    monkeypatch.setattr(store_search, "_MAX_CHANGES", 3)
    bees = replace(said("The user is allergic to bees."), importance=5)
    async with engine(database_url) as memory:
        await told(memory, bees, *NOISE)
        here = Reader(scope=WHO, allowed=frozenset({"activity"}))
        sight = await memory.engine.store.reads.read_snapshot(here, None, thread="A", horizon=NOON)
        assert sight.delta is not None
        assert [line.text for line in sight.delta.entries] == [bees.text, *(one.text for one in NOISE[-2:])]


async def test_a_whole_memory_fits_where_no_room_is_named(database_url: str) -> None:
    """With ids as LangGraph's server makes them, however often it was said: a model that asks for all of it gets it."""
    turns = [Turn.make(session="s", key=str(n), role="user", text="x", at=NOON).id for n in range(50)]
    who = replace(WHO, thread=str(uuid4()), session=str(uuid4()), run=str(uuid4()))
    async with engine(database_url) as memory:
        text = f"The user wants to sail around Corsica {'and back ' * 20}at last"
        found = replace(statement(text), turns=tuple(turns))
        await memory.keep_candidates(who, [found])
        asked = {"query": "sail around Corsica and back", "return": "full"}
        (one,) = encode_answer(await memory.query(who, "supervisor", query_codec.parse_query(asked)))["results"]
    assert (one["text"], one["thread_id"]) == (found.text, who.thread)
    assert one["fact"].keys() == {"kind", "predicate", "object", "subject"}


async def test_the_rest_of_a_list_is_not_cut(database_url: str) -> None:
    """What is far below the best result by `cut_share` is shown to who asks for several things, and to nobody else."""
    cities = ["The city of Porto was visited in a visit.", "In spring Ghent was also a city on the way."]
    async with engine(database_url) as memory:
        await memory.ingest(WHO, [note(text) for text in cities])

        async def shown(text: str, **changed: float) -> int:
            return len((await tuned(memory, **changed).query(WHO, "supervisor", Query(text=text))).hits)

        apart = {"cut_share": 0.95, "list_share": 0.1}
        assert await shown("Which cities did the visit visit?", **apart) == 2
        assert await shown("Which city did the visit visit?", **apart) == 1
        assert await shown("Which cities did the visit visit?", cut_share=0.95, list_share=0.95) == 1
