"""The table of logins: the application opens, finds and ends one by its digest, and learns of no other."""

from pathlib import Path

import psycopg
import pytest

from muniment.memory.bootstrap import open_tokens
from muniment.memory.bootstrap.console_sessions import make_console_sessions
from muniment.memory.config.settings import load_settings
from tests.http.conftest import make_environment


async def test_no_cookie_is_in_the_database_and_the_application_lists_none(database_url: str, tmp_path: Path) -> None:
    settings = load_settings(make_environment(database_url, tmp_path))
    async with open_tokens(settings, as_owner=True) as tokens:
        _, grant = await tokens.issue_token(tenant="acme", owner="ana")
        sessions = make_console_sessions(tokens)
        value = await sessions.open_session(grant.id)
        assert value is not None
        text = value.get_secret_value()
        assert text not in repr(value) + repr(sessions)
    with psycopg.connect(database_url, autocommit=True) as conn:
        rows = conn.execute("select s::text, encode(s.digest, 'escape') from muniment.console_sessions s").fetchall()
        assert len(rows) == 1
        assert text not in str(rows)
        conn.execute("set role muniment_app")
        for attack in (
            "select * from muniment.console_sessions",
            "select digest from muniment.console_sessions limit 1",
            "update muniment.console_sessions set expires_at = 'infinity'",
            "delete from muniment.console_sessions",
            "insert into muniment.console_sessions select * from muniment.console_sessions",
            "truncate muniment.console_sessions",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(attack)
        conn.execute("create temporary table console_sessions (digest bytea)")
        for digest in (b"", b"\0" * 32, None):
            found = conn.execute("select * from muniment.use_console_session(%s, now())", (digest,)).fetchall()
            assert found == []
        for role in ("muniment_keeper", "muniment_eraser"):
            conn.execute("reset role")
            conn.execute(psycopg.sql.SQL("set role {}").format(psycopg.sql.Identifier(role)))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute("select * from muniment.use_console_session('', now())")


async def test_an_erased_token_takes_its_sessions_along(database_url: str, tmp_path: Path) -> None:
    settings = load_settings(make_environment(database_url, tmp_path))
    async with open_tokens(settings, as_owner=True) as tokens:
        _, grant = await tokens.issue_token(tenant="acme", owner="ana")
        sessions = make_console_sessions(tokens)
        value = await sessions.open_session(grant.id)
        assert value is not None
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute("set role muniment_eraser")
            conn.execute("select muniment.erase_tokens('acme', 'ana')")
            conn.execute("reset role")
            assert conn.execute("select count(*) from muniment.console_sessions").fetchone() == (0,)
        assert await sessions.find_grant(value) is None
