"""What is due in Postgres, in one space and in all, and the slots of periodic jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from muniment.memory.domain.embedding import UnembeddedRow
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.maintenance import DueMemories, IndexingResult, LedgerCounts, RetentionTerms
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.operation.maintenance import MaintenanceStore
from muniment.memory.rules.policy.retention import find_scope_days, hash_terms
from muniment.memory.rules.policy.schedule import compute_stagger, find_slot_start
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.schema.large_spaces import SpaceIndexes
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import KEPT_REQUESTS, encode_job

_MAINTENANCE, _READ, _ROLES = load_blocks("maintenance"), load_blocks("read"), load_blocks("roles")
_ERASURE = load_blocks("erasure")
_LOCK = 0x6D756E69726F756E  # one process at a time looks for due spaces
_PAGE = 5_000
_TURNS = 1_000
_SLOTS = 1_000  # slots of a periodic job that are remembered
_LATER = timedelta(hours=24)  # a row that a job needs is checked again then
_FAR = timedelta(days=3_650)
_MAX_AHEAD = timedelta(days=1)  # a clock that is further ahead is wrong
_NO_SCOPE = Scope(tenant="", owner="")  # a job of no space


class PostgresMaintenance(MaintenanceStore):
    """The `MaintenanceStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections, indexes: SpaceIndexes, model: str) -> None:
        self._connections, self._model = connections, model
        self._indexes = indexes

    async def find_due(self, scope: Scope, now: datetime, terms: RetentionTerms, limit: int) -> DueMemories | None:
        params = {"space": scope.space, "now": now, "limit": limit} | _build_term_params(scope, terms)
        async with self._connections.reading(scope) as conn:
            space_cursor = await conn.execute(_READ["maintenance"], params)
            forget = await conn.execute(_MAINTENANCE["forgettable"], params)
            purge = await conn.execute(_MAINTENANCE["purgeable"], params)
            next_cursor = await conn.execute(_MAINTENANCE["next"], params)
            space = await space_cursor.fetchone()
            if space is None:
                return None
            ahead = require_row(await next_cursor.fetchone())
            waits = [] if ahead["wait"] is None else [now + min(_FAR, timedelta(seconds=ahead["wait"]))]
            return DueMemories(
                rev=Revision(space["rev"]),
                maintained_rev=Revision(space["tended_rev"]),
                forget=tuple(map(rows.parse_memory, await forget.fetchall())),
                purge=tuple(MemoryId(row["memory_id"]) for row in await purge.fetchall()),
                next_due_at=min([*waits, *filter(None, [ahead["purge_at"]])], default=None),
            )

    async def record_maintenance(
        self,
        scope: Scope,
        checked_rev: Revision | None,
        at: datetime,
        next_due_at: datetime | None,
        terms: RetentionTerms,
    ) -> None:
        params: dict[str, Any] = {"space": scope.space, "seen": checked_rev, "at": at, "again": next_due_at}
        params |= {"later": _LATER, "turns": terms.turns, "events": terms.events, "terms": hash_terms(terms)}
        params["requests"] = KEPT_REQUESTS
        async with self._connections.sending(scope) as conn:
            await conn.execute(_MAINTENANCE["lock_space"], params)
            await conn.execute(_MAINTENANCE["record"], params)

    async def delete_expired(
        self, scope: Scope, now: datetime, *, turns_before: datetime, events_before: datetime, checked_before: datetime
    ) -> int:
        params: dict[str, Any] = {"space": scope.space, "before": turns_before, "limit": _TURNS}
        params |= {"now": now, "requests": KEPT_REQUESTS}
        deleted = 0
        while True:  # each page of turns is a transaction of its own
            async with self._connections.writing(scope) as conn:
                turns = await (await conn.execute(_MAINTENANCE["stale_turns"], params)).fetchall()
                await conn.execute(_ROLES["eraser"])
                ids = {"ids": [row["turn_id"] for row in turns]}
                deleted += (await conn.execute(_MAINTENANCE["drop_turns"], params | ids)).rowcount
                if len(turns) < _TURNS:
                    for block in ("drop_sessions", "drop_observations", "drop_bisect_replies"):
                        await conn.execute(_MAINTENANCE[block], params)
                    for block in ("drop_events", "drop_extractions", "drop_plugin_turns", "drop_plugin_audit"):
                        await conn.execute(_MAINTENANCE[block], params | {"before": events_before})
                    await conn.execute(_MAINTENANCE["drop_requests"], params)
                    for block in ("drop_pairs", "drop_runs"):
                        await conn.execute(_MAINTENANCE[block], params | {"before": checked_before})
                    await _delete_orphans(conn, scope)
                    return deleted

    async def count_expired(self, scope: Scope, now: datetime, *, turns_before: datetime) -> LedgerCounts:
        params = {"space": scope.space, "before": turns_before, "now": now}
        async with self._connections.reading(scope) as conn:
            row = await (await conn.execute(_MAINTENANCE["count_stale"], params)).fetchone()
        return LedgerCounts(**require_row(row))

    async def enqueue_due_spaces(
        self, now: datetime, every: timedelta, spread: timedelta, terms: RetentionTerms
    ) -> int | None:
        start = find_slot_start(now, spread)
        # Counted in slots: a space that was maintained late in its slot does not slip behind its next slot.
        params: dict[str, Any] = {"now": now, "edge": start + spread - every, "after": UUID(int=0), "limit": _PAGE}
        params |= {"ahead": now + min(every, _MAX_AHEAD), "terms": hash_terms(terms)}
        count = 0
        async with self._connections.transaction() as conn:
            lock = await (await conn.execute(_MAINTENANCE["try_lock"], {"lock": _LOCK})).fetchone()
            if not require_row(lock)["mine"]:
                return None
            while True:
                await conn.execute(_ROLES["keeper"])
                spaces = await (await conn.execute(_MAINTENANCE["due_spaces"], params)).fetchall()
                await conn.execute(_ROLES["worker"])
                scopes = [rows.parse_scope(row) for row in spaces]
                jobs = [encode_job(Job(name="tend", scope=scope)) for scope in scopes]
                job_params = {
                    "dedup_keys": [job["dedup_key"] for job in jobs],
                    "args": [job["args"] for job in jobs],
                    "waits": [max(timedelta(), start + compute_stagger(scope, spread) - now) for scope in scopes],
                }
                count += (await conn.execute(_MAINTENANCE["enqueue_due"], job_params)).rowcount
                if len(spaces) < _PAGE:
                    return count
                params["after"] = spaces[-1]["space_id"]

    async def enqueue_periodic(self, name: JobName, at: datetime) -> bool:
        job = encode_job(Job(name=name, scope=_NO_SCOPE))
        params = {"name": name, "slot": int(at.timestamp()), "dedup_key": name, "args": job["args"], "kept": _SLOTS}
        async with self._connections.working() as conn:
            return bool(require_row(await (await conn.execute(_MAINTENANCE["periodic"], params)).fetchone())["new"])

    async def list_unembedded(self, scope: Scope, limit: int) -> list[UnembeddedRow]:
        async with self._connections.reading(scope) as conn:
            page = await conn.execute(_MAINTENANCE["unembedded"], {"space": scope.space, "limit": limit})
            return [rows.parse_unembedded(row) for row in await page.fetchall()]

    async def write_vectors(self, scope: Scope, pairs: Sequence[tuple[UnembeddedRow, Vector]]) -> None:
        params = {"space": scope.space, "model": self._model}
        async with self._connections.writing(scope) as conn:
            await conn.execute(_MAINTENANCE["pause_writers"], params)
            if memories := [pair for pair in pairs if not pair[0].since]:
                await conn.execute(_MAINTENANCE["write_vectors"], params | rows.build_vector_params(memories))
            if versions := [pair for pair in pairs if pair[0].since]:
                await conn.execute(_MAINTENANCE["write_version_vectors"], params | rows.build_vector_params(versions))

    async def index_space(self, scope: Scope, min_memories: int, *, force: bool = False) -> IndexingResult:
        return await self._indexes.build(scope, min_memories, force=force)

    async def unindex_space(self, scope: Scope) -> IndexingResult:
        return await self._indexes.drop(scope)

    async def find_spaces_to_index(self, min_memories: int) -> list[Scope]:
        return await self._indexes.find_spaces(min_memories)


def _build_term_params(scope: Scope, terms: RetentionTerms) -> dict[str, Any]:
    agents = {name.removeprefix("agent:"): days for name, days in terms.scopes.items() if name.startswith("agent:")}
    return {
        "categories": list(terms.categories),
        "days": list(terms.categories.values()),
        "untouched": terms.untouched_days,
        "below": terms.importance_below,
        "fade": terms.fade_days,
        "owner": find_scope_days(terms, scope.owner_type, scope.owner),
        "agents": list(agents),
        "agents_days": list(agents.values()),
        "agent": terms.scopes.get("agent"),
        "session": terms.scopes.get("session"),
        "run": terms.scopes.get("run"),
    }


async def _delete_orphans(conn: Connection, scope: Scope) -> None:
    """Delete what is of memories that are gone: observations, decisions on pairs, and projections, of which others of
    their slot take the place. Relations go with their memories."""
    params = {"space": scope.space}
    for block in ("orphan_observations", "orphan_pairs"):
        await conn.execute(_MAINTENANCE[block], params)
    projections = await (await conn.execute(_MAINTENANCE["orphan_projections"], params)).fetchall()
    if projections:
        await conn.execute(_ERASURE["projections"], params | {"ids": [row["memory_id"] for row in projections]})
