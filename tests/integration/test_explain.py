"""Why a memory is not in an answer: one reason of each kind, on a real database, by the path that answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from muniment.memory import query_codec
from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import State, StoredMemory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.query import Explanation, Filters, ListRequest, Query
from muniment.memory.errors import BadConfig, BadInput, Denied
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.payload import dump_compact, encode_answer, encode_explanation, fence_text
from muniment.memory.ports.llm import Tool, ToolCall
from muniment.nodes.tools import QUERY_TOOL, Toolbox
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, scope, settings

CELLO = "The user rents a cello from the music school"
ASKED = Query(text="which cello does the user rent from the music school?")


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    async with engine(database_url) as opened:
        yield opened


async def kept(memory: Memory, *texts: str, **more: Any) -> list[MemoryId]:
    """The ids of notes with these texts."""
    await memory.ingest(scope(), [note(text, **more) for text in texts])
    by_text = {one.text: one.id for one in await memory.list(scope(), limit=10_000)}
    return [by_text[text] for text in texts]


async def become(memory: Memory, memory_id: MemoryId, state: State, **more: Any) -> None:
    """The memory is put into this state by a plan."""
    before = await memory.get(scope(), memory_id)
    after: StoredMemory = replace(before, state=state, updated_at=NOON, **more)
    rev = (await memory.list_page(scope(), ListRequest())).rev
    change = Change(action="UPDATE", before=before, after=after, vector=hash_vector(after.text))
    await memory.engine.store.writes.commit(
        WritePlan(scope=scope(), expected_rev=rev, node="face", at=NOON, changes=(change,))
    )


async def why(memory: Memory, memory_id: MemoryId, asked: Query = ASKED, agent: str = "supervisor") -> Explanation:
    return await memory.why_not(scope(), agent, memory_id, asked)


async def test_what_is_in_the_answer(memory: Memory) -> None:
    """It says so, with its place in the answer that the same query gives, explained as a hit is."""
    ids = await kept(memory, CELLO, "The user rents a piano from a music school", "A choir sings in the school")
    hits = (await memory.query(scope(), "supervisor", replace(ASKED, explain=True))).hits
    assert len(hits) > 1
    assert set(hits[0].ranks) == {"dense", "keyword"}
    for place, hit in enumerate(hits, 1):
        verdict = await why(memory, hit.memory.id)
        assert (verdict.reason, verdict.facts) == ("in the answer", {"place": place, "of": len(hits)})
        assert verdict.hit == hit
        assert f"place {place}" in verdict.sentence
    assert ids[0] == hits[0].memory.id


async def test_the_ranks_are_places_among_all_memories(memory: Memory) -> None:
    """Also those of a memory that is no candidate, far below the last one that is."""
    texts = [f"Shelf {n} of the {place} holds jars" for n in range(50) for place in ("cellar", "attic", "kitchen")]
    ids = await kept(memory, CELLO, *texts)
    hits = (await memory.query(scope(), "supervisor", replace(ASKED, explain=True, top_k=50, threshold=0.0))).hits
    last = await why(memory, ids[-1])
    assert last.hit is not None
    asked, margin = hash_vector(ASKED.text), 0.002  # vectors are kept with fewer digits
    cosines = [float(asked @ hash_vector(text)) for text in (CELLO, *texts)]
    for hit in (*hits, last.hit):
        own, place = float(asked @ hash_vector(hit.memory.text)), hit.ranks["dense"]
        assert sum(each > own + margin for each in cosines) < place <= sum(each >= own - margin for each in cosines)
    assert [hit.ranks["keyword"] for hit in hits if hit.memory.id == ids[0]] == [1]


async def test_the_words_that_it_has(memory: Memory) -> None:
    """Of the query, and only where an explanation is asked for."""
    job = Query(text="What is my job in Porto?", threshold=0.0, explain=True)
    (hours,) = await kept(memory, "The job of the user starts at nine in Porto")
    assert [(hit.memory.id, hit.words) for hit in (await memory.query(scope(), "supervisor", job)).hits] == [
        (hours, ("job", "porto"))
    ]
    assert (await memory.query(scope(), "supervisor", replace(job, explain=False))).hits[0].words == ()


async def test_another_space_says_nothing(memory: Memory) -> None:
    """Of somebody else's memory the verdict is that of an id that nobody has, but for the id."""
    (mine,) = await kept(memory, CELLO)
    theirs = await memory.why_not(scope("ben"), "supervisor", mine, ASKED)
    nobody = await memory.why_not(scope("ben"), "supervisor", MemoryId(uuid4()), ASKED)
    other_tenant = await memory.why_not(scope(tenant="other"), "supervisor", mine, ASKED)
    assert theirs.reason == "other space or unknown"
    assert replace(theirs, id=nobody.id) == nobody
    assert replace(other_tenant, id=nobody.id) == nobody
    then = replace(ASKED, as_of=Revision(0))
    assert (await memory.why_not(scope("ben"), "supervisor", mine, then)).reason == "other space or unknown"


