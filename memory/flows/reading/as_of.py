"""Which revision is meant by a read as of a revision or a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads

_HIGHEST = 2**63 - 1


def check_revision(rev: Revision, as_of: Revision | None) -> None:
    """Raises BadInput for a revision above `rev`, the one that the space has reached."""
    if as_of is not None and as_of > rev:
        raise BadInput(f"as_of: revision {as_of} given, the space is at {rev}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RevisionResolver:
    """Which revision is meant by a read as of a revision or a time."""

    clock: Clock
    reads: MemoryReads

    async def resolve_revision(self, scope: Scope, as_of: Revision | datetime | None) -> Revision | None:
        """The revision to read; None is the latest. A time without a zone is UTC; today's end is now.

        Raises BadInput for what is no revision and for a time to come. Whether the space has reached a revision is known to
        who reads it (see `reached`)."""
        if as_of is None:
            return None
        if not isinstance(as_of, datetime):
            # It may come from the state of a thread, which can be edited by hand.
            if type(as_of) is not int or not 0 <= as_of <= _HIGHEST:
                raise BadInput(f"as_of: revision {as_of} given; a revision is a whole number of 0 or more")
            return as_of
        moment = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
        now = self.clock.now()
        if moment > now and moment != datetime.combine(now.date(), time.max, tzinfo=UTC):
            raise BadInput(f"as_of: {moment.isoformat()} is in the future; it is {now.isoformat(timespec='seconds')}")
        return await self.reads.find_revision_at(scope, moment)
