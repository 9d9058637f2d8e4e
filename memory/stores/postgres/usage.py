"""What models cost and what was done in Postgres: a tenant's spending and a space's counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.usage import (
    Charge,
    DailySpending,
    EventCount,
    ExtractionStats,
    OpsEvent,
    Settlement,
    SpaceActivity,
    UsageReport,
)
from muniment.memory.ports.usage import UsageStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import send_due_time

_USAGE, _ROLES, _WRITE = load_blocks("usage"), load_blocks("roles"), load_blocks("write")


class PostgresUsage(UsageStore):
    """The `UsageStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def reserve(self, scope: Scope, day: date, charge: Charge, tokens: int | None, micros: int | None) -> bool:
        async with self._tenant_transaction(scope) as conn:
            cursor = await send_reservation(conn, scope, day, charge, tokens, micros)
        return cursor.rowcount > 0

    async def settle(self, scope: Scope, settlements: Sequence[Settlement]) -> None:
        async with self._tenant_transaction(scope) as conn:
            await send_settlements(conn, scope, settlements)

    async def read_usage(self, scope: Scope, since: date) -> UsageReport:
        params = {"space": scope.tenant_space, "tenant": scope.tenant, "since": since}
        async with self._tenant_transaction(scope) as conn:
            lines = await (await conn.execute(_USAGE["spending"], params)).fetchall()
            days = await (await conn.execute(_USAGE["days"], params)).fetchall()
            await conn.execute(_ROLES["keeper"])
            counted = await conn.execute(_USAGE["facts"], params | {"since": _start_of_day(since)})
            facts = require_row(await counted.fetchone())["facts"]
        return UsageReport(
            since=since,
            lines=tuple(DailySpending(**row) for row in lines),
            days={row["day"]: (row["tokens"], row["micros"]) for row in days},
            facts=facts,
        )

    async def read_activity(self, reader: Reader, since: date, changes: int) -> SpaceActivity:
        params = {"space": reader.scope.space, "since": _start_of_day(since)}
        async with self._connections.reading(reader.scope) as conn:
            counts = await conn.execute(_USAGE["counts"], params)
            stats = await conn.execute(_USAGE["extraction_stats"], params)
            reasons = await conn.execute(_USAGE["reasons"], params)
            latest = await conn.execute(_USAGE["changes"], params | {"limit": changes})
            reason_rows = await reasons.fetchall()
            return SpaceActivity(
                since=since,
                counts=tuple(EventCount(**row) for row in await counts.fetchall()),
                extracted=tuple(_parse_stats(row, reason_rows) for row in await stats.fetchall()),
                changes=tuple(map(rows.parse_entry, await latest.fetchall())),
            )

    async def record_events(
        self, scope: Scope, events: Sequence[OpsEvent], *, retention: timedelta | None = None
    ) -> None:
        if not events:
            return
        owner = {"tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type}
        params = {"space": scope.space, "events": rows.encode_events(events), "at": max(event.ts for event in events)}
        async with self._connections.sending(scope) as conn:
            await conn.execute(_WRITE["found_unless_erased"], params | owner)
            await conn.execute(_WRITE["record_events"], params | owner)
            if retention is not None:
                await send_due_time(conn, scope, min(event.ts for event in events), retention)

    @asynccontextmanager
    async def _tenant_transaction(self, scope: Scope) -> AsyncIterator[Connection]:
        """One transaction in the space of the scope's tenant."""
        async with self._connections.statement(once=False) as conn:
            await conn.execute(_WRITE["enter"], {"space": scope.tenant_space})
            yield conn


async def send_reservation(
    conn: Connection, scope: Scope, day: date, charge: Charge, tokens: int | None, micros: int | None
) -> AsyncCursor[DictRow]:
    """Charge a day in the caller's transaction, which is in the space of the scope's tenant afterwards.

    The cursor's `rowcount` is 0 when the budget is used up."""
    params = {"space": scope.tenant_space, "day": day, "most_tokens": tokens, "most_micros": micros}
    amounts = {"tokens": charge.input_tokens + charge.output_tokens, "micros": charge.micros}
    await conn.execute(_WRITE["enter"], {"space": scope.tenant_space})
    return await conn.execute(_USAGE["reserve"], params | amounts)


async def send_settlements(conn: Connection, scope: Scope, settlements: Sequence[Settlement]) -> None:
    """Settle in the caller's transaction, which is in the space of the scope's tenant afterwards."""
    await conn.execute(_WRITE["enter"], {"space": scope.tenant_space})
    # In one order, or two writers would wait for each other.
    for settlement in sorted(settlements, key=_sort_key):
        params = {"space": scope.tenant_space, "day": settlement.day}
        await conn.execute(_USAGE["adjust"], params | _compute_difference(settlement))
        if settlement.used is not None:
            await conn.execute(_USAGE["add_spending"], params | asdict(settlement.used))


def _sort_key(settlement: Settlement) -> tuple[date, str, str]:
    return (
        settlement.day,
        settlement.used.purpose if settlement.used else "",
        settlement.used.model if settlement.used else "",
    )


def _compute_difference(settlement: Settlement) -> dict[str, int]:
    signs = ((settlement.used, 1), (settlement.reserved, -1))
    charges = [(charge, sign) for charge, sign in signs if charge is not None]
    return {
        "tokens": sum(sign * (charge.input_tokens + charge.output_tokens) for charge, sign in charges),
        "micros": sum(sign * charge.micros for charge, sign in charges),
    }


def _start_of_day(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _parse_stats(row: DictRow, reason_rows: Sequence[DictRow]) -> ExtractionStats:
    def reasons(what: str) -> dict[str, int]:
        key = (row["source"], what)
        return {other["reason"]: other["count"] for other in reason_rows if (other["source"], other["what"]) == key}

    counts: dict[str, Any] = dict(row)
    return ExtractionStats(**counts, repaired=reasons("repaired"), refused=reasons("refused"))
