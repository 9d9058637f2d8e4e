"""The journal of a space is a chain of seals: nothing is found where only the product has written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.evidence.seals import VerificationReport
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import NotFound
from tests.engine import engine, note, said, scope
from tests.erasing import commit, forgotten, kept
from tests.integration.test_erasure import lived


async def verified(memory: Memory, who: Scope | None = None) -> VerificationReport:
    """The report of a space in which nothing is found."""
    report = await memory.admin.verify(who or scope())
    assert report.findings == ()
    return report


async def test_a_space_is_sealed_as_it_is_written(database_url: str) -> None:
    async with engine(database_url) as memory:
        with pytest.raises(NotFound):
            await memory.admin.verify(scope())
        id_ = await kept(memory, "The cello is rented until May")
        assert (await verified(memory)).lines == 1
        was = await memory.get(scope(), id_)
        await commit(memory, scope(), Change(action="UPDATE", before=was, after=replace(was, text="Until June")))
        await memory.learn(scope(), said("I am allergic to walnuts, and I sail on Sundays"))
        await memory.forget(scope(), id_)
        await memory.restore(scope(), id_)
        report = await verified(memory)
        assert (report.lines, report.versions, report.sealed_from) == (report.rev, 3, 0)


async def test_an_erasure_leaves_a_whole_chain(database_url: str) -> None:
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        before = await verified(memory)
        await memory.admin.erase(scope(), id_)
        report = await verified(memory)
        assert report.rev > before.rev
        assert report.erased
        gone = await forgotten(memory)
        await memory.admin.erase(scope(), gone)
        await verified(memory)
        await memory.admin.erase_space(scope())
        await memory.ingest(scope(), [note("A new beginning")])
        assert (await verified(memory)).rev == 1


async def test_a_restored_space_is_sealed_from_its_revision_on(database_url: str) -> None:
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        await memory.admin.erase(scope(), id_)
        rows = await memory.export(scope())
        other = scope("ben")
        await memory.load(other, rows)
        report = await verified(memory, other)
        assert report.sealed_from == report.rev == rows[0]["rev"]
        await kept(memory, "The piano is sold", other)
        assert (await verified(memory, other)).rev == rows[0]["rev"] + 1
        assert await memory.export(scope()) == rows
