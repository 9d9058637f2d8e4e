"""Consolidation in Postgres: the survey of a space, the records of its runs, and how a run is undone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from muniment.memory.domain.consolidation import (
    BatchedPair,
    Finding,
    Pair,
    Run,
    RunChange,
    Survey,
    UndoPlan,
)
from muniment.memory.domain.erasure import SurveyBounds
from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Settlement
from muniment.memory.errors import Conflict, StoreError
from muniment.memory.ports.consolidation import ConsolidationRuns
from muniment.memory.rules.merging.consolidate import MAX_TRIES, order_pair
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.ledger import send_settlements
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import send_plan

_BLOCKS, _READ, _SWITCH = load_blocks("consolidation"), load_blocks("read"), load_blocks("embedder_switch")
_SAVED = (
    "status", "ended_at", "to_rev", "surveyed", "upto", "model", "prompt", "seen", "checked", "same", "superseded",
    "distinct", "outdated", "unanswered", "shelved", "requests", "input_tokens", "output_tokens", "micros",
    "duplicates_before", "duplicates_after", "classes", "batch", "handed", "reason",
)  # fmt: skip


class PostgresConsolidationRuns(ConsolidationRuns):
    """The `ConsolidationRuns` port over Postgres."""

    def __init__(self, connections: PostgresConnections, model: str) -> None:
        self._connections, self._model = connections, model

    async def begin_run(self, run: Run, lease: timedelta) -> Run | None:
        params = {"space": run.scope.space, "run_id": run.id, "lease": lease}
        params |= {"status": run.status, "started_at": run.started_at, "from_rev": run.from_rev}
        async with self._connections.writing(run.scope) as conn:
            await conn.execute(_BLOCKS["interrupt_expired"], params)
            row = await (await conn.execute(_BLOCKS["begin"], params)).fetchone()
        return None if row is None else replace(run, surveyed=Revision(row["surveyed_rev"]))

    async def save_run(
        self,
        run: Run,
        lease: timedelta,
        plan: WritePlan | None = None,
        findings: Sequence[Finding] = (),
        *,
        settlements: Sequence[Settlement] | None = None,
    ) -> Run:
        params: dict[str, Any] = {"space": run.scope.space, "run_id": run.id}
        async with self._connections.writing(run.scope) as conn:
            await send_run(conn, run, lease, is_waiting=settlements is not None)
            if plan is not None and plan.changes:
                await send_plan(conn, plan, self._model)
                await conn.execute(_BLOCKS["transfer_accesses"], params | {"known": _encode_accesses(plan)})
            if findings:
                params |= {"at": plan.at if plan is not None else run.started_at, "tries": MAX_TRIES}
                params["findings"] = _encode_findings(findings)
                tries = await (await conn.execute(_BLOCKS["fingerprint"], params)).fetchall()
                params["more"] = sum(row["judgement"] == "unanswered" and row["tries"] >= MAX_TRIES for row in tries)
                shelved = require_row(await (await conn.execute(_BLOCKS["shelve"], params)).fetchone())
                run = replace(run, **shelved)
            if settlements:
                await send_settlements(conn, run.scope, settlements)
        return run

    async def interrupt_run(self, run: Run, at: datetime) -> None:
        async with self._connections.sending(run.scope) as conn:
            await conn.execute(_BLOCKS["interrupt"], {"space": run.scope.space, "run_id": run.id, "at": at})

    async def list_runs(self, scope: Scope, limit: int, run: RunId | None = None) -> list[Run]:
        params = {"space": scope.space, "run_id": run, "limit": limit}
        async with self._connections.reading(scope) as conn:
            return [_parse_run(scope, row) for row in await (await conn.execute(_BLOCKS["runs"], params)).fetchall()]

    async def survey_space(self, scope: Scope, bounds: SurveyBounds, limit: int, *, since: Revision) -> Survey:
        params = {"space": scope.space, "model": self._model, "since": since, "limit": limit}
        params |= asdict(bounds)
        async with self._connections.reading(scope) as conn:
            await conn.execute(_SWITCH["expect"], params)
            survey = await (await conn.execute(_BLOCKS["survey"], params)).fetchall()
        pairs = tuple(_parse_pair(*both) for n, both in groupby(survey, key=lambda row: row["n"]) if n is not None)
        return Survey(upto=Revision(survey[0]["upto"]), pairs=pairs)

    async def read_compared_revision(self, scope: Scope) -> tuple[Revision, bool]:
        async with self._connections.reading(scope) as conn:
            row = require_row(
                await (await conn.execute(_BLOCKS["compared_revision"], {"space": scope.space})).fetchone()
            )
        return Revision(row["upto"]), row["changed"]

    async def count_checked_pairs(self, scope: Scope, since: datetime) -> int:
        params = {"space": scope.space, "since": since}
        async with self._connections.reading(scope) as conn:
            return int(require_row(await (await conn.execute(_BLOCKS["checked_pairs"], params)).fetchone())["checked"])

    async def read_run_changes(self, scope: Scope, run: RunId) -> tuple[Revision, list[RunChange]]:
        params = {"space": scope.space, "run_id": run}
        async with self._connections.reading(scope) as conn:
            rev = await conn.execute(_READ["rev"], params)
            changes = await (await conn.execute(_BLOCKS["run_changes"], params)).fetchall()
            now = Revision(require_row(await rev.fetchone())["rev"])
        before = {row["memory_id"]: row for row in changes if row["part"] == "before"}
        return now, [
            _parse_change(row, before[row["memory_id"]])
            for row in changes
            if row["part"] == "now" and row["memory_id"] in before
        ]

    async def undo_run(self, run: Run, plan: WritePlan, reversal: UndoPlan) -> None:
        params = {"space": run.scope.space, "run_id": run.id, "at": plan.at}
        try:
            async with self._connections.writing(run.scope) as conn:
                if not (await conn.execute(_BLOCKS["mark_undone"], params)).rowcount:
                    raise Conflict("the run was undone meanwhile")
                if plan.changes:
                    await send_plan(conn, plan, self._model)
                for edge in reversal.edges:
                    block = "delete_edge" if edge.before is None else "restore_edge"
                    await conn.execute(_BLOCKS[block], params | asdict(edge))
                if reversal.access_transfers:
                    transfers = rows.encode_rows([asdict(transfer) for transfer in reversal.access_transfers])
                    await conn.execute(_BLOCKS["return_accesses"], params | {"got": transfers})
                pairs = [(id_, n) for n, group in enumerate(reversal.separated_groups) for id_ in group]
                groups = {"ids": [id_ for id_, _ in pairs], "groups": [n for _, n in pairs]}
                await conn.execute(_BLOCKS["separate"], params | groups)
        except StoreError as error:
            if error.data.get("constraint") == "memories_by_key":  # a writer came between
                raise Conflict from None
            raise


async def send_run(conn: Connection, run: Run, lease: timedelta, *, is_waiting: bool) -> None:
    """Update the record of a run that is under way and waits for a batch or not, as `is_waiting` says. Raises
    Conflict."""
    params = {"space": run.scope.space, "run_id": run.id, "lease": lease, "waited": is_waiting}
    params |= {name: getattr(run, name) for name in _SAVED}
    params["classes"] = json.dumps(run.classes)
    params["asked"] = json.dumps([asdict(pair) for pair in run.asked], default=str) if run.asked else None
    if not (await conn.execute(_BLOCKS["save"], params)).rowcount:
        raise Conflict("the run is over: another one has taken its place", lost=True)


def _parse_pair(first: DictRow, second: DictRow) -> Pair:
    older, newer = order_pair(rows.parse_memory(first), rows.parse_memory(second), first["said"], second["said"])
    return Pair(older=older, newer=newer, sim=first["sim"], checked=first["checked"], tries=first["tries"])


def _parse_change(row: DictRow, before: DictRow) -> RunChange:
    return RunChange(
        before=rows.parse_memory(before),
        now=rows.parse_memory(row),
        journal_metas=tuple(row["metas"]),
        is_untouched=row["alone"] and (before["alone"] or before["state"] != "active"),
    )


def _encode_findings(findings: Sequence[Finding]) -> str:
    pairs = ((finding, sorted((finding.pair.older.id, finding.pair.newer.id))) for finding in findings)
    return rows.encode_rows(
        [
            {
                "low_id": low,
                "high_id": high,
                "sim": finding.pair.sim,
                "judgement": (finding.judgement if finding.sure else None) or "unanswered",
                "source": finding.source,
                "class": finding.pair_class,
            }
            for finding, (low, high) in pairs
        ]
    )


def _encode_accesses(plan: WritePlan) -> str:
    """Encode how often and when the memories of a plan were retrieved, before it and by it."""
    before = {change.before.id: change.before for change in reversed(plan.changes) if change.before}
    after = {change.after.id: change.after for change in plan.changes}
    accesses = [
        {
            "memory_id": id_,
            "had": memory.access_count,
            "was": memory.last_accessed_at,
            "count": after[id_].access_count,
            "at": after[id_].last_accessed_at,
        }
        for id_, memory in before.items()
    ]
    return rows.encode_rows(accesses)


def _parse_run(scope: Scope, row: Mapping[str, Any]) -> Run:
    return Run(scope=scope, **dict(row) | {"asked": tuple(map(_parse_request, row["asked"] or ()))})


def _parse_request(pair: dict[str, Any]) -> BatchedPair:
    ids = {name: MemoryId(UUID(pair[name])) for name in ("older", "newer")}
    return BatchedPair(**pair | ids | {"revs": tuple(pair["revs"])})
