"""What is recorded beside the memories, in Postgres: turns, what was extracted from them, requests for consent, events,
and what models cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from muniment.memory.domain.consent import Consent, Decision
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import ChangePage, Node, SpaceChange
from muniment.memory.domain.layers.message import KNOWN_MESSAGES
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import EpisodeSource, Passage, RecentConversation, Turn
from muniment.memory.domain.usage import (
    Charge,
    DailySpending,
    EventCount,
    ExtractionStats,
    LegacyReport,
    OpsEvent,
    Settlement,
    SpaceActivity,
    UsageReport,
)
from muniment.memory.ports.layers.messages import MessageStore
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.operation.usage import UsageStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import send_due_time, send_jobs

_LEDGER, _READ, _WRITE, _CONSENT = map(load_blocks, ("ledger", "read", "write", "consent"))
_USAGE, _ROLES, _MESSAGES = map(load_blocks, ("usage", "roles", "messages"))
_EVENT_FIELDS = tuple(OpsEvent.__dataclass_fields__)


class PostgresLedger(TurnLedger):
    """The `TurnLedger` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def record_turns(
        self,
        scope: Scope,
        turns: Sequence[Turn],
        jobs: Sequence[Job] = (),
        *,
        retention: timedelta | None = None,
        now: datetime | None = None,
    ) -> None:
        # Turns alone are one statement, which is a transaction by itself.
        async with self._connections.sending(scope) if jobs else self._connections.statement() as conn:
            if turns:
                said = rows.encode_turns((scope, turn) for turn in turns)
                founding = rows.encode_space(scope, turns[0].at)
                params = {"space": scope.space, "turns": said, "now": now, "keep": retention, "founding": founding}
                params["oldest"] = min(turn.at for turn in turns)
                await conn.execute(_WRITE["record_turns"], params, prepare=True)
            await send_jobs(conn, jobs)

    async def find_consumed_turns(self, scope: Scope, turns: Sequence[TurnId]) -> set[TurnId]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_LEDGER["consumed"], {"space": scope.space, "turns": list(turns)})
            return {TurnId(row["turn_id"]) for row in await cursor.fetchall()}

    async def read_said_times(self, scope: Scope, turns: Sequence[TurnId]) -> dict[TurnId, datetime]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_LEDGER["said_times"], {"space": scope.space, "turns": list(turns)})
            return {TurnId(row["turn_id"]): row["said_at"] for row in await cursor.fetchall()}

    async def find_existing_turns(self, scope: Scope, turns: Sequence[TurnId]) -> frozenset[TurnId]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_LEDGER["existing"], {"space": scope.space, "turns": list(turns)})
            return frozenset(TurnId(row["turn_id"]) for row in await cursor.fetchall())

    async def get_passage(self, scope: Scope, turn: TurnId, *, before: int, after: int) -> Passage | None:
        params = {"space": scope.space, "turn": turn}
        async with self._connections.reading(scope) as conn:
            row = await (await conn.execute(_LEDGER["here"], params)).fetchone()
            if row is None:
                return None
            params |= {"thread": row["thread_id"], "at": row["at"]}
            earlier = await conn.execute(_LEDGER["before"], params | {"limit": before})
            later = await conn.execute(_LEDGER["after"], params | {"limit": after})
            past = [rows.parse_turn(turn_row) for turn_row in reversed(await earlier.fetchall())]
            next_ = [rows.parse_turn(turn_row) for turn_row in await later.fetchall()]
        return Passage(
            turns=(*past, rows.parse_turn(row), *next_), at=len(past), extracted_by=frozenset(row["sources"])
        )

    async def read_latest_turns(self, scope: Scope, *, turns: int) -> RecentConversation:
        space = {"space": scope.space}
        async with self._connections.reading(scope) as conn:
            latest = await conn.execute(_LEDGER["latest_turns"], space | {"limit": turns})
            insights = await conn.execute(_LEDGER["insights_at"], space)
            return RecentConversation(
                turns=tuple(rows.parse_turn(row) for row in reversed(await latest.fetchall())),
                insights_at=require_row(await insights.fetchone())["at"],
            )

    async def list_work_turns(self, scope: Scope, *, limit: int) -> list[Turn]:
        params = {"space": scope.space, "thread": scope.thread, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_LEDGER["work_turns"], params)
            return [rows.parse_turn(row) for row in reversed(await cursor.fetchall())]

    async def read_thread_events(
        self, scope: Scope, *, tag: str, category: str, since: datetime, limit: int
    ) -> EpisodeSource:
        params = {"space": scope.space, "thread": scope.thread, "tag": tag, "category": category, "since": since}
        async with self._connections.reading(scope) as conn:
            rev = await conn.execute(_READ["rev"], params)
            episodes = await conn.execute(_LEDGER["thread_episodes"], params)
            turns = await conn.execute(_LEDGER["thread_turns"], params | {"limit": limit})
            return EpisodeSource(
                rev=Revision(require_row(await rev.fetchone())["rev"]),
                episodes=tuple(map(rows.parse_memory, await episodes.fetchall())),
                turns=tuple(rows.parse_turn(row) for row in reversed(await turns.fetchall())),
            )

    async def count_changes(self, scope: Scope, since: datetime, nodes: Sequence[Node]) -> int:
        params = {"space": scope.space, "since": since, "nodes": list(nodes)}
        async with self._connections.reading(scope) as conn:
            return int(require_row(await (await conn.execute(_LEDGER["changes"], params)).fetchone())["changes"])

    async def find_supported(self, scope: Scope, turn: TurnId) -> frozenset[MemoryId]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_LEDGER["supported"], {"space": scope.space, "turn": turn})
            return frozenset(MemoryId(row["memory_id"]) for row in await cursor.fetchall())

    async def list_consents(self, scope: Scope, decisions: Sequence[Decision], limit: int) -> list[Consent]:
        params = {"space": scope.space, "decisions": list(decisions) or None, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_CONSENT["consents"], params)
            return [rows.parse_consent(row) for row in await cursor.fetchall()]


