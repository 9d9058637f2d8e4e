"""Consolidation in Postgres: the survey of a space, the records of its runs, and what undoing one has to know."""

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
    GainedEdge,
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
from muniment.memory.stores.postgres import commit, rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.usage import send_settlements

_BLOCKS, _READ, _SWITCH = load_blocks("consolidation"), load_blocks("read"), load_blocks("switch")
_KEPT = (
    "status", "ended_at", "to_rev", "surveyed", "upto", "model", "prompt", "seen", "checked", "same", "superseded", "distinct",
    "outdated", "unanswered", "shelved", "requests", "input_tokens", "output_tokens", "micros", "duplicates_before",
    "duplicates_after", "batch", "handed", "reason",
)  # fmt: skip


class PostgresConsolidationRuns(ConsolidationRuns):
    """The `ConsolidationRuns` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def begin_run(self, run: Run, lease: timedelta) -> Run | None:
        named = {"space": run.scope.space, "run_id": run.id, "lease": lease}
        told = {"status": run.status, "started_at": run.started_at, "from_rev": run.from_rev}
        async with self._connections.writing(run.scope) as conn:
            await conn.execute(_BLOCKS["given_up"], named)
            row = await (await conn.execute(_BLOCKS["begin"], named | told)).fetchone()
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
        async with self._connections.writing(run.scope) as conn:
            await send_run(conn, run, lease, is_waiting=settlements is not None)
            if plan is not None and plan.changes:
                await commit.send_plan(conn, plan, self._connections.model)
                named = {"space": run.scope.space, "run_id": run.id, "known": _encode_accesses(plan)}
                await conn.execute(_BLOCKS["handed_over"], named)
            if findings:
                at = plan.at if plan is not None else run.started_at
                looked = {"at": at, "findings": _encode_findings(findings), "tries": MAX_TRIES}
                named = {"space": run.scope.space, "run_id": run.id} | looked
                noted = await (await conn.execute(_BLOCKS["fingerprint"], named)).fetchall()
                more = sum(row["judgement"] == "unanswered" and row["tries"] >= MAX_TRIES for row in noted)
                shelved = require_row(await (await conn.execute(_BLOCKS["shelve"], named | {"more": more})).fetchone())
                run = replace(run, **shelved)
            if settlements:
                await send_settlements(conn, run.scope, settlements)
        return run

    async def interrupt_run(self, run: Run, at: datetime) -> None:
        async with self._connections.sending(run.scope) as conn:
            await conn.execute(_BLOCKS["give_up"], {"space": run.scope.space, "run_id": run.id, "at": at})

    async def list_runs(self, scope: Scope, limit: int, run: RunId | None = None) -> list[Run]:
        asked = {"space": scope.space, "run_id": run, "limit": limit}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_BLOCKS["runs"], asked)).fetchall()
        return [_parse_run(scope, row) for row in found]

    async def survey_space(self, scope: Scope, bounds: SurveyBounds, limit: int, *, since: Revision) -> Survey:
        asked = asdict(bounds) | {
            "space": scope.space,
            "model": self._connections.model,
            "since": since,
            "limit": limit,
        }
        async with self._connections.reading(scope) as conn:
            await conn.execute(_SWITCH["expect"], asked)
            found = await (await conn.execute(_BLOCKS["survey"], asked)).fetchall()
        pairs = tuple(_parse_pair(*both) for n, both in groupby(found, key=lambda row: row["n"]) if n is not None)
        return Survey(upto=Revision(found[0]["upto"]), pairs=pairs)

    async def read_compared_revision(self, scope: Scope) -> tuple[Revision, bool]:
        async with self._connections.reading(scope) as conn:
            found = require_row(await (await conn.execute(_BLOCKS["compared"], {"space": scope.space})).fetchone())
        return Revision(found["upto"]), found["changed"]

    async def count_checked_pairs(self, scope: Scope, since: datetime) -> int:
        asked = {"space": scope.space, "since": since}
        async with self._connections.reading(scope) as conn:
            return int(require_row(await (await conn.execute(_BLOCKS["checked_since"], asked)).fetchone())["checked"])

    async def read_run_changes(self, scope: Scope, run: RunId) -> tuple[Revision, list[RunChange]]:
        asked = {"space": scope.space, "run_id": run}
        async with self._connections.reading(scope) as conn:
            rev = await conn.execute(_READ["rev"], asked)
            found = await (await conn.execute(_BLOCKS["changed_by"], asked)).fetchall()
            now = Revision(require_row(await rev.fetchone())["rev"])
        before = {row["memory_id"]: row for row in found if row["part"] == "before"}
        return now, [
            _parse_step(row, before[row["memory_id"]])
            for row in found
            if row["part"] == "now" and row["memory_id"] in before
        ]

    async def undo_run(self, run: Run, plan: WritePlan, reversal: UndoPlan) -> None:
        named = {"space": run.scope.space, "run_id": run.id, "at": plan.at}
        try:
            async with self._connections.writing(run.scope) as conn:
                if not (await conn.execute(_BLOCKS["undone"], named)).rowcount:
                    raise Conflict("the run was undone meanwhile")
                if plan.changes:
                    await commit.send_plan(conn, plan, self._connections.model)
                for edge in reversal.edges:
                    await _restore_edge(conn, run.scope, edge)
                if reversal.access_transfers:
                    got = rows.encode_rows([asdict(one) for one in reversal.access_transfers])
                    await conn.execute(_BLOCKS["given_back"], named | {"got": got})
                pairs = [(id_, n) for n, some in enumerate(reversal.separated_groups) for id_ in some]
                apart = {"ids": [id_ for id_, _ in pairs], "groups": [n for _, n in pairs]}
                await conn.execute(_BLOCKS["held_apart"], named | apart)
        except StoreError as error:
            if error.data.get("constraint") == "memories_by_key":  # a writer came between
                raise Conflict from None
            raise


async def send_run(conn: Connection, run: Run, lease: timedelta, *, is_waiting: bool) -> None:
    """Write the record of a run that is not over, and that waits for a batch or does not. Raises Conflict."""
    named = {"space": run.scope.space, "run_id": run.id, "lease": lease, "waited": is_waiting}
    told = {name: getattr(run, name) for name in _KEPT} | {"asked": _encode_requests(run.asked)}
    if not (await conn.execute(_BLOCKS["keep"], named | told)).rowcount:
        raise Conflict("the run is over: another one has taken its place", lost=True)


async def _restore_edge(conn: Connection, scope: Scope, edge: GainedEdge) -> None:
    named = {"space": scope.space} | asdict(edge)
    await conn.execute(_BLOCKS["untie" if edge.before is None else "slacken"], named)


def _parse_pair(first: DictRow, second: DictRow) -> Pair:
    older, newer = order_pair(rows.parse_memory(first), rows.parse_memory(second))
    return Pair(older=older, newer=newer, sim=first["sim"], checked=first["checked"], tries=first["tries"])


def _parse_step(row: DictRow, before: DictRow) -> RunChange:
    return RunChange(
        before=rows.parse_memory(before),
        now=rows.parse_memory(row),
        journal_metas=tuple(row["metas"]),
        is_untouched=row["alone"] and (before["alone"] or before["state"] != "active"),
    )


def _encode_findings(findings: Sequence[Finding]) -> str:
    return rows.encode_rows(
        [
            {
                "low_id": min(ids),
                "high_id": max(ids),
                "sim": one.pair.sim,
                "judgement": (one.judgement if one.sure else None) or "unanswered",
                "source": one.source,
            }
            for one in findings
            for ids in ((one.pair.older.id, one.pair.newer.id),)
        ]
    )


def _encode_accesses(plan: WritePlan) -> str:
    """How often and when the memories of a plan were retrieved, before it and by it."""
    before = {one.before.id: one.before for one in reversed(plan.changes) if one.before}
    after = {one.after.id: one.after for one in plan.changes}
    return rows.encode_rows(
        [
            {"memory_id": id_, "had": one.access_count, "was": one.last_accessed_at,
             "count": after[id_].access_count, "at": after[id_].last_accessed_at}
            for id_, one in before.items()
        ]
    )  # fmt: skip


def _encode_requests(asked: Sequence[BatchedPair]) -> str | None:
    return json.dumps([asdict(one) for one in asked], default=str) if asked else None


def _parse_run(scope: Scope, row: Mapping[str, Any]) -> Run:
    asked = tuple(
        BatchedPair(
            **one
            | {"older": MemoryId(UUID(one["older"])), "newer": MemoryId(UUID(one["newer"])), "revs": tuple(one["revs"])}
        )
        for one in row["asked"] or ()
    )
    return Run(scope=scope, **dict(row) | {"asked": asked})
