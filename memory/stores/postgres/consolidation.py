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

from muniment.memory.domain.consolidation import Asked, Finding, Gained, Members, Pair, Reversal, Run, Step, Survey
from muniment.memory.domain.erasure import Bounds
from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Settlement
from muniment.memory.errors import Conflict, StoreError
from muniment.memory.rules.merging.consolidate import TRIES, ordered
from muniment.memory.stores.postgres import commit as plans, rows
from muniment.memory.stores.postgres.connection.pool import Connection, Sessions, one
from muniment.memory.stores.postgres.sql import blocks
from muniment.memory.stores.postgres.usage import settle

_BLOCKS, _READ, _SWITCH = blocks("consolidation"), blocks("read"), blocks("switch")
_KEPT = (
    "status", "ended_at", "to_rev", "surveyed", "upto", "model", "prompt", "seen", "checked", "same", "superseded", "distinct",
    "outdated", "unanswered", "shelved", "requests", "input_tokens", "output_tokens", "micros", "duplicates_before",
    "duplicates_after", "batch", "handed", "reason",
)  # fmt: skip


class Consolidations(Sessions):
    """See `Consolidating`."""

    async def begin_run(self, run: Run, lease: timedelta) -> Run | None:
        """See `Consolidating.begin_run`."""
        named = {"space": run.scope.space, "run_id": run.id, "lease": lease}
        told = {"status": run.status, "started_at": run.started_at, "from_rev": run.from_rev}
        async with self._writing(run.scope) as conn:
            await conn.execute(_BLOCKS["given_up"], named)
            row = await (await conn.execute(_BLOCKS["begin"], named | told)).fetchone()
        return None if row is None else replace(run, surveyed=Revision(row["surveyed_rev"]))

    async def keep_run(
        self,
        run: Run,
        lease: timedelta,
        plan: WritePlan | None = None,
        findings: Sequence[Finding] = (),
        *,
        settled: Sequence[Settlement] | None = None,
    ) -> Run:
        """See `Consolidating.keep_run`."""
        async with self._writing(run.scope) as conn:
            await keep(conn, run, lease, waited=settled is not None)
            if plan is not None and plan.changes:
                await plans.send(conn, plan, self._model)
                named = {"space": run.scope.space, "run_id": run.id, "known": _accessed(plan)}
                await conn.execute(_BLOCKS["handed_over"], named)
            if findings:
                at = plan.at if plan is not None else run.started_at
                looked = {"at": at, "findings": _looked(findings), "tries": TRIES}
                named = {"space": run.scope.space, "run_id": run.id} | looked
                noted = await (await conn.execute(_BLOCKS["fingerprint"], named)).fetchall()
                more = sum(row["judgement"] == "unanswered" and row["tries"] >= TRIES for row in noted)
                shelved = one(await (await conn.execute(_BLOCKS["shelve"], named | {"more": more})).fetchone())
                run = replace(run, **shelved)
            if settled:
                await settle(conn, run.scope, settled)
        return run

    async def give_up(self, run: Run, at: datetime) -> None:
        """See `Consolidating.give_up`."""
        async with self._sending(run.scope) as conn:
            await conn.execute(_BLOCKS["give_up"], {"space": run.scope.space, "run_id": run.id, "at": at})

    async def runs(self, scope: Scope, limit: int, run: RunId | None = None) -> list[Run]:
        """See `Consolidating.runs`."""
        asked = {"space": scope.space, "run_id": run, "limit": limit}
        async with self._reading(scope, None) as conn:
            found = await (await conn.execute(_BLOCKS["runs"], asked)).fetchall()
        return [_run(scope, row) for row in found]

    async def survey(self, scope: Scope, bounds: Bounds, limit: int, *, since: Revision) -> Survey:
        """See `Consolidating.survey`."""
        asked = asdict(bounds) | {"space": scope.space, "model": self._model, "since": since, "limit": limit}
        async with self._reading(scope, None) as conn:
            await conn.execute(_SWITCH["expect"], asked)
            found = await (await conn.execute(_BLOCKS["survey"], asked)).fetchall()
        pairs = tuple(_pair(*both) for n, both in groupby(found, key=lambda row: row["n"]) if n is not None)
        return Survey(upto=Revision(found[0]["upto"]), pairs=pairs)

    async def members(self, scope: Scope, ids: Sequence[MemoryId]) -> Members:
        """See `Consolidating.members`."""
        asked = {"space": scope.space, "ids": list(ids)}
        async with self._reading(scope, None) as conn:
            rev = await conn.execute(_READ["rev"], asked)
            found = await conn.execute(_BLOCKS["members"], asked)
            tied = await conn.execute(_BLOCKS["edges"], asked)
            return Members(
                rev=Revision(one(await rev.fetchone())["rev"]),
                memories={row["memory_id"]: rows.memory(row) for row in await found.fetchall()},
                edges={(row["from_id"], row["to_id"]): row["strength"] for row in await tied.fetchall()},
            )

    async def compared(self, scope: Scope) -> tuple[Revision, bool]:
        """See `Consolidating.compared`."""
        async with self._reading(scope, None) as conn:
            found = one(await (await conn.execute(_BLOCKS["compared"], {"space": scope.space})).fetchone())
        return Revision(found["upto"]), found["changed"]

    async def checked_since(self, scope: Scope, since: datetime) -> int:
        """See `Consolidating.checked_since`."""
        asked = {"space": scope.space, "since": since}
        async with self._reading(scope, None) as conn:
            return int(one(await (await conn.execute(_BLOCKS["checked_since"], asked)).fetchone())["checked"])

    async def changed_by(self, scope: Scope, run: RunId) -> tuple[Revision, list[Step]]:
        """See `Consolidating.changed_by`."""
        asked = {"space": scope.space, "run_id": run}
        async with self._reading(scope, None) as conn:
            rev = await conn.execute(_READ["rev"], asked)
            found = await (await conn.execute(_BLOCKS["changed_by"], asked)).fetchall()
            now = Revision(one(await rev.fetchone())["rev"])
        before = {row["memory_id"]: row for row in found if row["part"] == "before"}
        return now, [
            _step(row, before[row["memory_id"]]) for row in found if row["part"] == "now" and row["memory_id"] in before
        ]

    async def undo_run(self, run: Run, plan: WritePlan, back: Reversal) -> None:
        """See `Consolidating.undo_run`."""
        named = {"space": run.scope.space, "run_id": run.id, "at": plan.at}
        try:
            async with self._writing(run.scope) as conn:
                if not (await conn.execute(_BLOCKS["undone"], named)).rowcount:
                    raise Conflict("the run was undone meanwhile")
                if plan.changes:
                    await plans.send(conn, plan, self._model)
                for edge in back.edges:
                    await _untie(conn, run.scope, edge)
                if back.retrieved:
                    got = rows.packed([asdict(one) for one in back.retrieved])
                    await conn.execute(_BLOCKS["given_back"], named | {"got": got})
                pairs = [(id_, n) for n, some in enumerate(back.apart) for id_ in some]
                apart = {"ids": [id_ for id_, _ in pairs], "groups": [n for _, n in pairs]}
                await conn.execute(_BLOCKS["held_apart"], named | apart)
        except StoreError as error:
            if error.data.get("constraint") == "memories_by_key":  # a writer came between
                raise Conflict from None
            raise


