"""The writes of a space in Postgres: plans, and what other modules send in their own transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any
from uuid import uuid4

from psycopg.types.json import Jsonb

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.plan import Change, KeptReceipt, PackedRow, Receipt, SpaceDump, WritePlan
from muniment.memory.domain.scope import RequestKey, Scope
from muniment.memory.errors import BadInput, DuplicateMemory, StoreError
from muniment.memory.ports.writes import MemoryWrites, SpaceRows
from muniment.memory.records import dump_receipt, load_receipt
from muniment.memory.rules.projections.types import project_memory
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.bulk.bulk_insert import (
    STALE,
    BulkTables,
    analyze_tables,
    insert_rows,
    load_tables,
)
from muniment.memory.stores.postgres.bulk.transfer import UNFIT, build_unfit_error, load_rows
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections
from muniment.memory.stores.postgres.layers.host_items import send_host_items
from muniment.memory.stores.postgres.sql import load_blocks

_WRITE, _TRANSFER, _CONSENT, _MAINTENANCE, _SWITCH, _JOBS = (
    load_blocks(name) for name in ("write", "transfer", "consent", "maintenance", "embedder_switch", "jobs")
)
_REPLAYED = "MU001"  # the SQL state of a plan whose work is done
_BY_KEY = "memories_by_key"  # the index: one active memory has a stable key
_MAX_HEIRS = 16  # steps from a superseded memory to the one that stays
JOB_PRIORITY = 0
_IN_ORDER: frozenset[JobName] = frozenset({"extract", "build", "build_missed", "end_sessions"})
KEPT_REQUESTS = timedelta(days=1)  # how long a request may be sent again


class PostgresWrites(MemoryWrites):
    """The `MemoryWrites` port over Postgres."""

    def __init__(self, connections: PostgresConnections, model: str) -> None:
        self._connections, self._model = connections, model
        self._tables: BulkTables | None = None

    async def commit(self, plan: WritePlan) -> Receipt:
        # Additions alone are one statement, which is a transaction by itself.
        alone = not (
            any(change.before is not None for change in plan.changes)
            or len({change.after.id for change in plan.changes}) < len(plan.changes)
            or (plan.extracted and plan.extracted.shown)
            or plan.jobs
            or plan.proposals
            or plan.decisions
            or plan.source_turns
            or plan.host_items
            or plan.conflicts_on_access
            or plan.scope.request
        )
        try:
            async with self._connections.statement() if alone else self._connections.sending(plan.scope) as conn:
                return await send_plan(conn, plan, self._model)
        except StoreError as error:
            if error.data.get("sqlstate") == _REPLAYED:
                return Receipt(rev=plan.expected_rev, replayed=True)
            if error.data.get("constraint") == _BY_KEY:
                raise DuplicateMemory from None
            raise

    async def commit_group(self, plans: Sequence[WritePlan]) -> Sequence[Receipt]:
        async with self._connections.sending(plans[0].scope) as conn:
            receipts: list[Receipt] = []
            for run in _split_plans(plans):
                if len(run) > 1:
                    receipts += await _send_joined(conn, run, self._model)
                else:
                    receipts.append(await send_plan(conn, run[0], self._model))
            return receipts

    async def pack_rows(self, plan: WritePlan) -> tuple[PackedRow, ...]:
        tables = await self._load_tables()
        turns = {turn.id: turn for turn in reversed(plan.turns)}
        with translate_errors():
            return tuple(
                PackedRow(
                    memory=tables.encode_memory(change),
                    turns={id_: tables.encode_turn(turns[id_]) for id_ in change.after.turns if id_ in turns},
                    slots=tuple(project_memory(change.after)),
                )
                for change in plan.changes
            )

    async def insert_packed(self, plan: WritePlan, packed_rows: Sequence[PackedRow]) -> int:
        try:
            added = await insert_rows(self._connections, await self._load_tables(), plan, packed_rows)
        except StoreError as error:
            if error.data.get("constraint") == _BY_KEY:
                raise BadInput("two memories that say the same, or one that is known already") from None
            self._forget_stale_tables(error)
            raise
        await analyze_tables(self._connections)
        return added

    async def dump_space(self, scope: Scope) -> SpaceDump:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_TRANSFER["dump"], {"space": scope.space})
            rows = [row["row"] for row in await cursor.fetchall()]
        return SpaceDump(rev=Revision(rows[0]["rev"] if rows else 0), rows=tuple(rows))

    async def read_content(self, scope: Scope) -> tuple[dict[str, Any], ...]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_TRANSFER["content"], {"space": scope.space})
            return tuple(row["row"] for row in await cursor.fetchall())

    async def find_given_up_texts(self, scope: Scope, texts: Sequence[str], before: Revision) -> frozenset[str]:
        params = {"space": scope.space, "texts": list(texts), "before": before}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_TRANSFER["given_up_texts"], params)
            return frozenset(row["text"] for row in await cursor.fetchall())

    async def load_space(self, scope: Scope, dump: SpaceRows, vectors: Iterable[Vector]) -> None:
        try:
            await load_rows(self._connections, await self._load_tables(), scope, dump, vectors)
        except StoreError as error:
            self._forget_stale_tables(error)
            if str(error.data.get("sqlstate") or "").startswith(UNFIT):
                raise build_unfit_error(error) from None
            raise
        await analyze_tables(self._connections)

    async def check_embedder(self, scope: Scope) -> None:
        async with self._connections.reading(scope) as conn:
            await conn.execute(_SWITCH["expect"], {"model": self._model})

    async def advance_cursor(self, scope: Scope, thread: str, rev: Revision) -> None:
        async with self._connections.sending(scope) as conn:
            await conn.execute(_WRITE["advance_cursor"], {"space": scope.space, "thread": thread, "rev": rev})

    async def record_access(self, scope: Scope, counts: Mapping[MemoryId, int], at: datetime) -> frozenset[MemoryId]:
        accesses = {"ids": list(counts), "counts": list(counts.values()), "at": at}
        async with self._connections.sending(scope) as conn:
            cursor = await conn.execute(_WRITE["record_access"], {"space": scope.space, "steps": _MAX_HEIRS} | accesses)
            return frozenset(MemoryId(row["memory_id"]) for row in await cursor.fetchall())

    async def settle_request(
        self, scope: Scope, request: RequestKey, now: datetime, receipt: Receipt | None = None
    ) -> KeptReceipt | None:
        params = _build_request_params(scope, request, now, receipt)
        async with self._connections.sending(scope) as conn:
            if receipt is not None:
                await conn.execute(_WRITE["settle_request"], params)
            cursor = await conn.execute(_WRITE["kept_request"], params)
            row = await cursor.fetchone()
        if row is None:
            return None
        kept = load_receipt(row["receipt"])
        return KeptReceipt(receipt=kept, digest=row["digest"], attempt=row["attempt"], is_whole=row["answered"])

    async def _load_tables(self) -> BulkTables:
        if self._tables is None:
            self._tables = await load_tables(self._connections, self._model)
        return self._tables

    def _forget_stale_tables(self, error: StoreError) -> None:
        """A migration in another process may have changed a table since its row type was read."""
        if error.data.get("sqlstate") == STALE:
            self._tables = None


async def send_plan(conn: Connection, plan: WritePlan, model: str) -> Receipt:
    """Send the statements of a plan, in a space that was entered unless the plan is a single statement.

    A statement that finds the plan outdated or replayed fails (`muniment.refuse`) and ends the transaction, so
    nothing waits for its answer."""
    rev = Revision(plan.expected_rev + len(plan.changes))
    added = {change.after.id for change in plan.changes if change.before is None}
    changed = (change.before.id for change in plan.changes if change.before and change.before.id not in added)
    if required := list(dict.fromkeys((*changed, *(plan.extracted.shown if plan.extracted else ())))):
        await conn.execute(_WRITE["lock_space"], {"space": plan.scope.space})
        await conn.execute(_WRITE["check_memories"], {"space": plan.scope.space, "ids": required})
    first, *more = parts = split_changes(plan)
    edges = rows.encode_edges([plan]) if more else None
    head = replace(plan, relations=()) if edges else plan
    await conn.execute(
        _WRITE["commit"], rows.build_commit_params([head], [(plan, each) for each in first], model), prepare=True
    )
    for part in more:
        params = rows.build_apply_params(plan.scope, [(plan, each) for each in part], model)
        await conn.execute(_WRITE["apply"], params)
        await conn.execute(_WRITE["project"], params)
    if edges:
        await conn.execute(_WRITE["insert_edges"], {"space": plan.scope.space, "relations": edges})
    if plan.source_turns:
        # An erasure locks the space's row first: turns that exist now stay until this is committed.
        await conn.execute(_WRITE["check_turns"], {"space": plan.scope.space, "turns": list(plan.source_turns)})
    if plan.conflicts_on_access:
        # A memory that was retrieved since it was read ends the plan with a Conflict.
        read = {change.before.id: change.before.last_accessed_at for change in plan.changes if change.before}
        accesses = {"ids": list(read), "read": list(read.values())}
        await conn.execute(_WRITE["check_accesses"], {"space": plan.scope.space} | accesses)
    if plan.host_items:
        await send_host_items(conn, plan.scope, plan.host_items)
    if plan.jobs:
        await send_jobs(conn, plan.jobs)
    requests = await _send_consents(conn, plan) if plan.proposals or plan.decisions else ()
    receipt = Receipt(rev=rev, changes=tuple(chain.from_iterable(parts)), consent_requests=requests)
    if plan.scope.request is not None:
        await conn.execute(
            _WRITE["claim_request"], _build_request_params(plan.scope, plan.scope.request, plan.at, receipt)
        )
    return receipt


def _build_request_params(scope: Scope, request: RequestKey, at: datetime, receipt: Receipt | None) -> dict[str, Any]:
    encoded = None if receipt is None else Jsonb(dump_receipt(receipt))
    return asdict(request) | {"space": scope.space, "receipt": encoded, "at": at, "outdated": at - KEPT_REQUESTS}


def _split_plans(plans: Sequence[WritePlan]) -> list[list[WritePlan]]:
    """Split plans that follow on each other into runs that are one statement each.

    A run is one plan, or several that change memories and consume turns, no more, and no memory twice."""
    runs: list[list[WritePlan]] = []
    touched: set[MemoryId] | None = None  # by the last run; None where nothing can join it
    for plan in plans:
        ids = {change.after.id for change in plan.changes}
        is_alone = not plan.expected_rev or len(ids) < len(plan.changes) or plan.does_more
        if is_alone or touched is None or not touched.isdisjoint(ids):
            runs.append([])
            touched = set()
        runs[-1].append(plan)
        touched = None if is_alone else touched | ids
    return runs


async def _send_joined(conn: Connection, plans: Sequence[WritePlan], model: str) -> list[Receipt]:
    """Send a run of `_split_plans` as one statement, in a space that was entered. It fails when a plan is a replay."""
    space, changes = {"space": plans[0].scope.space}, [tuple(chain(*split_changes(plan))) for plan in plans]
    planned = [(plan, change) for plan, own in zip(plans, changes, strict=True) for change in own]
    if required := [change.before.id for _, change in planned if change.before]:
        await conn.execute(_WRITE["lock_space"], space)
        await conn.execute(_WRITE["check_memories"], space | {"ids": required})
    await conn.execute(_WRITE["commit"], rows.build_commit_params(plans, planned, model), prepare=True)
    revs = [Revision(plan.expected_rev + len(plan.changes)) for plan in plans]
    if turns := [turn.id for plan in plans for turn in plan.turns]:
        await conn.execute(_WRITE["check_consumed"], space | {"turns": turns, "rev": revs[-1]})
    return [Receipt(rev=rev, changes=own) for rev, own in zip(revs, changes, strict=True)]


def split_changes(plan: WritePlan) -> list[list[Change]]:
    """Split the changes of a plan, in order and with the revisions that they will have, into parts with each memory
    once: a statement does not see its own writes."""
    parts: list[list[Change]] = [[]]
    touched: set[MemoryId] = set()
    for rev, change in enumerate(plan.changes, plan.expected_rev + 1):
        if change.after.id in touched:
            parts.append([])
            touched.clear()
        is_numbered = change.after.rev == rev
        parts[-1].append(change if is_numbered else replace(change, after=replace(change.after, rev=Revision(rev))))
        touched.add(change.after.id)
    return parts


async def _send_consents(conn: Connection, plan: WritePlan) -> tuple[Consent, ...]:
    """Send the plan's decisions and proposals; return the requests that wait because of it.

    A request that was decided before ends the transaction with a Conflict."""
    space = {"space": plan.scope.space}
    for consent in plan.decisions:
        request = space | {"request": consent.id}
        if consent.decision == "pending":
            await conn.execute(_CONSENT["reopen"], request | {"expires_at": consent.expires_at})
            continue
        decision = {"decision": consent.decision, "decided_at": consent.decided_at, "decided_by": consent.decided_by}
        await conn.execute(_CONSENT["decide"], request | decision)
    cursors = []
    for proposal in plan.proposals:
        content = {"request": uuid4(), "field": proposal.field, "value": proposal.value, "memory": proposal.memory}
        times = {"at": plan.at, "expires_at": proposal.expires_at, "quiet": plan.at - proposal.quiet}
        params = space | content | times | {"turns": list(proposal.turns)}
        cursors.append(await conn.execute(_CONSENT["add_support"], params))
        await conn.execute(_CONSENT["replace_outdated"], params)
        cursors.append(await conn.execute(_CONSENT["propose"], params))
    return tuple([rows.parse_consent(row) for cursor in cursors for row in await cursor.fetchall()])


async def send_due_time(conn: Connection, scope: Scope, at: datetime, retention: timedelta) -> None:
    """Send that a row of the space, of this time, is due after `retention`. The caller has written it before."""
    await conn.execute(_MAINTENANCE["advance_due_time"], {"space": scope.space, "at": at, "keep": retention})


async def send_jobs(conn: Connection, jobs: Sequence[Job]) -> None:
    """Enqueue in the caller's transaction, without waiting in a pipeline. A job that waits already keeps its time."""
    for job in jobs:
        await conn.execute(_JOBS["enqueue_full" if job.turns else "enqueue"], encode_job(job))


def encode_job(job: Job) -> dict[str, Any]:
    """Return the row of a job."""
    scope = job.scope
    dedup_key = f"{scope.space}:{job.name}:{job.key}"
    return {
        "name": job.name,
        "priority": JOB_PRIORITY,
        # Turns of a space are extracted in order; a job that waits for its time must not block them.
        "lock": str(scope.space) if job.name in _IN_ORDER else dedup_key,
        "dedup_key": dedup_key,
        "args": Jsonb({"tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type, "key": job.key}),
        "at": job.at,
        "space": scope.space,
        "session": job.key,
        "turns": job.turns,
    }
