"""Removal for good, now: a memory with all that says it, or all of a space."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from uuid import UUID

from muniment.memory.errors import Conflict
from muniment.memory.flows import insights, lifecycle
from muniment.memory.flows.house import House
from muniment.memory.records import MemoryId, Revision, Scope, Turn, TurnId
from muniment.memory.rules.built_on import says, touched
from muniment.memory.rules.fingerprints import prints, repeats
from muniment.memory.upkeep import Erasure, Scrubbed, Stated, Traces

_PAGE = 100
_NONE = UUID(int=0)


async def traces(house: House, scope: Scope, memory_id: MemoryId | None) -> Traces:
    """See `Memory.traces`."""
    rev, _ = await house.store.near(scope, (), 0)
    if memory_id is None:
        return Traces(rev=rev, threads=await house.store.threads(scope))
    await lifecycle.get(house, scope, memory_id)
    own = await _own(house, scope, memory_id)
    texts = tuple(dict.fromkeys(one.text for one in own))
    recalled, threads = prints(texts), set()
    turns = {turn: None for one in own for turn in one.turns}
    async for turn in _ledger(house, scope):
        if turn.id in turns or says(texts, turn.text):
            turns[turn.id] = None
        if turn.thread and any(repeats(text, turn.recalled) for text in texts):
            threads.add(turn.thread)
    built_on, former, around = await _built_on(house, scope, memory_id, texts, frozenset(turns))
    ids = (memory_id, *(one.id for one in built_on))
    return Traces(
        rev=rev,
        threads=await house.store.threads(scope, ids, tuple(turns)) | threads,
        turns=tuple(turns),
        built_on=built_on,
        former=former,
        around=around,
        texts=texts,
        prints=recalled,
    )


async def erase(house: House, scope: Scope, memory_id: MemoryId) -> Erasure:
    """See `Memory.erase`."""
    attempts = house.settings.write.attempts
    for attempt in range(attempts):
        found = await traces(house, scope, memory_id)
        try:
            done = await house.store.erase(scope, memory_id, found, house.clock.now())
        except Conflict:
            if attempt == attempts - 1:
                raise
            continue
        house.forgot(scope)
        if any(one.kind == "insight" for one in found.built_on):
            await insights.later(house, scope)
        return done
    raise Conflict


async def erase_space(house: House, scope: Scope) -> Erasure:
    """See `Memory.erase_space`."""
    done = await house.store.erase_space(scope, house.clock.now())
    house.forgot(scope)
    return done


async def scrub(house: House) -> Scrubbed:
    """See `Memory.scrub`."""
    return await house.store.scrub()


async def _own(house: House, scope: Scope, memory_id: MemoryId) -> list[Stated]:
    own: list[Stated] = []
    async with aclosing(_stated(house, scope, memory_id)) as told:
        async for one in told:
            if one.id != memory_id:
                break
            own.append(one)
    return own


async def _built_on(
    house: House, scope: Scope, memory_id: MemoryId, texts: tuple[str, ...], turns: frozenset[TurnId]
) -> tuple[tuple[Stated, ...], tuple[Stated, ...], tuple[Stated, ...]]:
    """Other memories that go; former texts of those that stay; and what is said only around a text that stays."""
    gone: list[Stated] = []
    former: list[Stated] = []
    around: list[Stated] = []
    async for one in _stated(house, scope, MemoryId(_NONE)):
        part = None if one.id == memory_id else touched(texts, turns, one)
        if part == "text":
            (former if one.since else gone).append(one)
        elif part == "context":
            around.append(one)
    whole = {one.id for one in gone}
    return (
        tuple(gone),
        tuple(one for one in former if one.id not in whole),
        tuple(one for one in around if one.id not in whole),
    )


async def _stated(house: House, scope: Scope, start: MemoryId) -> AsyncGenerator[Stated, None]:
    """What the memories say and said, from one on."""
    after = (start, Revision(-1))
    while page := await house.store.stated(scope, after, _PAGE):
        for one in page:
            yield one
        after = (page[-1].id, page[-1].since)
        await asyncio.sleep(0)


async def _ledger(house: House, scope: Scope) -> AsyncIterator[Turn]:
    after = TurnId(_NONE)
    while page := await house.store.ledger(scope, after, _PAGE):
        for one in page:
            yield one
        after = page[-1].id
        await asyncio.sleep(0)