async def keep(conn: Connection, run: Run, lease: timedelta, *, waited: bool) -> None:
    """Write the record of a run that is not over, and that waits for a batch or does not. Raises Conflict."""
    named = {"space": run.scope.space, "run_id": run.id, "lease": lease, "waited": waited}
    told = {name: getattr(run, name) for name in _KEPT} | {"asked": _asked(run.asked)}
    if not (await conn.execute(_BLOCKS["keep"], named | told)).rowcount:
        raise Conflict("the run is over: another one has taken its place", lost=True)


async def _untie(conn: Connection, scope: Scope, edge: Gained) -> None:
    named = {"space": scope.space} | asdict(edge)
    await conn.execute(_BLOCKS["untie" if edge.before is None else "slacken"], named)


def _pair(first: DictRow, second: DictRow) -> Pair:
    older, newer = ordered(rows.memory(first), rows.memory(second))
    return Pair(older=older, newer=newer, sim=first["sim"], checked=first["checked"], tries=first["tries"])


def _step(row: DictRow, before: DictRow) -> Step:
    return Step(
        before=rows.memory(before),
        now=rows.memory(row),
        metas=tuple(row["metas"]),
        alone=row["alone"] and (before["alone"] or before["state"] != "active"),
    )


def _looked(findings: Sequence[Finding]) -> str:
    return rows.packed(
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


def _accessed(plan: WritePlan) -> str:
    """How often and when the memories of a plan were retrieved, before it and by it."""
    before = {one.before.id: one.before for one in reversed(plan.changes) if one.before}
    after = {one.after.id: one.after for one in plan.changes}
    return rows.packed(
        [
            {"memory_id": id_, "had": one.access_count, "was": one.last_accessed_at,
             "count": after[id_].access_count, "at": after[id_].last_accessed_at}
            for id_, one in before.items()
        ]
    )  # fmt: skip


def _asked(asked: Sequence[Asked]) -> str | None:
    return json.dumps([asdict(one) for one in asked], default=str) if asked else None


def _run(scope: Scope, row: Mapping[str, Any]) -> Run:
    asked = tuple(
        Asked(
            **one
            | {"older": MemoryId(UUID(one["older"])), "newer": MemoryId(UUID(one["newer"])), "revs": tuple(one["revs"])}
        )
        for one in row["asked"] or ()
    )
    return Run(scope=scope, **dict(row) | {"asked": asked})
