"""Shares: who may read the space of a project or an agent beside their own, and who may say so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.bootstrap import Shares
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.testing import FixedClock
from tests.engine import NOON, engine, settings

ATLAS = Scope(owner="atlas", owner_type="project")
ANA, BEN = Scope(owner="ana"), Scope(owner="ben")
ENTER = "select muniment.enter_shared(%s, %s, %s, %s)"


@asynccontextmanager
async def opened(database_url: str) -> AsyncIterator[Shares]:
    async with bootstrap.open_shares(settings(database_url), FixedClock(NOON)) as shares:
        yield shares


async def test_granted_listed_revoked(database_url: str) -> None:
    """A share is made once, whatever is said again; a revoked one is gone, and cannot be revoked again."""
    async with opened(database_url) as shares:
        made = await shares.grant_share(ATLAS, ANA, by="root")
        assert (made.shared, made.reader, made.granted_by, made.since) == (ATLAS, ANA, "root", NOON)
        assert await shares.grant_share(ATLAS, ANA, by="somebody else") == made
        everybody = await shares.grant_share(Scope(owner="planner", owner_type="agent"), None, by="root")
        assert everybody.reader is None
        assert await shares.list_shares("default") == [made, everybody]
        assert await shares.list_shares("acme") == []
        assert await shares.revoke_share(ATLAS, ANA) == made
        assert await shares.list_shares() == [everybody]
        for reader in (ANA, None):
            with pytest.raises(NotFound):
                await shares.revoke_share(ATLAS, reader)


async def test_what_is_not_shared(database_url: str) -> None:
    """No space of a user, no space with itself, and none with another tenant."""
    async with opened(database_url) as shares:
        for shared, reader in ((ANA, BEN), (ATLAS, ATLAS), (ATLAS, Scope(owner="ana", tenant="acme"))):
            with pytest.raises(BadInput):
                await shares.grant_share(shared, reader, by="root")
        assert await shares.list_shares() == []


async def test_an_erased_owner_has_no_share(database_url: str) -> None:
    """Erasing a user or a project removes the shares of it and those by which it reads others, and no other one; a
    user who has said nothing yet has them removed, too."""
    borea = Scope(owner="borea", owner_type="project")
    async with opened(database_url) as shares, engine(database_url) as memory:
        for shared, reader in ((ATLAS, ANA), (ATLAS, BEN), (borea, ANA), (borea, ATLAS)):
            await shares.grant_share(shared, reader, by="root")
        await memory.remember(ATLAS, "The atlas project uses pnpm")
        assert (await memory.admin.erase_space(ANA)).counts["shares"] == 2
        assert [one.reader for one in await shares.list_shares()] == [ATLAS, BEN] or [
            one.reader for one in await shares.list_shares()
        ] == [BEN, ATLAS]
        assert (await memory.admin.erase_space(ATLAS)).counts["shares"] == 2
        assert await shares.list_shares() == []


async def test_only_the_issuer_changes_a_share(database_url: str) -> None:
    """The application sees the shares of the space that it has entered without an allowlist, and changes none; it
    enters a shared space only with an allowlist, and only one of the tenant that asks."""
    async with opened(database_url) as shares, engine(database_url) as memory:
        await shares.grant_share(ATLAS, ANA, by="root")
        await memory.remember(ATLAS, "The atlas project uses pnpm")
        await memory.remember(BEN, "I keep bees")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("set role muniment_app")
        for attack in (
            "insert into muniment.shares select * from muniment.shares",
            "update muniment.shares set reader_id = space_id",
            "delete from muniment.shares",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(attack)
        assert conn.execute("select count(*) from muniment.shares").fetchone() == (0,)
        tellings = []
        for readers, tenant, allowed in (
            ([ANA.space], "default", ["tasks", "knowledge", "projects", "activity"]),
            ([BEN.space], "default", ["projects"]),
            ([ANA.space], "acme", ["projects"]),
            ([ANA.space], "default", None),
        ):
            with conn.transaction():
                (told,) = conn.execute(ENTER, (ATLAS.space, readers, tenant, allowed)).fetchone() or ("",)
                seen = conn.execute("select count(*) from muniment.memories").fetchone()
                (entered,) = conn.execute("select current_setting('app.categories')").fetchone() or ("",)
                written = conn.execute("update muniment.memories set importance = 5").rowcount
                tellings.append((told, seen, written))
                assert entered != "*"
        assert tellings[0][0] == tellings[3][0] == "granted"
        assert [one[0] for one in tellings[1:3]] == ["denied", "denied"]
        assert [one[1] for one in tellings] == [(1,), (0,), (0,), (0,)]
        assert [one[2] for one in tellings] == [0] * 4
        with conn.transaction():
            assert conn.execute(ENTER, (BEN.space, [ANA.space], "default", ["activity"])).fetchone() == ("unshared",)
            assert conn.execute("select count(*) from muniment.memories").fetchone() == (0,)
