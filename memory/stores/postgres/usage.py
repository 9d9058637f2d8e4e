"""What models cost, and what was done, in Postgres: a tenant's books and a space's counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime, time
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.usage import Activity, Books, Charge, Count, Settlement, Spent, Yield
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, Sessions, one
from muniment.memory.stores.postgres.sql import blocks

_BOOKS, _ROLES, _WRITE = blocks("books"), blocks("roles"), blocks("write")


class Spending(Sessions):
    """The books of a tenant, and the statistics of a space."""

    async def reserve(self, scope: Scope, day: date, charge: Charge, tokens: int | None, micros: int | None) -> bool:
        """See `Store.reserve`."""
        async with self._keeping(scope) as conn:
            cursor = await reserve(conn, scope, day, charge, tokens, micros)
        return cursor.rowcount > 0

    async def settle(self, scope: Scope, settlements: Sequence[Settlement]) -> None:
        """See `Store.settle`."""
        async with self._keeping(scope) as conn:
            await settle(conn, scope, settlements)

    async def books(self, scope: Scope, since: date) -> Books:
        """See `Store.books`."""
        named = {"space": scope.tenancy, "tenant": scope.tenant, "since": since}
        async with self._keeping(scope) as conn:
            lines = await (await conn.execute(_BOOKS["spent"], named)).fetchall()
            days = await (await conn.execute(_BOOKS["days"], named)).fetchall()
            await conn.execute(_ROLES["keeper"])
            counted = await conn.execute(_BOOKS["facts"], named | {"since": _start(since)})
            facts = one(await counted.fetchone())["facts"]
        return Books(
            since=since,
            lines=tuple(Spent(**row) for row in lines),
            days={row["day"]: (row["tokens"], row["micros"]) for row in days},
            facts=facts,
        )

    async def activity(self, reader: Reader, since: date, changes: int) -> Activity:
        """See `Store.activity`."""
        named = {"space": reader.scope.space, "since": _start(since)}
        async with self._reading(reader.scope, None) as conn:
            counts = await conn.execute(_BOOKS["counts"], named)
            looks = await conn.execute(_BOOKS["yields"], named)
            reasons = await conn.execute(_BOOKS["reasons"], named)
            latest = await conn.execute(_BOOKS["changes"], named | {"limit": changes})
            told = await reasons.fetchall()
            return Activity(
                since=since,
                counts=tuple(Count(**row) for row in await counts.fetchall()),
                extracted=tuple(_yield(row, told) for row in await looks.fetchall()),
                changes=tuple(map(rows.entry, await latest.fetchall())),
            )

    @asynccontextmanager
    async def _keeping(self, scope: Scope) -> AsyncIterator[Connection]:
        """One transaction in the books of the scope's tenant."""
        async with self._calling(once=False) as conn:
            await conn.execute(_WRITE["enter"], {"space": scope.tenancy})
            yield conn


async def reserve(
    conn: Connection, scope: Scope, day: date, charge: Charge, tokens: int | None, micros: int | None
) -> AsyncCursor[DictRow]:
    """Send what `Store.reserve` does, in the caller's transaction, which is in the books of the scope's tenant afterwards;
    a row was touched unless the budget is used up."""
    named = {"space": scope.tenancy, "day": day, "most_tokens": tokens, "most_micros": micros}
    wanted = {"tokens": charge.input_tokens + charge.output_tokens, "micros": charge.micros}
    await conn.execute(_WRITE["enter"], {"space": scope.tenancy})
    return await conn.execute(_BOOKS["reserve"], named | wanted)


async def settle(conn: Connection, scope: Scope, settlements: Sequence[Settlement]) -> None:
    """Send what `Store.settle` does, in the caller's transaction, which is in the books of the scope's tenant afterwards."""
    await conn.execute(_WRITE["enter"], {"space": scope.tenancy})
    # In one order, or two writers would wait for each other.
    for each in sorted(settlements, key=_order):
        named = {"space": scope.tenancy, "day": each.day}
        await conn.execute(_BOOKS["adjust"], named | _difference(each))
        if each.used is not None:
            await conn.execute(_BOOKS["book"], named | asdict(each.used))


def _order(one: Settlement) -> tuple[date, str, str]:
    return one.day, one.used.purpose if one.used else "", one.used.model if one.used else ""


def _difference(one: Settlement) -> dict[str, int]:
    signs = ((one.used, 1), (one.reserved, -1))
    charges = [(charge, sign) for charge, sign in signs if charge is not None]
    return {
        "tokens": sum(sign * (charge.input_tokens + charge.output_tokens) for charge, sign in charges),
        "micros": sum(sign * charge.micros for charge, sign in charges),
    }


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _yield(row: DictRow, told: Sequence[DictRow]) -> Yield:
    def reasons(what: str) -> dict[str, int]:
        mine = [one for one in told if (one["source"], one["what"]) == (row["source"], what)]
        return {one["reason"]: one["count"] for one in mine}

    counted: dict[str, Any] = dict(row)
    return Yield(**counted, repaired=reasons("repaired"), refused=reasons("refused"))
