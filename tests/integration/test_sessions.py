"""Sessions: their rows, the order of their events, their end, how long they are kept, and the search in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.layers.session import SessionRequest
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, Denied, ModelUnavailable, NoSession
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.engine import NOON, engine, said, scope, settings

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
WHO = scope(agent="planner", project="atlas", app="desk")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
async def memory(database_url: str, clock: FixedClock) -> AsyncIterator[Memory]:
    async with engine(database_url, clock=clock) as opened:
        yield opened


def ask(url: str, query: str, *values: Any) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def event(text: str, role: Any = "assistant", *, at: datetime = NOON, session: str = "A", **more: Any) -> Turn:
    return Turn.make(session=session, key=text, role=role, text=text, at=at, thread=session, **more)


async def record(memory: Memory, *turns: Turn, who: Scope = WHO) -> None:
    await memory.conversation.record(who, turns)


async def read_texts(memory: Memory, session: str = "A", who: Scope = WHO) -> list[tuple[int | None, str]]:
    record = await memory.sessions.get(who, session)
    return [(turn.position, turn.text) for turn in record.turns]


async def test_events_have_positions_in_order(memory: Memory) -> None:
    """What was learned from before it is recorded comes where it was said, and a second time changes nothing."""
    turns = [
        said("I live in Porto.", at=NOON),
        event("Nice!", at=NOON + MINUTE),
        said("My sister Anna works at a bakery.", at=NOON + 2 * MINUTE),
        event("read_file {}\nx", "tool", kind="file", payload={"path": "a.md"}, at=NOON + 3 * MINUTE),
    ]
    await memory.learn(WHO, turns[2])
    await memory.learn(WHO, turns[0])
    for _ in range(2):
        await record(memory, *turns)
        found = await memory.sessions.get(WHO, "A")
        assert [(turn.position, turn.text) for turn in found.turns] == [(n, one.text) for n, one in enumerate(turns)]
        assert [turn.kind for turn in found.turns] == ["message", "message", "message", "file"]
        assert found.turns[3].payload == {"path": "a.md"}
        session = found.session
        assert (session.agent, session.project, session.app) == ("planner", "atlas", "desk")
        assert (session.started_at, session.last_at) == (NOON, NOON)  # of turns that are ahead of the clock, now
        assert (session.turns, session.built_to, session.ended_at) == (4, 0, None)
    assert found.turns == tuple(turns)


async def test_a_replay_leaves_the_same_rows(memory: Memory, database_url: str) -> None:
    """Learning and recording again, in any order and at once, leaves turns and sessions as they are."""
    turns = [said(f"I have been to town {n}.", at=NOON - n * MINUTE) for n in range(6)]
    await record(memory, *turns)
    for turn in turns:
        await memory.learn(WHO, turn)
    query = "select to_jsonb(s) from muniment.sessions s union all select to_jsonb(t) from muniment.turns t order by 1"
    before = ask(database_url, query)
    assert len(before) == 7
    await asyncio.gather(*(memory.learn(WHO, turn) for turn in turns), record(memory, *reversed(turns)))
    assert ask(database_url, query) == before


async def test_many_at_once_have_positions_of_their_own(memory: Memory) -> None:
    """Forty recorders of one session leave forty positions without a gap."""
    turns = [said(f"line {n}", key=str(n)) for n in range(40)]
    await asyncio.gather(*(record(memory, turn, turns[n - 1]) for n, turn in enumerate(turns)))
    found = await memory.sessions.get(WHO, "A")
    assert [turn.position for turn in found.turns] == list(range(40))
    assert found.session.turns == 40


async def test_what_is_only_learned_is_numbered_when_its_session_is_built(memory: Memory) -> None:
    """A session has a row as soon as something was learned in it, and positions when it is built."""
    await memory.learn(WHO, said("I live in Porto.", at=NOON - MINUTE))
    await memory.learn(WHO, said("I work at a bank.", at=NOON - 2 * MINUTE))
    assert [session.turns for session in (await memory.sessions.list(WHO)).sessions] == [0]
    built = await memory.sessions.build(WHO, "A")
    assert (built.turns, built.built_to) == (2, 2)
    assert await read_texts(memory) == [(0, "I work at a bank."), (1, "I live in Porto.")]


async def test_a_session_ends_by_a_call_and_goes_on(memory: Memory, clock: FixedClock) -> None:
    """It is built, ends once with a reason, and a later turn lets it go on."""
    await record(memory, said("I live in Porto."))
    ended = await memory.sessions.end(WHO, "A", why="closed by the user")
    assert (ended.ended_at, ended.ended_why, ended.built_to) == (NOON, "closed by the user", 1)
    clock.advance(MINUTE.total_seconds())
    assert await memory.sessions.end(WHO, "A") == ended
    await record(memory, said("I moved to Lisbon.", at=clock.now()))
    (session,) = (await memory.sessions.list(WHO, SessionRequest(ended=False))).sessions
    assert (session.ended_at, session.turns, session.built_to) == (None, 2, 1)
    with pytest.raises(NoSession):
        await memory.sessions.end(WHO, "nowhere")
    with pytest.raises(BadInput):
        await memory.sessions.end(WHO, "A", why="")


async def test_a_session_ends_by_itself(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """A job of its space ends it thirty minutes after its last turn, however often one looks."""
    await record(memory, said("I live in Porto."))
    await record(memory, said("I live in Rome."), who=scope("ben"))
    clock.advance(20 * 60)
    await record(memory, said("I work at a bank.", at=clock.now()))
    clock.advance(15 * 60)
    jobs = "select args ->> 'owner' from jobs.queue where name = 'end_sessions' order by 1"
    for owners in (["ben"], ["ana", "ben"]):
        for _ in range(2):
            await memory.jobs.enqueue_idle()
        assert [owner for (owner,) in ask(database_url, jobs)] == owners
        clock.advance(15 * 60)
    for _ in range(2):
        await memory.jobs.perform_job(Job(name="end_sessions", scope=WHO))
        session = (await memory.sessions.get(WHO, "A")).session
        assert (session.ended_at, session.ended_why, session.built_to) == (clock.now(), "idle", 2)


async def test_a_round_ends_what_no_job_has(memory: Memory, clock: FixedClock) -> None:
    """Maintenance ends sessions that nobody has gone on with, as those that were only learned in."""
    await memory.learn(WHO, said("I live in Porto."))
    clock.advance(31 * 60)
    await memory.admin.maintain(WHO)
    session = (await memory.sessions.get(WHO, "A")).session
    assert (session.ended_why, session.turns, session.built_to) == ("idle", 1, 1)


async def test_without_the_model_a_session_ends_and_its_turns_wait(database_url: str, clock: FixedClock) -> None:
    """The job stays, and builds when the model is back."""
    chat = ScriptedChat([ModelUnavailable("away"), *['{"facts": []}'] * 2])
    tuned = settings(database_url)
    tuned = tuned.model_copy(update={"model": tuned.model.model_copy(update={"max_retries": 0})})
    async with engine(database_url, clock=clock, model=chat, tuned=tuned) as memory:
        await record(memory, said("I think that the kayak was mine once."))
        with pytest.raises(ModelUnavailable):
            await memory.sessions.end(WHO, "A")
        session = (await memory.sessions.get(WHO, "A")).session
        assert (session.ended_why, session.built_to) == ("call", 0)
        clock.advance(31 * 60)
        await memory.jobs.perform_job(Job(name="end_sessions", scope=WHO))
        session = (await memory.sessions.get(WHO, "A")).session
        assert (session.ended_why, session.built_to) == ("call", 1)


async def test_a_session_goes_after_its_days_and_memories_stay(
    memory: Memory, clock: FixedClock, database_url: str
) -> None:
    """After fourteen days nothing of it is left; one with days of its own goes then, one for ever stays."""
    for name in ("A", "long", "always"):
        await memory.learn(WHO, turn := said("I live in Porto.", thread=name))
        await record(memory, turn, who=scope(thread=name))
    await memory.sessions.keep(WHO, "long", days=30)
    await memory.sessions.keep(WHO, "always", days=None)
    left = {13: ["A", "always", "long"], 15: ["always", "long"], 31: ["always"], 400: ["always"]}
    for day, names in left.items():
        clock.advance((NOON + day * DAY - clock.now()).total_seconds())
        await memory.admin.maintain(WHO)
        page = await memory.sessions.list(WHO)
        assert sorted(session.id for session in page.sessions) == names
        assert page.total == len(names)
        observed = ask(database_url, "select distinct session_id from muniment.observations order by 1")
        assert [name for (name,) in observed if name not in names] == []
        assert await read_texts(memory, "always") == [(0, "I live in Porto.")]
        if day < 400:
            assert (await memory.query(WHO, "supervisor", Query(text="Where do I live?"))).hits
    with pytest.raises(BadInput):
        await memory.sessions.keep(WHO, "always", days=0)


async def test_a_search_finds_words_in_english_and_chinese(memory: Memory) -> None:
    """The turn with the rarer words comes first; audits, what is hidden, and other users are never found."""
    await record(
        memory,
        said("We decided to use pnpm for the front end.", at=NOON - 3 * MINUTE),
        said("2024年8月我搬到了杭州", at=NOON - 2 * MINUTE),
        event("The front end is built with vite.", at=NOON - MINUTE),
        event("pnpm was approved by the auditor", "system", kind="audit"),
        event("pnpm, but hidden", visible=False),
        event("A long report. " + "word " * 1_000 + "kayak", "tool"),
    )
    await record(memory, said("pnpm is not for me"), who=scope("ben"))

    async def found(text: str, **more: Any) -> list[str]:
        return [hit.turn.text[:20] for hit in await memory.sessions.search(WHO, text, **more)]

    assert await found("which front end did we build with pnpm?") == ["We decided to use pn", "The front end is bui"]
    assert await found("什么时候搬到杭州？") == ["2024年8月我搬到了杭州"]
    assert await found("kayak") == ["A long report. word "]  # its words are read when somebody searches
    assert await found("auditor") == []
    assert await found("pnpm", session="B") == []
    assert await found("the") == []
    best, *_ = await memory.sessions.search(WHO, "pnpm", limit=1)
    assert 0 < best.score <= 1
    assert best.turn.position == 0


async def test_an_agent_searches_only_where_the_settings_say_so(database_url: str) -> None:
    """What was said is of every category: an allowlist does not let an agent read it."""
    tuned = settings(database_url)
    ledger = tuned.session_ledger.model_copy(update={"search_agents": ("supervisor",)})
    async with engine(database_url, tuned=tuned.model_copy(update={"session_ledger": ledger})) as memory:
        await record(memory, said("I am lactose intolerant."))
        assert await memory.sessions.search(WHO, "lactose", agent="supervisor")
        with pytest.raises(Denied, match="search_agents"):
            await memory.sessions.search(WHO, "lactose", agent="planner")


async def test_metadata_and_payloads_are_redacted(memory: Memory, database_url: str) -> None:
    """A secret is in no row, whatever field brought it."""
    secret = "sk-proj-Zq3vN8xT1mLr5wB7yK2pD9sF"
    await record(memory, event("deploy {}\nok", "tool", payload={"env": {"api_key": secret}, "note": f"key {secret}"}))
    await memory.sessions.describe(WHO, "A", {"title": f"with {secret}", "n": 3})
    described = await memory.sessions.describe(WHO, "A", {"n": 4})
    assert described.metadata["n"] == 4
    assert "title" in described.metadata
    dump = ask(database_url, "select to_jsonb(s)::text from muniment.sessions s")
    dump += ask(database_url, "select to_jsonb(t)::text from muniment.turns t")
    assert len(dump) == 2
    assert secret not in str(dump)


async def test_tokens_of_turns_add_up(memory: Memory) -> None:
    """What models read and wrote for the turns is counted once."""
    turns = [event(f"reply {n}", payload={"tokens": {"input": 100, "output": n}}) for n in (1, 2)]
    for _ in range(2):
        await record(memory, *turns)
    session = (await memory.sessions.get(WHO, "A")).session
    assert (session.input_tokens, session.output_tokens) == (200, 3)


async def test_an_audit_is_in_no_prompt(memory: Memory) -> None:
    """A model sees messages alone around a turn."""
    turns = [event("an audit", "system", kind="audit"), said("I live in Porto.", at=NOON + MINUTE)]
    await record(memory, *turns)
    passage = await memory.engine.store.ledger.get_passage(WHO, turns[1].id, before=5, after=5)
    assert passage is not None
    assert passage.turns == (turns[1],)
    assert (await memory.learn(WHO, event("I live in Oslo.", "user", kind="file"))).changes == ()


async def test_an_export_keeps_sessions_and_events(memory: Memory) -> None:
    """A second space has the same rows, and exports them alike; an export of a former version gets positions."""
    await record(memory, said("I live in Porto."), event("b", "system", kind="audit", payload={"n": 1}, visible=False))
    await memory.sessions.describe(WHO, "A", {"title": "move"})
    await memory.sessions.end(WHO, "A")
    rows = list(await memory.export(WHO))
    await memory.load(scope("copy"), rows)
    assert list(await memory.export(scope("copy"))) == rows
    new = ("position", "kind", "payload", "visible")
    older = [
        {key: value for key, value in row.items() if row["type"] != "turn" or key not in new}
        for row in rows
        if row["type"] not in ("session", "observation")
    ]
    await memory.load(scope("older"), older)
    assert [position for position, _ in await read_texts(memory, who=scope("older"))] == [0, 1]


async def test_an_erasure_takes_what_a_session_keeps(memory: Memory, database_url: str) -> None:
    """Erasing a memory removes the turns and the payloads that say it, and what sessions keep of it; erasing the user
    removes all."""
    await memory.learn(WHO, turn := said("My sister Anna works at a bakery."))
    noted = event("note {}\nok", "tool", payload={"note": "The user's sister Anna works at a bakery."})
    await record(memory, turn, noted, event("Nice!"))
    await memory.sessions.describe(WHO, "A", {"title": "Anna, the user's sister, works at a bakery", "n": 1})
    (known, *_) = await memory.list(WHO)
    await memory.admin.erase(WHO, known.id)
    assert [text for _, text in await read_texts(memory)] == ["Nice!"]
    assert "Anna" not in str(ask(database_url, "select to_jsonb(s)::text from muniment.sessions s"))
    await memory.admin.erase_space(WHO)
    assert ask(database_url, "select from muniment.sessions") == []


async def test_a_page_of_sessions(memory: Memory) -> None:
    """The latest come first, and a project, an application or the end selects some."""
    for n, (name, project) in enumerate((("a", "atlas"), ("b", "atlas"), ("c", "other"))):
        where = scope(thread=name, project=project)
        await record(memory, event("hi", session=name, at=NOON - n * MINUTE), who=where)
    await memory.sessions.end(WHO, "b")
    for request, names in (
        (SessionRequest(), "abc"),
        (SessionRequest(project="atlas"), "ab"),
        (SessionRequest(app="desk"), ""),
        (SessionRequest(ended=True), "b"),
        (SessionRequest(ended=False), "ac"),
        (SessionRequest(limit=1, offset=1), "b"),
    ):
        page = await memory.sessions.list(WHO, request)
        assert "".join(session.id for session in page.sessions) == names
    assert page.total == 3
    assert (await memory.sessions.list(scope("ben"))).total == 0
    with pytest.raises(BadInput):
        await memory.sessions.list(WHO, SessionRequest(limit=0))
