"""Taking documents in as resources: what a document states is kept as long as the document states it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal
from uuid import uuid4

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.layers.resources import (
    REMOVED,
    RESOURCE_CATEGORY,
    KnownStatement,
    Resource,
    ResourceReport,
    Statement,
)
from muniment.memory.domain.memory import State, StoredMemory
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, make_memory
from muniment.memory.errors import BadInput, NotFound, TooLarge
from muniment.memory.flows.writing.forget import make_deletion
from muniment.memory.flows.writing.importing.transfer import CLOSE_GRACE_SECONDS
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.vectors import VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.layers.resources import ResourceStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.merging.placement import MAX_SOURCE_CHARS
from muniment.memory.rules.provenance.quoted import has_instructions
from muniment.memory.rules.redaction.redact import Redactor, find_denial

OnProgress = Callable[[int], None]
_BATCH = 128  # statements that are embedded at once
_FORGOTTEN = "forget"  # the reason in the journal of what a person had forgotten
# Of several memories with one text the first in this order counts as the statement.
_STATES: tuple[State, ...] = ("active", "pending", "rejected", "superseded", "soft_deleted")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceKeeper:
    """Keeps, replaces, removes and lists resources. A resource changes in one transaction, or not at all."""

    clock: Clock
    committer: PlanCommitter
    embedder: Embedder
    reads: MemoryReads
    redactor: Redactor
    resources: ResourceStore
    settings: Settings

    async def keep_resource(
        self,
        scope: Scope,
        uri: str,
        statements: Sequence[Statement],
        path: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> ResourceReport:
        """Let a resource have these statements: those that it has stay as they are, others of it are forgotten.

        What instructs waits for a person, and what a person had forgotten or rejected does not come back. Nothing is
        merged with other memories. `on_progress` gets numbers of embedded statements. Raises BadInput, TooLarge,
        ModelError, StoreError."""
        name = self._check_uri(uri)
        if refusal := find_denial(self.settings.redact, path=path, project=scope.project):
            return ResourceReport(uri=name, rev=await self._read_revision(scope), skipped=refusal)
        wanted = self._sanitize_statements(statements)
        vectors: dict[str, Vector] = {}
        known = {each.memory.text for each in await self.resources.list_statements(scope, name)}
        new = [text for text in wanted if text not in known]
        if on_progress and len(new) < len(wanted):
            on_progress(len(wanted) - len(new))
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            vectors |= zip(batch, await self.embedder.embed_documents(batch), strict=True)
            if on_progress:
                on_progress(len(batch))
        return await self._commit(scope, name, wanted, vectors)

    async def remove_resource(self, scope: Scope, uri: str) -> ResourceReport:
        """Forget all statements of a resource. Raises NotFound, BadInput, StoreError."""
        name = self._check_uri(uri)
        report = await self._commit(scope, name, {}, {})
        if not report.removed:
            raise NotFound(f"there is no such resource: {name}")
        return report

    async def list_resources(self, scope: Scope) -> Sequence[Resource]:
        """Return the resources of a space in the order of their URIs."""
        return await self.resources.list_resources(scope)

    def _check_uri(self, uri: str) -> str:
        name = " ".join(self.redactor.sanitize_text(uri).split())
        if not 0 < len(name) <= MAX_SOURCE_CHARS:
            raise BadInput(f"uri: 1 to {MAX_SOURCE_CHARS} characters wanted, {len(name):,} given")
        return name

    def _sanitize_statements(self, statements: Sequence[Statement]) -> dict[str, Statement]:
        """Return statements by their redacted texts, each held if it instructs. Raises TooLarge, BadInput."""
        most, chars = self.settings.resources.statements, self.settings.resources.statement_chars
        if len(statements) > most:
            raise TooLarge(f"statements: {len(statements):,} given; at most {most:,} (resources.statements)")
        safe: dict[str, Statement] = {}
        for each in statements:
            text = self.redactor.sanitize_text(each.text).strip()
            if not text:
                raise BadInput("statements: one is empty")
            if len(each.text) > chars:
                raise TooLarge(f"statements: one has {len(text):,} characters; at most {chars:,} are allowed")
            is_held = each.is_held or has_instructions(text)
            safe.setdefault(str(text), Statement(text=text, is_held=is_held))
        return safe

    async def _read_revision(self, scope: Scope) -> Revision:
        rev, _neighbours = await self.reads.find_neighbours(scope, (), 0)
        return rev

    async def _commit(
        self, scope: Scope, uri: str, wanted: dict[str, Statement], vectors: dict[str, Vector]
    ) -> ResourceReport:
        """Commit what the resource lacks and has too much. A caller that is cancelled waits for the write."""
        reports: list[ResourceReport] = []

        async def make_plan(cache: VectorCache) -> tuple[WritePlan, Rejections] | Receipt:
            cache |= vectors
            rev = await self._read_revision(scope)
            known = await self.resources.list_statements(scope, uri)
            difference = self._compare(scope, uri, wanted, known)
            reports.append(replace(difference.report, rev=rev))
            missing = [each.text for each in difference.added]
            embedded = dict(zip(missing, cache.get_vectors(missing), strict=True))
            changes = difference.make_changes(embedded)
            if not changes:
                return Receipt(rev=rev)
            now = self.clock.now()
            return WritePlan(scope=scope, expected_rev=rev, node="face", at=now, changes=changes), Rejections()

        writing = asyncio.create_task(self.committer.commit_with_retry(scope, make_plan))
        try:
            receipt = await asyncio.shield(writing)
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(writing, return_exceptions=True), CLOSE_GRACE_SECONDS)
            raise
        return replace(reports[-1], rev=receipt.rev)

    def _compare(
        self, scope: Scope, uri: str, wanted: dict[str, Statement], known: Sequence[KnownStatement]
    ) -> _Difference:
        """Return what has to be changed, so that the resource has these statements."""
        now = self.clock.now()
        chosen: dict[str, KnownStatement] = {}
        for each in sorted(known, key=_rank_statement):
            chosen.setdefault(each.memory.text, each)
        kept = {text for text, each in chosen.items() if text in wanted and not _is_removed(each)}
        surplus = [
            each.memory
            for each in known
            if each.memory.state != "soft_deleted"
            and (each.memory.text not in kept or chosen[each.memory.text] is not each)
        ]
        removed = tuple(replace(make_deletion(each, now, self.settings), meta={"why": REMOVED}) for each in surplus)
        restored: list[Change] = []
        added: list[StoredMemory] = []
        for text, statement in wanted.items():
            state: Literal["active", "pending"] = "pending" if statement.is_held else "active"
            if text in kept:
                continue
            if text in chosen:
                before = chosen[text].memory
                after = replace(before, state=state, purge_at=None, superseded_by=None, updated_at=now)
                restored.append(Change(action="RESTORE", before=before, after=after))
                continue
            candidate = Candidate(
                text=text, category=RESOURCE_CATEGORY, trust="document", state=state, source=uri, role=None
            )
            added.append(replace(make_memory(candidate, MemoryId(uuid4()), scope, now), actor_id=None))
        waiting = sum(chosen[text].memory.state == "pending" for text in kept)
        waiting += sum(wanted[text].is_held for text in wanted.keys() - kept)
        report = ResourceReport(
            uri=uri,
            rev=Revision(0),
            added=len(added) + len(restored),
            removed=len(removed),
            kept=len(kept),
            waiting=waiting,
        )
        return _Difference(report=report, removed=removed, restored=tuple(restored), added=tuple(added))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """What a resource has too much, what comes back, and what is new, with the report of it."""

    report: ResourceReport
    removed: tuple[Change, ...]
    restored: tuple[Change, ...]
    added: tuple[StoredMemory, ...]

    def make_changes(self, vectors: dict[str, Vector]) -> tuple[Change, ...]:
        """Return the changes, with the vectors of what is new."""
        additions = (Change(action="ADD", after=each, vector=vectors[each.text], band="new") for each in self.added)
        return (*self.removed, *self.restored, *additions)


def _is_removed(statement: KnownStatement) -> bool:
    """Whether a statement is gone because its document no longer made it, not because a person had it forgotten."""
    return statement.memory.state == "soft_deleted" and statement.why != _FORGOTTEN


def _rank_statement(statement: KnownStatement) -> tuple[int, bool, float]:
    memory = statement.memory
    return _STATES.index(memory.state), _is_removed(statement), -memory.updated_at.timestamp()
