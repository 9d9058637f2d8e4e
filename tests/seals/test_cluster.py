"""A space on a Citus cluster is sealed by other functions, which come to the same."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from random import Random

import psycopg
import pytest

from muniment.testing.fakes import FixedClock
from tests.citus import databases as citus
from tests.citus.databases import plain
from tests.conftest import Clones
from tests.engine import NOON, engine, scope
from tests.seals.test_honest import Life, check

FUNCTIONS = (files("muniment.migrations") / "citus" / "functions.sql").read_text(encoding="utf-8")


@pytest.fixture
def functions_url(clones: Clones, template: str) -> Iterator[str]:
    """A database with the functions and the policies that Citus gets."""
    for url in clones.make(template):
        with psycopg.connect(url) as conn:
            conn.execute(FUNCTIONS.encode())
        citus.restate_policies(url)
        yield url


@plain
@pytest.mark.timeout(300)
async def test_a_space_of_a_cluster_is_sealed(functions_url: str) -> None:
    """Learning, edits, undos, erasures and restores give no false alarm, and a change by other means is found."""
    clock = FixedClock(NOON)
    async with engine(functions_url, clock=clock) as memory:
        life = Life(memory, clock, Random(7))
        for one in (life.learn, life.ingest, life.edit, life.twice, life.forget, life.move, life.erase, life.maintain):
            await one()
            await check(memory, life.who)
        while life.count < 40:
            await life.do_one()
        report = await memory.admin.verify(life.who)
        assert (report.findings, report.sealed_from) == ((), 0)
        assert report.lines == report.rev
        with psycopg.connect(functions_url) as admin:
            (rev,) = admin.execute(
                "select max(rev) from muniment.memories where space_id = %s", (scope().space,)
            ).fetchone() or (0,)
            admin.execute("update muniment.memories set text = text || '!' where rev = %s", (rev,))
        found = (await memory.admin.verify(life.who)).first
        assert found is not None
        assert (found.rev, found.kind) == (rev, "changed")
