"""Removal for good, now: a memory with all that says it, or all of a space."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import UUID

from muniment.memory.domain.erasure import Erasure, Stated, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.flows.background import insights
from muniment.memory.flows.background.derived import echoes, says, tells, touched
from muniment.memory.flows.consolidation import cancel
from muniment.memory.flows.house import House
from muniment.memory.flows.reading import memories
from muniment.memory.flows.writing.transaction import attempted
from muniment.memory.rules.provenance.fingerprints import prints, repeats

_PAGE = 100
_NONE = UUID(int=0)


@dataclass(frozen=True, slots=True)
class _Others:
    """Other memories that go; former texts of those that stay; what is said only around a text that stays; and all texts
    that go with these."""

    gone: list[Stated] = field(default_factory=list)
    former: list[Stated] = field(default_factory=list)
    around: list[Stated] = field(default_factory=list)
    texts: dict[str, None] = field(default_factory=dict)


async def traces(house: House, scope: Scope, memory_id: MemoryId | None) -> Traces:
    """See `Memory.traces`."""
    rev, _ = await house.store.near(scope, (), 0)
    if memory_id is None:
        return Traces(rev=rev, threads=await house.store.threads(scope))
    await memories.get(house, scope, memory_id)
    own = await _own(house, scope, memory_id)
    texts = tuple(dict.fromkeys(one.text for one in own))
    turns, threads = {turn: None for one in own for turn in one.turns}, set()
    fresh, derived = texts, dict[str, None]()
    while fresh:  # what goes with it was shown and repeated elsewhere, too
        async for turn in _ledger(house, scope):
            said = echoes(fresh, turn) if derived else says(fresh, turn.text) or tells(fresh, turn)
            if said:
                turns[turn.id] = None
            known = frozenset(turn.recalled)
            if turn.thread and any(repeats(text, known) for text in fresh):
                threads.add(turn.thread)
        others = await _others(house, scope, memory_id, texts, frozenset(turns))
        twins = dict.fromkeys(turn for one in others.gone if one.kind == "semantic" for turn in one.turns)
        if not twins.keys() <= turns.keys():  # of these, too, something may have been made
            turns |= twins
            others = await _others(house, scope, memory_id, texts, frozenset(turns))
        fresh = tuple(text for text in others.texts if text not in derived and text not in texts)
        derived |= dict.fromkeys(fresh)
    ids = (memory_id, *(one.id for one in others.gone))
    return Traces(
        rev=rev,
        threads=await house.store.threads(scope, ids, tuple(turns)) | threads,
        turns=tuple(turns),
        built_on=tuple(others.gone),
        former=tuple(others.former),
        around=tuple(others.around),
        texts=texts,
        derived=tuple(derived),
        prints=tuple({one for text in (*texts, *derived) for one in prints([text])}),
    )


async def erase(house: House, scope: Scope, memory_id: MemoryId) -> Erasure:
    """See `Memory.erase`."""

    async def remove() -> tuple[Traces, Erasure]:
        found = await traces(house, scope, memory_id)
        others = (one.id for one in (*found.built_on, *found.former, *found.around))
        await cancel.withdraw(house, scope, {memory_id, *others})
        return found, await house.store.erase(scope, memory_id, found, house.clock.now())

    found, done = await attempted(house, remove)
    house.forgot(scope)
    if any(one.kind == "insight" for one in found.built_on):
        await insights.later(house, scope)
    return done


async def erase_space(house: House, scope: Scope) -> Erasure:
    """See `Memory.erase_space`."""
    await cancel.withdraw(house, scope)
    done = await house.store.erase_space(scope, house.clock.now())
    house.forgot(scope)
    return done


async def _own(house: House, scope: Scope, memory_id: MemoryId) -> list[Stated]:
    own: list[Stated] = []
    async with aclosing(_stated(house, scope, memory_id)) as told:
        async for one in told:
            if one.id != memory_id:
                break
            own.append(one)
    return own


async def _others(
    house: House, scope: Scope, memory_id: MemoryId, texts: tuple[str, ...], turns: frozenset[TurnId]
) -> _Others:
    found = _Others()
    async for one in _stated(house, scope, MemoryId(_NONE)):
        part = None if one.id == memory_id else touched(texts, turns, one)
        of_gone = bool(found.gone) and found.gone[-1].id == one.id  # its former texts come after it
        if of_gone or part == "text":
            found.texts[one.text] = None
            if not of_gone:
                (found.former if one.since else found.gone).append(one)
        elif part == "context":
            found.around.append(one)
    return found


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
