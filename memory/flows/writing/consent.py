"""What waits for a person's yes: values of the structured profile, and memories that instruct. Each decision is a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from muniment.memory.domain.consent import Consent, Decision
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Node
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import Listing
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.flows.house import House
from muniment.memory.rules.language.normalize import clean
from muniment.memory.rules.policy.consent import GONE, corroborated, ending, withdrawn, yes_or_no

_MOST = 1000
_BY_TIME, _BY_SIGNALS, _BY_FORGETTING, _BY_ANOTHER = "time", "signals", "forgetting", "another memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """What is decided, by whom."""

    decision: Decision
    by: str
    node: Node


async def consents(house: House, scope: Scope, *, decided: bool = False) -> Sequence[Consent]:
    """See `Memory.consents`."""
    found = await house.store.consents(scope, () if decided else ("pending",), _MOST)
    if any(one.decision == "pending" and one.expires_at <= house.clock.now() for one in found):
        await expire(house, scope)
        found = await house.store.consents(scope, () if decided else ("pending",), _MOST)
    return found


async def decide(
    house: House, scope: Scope, ids: Sequence[UUID], *, approve: bool, by: str | None = None, node: Node = "face"
) -> Receipt:
    """See `Memory.decide`."""
    await expire(house, scope)
    waiting = {UUID(str(one.id)): one for one in await house.store.consents(scope, ("pending",), _MOST)}
    held = await house.store.listing(house.owner(scope), Listing(states=("pending",), limit=_MOST))
    memories = {UUID(str(one.id)): one for one in held.memories}
    wanted = list(dict.fromkeys(ids))
    if unknown := [one for one in wanted if one not in waiting and one not in memories]:
        raise NotFound(f"nothing waits for consent under the id {unknown[0]}", id=str(unknown[0]))
    verdict = _Verdict(decision="approved" if approve else "rejected", by=by or scope.actor or scope.owner, node=node)
    requests = [waiting[one] for one in wanted if one in waiting]
    return await _commit(house, scope, requests, [memories[one].id for one in wanted if one in memories], verdict)


async def answer(house: House, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
    """See `Memory.answer`."""
    meant = yes_or_no(text)
    if meant is None:
        return ()
    still = [one for one in await consents(house, scope) if one.id in ids]
    if still:
        await decide(house, scope, [one.id for one in still], approve=meant, node="hotpath")
    return tuple(replace(one, decision="approved" if meant else "rejected") for one in still)


async def expire(house: House, scope: Scope) -> int:
    """See `Memory.expire`."""
    now = house.clock.now()
    due = [one for one in await house.store.consents(scope, ("pending",), _MOST) if one.expires_at <= now]
    if due:
        await _commit(house, scope, due, (), _Verdict(decision="expired", by=_BY_TIME, node="worker"))
    return len(due)


async def perform(house: House, scope: Scope, _day: str) -> int:
    """The job `expire`."""
    return await expire(house, scope)


async def corroborate(house: House, scope: Scope, receipt: Receipt, node: Node) -> Receipt:
    """The receipt after what has enough signals was approved by them: asked is only what still waits for a person."""
    settled = [one for one in receipt.asked if corroborated(one, house.settings.consent.signals)]
    if not settled:
        return receipt
    done = await _commit(house, scope, settled, (), _Verdict(decision="approved", by=_BY_SIGNALS, node=node))
    return replace(receipt, rev=done.rev, asked=tuple(one for one in receipt.asked if one not in settled))


async def commit(house: House, plan: WritePlan) -> Receipt:
    """Commit a plan with what it withdraws; the receipt is of the plan alone. Raises Conflict."""
    whole = await withdrawing(house, plan)
    done = await house.store.commit(whole)
    return replace(done, changes=done.changes[len(whole.changes) - len(plan.changes) :])


async def withdrawing(house: House, plan: WritePlan) -> WritePlan:
    """The plan that also withdraws what waits for a yes and rests on what the plan ends: first, since a run is undone only
    where nothing came after it."""
    if not any(map(ending, plan.changes)):
        return plan
    ended = withdrawn(await house.store.consents(plan.scope, ("pending",), _MOST), plan)
    if not ended:
        return plan
    memories = {change.before.id: change.before for change in reversed(plan.changes) if change.before is not None}
    lines, decisions = [], []
    for one, change in ended.items():
        by = _BY_FORGETTING if change.after.state == "soft_deleted" else _BY_ANOTHER
        meta = _told(one, "withdrawn", by) | {key: change.meta[key] for key in ("run",) if key in change.meta}
        lines.append(Change(action="UPDATE", before=memories[one.memory], after=memories[one.memory], meta=meta))
        decisions.append(replace(one, decision="withdrawn", decided_at=plan.at, decided_by=by))
    return replace(plan, changes=(*lines, *plan.changes), decisions=(*plan.decisions, *decisions))


async def unheard(house: House, scope: Scope, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The candidates without those that wait already or were decided: nobody is asked the same twice."""
    if not any(one.state == "pending" for one in candidates):
        return candidates
    wanted = Listing(states=("pending", "rejected", "active"), limit=_MOST)
    held = await house.store.listing(house.owner(scope), wanted)
    known = {_plain(one.text) for one in held.memories}
    return tuple(one for one in candidates if one.state != "pending" or _plain(one.text) not in known)


