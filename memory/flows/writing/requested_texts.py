"""What a person or a program asks to keep by a call, without a turn of a conversation, and changes by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from muniment.memory.codec import check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import Fact, StoredMemory
from muniment.memory.domain.plan import SECRET_REASON, Change, Receipt, WritePlan, make_secret_error, raise_refusal
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Placement, Turn, make_candidate
from muniment.memory.errors import BadInput, Conflict
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.vectors import VectorCache, complete_vectors
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.extraction.gate import SUMMARY_RULES
from muniment.memory.rules.merging.aliases import sanitize_aliases
from muniment.memory.rules.merging.placement import check_placement, place_candidates
from muniment.memory.rules.policy.consent import make_expiry_jobs, make_proposal
from muniment.memory.rules.policy.edits import (
    Edit,
    apply_parts,
    apply_version,
    apply_words,
    build_edited_candidate,
    check_editable,
)
from muniment.memory.rules.redaction.secret_names import describe_redactions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestedTexts:
    """Keeps texts and relations that a call states, each as a turn of its own."""

    clock: Clock
    settings: Settings
    writer: Writer

    async def remember_text(
        self,
        scope: Scope,
        text: str,
        category: str | None,
        aliases: Sequence[str] = (),
        placement: Placement | None = None,
    ) -> Receipt:
        """Keep a text that a person asks to remember: as the statements that the rules find, or word for word.

        The receipt names what was redacted or cut off. Raises BadInput for an unknown category, an empty text, a
        question, a mere "ok", an alias or a placement that cannot be kept, and a text that cannot be kept as it
        stands; OnlySecret for one that only its secret keeps out."""
        if category is not None and category not in self.settings.categories:
            raise BadInput(f"unknown category {category!r}; allowed: {', '.join(sorted(self.settings.categories))}")
        own = self._make_own_turn(scope, text)
        turn, found = await self.writer.read_texts(self.writer.turn_reader.read_requested_text, (own,), own)
        candidates = self.writer.name_candidates(found, aliases)
        if category is not None:
            candidates = tuple(replace(candidate, category=category) for candidate in candidates)
        if placement is not None:
            placed = check_placement(placement, scope, self.clock.now(), self.writer.redactor)
            candidates = place_candidates(candidates, placed)
        receipt = await self.writer.commit_extraction(scope, Extraction(candidates=candidates), (turn,), "face")
        if receipt.refused and not receipt.changes:
            if set(receipt.refused) == {SECRET_REASON}:
                raise make_secret_error(describe_redactions(turn.text))
            advice = SUMMARY_RULES.format(most=self.settings.limits.memory_chars)
            raise BadInput(f"cannot be remembered as it stands: {'; '.join(receipt.refused)}. {advice}")
        return replace(receipt, left_out=(*describe_redactions(turn.text), *receipt.left_out))

    async def keep_relation(self, scope: Scope, text: str, fact: Fact, category: str) -> Receipt:
        """Keep a relation that a caller states, as what it says and as a fact. Raises BadInput where it cannot be
        kept."""
        turn = self._make_own_turn(scope, text)
        candidate = Candidate(text=text, category=category, fact=fact, turns=(turn.id,), importance=3, confidence=1.0)
        return raise_refusal(await self.writer.keep_candidates(scope, (candidate,), (turn,), node="face"))

    def _make_own_turn(self, scope: Scope, text: str) -> Turn:
        """Return what a person has kept by a call, as a turn of theirs."""
        return Turn.make(
            session=scope.session or "remember",
            key=str(uuid4()),
            role="user",
            text=text,
            at=self.clock.now(),
            thread=scope.thread,
            actor=scope.actor,
        )


_SESSION = "edits"  # of the turns that keep what a person wrote in the place of a memory's words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandEdits:
    """Changes a memory by hand: each change is a new version of it, and the former one can be brought back."""

    browser: MemoryBrowser
    clock: Clock
    committer: PlanCommitter
    reads: MemoryReads
    settings: Settings
    writer: Writer

    async def edit_memory(
        self, scope: Scope, memory_id: MemoryId, edit: Edit, expected_rev: Revision | None = None
    ) -> Receipt:
        """Give a memory other words, another category, importance, or other names. What is so already stays.

        The words pass the write gate and the redaction like any others; from then on the memory is what the person
        says. With `expected_rev`, the revision of the memory that was seen, raises Conflict where it is another one by
        now. Raises NotFound, BadInput for what cannot be kept and for a memory that is not in force, ModelError."""
        if refusal := self.writer.redactor.find_denial_reason(scope):
            return Receipt(rev=Revision(0), skipped=refusal)
        edit, seen = self._check_edit(edit), await self.browser.get_memory(scope, memory_id)
        turn: Turn | None = None
        read: tuple[Candidate, ...] = ()
        if edit.text is not None:
            turn, read = await self._read_words(scope, seen, edit.text)
            edit = replace(edit, text=turn.text)

        async def make_plan(vectors: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _neighbours = await self.reads.find_neighbours(scope, (), 0)
            before = await self._get_editable(scope, memory_id, expected_rev)
            after = self._apply_edit(scope, before, edit, read, turn)
            if after == before:
                return Receipt(rev=rev)
            turns = (turn,) if turn is not None and turn.id in after.turns else ()
            return self._build_plan(scope, rev, before, after, vectors, {"why": "edited"}, turns), Rejections()

        receipt = await self.committer.commit_with_retry(scope, make_plan)
        return replace(receipt, left_out=describe_redactions(turn.text)) if turn is not None else receipt

    async def restore_version(self, scope: Scope, memory_id: MemoryId, version: Revision) -> Receipt:
        """Let a memory say again what it said at a revision. Raises NotFound where it was not there yet or that version
        was erased, BadInput for a memory that is not in force and where another says the same by now, ModelError."""

        async def make_plan(vectors: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            rev, _neighbours = await self.reads.find_neighbours(scope, (), 0)
            before = await self._get_editable(scope, memory_id, None)
            after = apply_version(before, await self.browser.get_memory(scope, memory_id, version))
            if after == before:
                return Receipt(rev=rev)
            meta = {"why": "version", "version": version}
            return self._build_plan(scope, rev, before, after, vectors, meta), Rejections()

        return await self.committer.commit_with_retry(scope, make_plan)

    def _check_edit(self, edit: Edit) -> Edit:
        """Return an edit with its other names redacted. Raises BadInput for a category or an importance that there is
        not, and for a name that cannot be kept."""
        allowed = self.settings.categories
        if edit.category is not None and edit.category not in allowed:
            raise BadInput(f"unknown category {edit.category!r}; allowed: {', '.join(sorted(allowed))}")
        if edit.importance is not None:
            check_range("importance", edit.importance, 1, 5)
        names = None if edit.aliases is None else sanitize_aliases(edit.aliases, self.writer.redactor)
        return replace(edit, aliases=names)

    async def _read_words(self, scope: Scope, memory: StoredMemory, text: str) -> tuple[Turn, tuple[Candidate, ...]]:
        """Return what a person wrote as a redacted turn, and the statements that the rules find in it where they are
        wanted. Raises BadInput for a question and a mere "ok", TooLarge."""
        turn = Turn.make(
            session=scope.session or _SESSION,
            key=str(uuid4()),
            role="user",
            text=text,
            at=self.clock.now(),
            thread=scope.thread,
            actor=scope.actor,
            kind="audit",  # nothing is learned from it once more
            visible=False,
        )
        reader = self.writer.turn_reader
        if memory.kind == "semantic":
            return await self.writer.read_texts(reader.read_requested_text, (turn,), turn)
        return await self.writer.read_texts(reader.sanitize_turn, (turn,), turn), ()

    async def _get_editable(self, scope: Scope, memory_id: MemoryId, expected_rev: Revision | None) -> StoredMemory:
        memory = await self.browser.get_memory(scope, memory_id)
        check_editable(memory)
        if expected_rev is not None and memory.rev != expected_rev:
            raise Conflict(
                f"this memory is at revision {memory.rev}, and {expected_rev} was seen: look at it again", lost=True
            )
        return memory

    def _apply_edit(
        self, scope: Scope, before: StoredMemory, edit: Edit, read: Sequence[Candidate], turn: Turn | None
    ) -> StoredMemory:
        """Return a memory after an edit; the same one where all of it is so already. Raises BadInput for words that
        cannot be kept."""
        after = apply_parts(before, edit)
        if turn is not None and turn.text != before.text:
            candidate = build_edited_candidate(before, turn.text, after.category, read, turn.id)
            after = apply_words(after, self._check_words(candidate), scope.actor or scope.owner)
        elif after.category != before.category:
            self._check_words(replace(make_candidate(after), fact=None, turns=before.turns or (TurnId(uuid4()),)))
        return after if after == before else replace(after, updated_at=self.clock.now())

    def _check_words(self, candidate: Candidate) -> Candidate:
        """Return a candidate that passes the write gate whole. Raises BadInput with the reason for another one."""
        most = self.settings.limits.memory_chars
        valid, reason = self.writer.check_candidate(candidate)
        if valid is not None and len(valid.text) < len(" ".join(candidate.text.split())):
            valid, reason = None, f"longer than {most} characters"
        if reason == SECRET_REASON:
            raise make_secret_error(describe_redactions(candidate.text))
        if valid is None:
            raise BadInput(f"cannot be kept: {reason}. {SUMMARY_RULES.format(most=most)}", reasons=[reason])
        return valid

    def _build_plan(
        self,
        scope: Scope,
        rev: Revision,
        before: StoredMemory,
        after: StoredMemory,
        vectors: VectorCache,
        meta: dict[str, Any],
        turns: tuple[Turn, ...] = (),
    ) -> WritePlan:
        """Return the plan of a change by hand, which proposes its value for the profile like other statements."""
        now, consent = self.clock.now(), self.settings.consent
        change = Change(action="UPDATE", before=before, after=after, meta=meta | {"by": scope.actor or scope.owner})
        proposal = make_proposal(
            replace(make_candidate(after), trust=after.trust, reach=after.reach),
            after.id,
            after.turns[-1:],
            expires_at=now + timedelta(days=consent.days),
            quiet=timedelta(days=consent.again_days),
        )
        is_new = after.state == "active" and after.fact != before.fact
        proposals = (proposal,) if proposal is not None and is_new else ()
        return WritePlan(
            scope=scope,
            expected_rev=rev,
            node="face",
            at=now,
            changes=complete_vectors([change], vectors),
            turns=turns,
            proposals=proposals,
            jobs=make_expiry_jobs(scope, [each.expires_at for each in proposals]),
        )
