"""The sealed journal: its rows as they are read, what was found in them, and anchors that are kept elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from muniment.memory.domain.ids import Revision, SpaceId
from muniment.memory.domain.scope import Scope

FindingKind = Literal["changed", "removed", "added", "replaced"]
MAX_FINDINGS = 100  # of a report; more are counted


class HeldRow(NamedTuple):
    """A memory, or a former version of one, as it is kept; a version was replaced at the revision `until`.

    `fields` are its columns in the binary format of Postgres, each with its type and its length."""

    memory_id: bytes
    until: int | None
    fields: bytes


class ChainRow(NamedTuple):
    """What there is of one revision: the line of the journal, its seal, and the row that it left behind."""

    rev: int
    line: bytes | None  # its columns without its details, as those of a row
    memory_id: bytes | None
    leaves_memory: bool  # the line has left a memory, and has not removed one
    meta: bytes | None  # of the line, as it is sent
    digest: bytes | None  # without it the line has no seal
    content: bytes | None
    salt: bytes | None
    held: HeldRow | None


class Reseal(NamedTuple):
    """What an erasure has left of the content of the line `rev`; the digest of its line `sealed_by` is over it."""

    rev: int
    sealed_by: int
    content: bytes
    salt: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHead:
    """Where the journal of a space ends, as the row of the space says, and up to where it was sealed at once."""

    rev: Revision
    sealed_from: Revision
    digest: bytes | None
    founded_at: datetime
    erased_at: datetime | None = None  # when all of the space was erased last


@dataclass(frozen=True, slots=True, kw_only=True)
class SealFinding:
    """Something that no writer of the product has done, and the revision that it concerns.

    changed: what is kept is not what was written. removed: it is gone. added: nobody wrote it. replaced: the journal
    is whole, but it is another one than the anchor is of; where it begins to differ is not known."""

    rev: Revision
    kind: FindingKind
    what: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """What the verification of one space has checked and found, the first revision first.

    Lines up to `sealed_from` were sealed at once, when the space was restored or came from a former version: that they
    are unchanged is known since then. `anchored` is the revision of the latest anchor that was met."""

    space: SpaceId
    scope: Scope | None  # None for a space that only an anchor knows
    rev: Revision
    sealed_from: Revision
    since: Revision
    lines: int
    memories: int  # that are kept, and were compared
    versions: int
    erased: int  # lines of whose content an erasure has left nothing
    digest: bytes | None
    findings: Sequence[SealFinding] = ()
    more: int = 0  # findings beyond these
    anchored: Revision | None = None
    erased_at: datetime | None = None  # the space was erased after its anchor was made, which says nothing now

    @property
    def is_intact(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def first(self) -> SealFinding | None:
        """The finding at the lowest revision."""
        return self.findings[0] if self.findings else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The revision and the digest of a journal at one time, without a name: whoever keeps it elsewhere notices another
    past."""

    space: SpaceId
    rev: Revision
    digest: bytes
    founded_at: datetime
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """An Ed25519 signature, and the public key that checks it."""

    public_key: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorFile:
    """Anchors with one signature over all of them, by the key of an installation."""

    anchors: Sequence[Anchor]
    at: datetime
    signature: Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorCheck:
    """Whether a file of anchors is as it was signed, and by the expected key; None where no key was expected."""

    file: AnchorFile
    is_signed: bool
    is_expected: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What a store reads of a sealed journal before its rows."""

    head: ChainHead
    before: bytes | None  # the digest of the line at the revision after which the rows begin; None at 0
    reseals: Mapping[int, Sequence[Reseal]] = field(default_factory=dict)  # by the line whose content it is