async def test_not_allowed(memory: Memory) -> None:
    """A category beyond the agent's allowlist is named, the text is not told."""
    (tied,) = await kept(memory, CELLO, category="knowledge")
    verdict = await why(memory, tied, agent="planner")
    assert (verdict.reason, verdict.facts["category"], verdict.memory) == ("not allowed", "knowledge", None)
    assert "cello" not in str(encode_explanation(verdict))
    assert (await why(memory, tied, agent="researcher")).reason == "in the answer"


async def test_forgotten(database_url: str) -> None:
    """When it was forgotten, and until when it can be restored; a later change of it does not move that."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        (cello,) = await kept(memory, CELLO)
        await memory.pin(scope(), cello)
        clock.advance(3_600)
        await memory.forget(scope(), cello)
        clock.advance(3_600)
        assert len((await memory.pin(scope(), cello, pinned=False)).changes) == 1
        verdict = await why(memory, cello)
        assert verdict.reason == "soft-deleted"
        assert verdict.facts == {"since": NOON + timedelta(hours=1), "until": NOON + timedelta(days=30, hours=1)}
        assert "2026-05-04 13:00 UTC" in verdict.sentence
        await memory.restore(scope(), cello)
        assert (await why(memory, cello)).reason == "in the answer"


@pytest.mark.parametrize(("agent", "told"), [("supervisor", True), ("planner", False)])
async def test_superseded(memory: Memory, agent: str, told: bool) -> None:
    """The successor is named, and quoted only for an agent that may read it."""
    (old,) = await kept(memory, "The user wants to rent a cello", category="goals")
    (new,) = await kept(memory, CELLO)
    await become(memory, old, "superseded", superseded_by=new)
    verdict = await why(memory, old, agent=agent)
    assert verdict.reason == "superseded"
    assert verdict.facts["by"] == new
    assert ("music school" in verdict.sentence) is told
    assert ("music school" in str(encode_explanation(verdict))) is told
    await memory.forget(scope(), new)
    assert "music school" not in (await why(memory, old, agent=agent)).sentence


@pytest.mark.parametrize("state", ["pending", "rejected"])
async def test_undecided_and_refused(memory: Memory, state: State) -> None:
    """What waits for a yes, and what got a no, are their own reasons."""
    (cello,) = await kept(memory, CELLO)
    await become(memory, cello, state)
    assert (await why(memory, cello)).reason == state


@pytest.mark.parametrize(
    ("filters", "name", "has"),
    [
        (Filters(pinned=True), "pinned", False),
        (Filters(importance_min=3), "importance_min", 2),
        (Filters(importance_max=1, pinned=False), "importance_max", 2),
        (Filters(updated_after=NOON + timedelta(1)), "updated_after", NOON),
        (Filters(updated_before=NOON - timedelta(1)), "updated_before", NOON),
        (Filters(role="user", agent_id="x"), "agent_id", None),
        (Filters(category="tasks"), "category", "activity"),
        (Filters(actor_id="bob", run_id="r"), "run_id", None),
        (Filters(reach="project"), "reach", "user"),
        (Filters(predicate="uses"), "predicate", None),
        (Filters(event_after=NOON), "event_after", None),
    ],
)
async def test_filtered(memory: Memory, filters: Filters, name: str, has: object) -> None:
    """The filter that excludes it is named, with what it asks for and what the memory has."""
    (cello,) = await kept(memory, CELLO, role="user", importance=2)
    verdict = await why(memory, cello, replace(ASKED, filters=filters))
    assert verdict.reason == "filtered"
    assert verdict.facts == {"filter": name, "wanted": getattr(filters, name), "has": has}
    assert encode_explanation(verdict)["facts"]["filter"] == name


async def test_other_categories_asked(memory: Memory) -> None:
    """To ask for other categories is a filter too."""
    (cello,) = await kept(memory, CELLO)
    verdict = await why(memory, cello, replace(ASKED, categories=("goals", "tasks")))
    assert (verdict.reason, verdict.facts["filter"], verdict.facts["has"]) == ("filtered", "categories", "activity")
    assert verdict.facts["wanted"] == ["goals", "tasks"]


async def test_no_match(memory: Memory) -> None:
    """No channel finds it: its cosine and its words are told."""
    (cello,) = await kept(memory, CELLO)
    verdict = await why(memory, cello, Query(text="quarterly tax return"))
    assert verdict.reason == "no match"
    assert verdict.facts["cosine"] < verdict.facts["floor"]
    assert set(verdict.facts["words"]) >= {"cello", "school"}
    assert "tax" in verdict.sentence
    assert verdict.hit is not None
    assert verdict.hit.channels == ()


async def test_below_the_threshold(memory: Memory) -> None:
    """Its relevance and the threshold are told, in that order of size."""
    cello, *_ = await kept(memory, CELLO, "A tram goes to the harbour every ten minutes")
    verdict = await why(memory, cello, Query(text="harbour tram or school", threshold=0.9))
    assert verdict.reason == "below threshold"
    assert 0 < verdict.facts["relevance"] < verdict.facts["threshold"] == 0.9


async def test_a_near_duplicate(memory: Memory) -> None:
    """The one that stands before it is named."""
    twin = f"{CELLO} since a long time in spring and autumn and winter and summer"
    first, second = await kept(memory, twin, f"{twin}!")
    (hit,) = (await memory.query(scope(), "supervisor", ASKED)).hits
    out = second if hit.memory.id == first else first
    verdict = await why(memory, out)
    assert (verdict.reason, verdict.facts["twin"]) == ("near-duplicate", hit.memory.id)
    assert str(hit.memory.id) in verdict.sentence


async def test_a_near_duplicate_that_rests_on_another(memory: Memory) -> None:
    """Whose daughter she is stands elsewhere: by themselves the two would not be relevant."""
    orchestra = "Nell plays the violin in the school orchestra of Porto in the old town with friends and with a teacher"
    _, first, second = await kept(memory, "The user's daughter is Nell", orchestra, f"{orchestra}!")
    asked = Query(text="What instrument does my daughter play?", threshold=0.5)
    shown = {hit.memory.id for hit in (await memory.query(scope(), "supervisor", asked)).hits}
    (twin,), (out,) = shown & {first, second}, {first, second} - shown
    verdict = await why(memory, out, asked)
    assert (verdict.reason, verdict.facts["twin"]) == ("near-duplicate", twin)


WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll", "lagoon")


def many(count: int, about: str = "cello from the music school") -> list[str]:
    """Texts about the same, each with words of its own."""
    return [f"{about} {' '.join(f'{word}{n}' for word in WORDS[:6])}" for n in range(count)]


async def test_a_full_category(database_url: str) -> None:
    """A category gives so many memories to a context; a query has as many as it asks for."""
    tuned = settings(database_url)
    few = tuned.model_copy(
        update={
            "categories": {
                **tuned.categories,
                "activity": tuned.categories["activity"].model_copy(update={"rag_length": 2}),
            }
        }
    )
    async with engine(database_url, tuned=few) as memory:
        ids = await kept(memory, *many(3))
        assert len((await memory.brief(scope(), "supervisor", ASKED.text)).bullets) == 2
        assert {hit.memory.id for hit in (await memory.query(scope(), "supervisor", ASKED)).hits} == {*ids}


async def test_beyond_top_k(memory: Memory) -> None:
    """Its place is where a longer answer has it."""
    await kept(memory, *many(12))
    longer = (await memory.query(scope(), "supervisor", replace(ASKED, top_k=12, budget_tokens=10_000))).hits
    for place in (4, 12):
        verdict = await why(memory, longer[place - 1].memory.id, replace(ASKED, top_k=3))
        assert verdict.reason == "beyond top_k"
        assert (verdict.facts["place"], verdict.facts["top_k"]) == (place, 3)


async def test_its_place_behind_the_candidates(memory: Memory) -> None:
    """Where the candidates were cut before it, it is looked for among more; its reason and place are found there."""
    await kept(memory, *many(40))
    await kept(memory, *many(40, "cello lessons"), category="goals")
    (last,) = await kept(memory, "A cello case " + "with many other words of little use here " * 4, category="event")
    (strange,) = await kept(memory, "A tram goes to the harbour", category="event")
    sight = await memory.query(scope(), "supervisor", replace(ASKED, explain=True, top_k=3))
    assert last not in {one.id for one in sight.omissions}
    verdict = await why(memory, last, replace(ASKED, top_k=3, threshold=0.0))
    assert verdict.reason == "beyond top_k"
    assert verdict.facts["place"] > 60
    assert verdict.hit is not None
    assert verdict.hit.ranks["keyword"] > 60
    assert (await why(memory, strange, replace(ASKED, top_k=3))).reason in ("no match", "below threshold")


async def test_over_budget(memory: Memory) -> None:
    """What it needs is more than what is left; with so much more budget it is in the answer."""
    ids = await kept(memory, CELLO, f"The cello of the music school {' '.join(WORDS)} {' '.join(WORDS[::-1])}")
    whole = await memory.query(scope(), "supervisor", ASKED)
    assert {hit.memory.id for hit in whole.hits} == set(ids)
    asked = replace(ASKED, budget_tokens=whole.tokens - 1)
    hits = {hit.memory.id for hit in (await memory.query(scope(), "supervisor", asked)).hits}
    (out,) = set(ids) - hits
    verdict = await why(memory, out, asked)
    assert (verdict.reason, verdict.facts["budget"]) == ("over budget", asked.budget_tokens)
    assert verdict.facts["needed"] > verdict.facts["left"] >= 0
    enough = asked.budget_tokens + verdict.facts["needed"] - verdict.facts["left"]
    assert (await why(memory, out, replace(asked, budget_tokens=enough))).reason == "in the answer"
    assert (await why(memory, out, replace(asked, budget_tokens=enough - 1))).reason == "over budget"


async def test_as_of_then(database_url: str) -> None:
    """Not known yet, in the answer, forgotten: each at its revision and its time, whatever came later."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await kept(memory, "A tram goes to the harbour")
        clock.advance(86_400)
        (cello,) = await kept(memory, CELLO)
        clock.advance(86_400)
        await memory.forget(scope(), cello)
        clock.advance(7 * 86_400)
        known = [await why(memory, cello, replace(ASKED, as_of=Revision(rev))) for rev in range(4)]
        assert [one.reason for one in known] == ["not yet known", "not yet known", "in the answer", "soft-deleted"]
        assert [one.rev for one in known] == [0, 1, 2, 3]
        assert known[1].facts == {"as_of": 1, "created": 2}
        times = [
            await why(memory, cello, replace(ASKED, as_of=NOON + timedelta(days=day, hours=1))) for day in range(3)
        ]
        assert [one.reason for one in times] == ["not yet known", "in the answer", "soft-deleted"]
        for wrong in (Revision(4), Revision(-1), Revision(2**70), NOON + timedelta(days=10)):
            for read in (
                why(memory, cello, replace(ASKED, as_of=wrong)),
                memory.query(scope(), "supervisor", replace(ASKED, as_of=wrong)),
            ):
                with pytest.raises(BadInput, match="as_of"):
                    await read
        today = query_codec.parse_as_of("2026-05-13")
        assert (await memory.query(scope(), "supervisor", replace(ASKED, as_of=today))).rev == 3


