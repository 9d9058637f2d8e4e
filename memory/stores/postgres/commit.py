"""The statements that commit a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection
from muniment.memory.stores.postgres.jobs import send_jobs
from muniment.memory.stores.postgres.sql import load_blocks

_WRITE, _CONSENT = load_blocks("write"), load_blocks("consent")


def is_single_statement(plan: WritePlan) -> bool:
    """Whether the plan is one statement, which is a transaction by itself."""
    return len(split_changes(plan.changes)) == 1 and not (
        _find_required(plan)
        or plan.jobs
        or plan.proposals
        or plan.decisions
        or plan.source_turns
        or plan.conflicts_on_access
    )


async def send_plan(conn: Connection, plan: WritePlan, model: str) -> Receipt:
    """Send the statements of a plan, in a space that was entered unless the plan is a single statement.

    A statement that finds the plan outdated or replayed fails (`muniment.refuse`) and ends the transaction, so
    nothing waits for its answer."""
    rev = Revision(plan.expected_rev + len(plan.changes))
    changes = tuple(
        replace(change, after=replace(change.after, rev=Revision(plan.expected_rev + n)))
        for n, change in enumerate(plan.changes, 1)
    )
    if required := _find_required(plan):
        await conn.execute(_WRITE["lock_space"], {"space": plan.scope.space})
        await conn.execute(_WRITE["check_memories"], {"space": plan.scope.space, "ids": required})
    first, *more = split_changes(changes)
    edges = rows.encode_edges(plan) if more else None
    head = replace(plan, relations=()) if edges else plan
    await conn.execute(_WRITE["commit"], rows.build_commit_params(head, first, model), prepare=True)
    for part in more:
        await conn.execute(_WRITE["apply"], rows.build_apply_params(plan, part, model))
    if edges:
        await conn.execute(_WRITE["insert_edges"], {"space": plan.scope.space, "relations": edges})
    if plan.source_turns:
        # An erasure locks the space's row first: turns that exist now stay until this is committed.
        await conn.execute(_WRITE["check_turns"], {"space": plan.scope.space, "turns": list(plan.source_turns)})
    if plan.conflicts_on_access:
        await _send_access_check(conn, plan)
    if plan.jobs:
        await send_jobs(conn, plan.jobs)
    requests = await _send_consents(conn, plan) if plan.proposals or plan.decisions else ()
    return Receipt(rev=rev, changes=changes, consent_requests=requests)


def split_changes(changes: Sequence[Change]) -> list[list[Change]]:
    """Split the changes, in order, into parts with each memory once: a statement does not see its own writes."""
    parts: list[list[Change]] = [[]]
    touched: set[MemoryId] = set()
    for change in changes:
        if change.after.id in touched:
            parts.append([])
            touched.clear()
        parts[-1].append(change)
        touched.add(change.after.id)
    return parts


def _find_required(plan: WritePlan) -> list[MemoryId]:
    """Return the memories that must exist: those that the plan changes without adding them, and those that it is made
    of."""
    added = {change.after.id for change in plan.changes if change.before is None}
    before = (change.before.id for change in plan.changes if change.before is not None)
    changed = (id_ for id_ in before if id_ not in added)
    return [*dict.fromkeys((*changed, *(plan.extracted.shown if plan.extracted else ())))]


async def _send_consents(conn: Connection, plan: WritePlan) -> tuple[Consent, ...]:
    """Send the plan's decisions and proposals; return the requests that wait because of it.

    A request that was decided before ends the transaction with a Conflict."""
    space = {"space": plan.scope.space}
    for consent in plan.decisions:
        decision = {"decision": consent.decision, "decided_at": consent.decided_at, "decided_by": consent.decided_by}
        await conn.execute(_CONSENT["decide"], space | {"request": consent.id} | decision)
    cursors = []
    for proposal in plan.proposals:
        content = {"request": uuid4(), "field": proposal.field, "value": proposal.value, "memory": proposal.memory}
        times = {"at": plan.at, "expires_at": proposal.expires_at, "quiet": plan.at - (proposal.expires_at - plan.at)}
        params = space | content | times | {"turns": list(proposal.turns)}
        cursors.append(await conn.execute(_CONSENT["add_support"], params))
        await conn.execute(_CONSENT["replace_outdated"], params)
        cursors.append(await conn.execute(_CONSENT["propose"], params))
    return tuple([rows.parse_consent(row) for cursor in cursors for row in await cursor.fetchall()])


async def _send_access_check(conn: Connection, plan: WritePlan) -> None:
    """Send the check that no memory of the plan was retrieved since it was read; it ends the plan with a Conflict."""
    memories = [change.before for change in plan.changes if change.before is not None]
    accesses = {"ids": [memory.id for memory in memories], "read": [memory.last_accessed_at for memory in memories]}
    await conn.execute(_WRITE["check_accesses"], {"space": plan.scope.space} | accesses)
