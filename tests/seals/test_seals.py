"""The journal of a space is a chain of seals: nothing is found where only the product has written."""

from __future__ import annotations

from dataclasses import replace

import psycopg
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


async def test_a_journal_of_a_former_version_is_sealed_at_once(database_url: str) -> None:
    """The migration seals what is there and says from where on lines are sealed; what is changed since is found, and an
    erasure of what is older leaves a whole chain."""
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        with psycopg.connect(database_url) as admin:
            for table in ("seals", "reseals"):
                admin.execute(f"delete from muniment.{table}")
            admin.execute("update muniment.spaces set head = null")
            admin.execute("select muniment.seal_space(%s)", (scope().space,))
        report = await verified(memory)
        assert report.sealed_from == report.rev == report.lines
        await kept(memory, "The piano is sold")
        await memory.admin.erase(scope(), id_)
        assert (await verified(memory)).sealed_from == report.rev
        with psycopg.connect(database_url) as admin:
            (rev,) = admin.execute("select min(rev) from muniment.memories").fetchone() or (0,)
            admin.execute("update muniment.memories set text = text || '!' where rev = %s", (rev,))
        found = (await memory.admin.verify(scope())).first
        assert found is not None
        assert (found.rev, found.kind) == (rev, "changed")


async def test_an_erasure_hides_no_change(database_url: str) -> None:
    """A row that was changed by other means stays one that is found, also when an erasure changes it afterwards."""
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        (around,) = [one for one in await memory.list(scope()) if one.text == "Vera teaches there"]
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.memories set importance = 5 where memory_id = %s", (around.id,))
        before = (await memory.admin.verify(scope())).first
        await memory.admin.erase(scope(), id_)
        after = (await memory.admin.verify(scope())).first
        assert before is not None
        assert after is not None
        assert before.rev == after.rev == around.rev
        with psycopg.connect(database_url) as admin:
            salts = admin.execute(
                """select salt from muniment.seals where rev = %s
                union all select salt from muniment.reseals where rev = %s""",
                (around.rev, around.rev),
            ).fetchall()
        assert salts == [(None,)]


async def test_a_superuser_who_adds_a_line_adds_no_seal(database_url: str) -> None:
    """Only the roles of the product seal what they write."""
    async with engine(database_url) as memory:
        await kept(memory, "The cello is rented")
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.spaces set rev = rev + 1")
            admin.execute(
                """insert into muniment.journal (space_id, rev, memory_id, action, node, meta, ts)
                select space_id, 2, memory_id, 'DELETE', 'face', '{}', ts from muniment.journal"""
            )
        found = (await memory.admin.verify(scope())).first
        assert found is not None
        assert (found.rev, found.kind) == (2, "added")
