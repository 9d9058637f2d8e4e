"""Tokens with a configuration: found by computing, shown with masks, changed whole, and sealed in the database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from muniment.memory import bootstrap
from muniment.memory.domain.tokens.config import FIELDS
from muniment.memory.errors import NotFound, TokenConfigError
from tests.logins import build_login_url
from tests.tokens import KEYS, make_fields, open_tokens

NULLABLE = (
    "llm_model", "memory_prompt", "http_timeout", "memory_search_timeout", "memory_store_timeout", "history_days",
)  # fmt: skip
COLUMNS = tuple(name for name in FIELDS if name not in KEYS and name not in NULLABLE)
EMPTY = {"integer": 0, "text": ""}


async def test_register_find_list_get(database_url: str, tmp_path: Path) -> None:
    """A token is found with all that it was registered with; others are not found; a list shows no key."""
    async with open_tokens(database_url, tmp_path) as tokens:
        token, made = await tokens.admin.register(make_fields(http_timeout=2.5, history_days=9, memory_place="user"))
        found = await tokens.memories.configs.find_token(token)
        assert found is not None
        assert (found.grant, found.config, found.revision) == (made.grant, made.config, 1)
        assert found.config is not None
        assert found.config.llm_api_key.get_secret_value() == KEYS["llm_api_key"]
        assert (found.config.http_timeout, found.config.history_days) == (2.5, 9)
        id_ = made.grant.id
        assert (found.scope.tenant, found.scope.owner, found.scope.session) == (f"token-{id_.hex}", "token", "proxy")
        assert found.grant.scopes == ("read", "write")
        text = token.get_secret_value()
        for other in (text[:-1] + ("A" if text[-1] != "A" else "B"), text + "x", "mun_", "", "ü"):
            assert await tokens.memories.configs.find_token(SecretStr(other)) is None
        second = await tokens.register()
        assert [each.grant.id for each in await tokens.admin.list()] == [second.grant.id, id_]
        detail = await tokens.admin.get(id_)
        assert (detail.hint, detail.problem, detail.is_switching) == (text[-4:], None, False)
        assert detail.fields == make_fields(http_timeout=2.5, history_days=9, memory_place="user") | {
            "memory_search_timeout": None,
            "memory_store_timeout": None,
            **{name: f"****{key[-4:]}" for name, key in KEYS.items()},
        }
        shown = f"{await tokens.admin.list()} {detail} {found} {made}"
        assert not any(secret in shown for secret in (*KEYS.values(), text))


async def test_they_are_tokens_like_others(database_url: str, tmp_path: Path) -> None:
    """`muniment token` lists and revokes them; the service takes them for what they are."""
    async with open_tokens(database_url, tmp_path) as tokens:
        token, made = await tokens.admin.register(make_fields())
        async with bootstrap.open_tokens(tokens.settings, as_owner=True) as plain:
            assert await plain.find_grant(token) == made.grant
            other, _ = await plain.issue_token(tenant="default", owner=None, scopes=["admin"])
            found = await tokens.memories.configs.find_token(other)
            assert found is not None
            assert found.config is None
            assert {grant.id for grant in await plain.list_grants()} == {made.grant.id, found.grant.id}
            assert [each.grant.id for each in await tokens.admin.list()] == [made.grant.id]
            with pytest.raises(NotFound):
                await tokens.admin.get(found.grant.id)
            with pytest.raises(NotFound):
                await tokens.admin.update(found.grant.id, {"memory_limit": 3})
            with pytest.raises(NotFound):
                await tokens.admin.delete(found.grant.id)
            with pytest.raises(NotFound):
                await tokens.admin.rotate(found.grant.id)
            await plain.revoke_token(made.grant.id)
        assert await tokens.memories.configs.find_token(token) is None
        assert await tokens.memories.configs.find_by_id(made.grant.id) is None


async def test_update_delete_rotate(database_url: str, tmp_path: Path) -> None:
    """A change is there for the next request, checked with what stays; of a deleted token the grant alone is left."""
    async with open_tokens(database_url, tmp_path) as tokens:
        configs = tokens.memories.configs
        token, made = await tokens.admin.register(make_fields())
        id_ = made.grant.id
        await tokens.admin.update(id_, {"memory_limit": 9, "llm_api_key": "sk-another-key", "memory_prompt": None})
        found = await configs.find_token(token)
        assert found is not None
        assert found.config is not None
        assert (found.config.memory_limit, found.config.memory_prompt, found.revision) == (9, None, 2)
        assert found.config.llm_api_key.get_secret_value() == "sk-another-key"
        assert found.config.embed_api_key is not None
        assert found.config.embed_api_key.get_secret_value() == KEYS["embed_api_key"]
        for bad in ({"memory_limit": 0}, {"llm_api_key": ""}, {"nothing": 1}, {"embed_body": "{"}):
            with pytest.raises(TokenConfigError):
                await tokens.admin.update(id_, bad)
        assert await configs.find_token(token) == found
        new, detail = await tokens.admin.rotate(id_)
        assert await configs.find_token(token) is None
        again = await configs.find_token(new)
        assert again is not None
        assert (again.grant, again.config, detail.hint) == (found.grant, found.config, new.get_secret_value()[-4:])
        await tokens.admin.delete(id_)
        assert await configs.find_token(new) is None
        for call in (
            tokens.admin.get(id_),
            tokens.admin.update(id_, {}),
            tokens.admin.delete(id_),
            tokens.admin.rotate(id_),
        ):
            with pytest.raises(NotFound):
                await call
        with pytest.raises(NotFound):
            await tokens.admin.get(uuid4())
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select count(*) from muniment.token_configs").fetchone() == (0,)
        assert conn.execute("select revoked_at is not null from muniment.tokens").fetchall() == [(True,)]


async def test_changes_at_once(database_url: str, tmp_path: Path) -> None:
    """Twenty administrators change fields of one token: none of the changes is lost."""
    async with open_tokens(database_url, tmp_path) as tokens:
        made = await tokens.register()
        changes: list[dict[str, Any]] = [
            {"memory_limit": 11}, {"session_window_size": 12}, {"memory_prompt": "13"}, {"history_days": 14},
            {"llm_model": "15"}, {"http_timeout": 16}, {"llm_api_key": "seventeen-17"}, {"memory_place": "user"},
        ]  # fmt: skip
        await asyncio.gather(*(tokens.admin.update(made.grant.id, change) for change in changes))
        config = (await tokens.find(made)).config
        assert config is not None
        for change in changes:
            for name, value in change.items():
                held = getattr(config, name)
                assert (held.get_secret_value() if isinstance(held, SecretStr) else held) == value


@pytest.mark.parametrize("name", [*COLUMNS, "sealed_keys"])
@pytest.mark.parametrize("how", ["null", "empty", "broken"])
async def test_a_row_that_became_bad(database_url: str, tmp_path: Path, name: str, how: str) -> None:
    """It is refused when it is loaded, shown with what is wrong, and an update mends it."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        kind = conn.execute(
            "select data_type from information_schema.columns where table_name = 'token_configs' and column_name = %s",
            (name,),
        ).fetchone()
        assert kind is not None
        value = {
            "null": None,
            "empty": EMPTY.get(kind[0], b""),
            "broken": {"integer": -1, "text": "["}.get(kind[0], b"\1" * 40),
        }
        async with open_tokens(database_url, tmp_path) as tokens:
            token, made = await tokens.admin.register(make_fields())
            statement = sql.SQL("update muniment.token_configs set {} = %s").format(sql.Identifier(name))
            conn.execute(statement, (value[how],))
            with pytest.raises(TokenConfigError):
                await tokens.memories.configs.find_token(token)
            problem = (await tokens.admin.get(made.grant.id)).problem
            assert problem
            assert [each.problem for each in await tokens.admin.list()] == [problem]
            with pytest.raises(TokenConfigError):
                await tokens.admin.update(made.grant.id, {"history_days": 5})
            mended = {name: make_fields()[name]} if name in FIELDS else KEYS
            assert (await tokens.admin.update(made.grant.id, mended)).problem is None
            found = await tokens.memories.configs.find_token(token)
            assert found is not None
            assert found.config == made.config