async def test_a_request_that_is_refused(memory: Memory) -> None:
    """What a query refuses, this refuses in the same way."""
    (cello,) = await kept(memory, CELLO)
    with pytest.raises(Denied, match="may not read procedural"):
        await why(memory, cello, replace(ASKED, categories=("procedural",)))
    with pytest.raises(BadInput, match="top_k"):
        await why(memory, cello, replace(ASKED, top_k=10_000))
    with pytest.raises(BadConfig):
        await why(memory, cello, agent="nobody")


async def test_asking_why_leaves_no_trace(memory: Memory) -> None:
    """It is no search of an agent: nothing is tracked and nothing changes."""
    (cello,) = await kept(memory, CELLO)
    await memory.conversation.flush(scope())
    before = await memory.admin.read_activity(scope(), 30)
    await why(memory, cello)
    await memory.conversation.flush(scope())
    assert await memory.admin.read_activity(scope(), 30) == before


def untimed(said: str) -> str:
    """An answer without the times of its stages."""
    return re.sub(r'"ms":[\d.e-]+', '"ms":0', said)


async def test_one_shape_for_engine_and_tool(database_url: str, memory: Memory) -> None:
    """The tool explains as the wire does, in full and in bullets; what it may read as of is not the model's to say."""
    ids = await kept(memory, CELLO, "A choir sings in the school", "A tram goes to the harbour")
    tools = Toolbox(memory=memory, settings=settings(database_url), scope=scope(), agent="supervisor")
    for returns in ("full", "bullets"):
        arguments = {"query": ASKED.text, "return": returns, "explain": True}
        said = await tools.run_call(ToolCall(id="1", name=QUERY_TOOL, arguments=arguments))
        answer = await memory.query(scope(), "supervisor", query_codec.parse_query(arguments))
        shown = encode_answer(answer, explain=True)
        assert untimed(said) == untimed(fence_text(dump_compact(shown)))
        assert {"score", "relevance", "parts", "channels", "ranks", "rev"} <= set(shown["results"][0])
        named = [one["id"] for one in (*shown["left_out"], *shown["results"])]
        assert {str(id_) for id_ in ids if str(id_).startswith(tuple(named))} == set(map(str, ids))
        assert len(named) == len(ids)
        assert all(set(one) == {"id", "reason", "score"} for one in shown["left_out"])
        assert shown["rev"] == 3
    refused = await tools.run_call(ToolCall(id="2", name=QUERY_TOOL, arguments={"query": "x", "as_of": 1}))
    assert "unknown argument 'as_of'" in refused
    offered: Tool = tools.tools[0]
    assert "as_of" not in str(offered.parameters)
    assert "true or false" in await tools.run_call(
        ToolCall(id="3", name=QUERY_TOOL, arguments={"query": "x", "explain": "no"})
    )


def test_a_verdict_over_the_wire() -> None:
    """Ids and times are text; nothing is there that the verdict has not."""
    verdict = Explanation(
        id=MemoryId(UUID(int=1)),
        reason="soft-deleted",
        rev=Revision(3),
        sentence="It was forgotten.",
        facts={"since": NOON},
    )
    assert encode_explanation(verdict) == {
        "id": str(UUID(int=1)),
        "reason": "soft-deleted",
        "said": "It was forgotten.",
        "rev": 3,
        "facts": {"since": "2026-05-04T12:00:00+00:00"},
    }
