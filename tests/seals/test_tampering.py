"""A superuser changes one thing behind the product's back; it is found, with the right revision.

MUNIMENT_TEST_SEALS is how many changes are made, and how many honest operations: 200, or 10000 for the long run."""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from tests.engine import engine, note, scope
from tests.erasing import commit, forgotten, kept
from tests.integration.test_erasure import lived
from tests.seals.tampering import Intruder

CHANGES = int(os.environ.get("MUNIMENT_TEST_SEALS", "200"))
SEED = int(os.environ.get("MUNIMENT_TEST_SEED", "20261128"))


async def live(memory: Memory, who: Scope) -> None:
    """A space with versions, forgotten and restored memories, a merge, and two erasures in the middle."""
    id_ = await lived(memory)
    await memory.admin.erase(who, id_)
    await memory.admin.erase(who, await forgotten(memory, who))
    random = Random(SEED)
    for n in range(12):
        made = await kept(memory, f"The {n}th letter was sent to {random.choice(('Oslo', 'Ghent', 'Lima'))}", who)
        was = await memory.get(who, made)
        if n % 2:
            now = replace(was, text=f"{was.text}, registered", importance=1 + n % 5)
            change = Change(action="UPDATE", before=was, after=now, meta={"why": "same", "said": "it"})
            await commit(memory, who, change)
        if n % 3 == 0:
            await memory.forget(who, made)
        if n % 6 == 0:
            await memory.restore(who, made)
    await memory.ingest(who, [note(f"An entry of the diary, the {n}th") for n in range(8)])


@pytest.mark.timeout(300 + CHANGES)
async def test_every_single_change_is_found_with_its_revision(database_url: str) -> None:
    """Must hold: random single changes by a superuser are each found, with the right revision."""
    async with engine(database_url) as memory:
        who = scope()
        await live(memory, who)
        anchors = (await memory.admin.sign_anchors([who])).anchors
        assert (await memory.admin.verify(who, anchors=anchors)).is_intact
        intruder = Intruder(database_url, who.space, SEED)
        missed, done = [], set()
        try:
            for _ in range(CHANGES):
                change = intruder.tamper()
                report = await memory.admin.verify(who, anchors=anchors if change.needs_anchor else ())
                first = report.first
                if first is None or first.rev != change.rev:
                    missed.append((change, first))
                done.add(change.what)
                intruder.undo()
        finally:
            intruder.close()
        assert not missed
        assert (await memory.admin.verify(who, anchors=anchors)).is_intact
        assert len(done) > min(CHANGES // 20, 80)