async def test_keys_are_nowhere(database_url: str, tmp_path: Path) -> None:
    """No table holds a token or a key, in any form that text has; no other installation opens what is sealed."""
    async with open_tokens(database_url, tmp_path) as tokens:
        token, made = await tokens.admin.register(make_fields())
        await tokens.admin.update(made.grant.id, {"embed_body": {"model": "other"}})  # keeps the former embedder, too
        canaries = [*KEYS.values(), token.get_secret_value()]
    with psycopg.connect(database_url) as conn:
        tables = conn.execute(
            "select quote_ident(n.nspname) || '.' || quote_ident(relname) from pg_class c join pg_namespace n "
            "on n.oid = relnamespace where relkind = 'r' and nspname in ('muniment', 'jobs')"
        ).fetchall()
        told = "".join(str(conn.execute(f"select * from {name}").fetchall()) for (name,) in tables)
    assert made.grant.id.hex in told
    for canary in canaries:
        for form in (canary, canary.encode().hex(), repr(canary.encode())[2:-1]):
            assert form not in told
    (tmp_path / "token.key").unlink()
    async with open_tokens(database_url, tmp_path) as tokens:
        assert await tokens.memories.configs.find_token(token) is None
        detail = await tokens.admin.get(made.grant.id)
        assert "key file" in str(detail.problem)
        assert (await tokens.admin.update(made.grant.id, KEYS)).problem is None


def test_the_engine_reads_no_row(database_url: str, tmp_path: Path) -> None:
    """The engine's login finds what it can name, and lists nothing, in whichever role and space."""

    async def register() -> str:
        async with open_tokens(database_url, tmp_path) as tokens:
            return str((await tokens.register()).grant.id)

    id_ = asyncio.run(register())
    with psycopg.connect(build_login_url(database_url), autocommit=True) as conn:
        for role in ("none", "muniment_app", "muniment_keeper", "muniment_eraser", "muniment_worker"):
            conn.execute(sql.SQL("set role {}").format(sql.SQL(role)))
            for statement in (
                "select * from muniment.token_configs",
                "update muniment.token_configs set memory_limit = 1",
                "delete from muniment.token_configs",
                "insert into muniment.token_configs (token_id, hint, changed_at) values (gen_random_uuid(), '', now())",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    conn.execute(statement)
            for call, allowed in (
                ("select * from muniment.find_configured_token('\\x00')", "muniment_app"),
                (f"select * from muniment.find_token_of_job('{id_}')", "muniment_worker"),
                (f"select muniment.drop_former_embedders('{id_}', 7)", "muniment_worker"),
            ):
                if role == allowed:
                    conn.execute(call)
                else:
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        conn.execute(call)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("set role muniment_issuer")
    with psycopg.connect(database_url) as conn:
        assert conn.execute("select token_id::text from muniment.token_configs").fetchall() == [(id_,)]
