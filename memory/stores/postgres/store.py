"""The Store port over Postgres and pgvector. Every method is one transaction inside one space."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from math import isnan
from typing import Any, LiteralString

from pgvector import HalfVector
from psycopg.rows import DictRow

from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Kind, Memory, Neighbour
from muniment.memory.domain.plan import Receipt, WritePlan
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import Turn
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import BadInput, StoreError
from muniment.memory.rules.language import tokens
from muniment.memory.stores.postgres import commit as plans, rows
from muniment.memory.stores.postgres.batch_runs import PostgresBatchRuns
from muniment.memory.stores.postgres.bulk.transfer import PostgresTransfer
from muniment.memory.stores.postgres.connection.pool import require_row
from muniment.memory.stores.postgres.consents import PostgresConsents
from muniment.memory.stores.postgres.consolidation import PostgresConsolidation
from muniment.memory.stores.postgres.embedder_switch import PostgresEmbedderSwitch
from muniment.memory.stores.postgres.episodes import PostgresEpisodes
from muniment.memory.stores.postgres.erasure import PostgresErasure
from muniment.memory.stores.postgres.extractions import PostgresExtractions
from muniment.memory.stores.postgres.jobs import PostgresJobQueue, send_jobs
from muniment.memory.stores.postgres.maintenance import STANDING, PostgresMaintenance, send_due_time
from muniment.memory.stores.postgres.quotas import PostgresQuotas
from muniment.memory.stores.postgres.search import PostgresSearch
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.usage import PostgresUsage

_WRITE, _READ, _ROLES = load_blocks("write"), load_blocks("read"), load_blocks("roles")
_NARROWED: tuple[LiteralString, ...] = (
    "categories", "kinds", "trusts", "pinned", "tag", "since", "until", "contains", "beginning",
)  # fmt: skip
_REPLAYED = "MU001"  # the SQL state of a plan whose work is done


class PostgresStore(
    PostgresSearch,
    PostgresTransfer,
    PostgresEmbedderSwitch,
    PostgresQuotas,
    PostgresUsage,
    PostgresExtractions,
    PostgresEpisodes,
    PostgresConsents,
    PostgresConsolidation,
    PostgresBatchRuns,
    PostgresMaintenance,
    PostgresJobQueue,
    PostgresErasure,
):
    """Opens itself on first use."""

    async def commit(self, plan: WritePlan) -> Receipt:
        """Apply a plan in one transaction.

        Raises Conflict when the space is no longer at `plan.expects`, BadInput when another active memory has the
        stable key of one of the plan's."""
        try:
            return await self._apply_plan(plan)
        except StoreError as error:
            if error.data.get("sqlstate") == _REPLAYED:
                return Receipt(rev=plan.expected_rev, replayed=True)
            if error.data.get("constraint") == "memories_by_key":
                raise BadInput(
                    "another memory says this by now; to bring the old one back, forget that one first"
                ) from None
            raise

    async def find_neighbours(
        self, scope: Scope, probes: Sequence[NeighbourProbe], limit: int
    ) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
        """See `Store.near`: kin by stable key or attribute, then the closest by cosine; none twice."""
        asked = {
            "space": scope.space,
            "kinds": [one.kind for one in probes],
            "keys": [one.stable_key for one in probes],
            "attributes": [one.attribute for one in probes],
            "vectors": [HalfVector(one.vector) for one in probes] or None,
            "model": self._model,
            "limit": limit,
        }
        async with self._statement_connection() as conn:
            found = await conn.execute(_READ["near"], asked, prepare=True)
        head, *rest = await found.fetchall()
        return Revision(head["now"]), [_parse_neighbours(some) for some in _group_by_probe(rest, len(probes))]

    async def find_neighbours_by_words(
        self, scope: Scope, probes: Sequence[tuple[Kind, str]], limit: int
    ) -> list[tuple[Neighbour, ...]]:
        """See `Store.near_in_words`."""
        asked = {
            "space": scope.space,
            "kinds": [kind for kind, _ in probes],
            "words": [rows.encode_sparse_vector(tokens.compute_weights(text)).to_text() for _, text in probes],
            "limit": limit,
        }
        async with self._read_transaction(scope, None) as conn:
            found = await (await conn.execute(_READ["near_in_words"], asked)).fetchall()
        return [
            tuple(Neighbour(memory=rows.parse_memory(row), sim=0.0) for row in some)
            for some in _group_by_probe(found, len(probes))
        ]

    async def advance_cursor(self, scope: Scope, thread: str, rev: Revision) -> None:
        """See `Store.seen`."""
        async with self._pipeline_transaction(scope) as conn:
            await conn.execute(_WRITE["seen"], {"space": scope.space, "thread": thread, "rev": rev})

    async def get_memory(self, reader: Reader, memory_id: MemoryId, *, as_of: Revision | None = None) -> Memory | None:
        """See `Store.get`."""
        asked = {"space": reader.scope.space, "memory_id": memory_id, "as_of": as_of}
        async with self._read_transaction(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_READ["get" if as_of is None else "get_then"], asked)
            row = await cursor.fetchone()
        return rows.parse_memory(row) if row else None

    async def find_related(self, reader: Reader, memory_id: MemoryId, limit: int) -> list[Neighbour]:
        """See `Store.related`."""
        asked = {"space": reader.scope.space, "memory_id": memory_id, "limit": limit}
        async with self._read_transaction(reader.scope, reader.allowed) as conn:
            found = await (await conn.execute(_READ["related"], asked)).fetchall()
        return [Neighbour(memory=rows.parse_memory(row), sim=row["strength"]) for row in found]

    async def list_memories(self, reader: Reader, listing: ListRequest, *, as_of: Revision | None = None) -> MemoryPage:
        """See `Store.listing`. A filter that is not asked for is not in the text."""
        named = {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(listing).items()}
        asked = named | {"space": reader.scope.space, "as_of": as_of}
        narrowed = "".join(f" {_READ[f'by_{name}']}" for name in _NARROWED if named[name] not in (None, []))
        then = "_then" if as_of is not None else ""
        async with self._read_transaction(reader.scope, reader.allowed) as conn:
            rev = await conn.execute(_READ["rev"], asked)
            counted = await conn.execute(_READ[f"total{then}"].replace("{narrowed}", narrowed), asked)
            listed = await conn.execute(_READ[f"list{then}"].replace("{narrowed}", narrowed), asked)
            now = require_row(await rev.fetchone())["rev"]
            return MemoryPage(
                memories=tuple(map(rows.parse_memory, await listed.fetchall())),
                total=require_row(await counted.fetchone())["total"],
                rev=Revision(now if as_of is None else min(now, as_of)),
            )

    async def read_history(self, reader: Reader, memory_id: MemoryId | None, limit: int) -> list[JournalEntry]:
        """See `Store.history`."""
        asked = {"space": reader.scope.space, "memory_id": memory_id, "limit": limit}
        async with self._read_transaction(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_READ["history"], asked)
            return [rows.parse_entry(row) for row in await cursor.fetchall()]

    async def record_turns(
        self, scope: Scope, turns: Sequence[Turn], jobs: Sequence[Job] = (), *, retention: timedelta | None = None
    ) -> None:
        """See `Store.record`."""
        async with self._pipeline_transaction(scope, turns[0].at if turns else None) as conn:
            if turns:
                await conn.execute(_WRITE["record"], {"space": scope.space, "turns": rows.encode_turns(turns)})
                if retention is not None:
                    await send_due_time(conn, scope, min(turn.at for turn in turns), retention)
            await send_jobs(conn, jobs)

    async def find_consumed_turns(self, scope: Scope, turns: Sequence[TurnId]) -> set[TurnId]:
        """See `Store.known`."""
        async with self._read_transaction(scope, None) as conn:
            cursor = await conn.execute(_READ["known"], {"space": scope.space, "turns": list(turns)})
            return {TurnId(row["turn_id"]) for row in await cursor.fetchall()}

    async def record_events(
        self, scope: Scope, events: Sequence[OpsEvent], *, retention: timedelta | None = None
    ) -> None:
        """Write operational events. What was done in a space before it was erased is not written, nor founds it anew."""
        if not events:
            return
        owner = {"tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type}
        named = {"space": scope.space, "events": rows.encode_events(events), "at": max(event.ts for event in events)}
        async with self._pipeline_transaction(scope) as conn:
            await conn.execute(_WRITE["found_unless_erased"], named | owner)
            await conn.execute(_WRITE["track"], named | owner)
            if retention is not None:
                await send_due_time(conn, scope, min(event.ts for event in events), retention)

    async def read_status(self, scope: Scope) -> dict[str, Any]:
        """Counts of the space and the database's version."""
        space = {"space": scope.space}
        async with self._read_transaction(scope, None) as conn:
            rev = require_row(await (await conn.execute(_READ["rev"], space)).fetchone())
            counts = require_row(await (await conn.execute(_READ["counts"], space)).fetchone())
            standing = await (await conn.execute(STANDING, space)).fetchone() or {}
            version = conn.info.server_version
        return rev | counts | standing | {"postgres": f"{version // 10000}.{version % 10000}", "embedder": self._model}

    async def list_spaces(self) -> AsyncIterator[Scope]:
        """See `Store.spaces`."""
        async with self._transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            found = await (await conn.execute(_READ["spaces"])).fetchall()
        for row in found:
            yield Scope(tenant=row["tenant_id"], owner=row["owner_id"], owner_type=row["owner_type"])

    async def _apply_plan(self, plan: WritePlan) -> Receipt:
        async with (
            self._statement_connection()
            if plans.is_single_statement(plan)
            else self._pipeline_transaction(plan.scope) as conn
        ):
            return await plans.send_plan(conn, plan, self._model)


def _group_by_probe(found: Sequence[DictRow], probes: int) -> list[list[DictRow]]:
    """The rows of each probe, in their order."""
    each: list[list[DictRow]] = [[] for _ in range(probes)]
    for row in found:
        each[row["n"] - 1].append(row)
    return each


def _parse_neighbours(met: Sequence[DictRow]) -> tuple[Neighbour, ...]:
    # Nothing is near a vector without a direction: its cosine is no number.
    sims = {row["memory_id"]: row["sim"] for row in met if row["sim"] is not None and not isnan(row["sim"])}
    sims |= {row["memory_id"]: 1.0 for row in met if row["same_key"]}
    once = {row["memory_id"]: row for row in met}
    found = [Neighbour(memory=rows.parse_memory(row), sim=sims.get(id_, 0.0)) for id_, row in once.items()]
    return tuple(sorted(found, key=lambda one: -one.sim))
