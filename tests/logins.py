"""The login that works on the databases of tests: it has what `migrations/roles/grant.sql` grants, and nothing else."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

LOGIN = "muniment_engine_of_tests"
_PASSWORD = "of tests"


def create_login(admin: psycopg.Connection[Any]) -> None:
    """Create the login of the cluster, unless it exists. It has no right yet."""
    if admin.execute("select from pg_roles where rolname = %s", (LOGIN,)).fetchone() is None:
        _hash_once(admin)
        admin.execute(sql.SQL("create role {} login password {}").format(sql.Identifier(LOGIN), sql.Literal(_PASSWORD)))


def lighten_login(admin: psycopg.Connection[Any]) -> None:
    """Set the password of the connection's own login anew, as it is, so that it is checked quickly."""
    with admin.transaction():
        admin.execute("select pg_advisory_xact_lock(hashtext('passwords'))")
        _hash_once(admin)
        admin.execute(
            sql.SQL("alter role {} password {}").format(
                sql.Identifier(admin.info.user), sql.Literal(admin.info.password)
            )
        )


def _hash_once(admin: psycopg.Connection[Any]) -> None:
    """Derive the key of a password in one round: every test makes connections, and each would go through 4,096."""
    admin.execute("select set_config(name, '1', false) from pg_settings where name = 'scram_iterations'")


def build_login_url(owner_url: str) -> str:
    """Return the address of the same database for the login."""
    params = {name: value for name, value in conninfo_to_dict(owner_url).items() if name != "passfile"}
    return make_conninfo("", **params | {"user": LOGIN, "password": _PASSWORD})
