"""Tokens: what each permits, how long it is valid, and what a database and an application's role know of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from muniment import load_settings
from muniment.memory import bootstrap
from muniment.memory.bootstrap import Tokens
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig, MunimentError, NotFound, Unauthorized
from muniment.testing import FixedClock
from tests.engine import engine

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
DAY_SECONDS = 86_400


@asynccontextmanager
async def opened(database_url: str, home: Path, clock: FixedClock | None = None) -> AsyncIterator[Tokens]:
    settings = load_settings({"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_HOME": str(home)})
    async with bootstrap.open_tokens(settings, clock or FixedClock(NOON), as_owner=True) as tokens:
        yield tokens


async def test_a_token_permits_what_it_was_made_for(database_url: str, tmp_path: Path) -> None:
    """Tenant, user, agents, scopes and days come back as they were given; another text permits nothing."""
    async with opened(database_url, tmp_path) as tokens:
        token, made = await tokens.issue_token(tenant="acme", owner="ana", agents=["planner"], scopes=["read"], days=2)
        assert await tokens.find_grant(token) == made
        assert (made.tenant, made.owner, made.agents, made.scopes) == ("acme", "ana", ("planner",), ("read",))
        assert made.permits("read")
        assert not made.permits("write")
        text = token.get_secret_value()
        assert text.startswith("mun_")
        assert len(text) == len("mun_") + 43
        for other in ("", "mun_", text[:-1], text + "A", text.swapcase(), f"mun_{'A' * 43}", "mun_" + "é" * 43, "\x00"):
            assert await tokens.find_grant(SecretStr(other)) is None
            with pytest.raises(Unauthorized):
                await tokens.require_grant(SecretStr(other))
        assert await tokens.require_grant(token) == made
        _, admin = await tokens.issue_token(tenant="acme", owner=None, scopes=["admin"])
        assert admin.permits("write")
        assert admin.owner is None
        assert [grant.id for grant in await tokens.list_grants("acme")] in ([made.id, admin.id], [admin.id, made.id])
        assert await tokens.list_grants("other") == []


async def test_revoked_and_expired_tokens_are_refused(database_url: str, tmp_path: Path) -> None:
    """The process that revokes refuses at once, another one after 30 seconds; an expiry holds to the second."""
    clock = FixedClock(NOON)
    async with opened(database_url, tmp_path, clock) as here, opened(database_url, tmp_path, clock) as there:
        token, grant = await here.issue_token(tenant="acme", owner="ana")
        short, brief = await here.issue_token(tenant="acme", owner="ana", days=1)
        assert await there.find_grant(token) == await here.find_grant(token) == grant
        assert await there.is_valid(grant.id)
        assert (await here.revoke_token(grant.id)).revoked_at == NOON
        assert await here.find_grant(token) is None
        assert [await there.is_valid(each) for each in (grant.id, brief.id, uuid4())] == [False, True, False]
        clock.advance(29)
        assert await there.find_grant(token) == grant
        clock.advance(1)
        assert await there.find_grant(token) is None
        assert (await here.revoke_token(grant.id)).revoked_at == NOON
        clock.advance(DAY_SECONDS - 31)
        assert await there.find_grant(short) is not None
        clock.advance(1)
        assert await there.find_grant(short) is None
        assert not await there.is_valid(brief.id)
        with pytest.raises(NotFound):
            await here.revoke_token(type(grant.id)(int=0))


async def test_an_erased_user_has_no_token(database_url: str, tmp_path: Path) -> None:
    """Who erases a user removes the user's tokens, and those of nobody else; a server that has seen one refuses it
    after 30 seconds. A user who has said nothing yet has them removed, too, and can have new ones."""
    clock = FixedClock(NOON)
    async with opened(database_url, tmp_path, clock) as tokens, engine(database_url) as memory:
        others = [("acme", "ben"), ("other", "ana"), ("acme", None)]
        for tenant, owner in (*others, ("acme", "ana"), ("acme", "ana")):
            token, _ = await tokens.issue_token(tenant=tenant, owner=owner)
        assert await tokens.find_grant(token) is not None
        ana = Scope(tenant="acme", owner="ana")
        for whose, erased in ((replace(ana, owner_type="project"), None), (ana, 2)):
            assert (await memory.admin.erase_space(whose)).counts.get("tokens") == erased
        clock.advance(30)
        assert await tokens.find_grant(token) is None
        assert {(grant.tenant, grant.owner) for grant in await tokens.list_grants()} == set(others)
        again, _ = await tokens.issue_token(tenant="acme", owner="ana")
        await memory.remember(ana, "I keep bees")
        assert (await memory.admin.erase_space(ana)).counts["tokens"] == 1
        assert await tokens.find_grant(again) is None
    with psycopg.connect(database_url) as conn:
        (held,) = conn.execute("select string_agg(t::text, ' ') from muniment.tokens t").fetchone() or ()
    assert "acme,ana" not in held


async def test_no_token_is_in_the_database(database_url: str, tmp_path: Path) -> None:
    """Only a digest under the key of the home is kept: without that key nobody can tell a token by it."""
    async with opened(database_url, tmp_path / "one") as tokens, opened(database_url, tmp_path / "two") as elsewhere:
        token, _ = await tokens.issue_token(tenant="acme", owner="ana")
        assert await elsewhere.find_grant(token) is None
        text = token.get_secret_value()
        for shown in (repr(token), str(token), repr(tokens), repr(tokens.key)):
            assert text not in shown
            assert tokens.key.get_secret_value().hex() not in shown
    with psycopg.connect(database_url) as conn:
        rows = conn.execute("select t::text, encode(t.digest, 'escape') from muniment.tokens t").fetchall()
    assert len(rows) == 1
    assert text not in str(rows)


async def test_the_role_of_the_application_lists_no_token(database_url: str, tmp_path: Path) -> None:
    """It asks for one digest; the table, and the function's source, give it nothing else."""
    async with opened(database_url, tmp_path) as tokens:
        await tokens.issue_token(tenant="acme", owner="ana")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("set role muniment_app")
        for attack in (
            "select * from muniment.tokens",
            "select digest from muniment.tokens limit 1",
            "update muniment.tokens set revoked_at = null",
            "delete from muniment.tokens",
            "insert into muniment.tokens select * from muniment.tokens",
            "truncate muniment.tokens",
            "copy muniment.tokens to stdout",
            "create view pg_temp.mine as select * from muniment.tokens; select * from pg_temp.mine",
            "alter function muniment.find_token(bytea) owner to muniment_app",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(attack)
        # A table of that name in a schema that is searched first changes nothing: the function names its own.
        conn.execute("create temporary table tokens (digest bytea)")
        for digest in (b"", b"\0" * 32, None):
            assert conn.execute("select * from muniment.find_token(%s)", (digest,)).fetchall() == []
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute("select muniment.erase_tokens('acme', 'ana')")
        conn.execute("set role muniment_keeper")
        for attack in ("select * from muniment.find_token('')", "select muniment.erase_tokens('acme', 'ana')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(attack)
        conn.execute("set role muniment_eraser")
        for attack in ("select * from muniment.tokens", "delete from muniment.tokens"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(attack)


async def test_the_key_is_for_its_account_only(database_url: str, tmp_path: Path) -> None:
    """The file is made with mode 600; one that others may read, or that is no key, is refused by name."""
    async with opened(database_url, tmp_path):
        pass
    key = tmp_path / "token.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["token.key"]
    key.chmod(0o640)
    with pytest.raises(BadConfig, match="chmod 600"):
        async with opened(database_url, tmp_path):
            pass
    key.chmod(0o600)
    secret = key.read_text()
    key.write_text(secret[:-2])
    with pytest.raises(BadConfig, match="is no key") as refused:
        async with opened(database_url, tmp_path):
            pass
    assert secret[:8] not in str(refused.value)
    key.unlink()
    key.mkdir()
    with pytest.raises(BadConfig, match="cannot be read"):
        async with opened(database_url, tmp_path):
            pass


async def test_the_engines_login_looks_one_token_up_and_makes_none(database_url: str, tmp_path: Path) -> None:
    """A server works with a login that owns nothing: it is answered about the token that is shown, and is no issuer."""
    name = f"engine_{uuid4().hex}"
    settings = load_settings({"MUNIMENT_OWNER_URL": database_url, "MUNIMENT_HOME": str(tmp_path)})
    engine = make_conninfo(database_url, user=name, password=name)
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login noinherit password {}").format(sql.Identifier(name), name))
        try:
            await bootstrap.grant_login(settings, name)
            served = settings.model_copy(update={"database_url": SecretStr(engine)})
            async with bootstrap.open_tokens(served, as_owner=True) as office, bootstrap.open_tokens(served) as tokens:
                token, grant = await office.issue_token(tenant="acme", owner="ana")
                assert await tokens.find_grant(token) == grant
                with pytest.raises(MunimentError):
                    await tokens.issue_token(tenant="acme", owner="eve")
                with pytest.raises(MunimentError):
                    await tokens.list_grants()
            with psycopg.connect(engine, autocommit=True) as conn:
                for attack in ("set role muniment_issuer", "select * from muniment.tokens"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        conn.execute(attack)
        finally:
            for statement in ("drop owned by {}", "drop role {}"):
                admin.execute(sql.SQL(statement).format(sql.Identifier(name)))
