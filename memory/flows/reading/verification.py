"""Verification of sealed journals, and the anchors that are kept elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from muniment.memory.domain.evidence.seals import Anchor, AnchorCheck, AnchorFile, SealFinding, VerificationReport
from muniment.memory.domain.ids import Revision, SpaceId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.installation import InstallationKey
from muniment.memory.ports.seals import SealStore
from muniment.memory.rules.seals.anchors import (
    dump_anchor_file,
    encode_anchors,
    format_key,
    make_key_id,
    parse_anchor_file,
    parse_key,
)
from muniment.memory.rules.seals.verification import ChainVerifier

OnProgress = Callable[[int], None]
_NONE = Revision(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verification:
    """Compares journals, memories and versions with their seals, and signs where journals end."""

    clock: Clock
    installation_key: InstallationKey
    seals: SealStore

    async def verify_space(
        self, scope: Scope, since: Revision, anchors: Sequence[Anchor], on_progress: OnProgress | None
    ) -> VerificationReport:
        """Verify the lines of a space after a revision, and those after its anchors. `on_progress` gets numbers of
        rows.

        Raises NotFound for a space that does not exist and has no anchor, BadInput for a revision that neither the
        journal nor an anchor has reached, StoreError."""
        own = [anchor for anchor in anchors if anchor.space == scope.space]
        erased_at = (await self.seals.find_erasure(scope.space))[1] if own else None
        # What was before an erasure of the whole space says nothing about what came after it.
        valid = [anchor for anchor in own if erased_at is None or anchor.at > erased_at]
        head = await self.seals.read_head(scope)
        reached = max([head.rev if head else _NONE, *(anchor.rev for anchor in valid)])
        if head is not None and since > reached:
            raise BadInput(f"since: the journal has not reached revision {since}; it ends at {head.rev}")
        # Where the journal is shorter than an anchor, it is looked at from its end.
        start = Revision(max(min([since, head.rev if head else since, *(anchor.rev - 1 for anchor in valid)]), 0))
        async with self.seals.open_chain(scope, start) as opened:
            if opened is None:
                if not own:
                    raise NotFound(
                        f"there is nothing of {scope.owner!r} to verify; `muniment verify --all` has all journals"
                    )
                report = _report_lost(scope.space, scope, is_found=bool(valid))
            else:
                read, pages = opened
                verifier = ChainVerifier(scope, read, start, valid)
                async for rows in pages:
                    verifier.add_rows(rows)
                    if on_progress is not None:
                        on_progress(len(rows))
                    await asyncio.sleep(0)
                report = verifier.make_report()
        return replace(report, erased_at=erased_at) if len(valid) < len(own) else report

    async def find_lost_spaces(self, anchors: Sequence[Anchor]) -> Sequence[VerificationReport]:
        """Return a report for each space that an anchor knows and the database does not, of which one that was erased
        since has no finding; and for each whose row names somebody else, so that nobody finds it. Raises StoreError."""
        owners = await self.seals.list_owners()
        reports = [_report_renamed(space, scope) for space, scope in owners if scope.space != space]
        latest = {anchor.space: anchor for anchor in sorted(anchors, key=lambda each: each.at)}
        for space, anchor in latest.items():
            is_known, erased_at = await self.seals.find_erasure(space)
            if not is_known:
                is_erased = erased_at is not None and erased_at >= anchor.at
                report = _report_lost(space, None, is_found=not is_erased)
                reports.append(replace(report, erased_at=erased_at if is_erased else None))
        return reports

    async def sign_anchors(self, scopes: Sequence[Scope]) -> AnchorFile:
        """Return signed anchors of the present ends of journals; a space without a line has none. Raises StoreError,
        BadConfig where the key cannot be read."""
        anchors, at = [], self.clock.now()
        for scope in scopes:
            head = await self.seals.read_head(scope)
            if head is not None and head.digest is not None:
                founded = head.founded_at
                anchors.append(Anchor(space=scope.space, rev=head.rev, digest=head.digest, founded_at=founded, at=at))
        signature = await self.installation_key.sign_data(encode_anchors(anchors, at))
        return AnchorFile(anchors=tuple(anchors), at=at, signature=signature)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnchorFiles:
    """Checks files of anchors by their signature, without a database."""

    installation_key: InstallationKey

    async def check_file(self, text: bytes, key: bytes | None = None) -> AnchorCheck:
        """Return whether a file is as it was signed, and by the given public key or else that of this installation.

        Raises BadInput for what is no file of anchors, BadConfig where the installation's key cannot be read."""
        file = parse_anchor_file(text)
        expected = key or await self.installation_key.find_public_key()
        return AnchorCheck(
            file=file,
            is_signed=await self.installation_key.is_signed(encode_anchors(file.anchors, file.at), file.signature),
            is_expected=None if expected is None else file.signature.public_key == expected,
        )

    async def load_anchors(self, text: bytes, key: bytes | None = None) -> Sequence[Anchor]:
        """Return the anchors of a file that has a valid signature by the expected key. Raises BadInput, BadConfig."""
        check = await self.check_file(text, key)
        if not check.is_signed:
            raise BadInput("anchor: the signature is not of this file: it was changed after it was signed")
        if not check.is_expected:
            own = make_key_id(check.file.signature.public_key)
            raise BadInput(f"anchor: is signed by the key {own}, which is not this installation's: name it by --key")
        return check.file.anchors

    def format_file(self, file: AnchorFile) -> str:
        """Return the text of a file of anchors."""
        return dump_anchor_file(file)

    def parse_key(self, text: str) -> bytes:
        """Return a public key of its text. Raises BadInput."""
        return parse_key(text.strip(), "--key")

    def format_key(self, public_key: bytes) -> str:
        """Return the text of a public key."""
        return format_key(public_key)

    def make_key_id(self, public_key: bytes) -> str:
        """Return a short name of a public key."""
        return make_key_id(public_key)

    async def read_public_key(self) -> bytes:
        """Return the public key of this installation, which the first call makes. Raises BadConfig."""
        return (await self.installation_key.sign_data(b"")).public_key


def _report_lost(space: SpaceId, scope: Scope | None, *, is_found: bool) -> VerificationReport:
    """Return the report of a space that an anchor knows and the database does not."""
    what = "an anchor is of this space, which is gone, and no receipt says that it was erased"
    finding = SealFinding(rev=Revision(1), kind="removed", what=what)
    return _report_unread(space, scope, (finding,) if is_found else ())


def _report_renamed(space: SpaceId, scope: Scope) -> VerificationReport:
    """Return the report of a space whose row names somebody else than its id is made of."""
    what = f"the space {space} is of another owner than its row says"
    return _report_unread(space, scope, (SealFinding(rev=Revision(1), kind="changed", what=what),))


def _report_unread(space: SpaceId, scope: Scope | None, findings: Sequence[SealFinding]) -> VerificationReport:
    """Return the report of a space of which nothing was read."""
    return VerificationReport(
        space=space,
        scope=scope,
        rev=_NONE,
        sealed_from=_NONE,
        since=_NONE,
        lines=0,
        memories=0,
        versions=0,
        erased=0,
        digest=None,
        findings=findings,
    )
