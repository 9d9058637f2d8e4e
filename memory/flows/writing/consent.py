"""What waits for a person's yes: values of the structured profile, and memories that instruct. Each decision is a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import Consent, Decision
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Node
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.flows.space_locks import SpaceLocks
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.rules.language.normalize import normalize_text
from muniment.memory.rules.policy.consent import (
    GONE_STATES,
    find_void_requests,
    is_corroborated,
    is_support_lost,
    parse_yes_no,
)

_MAX_CONSENTS = 1000
_BY_TIME, _BY_SIGNALS, _BY_FORGETTING, _BY_ANOTHER = "time", "signals", "forgetting", "another memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ruling:
    """What is decided, by whom."""

    decision: Decision
    by: str
    node: Node


def make_expiry_jobs(scope: Scope, expiries: Sequence[datetime]) -> tuple[Job, ...]:
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


def _make_change(memory: Memory, verdict: _Ruling, now: datetime) -> Change:
    meta = {"consent": verdict.decision, "by": verdict.by}
    if verdict.decision == "approved":
        after = replace(memory, state="active", updated_at=now)
        return Change(action="UPDATE", before=memory, after=after, meta=meta)
    return Change(action="DELETE", before=memory, after=replace(memory, state="rejected", updated_at=now), meta=meta)


def _make_meta(request: Consent, decision: Decision, by: str) -> dict[str, Any]:
    return {"consent": decision, "field": request.field, "value": request.value, "by": by}


def _normalize_text(text: str) -> str:
    return " ".join(normalize_text(text).casefold().split()).rstrip(".。!！")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consents:
    """What waits for a person's yes: values of the structured profile, and memories that instruct. Each decision is a plan."""

    clock: Clock
    ledger: TurnLedger
    locks: SpaceLocks
    reads: MemoryReads
    settings: Settings
    writes: MemoryWrites

    async def list_consents(self, scope: Scope, *, include_decided: bool = False) -> Sequence[Consent]:
        """See `Memory.consents`."""
        found = await self.ledger.list_consents(scope, () if include_decided else ("pending",), _MAX_CONSENTS)
        if any(one.decision == "pending" and one.expires_at <= self.clock.now() for one in found):
            await self.expire_consents(scope)
            found = await self.ledger.list_consents(scope, () if include_decided else ("pending",), _MAX_CONSENTS)
        return found

    async def decide_consents(
        self, scope: Scope, ids: Sequence[UUID], *, approve: bool, by: str | None = None, node: Node = "face"
    ) -> Receipt:
        """See `Memory.decide`."""
        await self.expire_consents(scope)
        waiting = {
            UUID(str(one.id)): one for one in await self.ledger.list_consents(scope, ("pending",), _MAX_CONSENTS)
        }
        held = await self.reads.list_memories(
            self.settings.make_owner_reader(scope), ListRequest(states=("pending",), limit=_MAX_CONSENTS)
        )
        memories = {UUID(str(one.id)): one for one in held.memories}
        wanted = list(dict.fromkeys(ids))
        if unknown := [one for one in wanted if one not in waiting and one not in memories]:
            raise NotFound(f"nothing waits for consent under the id {unknown[0]}", id=str(unknown[0]))
        verdict = _Ruling(
            decision="approved" if approve else "rejected", by=by or scope.actor or scope.owner, node=node
        )
        requests = [waiting[one] for one in wanted if one in waiting]
        return await self._commit_decision(
            scope, requests, [memories[one].id for one in wanted if one in memories], verdict
        )

    async def answer_consents(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """See `Memory.answer`."""
        meant = parse_yes_no(text)
        if meant is None:
            return ()
        still = [one for one in await self.list_consents(scope) if one.id in ids]
        if still:
            await self.decide_consents(scope, [one.id for one in still], approve=meant, node="hotpath")
        return tuple(replace(one, decision="approved" if meant else "rejected") for one in still)

    async def expire_consents(self, scope: Scope) -> int:
        """See `Memory.expire`."""
        now = self.clock.now()
        due = [
            one for one in await self.ledger.list_consents(scope, ("pending",), _MAX_CONSENTS) if one.expires_at <= now
        ]
        if due:
            await self._commit_decision(scope, due, (), _Ruling(decision="expired", by=_BY_TIME, node="worker"))
        return len(due)

    async def perform_expiry(self, scope: Scope, _day: str) -> int:
        """The job `expire`."""
        return await self.expire_consents(scope)

    async def auto_approve(self, scope: Scope, receipt: Receipt, node: Node) -> Receipt:
        """The receipt after what has enough signals was approved by them: asked is only what still waits for a person."""
        settled = [one for one in receipt.consent_requests if is_corroborated(one, self.settings.consent.signals)]
        if not settled:
            return receipt
        done = await self._commit_decision(scope, settled, (), _Ruling(decision="approved", by=_BY_SIGNALS, node=node))
        return replace(
            receipt, rev=done.rev, consent_requests=tuple(one for one in receipt.consent_requests if one not in settled)
        )

    async def commit_plan(self, plan: WritePlan) -> Receipt:
        """Commit a plan with what it withdraws; the receipt is of the plan alone. Raises Conflict."""
        whole = await self.add_withdrawals(plan)
        done = await self.writes.commit(whole)
        return replace(done, changes=done.changes[len(whole.changes) - len(plan.changes) :])

    async def add_withdrawals(self, plan: WritePlan) -> WritePlan:
        """The plan that also withdraws what waits for a yes and rests on what the plan ends: first, since a run is undone only
        where nothing came after it."""
        if not any(map(is_support_lost, plan.changes)):
            return plan
        ended = find_void_requests(await self.ledger.list_consents(plan.scope, ("pending",), _MAX_CONSENTS), plan)
        if not ended:
            return plan
        memories = {change.before.id: change.before for change in reversed(plan.changes) if change.before is not None}
        lines, decisions = [], []
        for one, change in ended.items():
            by = _BY_FORGETTING if change.after.state == "soft_deleted" else _BY_ANOTHER
            meta = _make_meta(one, "withdrawn", by) | {key: change.meta[key] for key in ("run",) if key in change.meta}
            lines.append(Change(action="UPDATE", before=memories[one.memory], after=memories[one.memory], meta=meta))
            decisions.append(replace(one, decision="withdrawn", decided_at=plan.at, decided_by=by))
        return replace(plan, changes=(*lines, *plan.changes), decisions=(*plan.decisions, *decisions))

    async def drop_already_pending(self, scope: Scope, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        """The candidates without those that wait already or were decided: nobody is asked the same twice."""
        if not any(one.state == "pending" for one in candidates):
            return candidates
        wanted = ListRequest(states=("pending", "rejected", "active"), limit=_MAX_CONSENTS)
        held = await self.reads.list_memories(self.settings.make_owner_reader(scope), wanted)
        known = {_normalize_text(one.text) for one in held.memories}
        return tuple(one for one in candidates if one.state != "pending" or _normalize_text(one.text) not in known)

    async def _commit_decision(
        self, scope: Scope, requests: Sequence[Consent], memories: Sequence[MemoryId], verdict: _Ruling
    ) -> Receipt:
        """One transaction for all: the decisions, and a line of the journal for each."""
        attempts = self.settings.write.attempts
        async with self.locks.space_lock(scope.space):
            for attempt in range(attempts):
                rev, _ = await self.reads.find_neighbours(scope, (), 0)
                plan = await self._build_plan(scope, requests, memories, verdict, rev)
                try:
                    return await self.writes.commit(plan)
                except Conflict:
                    still = {one.id for one in await self.ledger.list_consents(scope, ("pending",), _MAX_CONSENTS)}
                    if attempt == attempts - 1 or not all(one.id in still for one in requests):
                        raise
        raise Conflict

    async def _build_plan(
        self,
        scope: Scope,
        requests: Sequence[Consent],
        memories: Sequence[MemoryId],
        verdict: _Ruling,
        rev: Revision,
    ) -> WritePlan:
        now, owner = self.clock.now(), self.settings.make_owner_reader(scope)
        changes: list[Change] = []
        for request in requests:
            # Nothing of the memory changes: what is known stays as recent as it was.
            memory = await self.reads.get_memory(owner, request.memory)
            if verdict.decision == "approved" and (memory is None or memory.state in GONE_STATES):
                raise NotFound(
                    f"what the request {request.id} rests on is forgotten, or no longer so: say it again",
                    id=str(request.id),
                )
            if memory is not None:
                meta = _make_meta(request, verdict.decision, verdict.by)
                changes.append(Change(action="UPDATE", before=memory, after=memory, meta=meta))
        for id_ in memories:
            memory = await self.reads.get_memory(owner, id_)
            if memory is None or memory.state != "pending":
                raise NotFound(f"nothing waits for consent under the id {id_}", id=str(id_))
            changes.append(_make_change(memory, verdict, now))
        decided = tuple(
            replace(one, decision=verdict.decision, decided_at=now, decided_by=verdict.by) for one in requests
        )
        return WritePlan(
            scope=scope, expected_rev=rev, node=verdict.node, at=now, changes=tuple(changes), decisions=decided
        )