class PostgresMessages(MessageStore):
    """The `MessageStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def append_messages(
        self,
        scope: Scope,
        session: str,
        messages: Sequence[tuple[Turn, bytes]],
        *,
        earlier: int,
        days: int | None,
        now: datetime,
        jobs: Sequence[Job] = (),
    ) -> list[TurnId]:
        params = {"space": scope.space, "session": session, "earlier": earlier, "latest": KNOWN_MESSAGES}
        params |= {
            "messages": rows.encode_turns([(scope, turn) for turn, _ in messages], [hashed for _, hashed in messages]),
            "days": days,
            "now": now,
        }
        async with self._connections.sending(scope, now) as conn:
            cursor = await conn.execute(_MESSAGES["append"], params)
            await send_jobs(conn, jobs)
        return [TurnId(id_) for id_ in require_row(await cursor.fetchone())["added"]]

    async def read_window(self, scope: Scope, session: str, size: int) -> list[Turn]:
        params = {"space": scope.space, "session": session, "size": size}
        async with self._connections.statement() as conn:
            cursor = await conn.execute(_MESSAGES["window"], params, prepare=True)
        return [rows.parse_turn(row) for row in reversed(await cursor.fetchall())]


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
        async with self._connections.transaction() as conn:
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
        lines = rows.encode_rows([{name: getattr(event, name) for name in _EVENT_FIELDS} for event in events])
        params = {"space": scope.space, "events": lines, "at": max(event.ts for event in events)}
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

    async def read_changes(self, reader: Reader, since: Revision, limit: int) -> ChangePage:
        params = {"space": reader.scope.space, "since": since, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            space_cursor = await conn.execute(_READ["space"], params)
            lines = await conn.execute(_READ["changes"], params)
            space = await space_cursor.fetchone() or {"rev": 0, "created_at": None}
            entries = tuple(map(rows.parse_change, await lines.fetchall()))
        rev = Revision(space["rev"])
        return ChangePage(
            entries=entries,
            next=entries[-1].rev if len(entries) == limit else rev,
            rev=rev,
            founded_at=space["created_at"],
        )

    async def read_legacy(self, scope: Scope, tag: str, limit: int) -> LegacyReport:
        params = {"space": scope.space, "tag": tag, "limit": limit}
        async with self._connections.reading(scope) as conn:
            counts = await conn.execute(_USAGE["legacy_counts"], params)
            waiting = await conn.execute(_USAGE["legacy_waiting"], params)
            return LegacyReport(
                **require_row(await counts.fetchone()), waiting=tuple(map(rows.parse_memory, await waiting.fetchall()))
            )

    async def read_departures(
        self, scope: Scope, categories: Collection[str], since: Revision, until: Revision, limit: int
    ) -> list[SpaceChange]:
        params = {"categories": sorted(categories), "since": since, "until": until, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_READ["departures"], params | {"space": scope.space})
            return [rows.parse_change(row) for row in await cursor.fetchall()]


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
