"""Several spaces in one answer: the own one, the project's and the agent's, as far as they are shared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from tests.engine import engine, note, settings

ATLAS = Scope(owner="atlas", owner_type="project")
PLANNER = Scope(owner="planner", owner_type="agent")
ANA, BEN = Scope(owner="ana", project="atlas"), Scope(owner="ben", project="atlas")
PNPM = "What does the team install packages with?"


async def share(url: str, shared: Scope, reader: Scope | None) -> None:
    async with bootstrap.open_shares(settings(url)) as shares:
        await shares.grant_share(shared, reader and reader.owner_scope, by="root")


async def unshare(url: str, shared: Scope, reader: Scope | None) -> None:
    async with bootstrap.open_shares(settings(url)) as shares:
        await shares.revoke_share(shared, reader and reader.owner_scope)


@asynccontextmanager
async def told(url: str, **more: object) -> AsyncIterator[Memory]:
    """A memory in which three have said something of packages, and the project and the agent are shared with Ana."""
    for shared in (ATLAS, PLANNER):
        await share(url, shared, ANA)
    async with engine(url, **more) as memory:  # type: ignore[arg-type]
        own = [note("Ana installs packages at home with yarn", "tasks"), note("Ana waters figs", "tasks")]
        team = [note("The team installs packages with pnpm", "tasks"), note("A test installs", "activity")]
        await memory.ingest(ANA, own)
        await memory.ingest(ATLAS, team)
        await memory.ingest(PLANNER, [note("Packages are best installed before noon", "tasks")])
        yield memory


async def test_three_spaces_answer_together(database_url: str) -> None:
    """Each hit says whose it is; who has no share reads none of it, nor does who works on another project."""
    async with told(database_url) as memory:
        answer = await memory.query(ANA, "planner", Query(text="install packages", threshold=0.0))
        assert {(hit.shared_by, hit.memory.text) for hit in answer.hits} >= {
            (None, "Ana installs packages at home with yarn"),
            ("project", "The team installs packages with pnpm"),
            ("agent", "Packages are best installed before noon"),
        }
        assert "A test installs" not in {hit.memory.text for hit in answer.hits}  # no category of the planner's
        for who in (BEN, replace(ANA, project="borea")):
            found = await memory.query(who, "planner", Query(text="install packages", threshold=0.0))
            assert "project" not in {hit.shared_by for hit in found.hits}
        stylist = await memory.query(ANA, "stylist", Query(text="install packages", threshold=0.0))
        assert stylist.hits == ()
