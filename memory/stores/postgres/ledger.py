"""The ledger of turns in Postgres: what was said, what was extracted from it, and requests for consent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from muniment.memory.domain.consent import Consent, Decision
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import EpisodeSource, Passage, RecentConversation, Turn
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import send_due_time, send_jobs

_LEDGER, _READ, _WRITE, _CONSENT = (load_blocks(name) for name in ("ledger", "read", "write", "consent"))


class PostgresLedger(TurnLedger):
    """The `TurnLedger` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def record_turns(
        self, scope: Scope, turns: Sequence[Turn], jobs: Sequence[Job] = (), *, retention: timedelta | None = None
    ) -> None:
        async with self._connections.sending(scope, turns[0].at if turns else None) as conn:
            if turns:
                await conn.execute(_WRITE["record_turns"], {"space": scope.space, "turns": rows.encode_turns(turns)})
                if retention is not None:
                    await send_due_time(conn, scope, min(turn.at for turn in turns), retention)
            await send_jobs(conn, jobs)

    async def find_consumed_turns(self, scope: Scope, turns: Sequence[TurnId]) -> set[TurnId]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_LEDGER["consumed"], {"space": scope.space, "turns": list(turns)})
            return {TurnId(row["turn_id"]) for row in await cursor.fetchall()}

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
