"""The rights of the login with which the engine works: it owns nothing, and works in roles that own nothing."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from muniment.memory.errors import BadInput, Denied, NotFound
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.sql import load_blocks

_GRANTS = load_blocks("grants")
_LOCK = 0x6772616E74  # the advisory lock of whoever grants: "grant"
_PLACEHOLDER = ':"login"'  # a variable of psql


def read_grant_script() -> str:
    """Return the script for psql, which wants the variable `login`."""
    return (files("muniment.migrations.roles") / "grant.sql").read_text(encoding="utf-8")


async def grant_login(owner: str, login: str) -> None:
    """Give a login what the engine needs, over the address of the login that owns the tables. May be repeated.

    Raises NotFound for a login that does not exist, BadInput for one that row-level security does not hold or that
    owns tables, Denied when the owner's login may not grant."""
    with translate_errors("granting"):
        async with await AsyncConnection.connect(owner, autocommit=True) as conn:
            row = await (
                await conn.cursor(row_factory=dict_row).execute(_GRANTS["strength"], {"login": login})
            ).fetchone()
            if row is None:
                raise NotFound(f"the server has no role {login!r}: create role {login} login noinherit password '…'")
            if row["strong"]:
                raise BadInput(
                    f"{login!r} is a superuser, bypasses row-level security, or owns tables of Muniment: choose "
                    "a login that does not"
                )
            await ensure_grants(conn, login)


async def ensure_grants(conn: AsyncConnection[Any], login: str) -> None:
    """Give a login what the engine needs, unless it has it. The connection is that of the owner of the tables."""
    cursor = conn.cursor(row_factory=dict_row)
    if await _is_granted(cursor, login):
        return
    async with conn.transaction():
        await conn.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        if not await _is_granted(cursor, login):
            script = read_grant_script().replace(_PLACEHOLDER, sql.Identifier(login).as_string())
            await conn.execute(script.encode())


async def check_grants(conn: AsyncConnection[Any], address: str) -> None:
    """Raise Denied unless the login of an address may work in the engine's roles. An address without a login is taken
    for that of the connection."""
    login = conninfo_to_dict(address).get("user")
    cursor = conn.cursor(row_factory=dict_row)
    row = await (await cursor.execute(_GRANTS["lacking"], {"login": login})).fetchone()
    if row and row["roles"]:
        raise Denied(f"the login {row['login']!r} may not work as {', '.join(row['roles'])}")


async def _is_granted(cursor: Any, login: str) -> bool:
    row = await (await cursor.execute(_GRANTS["is_granted"], {"login": login})).fetchone()
    return bool(row and row["granted"])
