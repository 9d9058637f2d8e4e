"""Requests for consent in Postgres: made and decided with a plan, read by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from psycopg.rows import DictRow

from muniment.memory.domain.consent import Consent, Decision, RequestId
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_CONSENT = load_blocks("consent")


class PostgresConsents(PostgresConnections):
    """What waits for a person's yes, and what was decided."""

    async def list_consents(self, scope: Scope, decisions: Sequence[Decision], limit: int) -> list[Consent]:
        """See `Store.consents`."""
        asked = {"space": scope.space, "decisions": list(decisions) or None, "limit": limit}
        async with self._read_transaction(scope, None) as conn:
            return [parse_consent(row) for row in await (await conn.execute(_CONSENT["consents"], asked)).fetchall()]


async def send_profile_query(conn: Connection, space: Mapping[str, Any]) -> Any:
    """Send the question for the approved values, those of `as_of` where that is a revision; the cursor has them."""
    return await conn.execute(_CONSENT["profile" if space["as_of"] is None else "profile_then"], space)


async def send_consents(conn: Connection, plan: WritePlan) -> tuple[Consent, ...]:
    """Decide and ask what the plan decides and asks; the requests that wait now because of it.

    A request that is decided already ends the transaction with a `Conflict`."""
    space = {"space": plan.scope.space}
    for one in plan.decisions:
        decided = {"decision": one.decision, "decided_at": one.decided_at, "decided_by": one.decided_by}
        await conn.execute(_CONSENT["decide"], space | {"request": one.id} | decided)
    asked = []
    for wish in plan.proposals:
        named = {"request": uuid4(), "field": wish.field, "value": wish.value, "memory": wish.memory}
        times = {"at": plan.at, "expires_at": wish.expires_at, "quiet": plan.at - (wish.expires_at - plan.at)}
        wanted = space | named | times | {"turns": list(wish.turns)}
        asked.append(await conn.execute(_CONSENT["signal"], wanted))
        await conn.execute(_CONSENT["outdate"], wanted)
        asked.append(await conn.execute(_CONSENT["propose"], wanted))
    return tuple([parse_consent(row) for cursor in asked for row in await cursor.fetchall()])


def parse_consent(row: DictRow) -> Consent:
    """A row of the `columns` block as a Consent."""
    return Consent(
        id=RequestId(row["request_id"]),
        field=row["field"],
        value=row["value"],
        decision=row["decision"],
        memory=MemoryId(row["memory_id"]),
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        turns=tuple(map(TurnId, row["turns"])),
        decided_at=row["decided_at"],
        decided_by=row["decided_by"],
        old=row["old"],
    )
