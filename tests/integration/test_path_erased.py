"""A path whose words are erased while it is told: nothing of it comes back, neither into its space nor into a new
one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from uuid import uuid4

import pytest
from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import STATES, StoredMemory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import Conflict
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.testing.openai_server import ScriptedOpenAI
from tests.engine import NOON, engine, scope
from tests.erasing import all_rows
from tests.sessions import PARSER, PARSER_TOLD, Line, after, procedures, session, unreviewed

ACME: list[Line] = [("user", "Extract the tables from scan.pdf for the Acme merger"), *PARSER[1:]]


@asynccontextmanager
async def interrupted(url: str, erase: Callable[[Memory], Awaitable[object]]) -> AsyncIterator[Memory]:
    """An engine whose model takes for its first answer until another process has erased something."""
    loop = asyncio.get_running_loop()
    asked: list[object] = []
    async with engine(url, clock=after(), tuned=unreviewed(url)) as other:

        def reply(body: object) -> str:
            asked.append(body)
            if len(asked) == 1:
                asyncio.run_coroutine_threadsafe(_done(erase(other)), loop).result(10)
            return "I cannot say."

        with ScriptedOpenAI(reply) as server:
            model = OpenAIChat(
                "tiny-1", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=10, max_retries=0
            )
            async with engine(url, model=model, clock=after(), tuned=unreviewed(url)) as memory:
                yield memory
            assert asked


async def _done(erasing: Awaitable[object]) -> None:
    await erasing


def _erase_space(who: Scope, memory: Memory) -> Awaitable[object]:
    return memory.admin.erase_space(who)


async def test_a_space_that_is_erased_meanwhile_stays_erased(database_url: str) -> None:
    """Its ledger only, or with memories: no row of it is founded anew, but for the receipt."""
    for owner, known in (("ana", False), ("ben", True)):
        who = scope(owner)
        async with interrupted(database_url, partial(_erase_space, who)) as memory:
            if known:
                await memory.remember(who, "I keep bees")
                await memory.conversation.flush(who)
            await memory.conversation.record(who, session(PARSER))
            receipt = await memory.conversation.learn_path(who)
            assert (receipt.changes, receipt.skipped) == ((), "erased meanwhile")
        rows = all_rows(database_url)[str(who.space)]
        assert {row.split()[0] for row in rows} == {"muniment.erasures"}


async def _fact(memory: Memory, turn: Turn) -> MemoryId:
    """A fact that was learned from the turn."""
    known = Candidate(text="The Acme merger is near", category="activity", kind="episodic", turns=(turn.id,))
    [made] = (await memory.keep_candidates(scope(), [known])).changes
    return made.after.id


async def test_what_is_erased_meanwhile_is_in_no_path(database_url: str) -> None:
    """A person's request goes with the fact that it was for: the goal would say it."""
    turns = session(ACME)
    held: list[MemoryId] = []
    async with interrupted(database_url, lambda other: other.admin.erase(scope(), held[0])) as memory:
        await memory.conversation.record(scope(), turns)
        held.append(await _fact(memory, turns[0]))
        assert (await memory.conversation.learn_path(scope())).skipped == "erased meanwhile"
        assert await memory.list(scope(), states=STATES) == []
    assert "Acme" not in "\n".join(all_rows(database_url)[str(scope().space)])


async def test_a_path_that_is_erased_while_it_is_told_anew(database_url: str) -> None:
    """The procedure itself is erased while a model tells the same work at greater length."""
    held: list[MemoryId] = []
    async with engine(database_url, clock=after(), tuned=unreviewed(database_url)) as memory:
        await memory.conversation.record(scope(), session(PARSER))
        await memory.conversation.learn_path(scope())
        held += [one.id for one in await procedures(memory)]
    async with interrupted(database_url, lambda other: other.admin.erase(scope(), held[0])) as memory:
        thanks: Line = ("user", "Remember how we did this.")
        await memory.conversation.record(scope(), session([*PARSER, thanks])[-1:])
        assert (await memory.conversation.learn_path(scope())).skipped == "erased meanwhile"
        assert await memory.list(scope(), states=STATES) == []


async def test_another_path_of_the_thread_is_kept(database_url: str) -> None:
    """What does not rest on what was erased is learned as ever, also where another was told with it."""
    other_work: list[Line] = [
        ("user", "Deploy release 2.4 to production"),
        ("deploy", {"release": "2.4"}, "HTTP 503"),
        ("deploy", {"release": "2.4", "slow": True}, "HTTP 200"),
    ]
    turns = [*session(ACME), *session(other_work, start=NOON.replace(hour=13))]
    held: list[MemoryId] = []
    async with interrupted(database_url, lambda other: other.admin.erase(scope(), held[0])) as memory:
        await memory.conversation.record(scope(), turns)
        held.append(await _fact(memory, turns[0]))
        await memory.conversation.learn_path(scope())
        told = [one.text.splitlines()[0] for one in await procedures(memory)]
        assert told == ["Goal: Deploy release 2.4 to production"]


async def test_a_plan_without_its_turns_is_refused(database_url: str) -> None:
    """Between the look at the turns and the commit there is room for an erasure, or two, and a space that begins
    anew."""
    made = StoredMemory(
        id=MemoryId(uuid4()),
        kind="procedural",
        category="procedural",
        text=PARSER_TOLD,
        created_at=NOON,
        updated_at=NOON,
        trust="tool",
    )
    add = Change(action="ADD", after=made, vector=hash_vector("x"))
    async with engine(database_url, tuned=unreviewed(database_url)) as memory:
        turns = session(PARSER)
        await memory.conversation.record(scope(), turns)
        store = memory.engine.store
        rev, _ = await store.reads.find_neighbours(scope(), (), 0)
        plan = WritePlan(
            scope=scope(),
            expected_rev=rev,
            node="worker",
            at=NOON,
            changes=(add,),
            source_turns=tuple(one.id for one in turns),
        )
        await memory.admin.erase_space(scope())
        with pytest.raises(Conflict):
            await store.writes.commit(plan)
        assert {row.split()[0] for row in all_rows(database_url)[str(scope().space)]} == {"muniment.erasures"}
        await memory.conversation.record(scope(), turns[1:])
        with pytest.raises(Conflict):
            await store.writes.commit(plan)
        await memory.conversation.record(scope(), turns[:1])
        assert (await store.writes.commit(replace(plan, at=NOON))).rev == 1


async def test_learning_and_erasing_at_once(database_url: str) -> None:
    """However they meet, what was erased last is gone."""
    async with (
        engine(database_url, clock=after(), tuned=unreviewed(database_url)) as memory,
        engine(database_url, clock=after(), tuned=unreviewed(database_url)) as other,
    ):
        spaces = [scope(f"u{n}") for n in range(24)]
        for who in spaces:
            await memory.conversation.record(who, session(PARSER))

        async def erase(n: int) -> None:
            await asyncio.sleep(n * 0.0008)
            await other.admin.erase_space(spaces[n])

        for n, who in enumerate(spaces):
            await asyncio.gather(memory.conversation.learn_path(who), erase(n))
    left = all_rows(database_url)
    assert {row.split()[0] for who in spaces for row in left[str(who.space)]} == {"muniment.erasures"}