def reminders(scope: Scope, expiries: Sequence[datetime]) -> tuple[Job, ...]:
    """The jobs that end what nobody answers: one for each day on which something expires, at its end."""
    days = sorted({moment.astimezone(UTC).date() for moment in expiries})
    return tuple(
        Job(
            name="expire",
            scope=scope,
            key=day.isoformat(),
            at=datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC),
        )
        for day in days
    )


async def _commit(
    house: House, scope: Scope, requests: Sequence[Consent], memories: Sequence[MemoryId], verdict: _Verdict
) -> Receipt:
    """One transaction for all: the decisions, and a line of the journal for each."""
    attempts = house.settings.write.attempts
    async with house.turnstile(scope.space):
        for attempt in range(attempts):
            rev, _ = await house.store.near(scope, (), 0)
            plan = await _plan(house, scope, requests, memories, verdict, rev)
            try:
                return await house.store.commit(plan)
            except Conflict:
                still = {one.id for one in await house.store.consents(scope, ("pending",), _MOST)}
                if attempt == attempts - 1 or not all(one.id in still for one in requests):
                    raise
    raise Conflict


async def _plan(
    house: House,
    scope: Scope,
    requests: Sequence[Consent],
    memories: Sequence[MemoryId],
    verdict: _Verdict,
    rev: Revision,
) -> WritePlan:
    now, owner = house.clock.now(), house.owner(scope)
    changes: list[Change] = []
    for request in requests:
        # Nothing of the memory changes: what is known stays as recent as it was.
        memory = await house.store.get(owner, request.memory)
        if verdict.decision == "approved" and (memory is None or memory.state in GONE):
            raise NotFound(
                f"what the request {request.id} rests on is forgotten, or no longer so: say it again",
                id=str(request.id),
            )
        if memory is not None:
            meta = _told(request, verdict.decision, verdict.by)
            changes.append(Change(action="UPDATE", before=memory, after=memory, meta=meta))
    for id_ in memories:
        memory = await house.store.get(owner, id_)
        if memory is None or memory.state != "pending":
            raise NotFound(f"nothing waits for consent under the id {id_}", id=str(id_))
        changes.append(_released(memory, verdict, now))
    decided = tuple(replace(one, decision=verdict.decision, decided_at=now, decided_by=verdict.by) for one in requests)
    return WritePlan(scope=scope, expects=rev, node=verdict.node, at=now, changes=tuple(changes), decisions=decided)


def _released(memory: Memory, verdict: _Verdict, now: datetime) -> Change:
    meta = {"consent": verdict.decision, "by": verdict.by}
    if verdict.decision == "approved":
        after = replace(memory, state="active", updated_at=now)
        return Change(action="UPDATE", before=memory, after=after, meta=meta)
    return Change(action="DELETE", before=memory, after=replace(memory, state="rejected", updated_at=now), meta=meta)


def _told(request: Consent, decision: Decision, by: str) -> dict[str, Any]:
    return {"consent": decision, "field": request.field, "value": request.value, "by": by}


def _plain(text: str) -> str:
    return " ".join(clean(text).casefold().split()).rstrip(".。!！")
