"""Consent: values of the structured profile, and memories that instruct, wait for a person's yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import Consent, Decision, Proposal
from muniment.memory.domain.console.inbox import InboxKind
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import Node
from muniment.memory.domain.memory import State, StoredMemory, compose_document, find_replaced
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput, Conflict, NotFound
from muniment.memory.flows.process_state import SpaceLocks
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.rules.policy.answers import Decisions, parse_reply, parse_resume
from muniment.memory.rules.policy.consent import (
    GONE_STATES,
    correct_value,
    find_candidate_field,
    find_supporting_memories,
    find_void_requests,
    has_value,
    is_corroborated,
    is_refused,
    is_support_lost,
    normalize_statement,
)
from muniment.memory.rules.procedures.review import publish_memory, retire_replaced
from muniment.memory.rules.redaction.redact import Redactor

_MAX_CONSENTS = 1000
_MAX_SUPPORTING = 100  # memories with the words of a value that are looked at
_MAX_VERSIONS = 8  # of a memory, back to the one with the approved value
_BY_TIME, _BY_SIGNALS, _BY_FORGETTING, _BY_ANOTHER = "time", "signals", "forgetting", "another memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ruling:
    """A decision, by whom it was made, and in which node."""

    decision: Decision
    by: str
    node: Node

    def make_request_meta(self, request: Consent) -> dict[str, Any]:
        """Return the journal's data of a decided request."""
        return {"consent": self.decision, "field": request.field, "value": request.value, "by": self.by}

    def name_decision(self, of: Consent | StoredMemory) -> dict[str, Any]:
        """Return the journal's data by which the decision on a request or a memory is found, to be taken back; none
        for an end that nobody decided."""
        if self.decision not in ("approved", "rejected"):
            return {}
        kind: InboxKind = (
            "consent" if isinstance(of, Consent) else "skill" if of.kind == "procedural" else "instruction"
        )
        return {"decision": str(of.id), "about": kind}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consents:
    """Lists, decides and ends requests for consent. Each decision is a plan, with a line of the journal."""

    clock: Clock
    embedder: Embedder
    ledger: TurnLedger
    locks: SpaceLocks
    reads: MemoryReads
    redactor: Redactor
    settings: Settings
    writes: MemoryWrites

    async def list_consents(self, scope: Scope, *, include_decided: bool = False) -> Sequence[Consent]:
        """Return the pending requests, newest first, or all of them. Requests that are overdue are ended first."""
        decisions: tuple[Decision, ...] = () if include_decided else ("pending",)
        requests = await self.ledger.list_consents(scope, decisions, _MAX_CONSENTS)
        now = self.clock.now()
        if any(request.decision == "pending" and request.expires_at <= now for request in requests):
            await self.expire_consents(scope)
            requests = await self.ledger.list_consents(scope, decisions, _MAX_CONSENTS)
        return requests

    async def decide_consents(
        self, scope: Scope, ids: Sequence[UUID], *, approve: bool, by: str | None = None, node: Node = "face"
    ) -> Receipt:
        """Approve or reject pending requests and pending memories, all or none, in the name of `by` or the scope's
        actor.

        A rejected request takes the statement that it rests on along: the memory is forgotten, and can be restored
        until it is purged. A memory that had the approved value before has it again.
        Raises NotFound for one that is not pending, BadInput when another memory says the same by now."""
        await self.expire_consents(scope)
        pending = {UUID(str(request.id)): request for request in await self.list_pending(scope)}
        page = await self.reads.list_memories(
            self.settings.make_owner_reader(scope),
            ListRequest(states=("pending",), limit=_MAX_CONSENTS, everywhere=True),
        )
        memories = {UUID(str(memory.id)): memory.id for memory in page.memories}
        distinct = list(dict.fromkeys(ids))
        if unknown := [id_ for id_ in distinct if id_ not in pending and id_ not in memories]:
            raise NotFound(f"nothing waits for consent under the id {unknown[0]}", id=str(unknown[0]))
        decision: Decision = "approved" if approve else "rejected"
        ruling = _Ruling(decision=decision, by=by or scope.actor or scope.owner, node=node)
        requests = [pending[id_] for id_ in distinct if id_ in pending]
        return await self._commit_decision(
            scope, requests, [memories[id_] for id_ in distinct if id_ in memories], ruling
        )

    async def review_memories(self, scope: Scope, ids: Sequence[MemoryId], *, approve: bool, by: str | None) -> Receipt:
        """Approve memories that wait or were rejected, or reject memories that wait or are active, all or none.

        One that is approved takes the place of the memory that it was proposed for. Raises NotFound for another one."""
        decision: Decision = "approved" if approve else "rejected"
        ruling = _Ruling(decision=decision, by=by or scope.actor or scope.owner, node="face")
        return await self._commit_decision(scope, (), ids, ruling, ("pending", "rejected" if approve else "active"))

    async def answer_consents(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """Decide requests by a person's message, and return those that it answers; none for another message.

        One whose answer is unclear is returned as it is, pending: it is to be asked again."""
        return await self._apply_answer(scope, ids, lambda requests: parse_reply(text, requests))

    async def resume_consents(self, scope: Scope, ids: Sequence[UUID], answer: Any) -> Sequence[Consent]:
        """Decide requests by the value that resumes an interrupt, and return them like `answer_consents`."""
        return await self._apply_answer(scope, ids, lambda requests: parse_resume(answer, requests))

    async def _apply_answer(
        self, scope: Scope, ids: Sequence[UUID], parse: Callable[[Sequence[Consent]], Decisions]
    ) -> Sequence[Consent]:
        # The answer may also name what somebody else has decided in the meantime.
        known = {UUID(str(one.id)): one for one in await self.list_consents(scope, include_decided=True)}
        asked = [known[id_] for id_ in ids if id_ in known]
        readings = parse(asked)
        pending = [request for request in asked if request.decision == "pending" and request.id in readings]
        for approve in (False, True):  # what is refused needs no memory, so it is refused in any case
            if chosen := [request.id for request in pending if readings[request.id] is approve]:
                await self.decide_consents(scope, chosen, approve=approve, node="hotpath")
        decisions: dict[bool | None, Decision] = {True: "approved", False: "rejected", None: "pending"}
        answers = []
        for request in pending:
            reading = readings[request.id]
            if isinstance(reading, str):
                answers.append(await self._correct_request(scope, request, reading, "hotpath"))
            else:
                answers.append(replace(request, decision=decisions[reading]))
        return tuple(answers)

    async def correct_request(self, scope: Scope, id_: UUID, value: str) -> Consent:
        """Approve another value in the place of the one that a request asks about, and return what was approved.

        Raises NotFound for a request that is not pending, BadInput for what is no value of its field."""
        await self.expire_consents(scope)
        request = next((each for each in await self.list_pending(scope) if each.id == id_), None)
        if request is None:
            raise NotFound(f"nothing waits for consent under the id {id_}", id=str(id_))
        corrected = await self._correct_request(scope, request, value, "face")
        if corrected.decision == "pending":
            raise BadInput(f"text: is no value of the field {request.field}, or the statement cannot have it")
        return corrected

    async def _correct_request(self, scope: Scope, request: Consent, value: str, node: Node) -> Consent:
        """Give the statement of a request the value that a person has put in its place, and approve that.

        The request stays pending where that is no value of its field."""
        safe = " ".join(self.redactor.sanitize_text(value).split())
        memory = await self.reads.get_memory(self.settings.make_owner_reader(scope), request.memory)
        after = correct_value(memory, request, safe) if memory is not None and memory.state == "active" else None
        if after is None:
            return request
        document = compose_document(after.text, after.aliases)
        now, (vector,) = self.clock.now(), await self.embedder.embed_documents([document])
        change = Change(action="UPDATE", before=memory, after=replace(after, updated_at=now), vector=vector)
        proposal = Proposal(
            field=request.field, value=safe, memory=after.id, turns=request.turns, expires_at=request.expires_at
        )
        async with self.locks.space_lock(scope.space):
            rev, _ = await self.reads.find_neighbours(scope, (), 0)
            plan = WritePlan(scope=scope, expected_rev=rev, node=node, at=now, changes=(change,), proposals=(proposal,))
            receipt = await self.writes.commit(plan)
        for corrected in receipt.consent_requests:
            await self.decide_consents(scope, [corrected.id], approve=True, node=node)
            return replace(corrected, decision="approved")
        return replace(request, decision="approved")  # the field has this value

    async def expire_consents(self, scope: Scope) -> int:
        """End the pending requests whose time is over. Returns their number."""
        now = self.clock.now()
        due = [request for request in await self.list_pending(scope) if request.expires_at <= now]
        if due:
            await self._commit_decision(scope, due, (), _Ruling(decision="expired", by=_BY_TIME, node="worker"))
        return len(due)

    async def perform_expiry(self, scope: Scope, _day: str) -> int:
        """Perform the job `expire`."""
        return await self.expire_consents(scope)

    async def auto_approve(self, scope: Scope, receipt: Receipt, node: Node) -> Receipt:
        """Approve the requests of a receipt that have `consent.signals`, and return the receipt with the others."""
        requests = receipt.consent_requests
        approved = [request for request in requests if is_corroborated(request, self.settings.consent.signals)]
        if not approved:
            return receipt
        ruling = _Ruling(decision="approved", by=_BY_SIGNALS, node=node)
        done = await self._commit_decision(scope, approved, (), ruling)
        rest = tuple(request for request in requests if request not in approved)
        return replace(receipt, rev=done.rev, consent_requests=rest)

    async def commit_plan(self, plan: WritePlan) -> Receipt:
        """Commit a plan with the withdrawals that follow from it. Returns the receipt of the plan alone. Raises
        Conflict."""
        whole = await self.add_withdrawals(plan)
        receipt = await self.writes.commit(whole)
        return replace(receipt, changes=receipt.changes[len(whole.changes) - len(plan.changes) :])

    async def add_withdrawals(self, plan: WritePlan) -> WritePlan:
        """Return the plan that also withdraws the pending requests of memories that it ends.

        The withdrawals come first: a run can be undone only when its changes are the latest."""
        if not any(map(is_support_lost, plan.changes)):
            return plan
        void = find_void_requests(await self.list_pending(plan.scope), plan)
        if not void:
            return plan
        memories = {change.before.id: change.before for change in reversed(plan.changes) if change.before is not None}
        changes, decisions = [], []
        for request, cause in void.items():
            by = _BY_FORGETTING if cause.after.state == "soft_deleted" else _BY_ANOTHER
            meta = _Ruling(decision="withdrawn", by=by, node=plan.node).make_request_meta(request)
            meta |= {"run": cause.meta["run"]} if "run" in cause.meta else {}
            memory = memories[request.memory]
            changes.append(Change(action="UPDATE", before=memory, after=memory, meta=meta))
            decisions.append(replace(request, decision="withdrawn", decided_at=plan.at, decided_by=by))
        return replace(plan, changes=(*changes, *plan.changes), decisions=(*plan.decisions, *decisions))

    async def drop_already_pending(self, scope: Scope, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        """Return the candidates without those that are pending or were decided already: nobody is asked twice."""
        if not any(candidate.state == "pending" for candidate in candidates):
            return candidates
        request = ListRequest(states=("pending", "rejected", "active"), limit=_MAX_CONSENTS, everywhere=True)
        page = await self.reads.list_memories(self.settings.make_owner_reader(scope), request)
        texts = {normalize_statement(memory.text) for memory in page.memories}
        return tuple(
            each for each in candidates if each.state != "pending" or normalize_statement(each.text) not in texts
        )

    async def drop_refused(self, scope: Scope, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        """Return the candidates without those that repeat, from the same turns, what a person said no to."""
        if not any(find_candidate_field(candidate) for candidate in candidates):
            return candidates
        rejected = await self.ledger.list_consents(scope, ("rejected",), _MAX_CONSENTS)
        return tuple(candidate for candidate in candidates if not is_refused(candidate, rejected))

    async def list_approved(self, scope: Scope) -> frozenset[MemoryId]:
        """Return the memories whose values a person approved for the profile."""
        return frozenset(one.memory for one in await self.ledger.list_consents(scope, ("approved",), _MAX_CONSENTS))

    async def list_pending(self, scope: Scope) -> Sequence[Consent]:
        """Return the requests that wait, also those that are overdue."""
        return await self.ledger.list_consents(scope, ("pending",), _MAX_CONSENTS)

    async def _commit_decision(
        self,
        scope: Scope,
        requests: Sequence[Consent],
        memories: Sequence[MemoryId],
        ruling: _Ruling,
        states: Sequence[State] = ("pending",),
    ) -> Receipt:
        """Commit the decisions on requests, and on memories in one of the states, in one transaction."""
        attempts = self.settings.write.attempts
        async with self.locks.space_lock(scope.space):
            for attempt in range(attempts):
                rev, _ = await self.reads.find_neighbours(scope, (), 0)
                plan = await self._build_plan(scope, requests, memories, ruling, rev, states)
                try:
                    return await self.writes.commit(plan)
                except Conflict:
                    pending = {request.id for request in await self.list_pending(scope)}
                    if attempt == attempts - 1 or not pending.issuperset(request.id for request in requests):
                        raise
        raise Conflict

    async def _build_plan(
        self,
        scope: Scope,
        requests: Sequence[Consent],
        memories: Sequence[MemoryId],
        ruling: _Ruling,
        rev: Revision,
        states: Sequence[State],
    ) -> WritePlan:
        now, reader = self.clock.now(), self.settings.make_owner_reader(scope)
        is_approved = ruling.decision == "approved"
        changes: list[Change] = []
        for request in requests:
            memory = await self.reads.get_memory(reader, request.memory)
            if is_approved and (memory is None or memory.state in GONE_STATES):
                raise NotFound(
                    f"what the request {request.id} rests on is forgotten, or no longer so: say it again",
                    id=str(request.id),
                )
            if memory is not None and ruling.decision == "rejected" and memory.state == "active":
                changes += await self._retire_statement(scope, request, memory, ruling, now)
            elif memory is not None:
                # The memory itself does not change, nor does the time of its last change.
                meta = ruling.make_request_meta(request) | ruling.name_decision(request)
                changes.append(Change(action="UPDATE", before=memory, after=memory, meta=meta))
        for id_ in memories:
            memory = await self.reads.get_memory(reader, id_)
            if memory is None or memory.state not in states:
                raise NotFound(f"nothing waits for consent under the id {id_}", id=str(id_))
            after = publish_memory(memory, now) if is_approved else replace(memory, state="rejected", updated_at=now)
            meta = {"consent": ruling.decision, "by": ruling.by} | ruling.name_decision(memory)
            changes.append(Change(action="UPDATE" if is_approved else "DELETE", before=memory, after=after, meta=meta))
            replaced = find_replaced(memory) if is_approved else None
            former = await self.reads.get_memory(reader, replaced) if replaced else None
            if former is not None and former.state == "active":
                changes.append(retire_replaced(former, after, meta))
        decisions = tuple(
            replace(request, decision=ruling.decision, decided_at=now, decided_by=ruling.by) for request in requests
        )
        return WritePlan(
            scope=scope, expected_rev=rev, node=ruling.node, at=now, changes=tuple(changes), decisions=decisions
        )

    async def _retire_statement(
        self, scope: Scope, request: Consent, memory: StoredMemory, ruling: _Ruling, now: datetime
    ) -> list[Change]:
        """Return the changes that take the statement of a rejected request out of memory; the first is of `memory`."""
        meta = ruling.make_request_meta(request) | ruling.name_decision(request)
        if (former := await self._find_former(scope, request, memory)) is not None:
            after = replace(memory, updated_at=now, category=former.category, text=former.text, fact=former.fact)
            after = replace(after, stable_key=former.stable_key, context=former.context, event_time=former.event_time)
            after = replace(after, importance=former.importance, turns=former.turns)
            (vector,) = await self.embedder.embed_documents([compose_document(after.text, after.aliases)])
            changes = [Change(action="UPDATE", before=memory, after=after, vector=vector, meta=meta)]
        else:
            changes = [self._make_deletion(memory, now, meta)]
        listing = ListRequest(states=("active",), contains=request.value, limit=_MAX_SUPPORTING, everywhere=True)
        page = await self.reads.list_memories(self.settings.make_owner_reader(scope), listing)
        others = find_supporting_memories(request, page.memories)
        meta = {"why": "consent", "by": ruling.by} | ruling.name_decision(request)
        return changes + [self._make_deletion(other, now, meta) for other in others if other != memory]

    async def _find_former(self, scope: Scope, request: Consent, memory: StoredMemory) -> StoredMemory | None:
        """Return the version of a memory with the value that the field had when the request was made, or None."""
        reader, former = self.settings.make_owner_reader(scope), memory
        for _ in range(_MAX_VERSIONS if request.old else 0):
            earlier = await self.reads.get_memory(reader, memory.id, as_of=Revision(former.rev - 1))
            if earlier is None:
                return None
            if request.old and has_value(earlier, request.old):
                return earlier
            former = earlier
        return None

    def _make_deletion(self, memory: StoredMemory, now: datetime, meta: dict[str, Any]) -> Change:
        purge_at = now + timedelta(days=self.settings.write.soft_delete_days)
        after = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=now)
        return Change(action="DELETE", before=memory, after=after, meta=meta)
