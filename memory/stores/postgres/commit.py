"""A plan on its way into a transaction: the statements of a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection
from muniment.memory.stores.postgres.consents import put
from muniment.memory.stores.postgres.jobs import enqueue
from muniment.memory.stores.postgres.maintenance import unread
from muniment.memory.stores.postgres.sql import blocks

_WRITE = blocks("write")


def alone(plan: WritePlan) -> bool:
    """Whether the plan is one statement, and so a transaction by itself."""
    return len(apart(plan.changes)) == 1 and not (
        _known(plan) or plan.jobs or plan.proposals or plan.decisions or plan.rests_on or plan.unread
    )


async def send(conn: Connection, plan: WritePlan, model: str) -> Receipt:
    """Send what the plan carries, and no statement for what it does not, into a space that was entered unless the plan is
    `alone`. A statement that finds the plan outdated or replayed fails by itself (`muniment.refuse`): nothing after it is
    done, so nobody waits for its answer."""
    rev = Revision(plan.expects + len(plan.changes))
    changes = tuple(
        replace(change, after=replace(change.after, rev=Revision(plan.expects + n)))
        for n, change in enumerate(plan.changes, 1)
    )
    if known := _known(plan):
        await conn.execute(_WRITE["hold"], {"space": plan.scope.space})
        await conn.execute(_WRITE["still"], {"space": plan.scope.space, "ids": known})
    first, *more = apart(changes)
    tied = rows.edges(plan) if more else None
    head = replace(plan, relations=()) if tied else plan
    await conn.execute(_WRITE["commit"], rows.committed(head, first, model), prepare=True)
    for some in more:
        await conn.execute(_WRITE["apply"], rows.applied(plan, some, model))
    if tied:
        await conn.execute(_WRITE["tie"], {"space": plan.scope.space, "relations": tied})
    if plan.rests_on:
        # Who erases holds the space's row before anything else: what is there by now stays until this is committed.
        await conn.execute(_WRITE["rests_on"], {"space": plan.scope.space, "turns": list(plan.rests_on)})
    if plan.unread:
        await unread(conn, plan)
    if plan.jobs:
        await enqueue(conn, plan.jobs)
    asked = await put(conn, plan) if plan.proposals or plan.decisions else ()
    return Receipt(rev=rev, changes=changes, asked=asked)


def apart(changes: Sequence[Change]) -> list[list[Change]]:
    """The changes in order, in parts that have each memory once: one statement sees only what was before it."""
    parts: list[list[Change]] = [[]]
    touched: set[MemoryId] = set()
    for change in changes:
        if change.after.id in touched:
            parts.append([])
            touched.clear()
        parts[-1].append(change)
        touched.add(change.after.id)
    return parts


def _known(plan: WritePlan) -> list[MemoryId]:
    """The memories that the plan takes to be there: what it changes and does not add itself, and what it was made of."""
    added = {change.after.id for change in plan.changes if change.before is None}
    changed = (one.before.id for one in plan.changes if one.before is not None and one.before.id not in added)
    return [*dict.fromkeys((*changed, *(plan.extracted.shown if plan.extracted else ())))]
