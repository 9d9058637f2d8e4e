"""Checks the rows of a sealed journal in the order of their revisions, and says what no writer has done."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hmac import compare_digest
from itertools import chain
from uuid import UUID

from muniment.memory.domain.evidence.seals import (
    MAX_FINDINGS,
    Anchor,
    Chain,
    ChainRow,
    FindingKind,
    HeldRow,
    Reseal,
    SealFinding,
    VerificationReport,
)
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.rules.seals.encoding import (
    digest_chain,
    digest_content,
    digest_line,
    digest_reseals,
    digest_space,
    encode_lone_line,
    split_details,
)

_KEPT_FINDINGS = 10 * MAX_FINDINGS  # until they are in order


class ChainVerifier:
    """Verifies one space: `add_rows` takes its rows in order, then `make_report` says what was found.

    A row of a line that was sealed alone, as a restore does with a memory without a line, has no line."""

    def __init__(self, scope: Scope, read: Chain, since: Revision, anchors: Sequence[Anchor] = ()) -> None:
        self._scope, self._head, self._since = scope, read.head, since
        self._space = scope.space.bytes
        self._reseals = read.reseals
        self._resealed_by: dict[int, list[Reseal]] = defaultdict(list)
        for each in chain.from_iterable(read.reseals.values()):
            self._resealed_by[each.sealed_by].append(each)
        self._digest = read.before or digest_space(self._space, read.head.sealed_from)
        self._last = int(since)
        self._present: dict[bytes, tuple[int, HeldRow | None]] = {}  # the latest state of each memory
        self._anchors: dict[int, list[Anchor]] = defaultdict(list)
        for anchor in anchors:
            self._anchors[int(anchor.rev)].append(anchor)
        self._met: list[int] = []
        self._group: list[ChainRow] = []
        self._findings: list[SealFinding] = []
        self._flawed: set[int] = set()  # revisions of lines that are not what was written
        self._closed: set[int] = set()  # revisions of lines whose digest was compared with what they seal anew
        self._gaps: list[range] = []  # of lines that are gone
        self._more = 0
        self._lines = self._memories = self._versions = self._erased = 0
        self._has_seal = read.before is not None

    def add_rows(self, rows: Iterable[ChainRow]) -> None:
        """Check the next rows. Those of one revision follow each other."""
        group = self._group
        for row in rows:
            if group and row.rev != group[0].rev:
                self._check_revision(group)
                group.clear()
            group.append(row)

    def make_report(self) -> VerificationReport:
        """Check the end of the journal, and return what was found in all of it."""
        if self._group:
            self._check_revision(self._group)
            self._group = []
        self._check_end()
        found = sorted(self._findings, key=lambda each: each.rev)
        return VerificationReport(
            space=self._scope.space,
            scope=self._scope,
            rev=self._head.rev,
            sealed_from=self._head.sealed_from,
            since=self._since,
            lines=self._lines,
            memories=self._memories,
            versions=self._versions,
            erased=self._erased,
            digest=self._digest if self._has_seal else None,
            findings=tuple(found[:MAX_FINDINGS]),
            more=self._more + max(len(found) - MAX_FINDINGS, 0),
            anchored=Revision(max(self._met)) if self._met else None,
        )

    def _check_revision(self, rows: Sequence[ChainRow]) -> None:
        """Check all that there is of one revision."""
        row = rows[0]
        rev, memory = row.rev, row.memory_id
        if rev < 1:
            self._report(rev, "added", "a row or a line before the first revision", memory)
            return
        is_sealed_alone = row.line is None and rev <= self._head.sealed_from
        if row.line is not None or row.digest is not None:
            self._check_gap(rev)
        if row.digest is not None and row.line is None and not is_sealed_alone:
            self._report(rev, "removed", "the line is gone, and its seal is there")
            self._flawed.add(rev)
            self._follow(rev, row.digest)
            return
        held: HeldRow | None = None
        for each in (one.held for one in rows if one.held is not None):
            if held is None and row.digest is not None and (each.memory_id == memory or is_sealed_alone):
                held = each
            else:
                self._report(rev, "added", "a row that no line of the journal accounts for", each.memory_id)
        if row.digest is not None:
            self._check_seal(row, held, row.digest)
            self._follow(rev, row.digest)
        elif row.line is not None:
            self._report(rev, "added", "a line without a seal", memory)
            self._flawed.add(rev)
            self._last = rev

    def _check_seal(self, row: ChainRow, held: HeldRow | None, digest: bytes) -> None:
        """Check a line and its content against the seal."""
        self._lines += 1
        line = encode_lone_line(self._space, row.rev) if row.line is None else row.line
        public, private = split_details(row.meta)
        memory = row.memory_id
        alone = digest_line(line, public, row.content or b"")
        reseals = self._resealed_by.get(row.rev, ())
        if compare_digest(digest_chain(self._digest, alone, digest_reseals(reseals)), digest):
            self._closed.add(row.rev)
        elif not (reseals and compare_digest(digest_chain(self._digest, alone, b""), digest)):  # it sealed nothing anew
            self._report_line(row.rev, memory)
            self._closed.add(row.rev)
        self._check_content(row, private, held, memory)
        if row.leaves_memory and memory is not None:
            self._follow_memory(row.rev, memory, held)

    def _check_content(self, row: ChainRow, private: bytes | None, held: HeldRow | None, memory: bytes | None) -> None:
        content, salt = row.content, row.salt
        others = self._reseals.get(row.rev)
        if others:
            latest = max(others, key=lambda each: each.sealed_by)
            former = [each.salt for each in others if each is not latest]
            if salt is not None or any(each is not None for each in former):
                self._report(row.rev, "changed", "a salt is there that an erasure had removed", memory)
            content, salt = latest.content, latest.salt
            self._erased += held is None and private is None
        if salt is None:
            self._report(row.rev, "removed", "the salt is gone, and no erasure took it", memory)
            return
        fields = None if held is None else held.fields
        if content is None or not compare_digest(digest_content(salt, private, fields), content):
            if held is None and (row.line is None or row.leaves_memory):
                self._report(row.rev, "removed", "the memory as this line left it is gone", memory)
            else:
                what = "the details of the line are" if held is None else f"the {_name_row(held)} is"
                self._report(row.rev, "changed", f"{what} not what was written", memory)
        if held is not None:
            self._memories += held.until is None
            self._versions += held.until is not None

    def _follow_memory(self, rev: int, memory: bytes, held: HeldRow | None) -> None:
        """A state of a memory holds until its next line."""
        former = self._present.get(memory)
        if former is not None and former[1] is not None and former[1].until != rev:
            until = former[1].until
            # A line that is gone, or not what was written, is no reason to doubt the version before it.
            is_told = rev in self._flawed or (until is not None and until < rev and self._is_flawed(until))
            if not is_told:
                what = f"the {_name_row(former[1])} says another end than the journal, {rev}"
                self._report(former[0], "changed", what, memory)
        self._present[memory] = (rev, held)

    def _is_flawed(self, rev: int) -> bool:
        if self._last < rev <= self._head.rev or rev in self._flawed:
            return True
        place = bisect_right(self._gaps, rev, key=lambda gap: gap.start)
        return bool(place) and rev in self._gaps[place - 1]

    def _check_end(self) -> None:
        head, beyond = self._head, self._last > self._head.rev
        for rev, held in self._present.values():
            if held is not None and held.until is not None and not self._is_flawed(held.until):
                what = f"a version ends at {held.until}, where nothing replaced it"
                self._report(rev, "changed", what, held.memory_id)
        if beyond:
            self._report(int(head.rev) + 1, "added", "lines beyond the revision of the space")
        elif self._last < head.rev and (head.rev > head.sealed_from or self._last < self._since):
            self._report(self._last + 1, "removed", f"the journal ends before the revision of the space, {head.rev}")
        elif (head.digest or b"") != (self._digest if self._has_seal else b""):
            kind: FindingKind = "removed" if self._last < head.rev else "changed"
            rev = self._last + 1 if kind == "removed" else self._last
            self._report(rev, kind, "the head of the space is not the digest of the latest line")
        self._check_reseals()
        for rev in self._anchors:
            if rev > self._last:
                self._report(self._last + 1, "removed", f"an anchor of revision {rev} is of a longer journal")

    def _check_reseals(self) -> None:
        """What is sealed anew is so by a line that is there, or by one that was reported already."""
        for sealed_by, reseals in self._resealed_by.items():
            if sealed_by not in self._closed and not self._is_flawed(sealed_by):
                for each in reseals:
                    self._report(each.rev, "changed", "was sealed anew, and no erasure has a line for it")

    def _report_line(self, rev: int, memory: bytes | None) -> None:
        """Report a line that is not over what stands before it; of lines that were sealed at once, a revision may be
        none."""
        gap = range(self._last + 1, rev)
        if gap and rev <= self._head.sealed_from:
            self._report(gap.start, "removed", f"what there was from here on is gone, or the line {rev} is another one")
            self._gaps.append(gap)
        else:
            self._report(rev, "changed", "the line, or what stood before it, is not what was written", memory)
        self._flawed.add(rev)

    def _check_gap(self, rev: int) -> None:
        expected = max(self._last, int(self._head.sealed_from)) + 1
        if rev > expected:
            count = rev - expected
            self._report(expected, "removed", "a line is gone" if count == 1 else f"{count:,} lines are gone")
            self._gaps.append(range(expected, rev))
            self._last = rev - 1

    def _follow(self, rev: int, digest: bytes) -> None:
        self._digest, self._last, self._has_seal = digest, rev, True
        anchors = self._anchors.get(rev, ())
        if any(not compare_digest(anchor.digest, digest) for anchor in anchors):
            self._report(rev, "replaced", "the journal up to here is another one than the anchor is of")
        elif anchors:
            self._met.append(rev)

    def _report(self, rev: int, kind: FindingKind, what: str, memory: bytes | None = None) -> None:
        if len(self._findings) < _KEPT_FINDINGS:
            id_ = None if memory is None else str(UUID(bytes=memory))
            self._findings.append(SealFinding(rev=Revision(rev), kind=kind, what=what, memory_id=id_))
        else:
            self._more += 1


def _name_row(held: HeldRow) -> str:
    return "memory" if held.until is None else "version"
