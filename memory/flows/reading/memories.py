"""Single memories, pages of memories, their history, and the revision that a read in the past means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time

from muniment.memory.codec import check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, parse_memory_id
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import KINDS, STATES, TRUSTS, Neighbour, StoredMemory
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language.tokens import normalize_text

_MAX_REVISION = 2**63 - 1
_MAX_ROWS = 2**31 - 1
_MAX_RELATED = 10  # edges of a memory that are shown
_MAX_AMBIGUOUS = 10  # ids that an error names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryBrowser:
    """Reads single memories, pages of memories and their history, now or as of a revision or a time."""

    clock: Clock
    reads: MemoryReads
    settings: Settings

    async def get_memory(
        self, scope: Scope, memory_id: MemoryId, as_of: Revision | datetime | None = None
    ) -> StoredMemory:
        """Return a memory, whatever its state. Raises NotFound, BadInput for a revision that the space has not
        reached."""
        rev = await self.resolve_revision(scope, as_of)
        if rev is not None:
            check_revision((await self.reads.find_neighbours(scope, (), 0))[0], rev)
        memory = await self.reads.get_memory(self.settings.make_owner_reader(scope), memory_id, as_of=rev)
        if memory is None:
            at = "" if rev is None else f" at revision {rev}"
            raise NotFound(f"no memory {memory_id} in the space of {scope.owner!r}{at}", id=str(memory_id))
        return memory

    async def find_id(self, scope: Scope, given: MemoryId | str) -> MemoryId:
        """Return the id of the memory, in any state, whose id begins as given; a whole id is returned as it is.

        Raises BadInput for what is no id and for a beginning that several memories have, NotFound where none has it."""
        parsed = parse_memory_id(given)
        if not isinstance(parsed, str):
            return parsed
        request = ListRequest(states=STATES, beginning=parsed, limit=_MAX_AMBIGUOUS + 1, everywhere=True)
        page = await self.reads.list_memories(self.settings.make_owner_reader(scope), request)
        if not page.memories:
            raise NotFound(f"no memory of {scope.owner!r} has an id that begins with {parsed}", id=parsed)
        if len(page.memories) > 1:
            ids = sorted(str(memory.id) for memory in page.memories)
            more = " …" if page.total > _MAX_AMBIGUOUS else ""
            raise BadInput(f"{parsed} is ambiguous: {', '.join(ids[:_MAX_AMBIGUOUS])}{more}", ids=ids)
        return page.memories[0].id

    async def get_memories(self, scope: Scope, ids: Iterable[MemoryId]) -> dict[MemoryId, StoredMemory]:
        """Return the memories with these ids, whatever their state; an unknown id is left out."""
        return (await self.reads.read_members(scope, list(dict.fromkeys(ids)))).memories

    async def find_related(self, scope: Scope, memory_id: MemoryId) -> list[Neighbour]:
        """Return the active memories that an edge ties to this one, strongest first, at most ten."""
        reader = self.settings.make_owner_reader(scope, self.clock.now())
        return await self.reads.find_related(reader, memory_id, _MAX_RELATED)

    async def list_page(
        self, scope: Scope, request: ListRequest, as_of: Revision | datetime | None = None
    ) -> MemoryPage:
        """Return the memories that a request asks for, newest change first, and their total number.

        Raises BadInput for an unknown name, a limit or an offset out of range, and a revision or time that cannot be
        read."""
        _check_page(request.limit, request.offset)
        for what, given, allowed in (
            ("category", request.categories, sorted(self.settings.categories)),
            ("kind", request.kinds, KINDS),
            ("trust", request.trusts, TRUSTS),
            ("state", request.states, STATES),
        ):
            if unknown := sorted(set(given) - set(allowed)):
                raise BadInput(f"unknown {what} {unknown[0]!r}; allowed: {', '.join(allowed)}")
        rev = await self.resolve_revision(scope, as_of)
        request = replace(
            request, contains=_clean_filter("contains", request.contains), tag=_clean_filter("tag", request.tag)
        )
        reader = self.settings.make_owner_reader(scope, self.clock.now())
        page = await self.reads.list_memories(reader, request, as_of=rev)
        check_revision(page.rev, rev)
        return page

    async def read_history(self, scope: Scope, memory_id: MemoryId | None, limit: int) -> Sequence[JournalEntry]:
        """Return at most `limit` journal entries of a memory or of the space, newest first. Raises NotFound,
        BadInput."""
        _check_page(limit, 0)
        entries = await self.reads.read_history(self.settings.make_owner_reader(scope), memory_id, limit)
        if memory_id is not None and not entries:
            await self.get_memory(scope, memory_id)
        return entries

    async def turn_back(self, reader: Reader, as_of: Revision | datetime | None) -> tuple[Reader, Revision | None]:
        """Return the reader and the revision of a read of the past. A time holds in the spaces beside, too; a revision
        is of the own one. Raises BadInput, as `resolve_revision`."""
        rev = await self.resolve_revision(reader.scope, as_of)
        if isinstance(as_of, datetime):
            reader = replace(reader, then=as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC))
        return reader, rev

    async def resolve_revision(self, scope: Scope, as_of: Revision | datetime | None) -> Revision | None:
        """Return the revision to read; None is the latest. A time without a zone is UTC; today's end is now.

        Raises BadInput for what is no revision and for a time to come. `check_revision` refuses one that is not reached
        yet."""
        if as_of is None:
            return None
        if not isinstance(as_of, datetime):
            # It may come from the state of a thread, which can be edited by hand.
            if type(as_of) is not int or not 0 <= as_of <= _MAX_REVISION:
                raise BadInput(f"as_of: revision {as_of} given; a revision is a whole number of 0 or more")
            return as_of
        moment = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
        now = self.clock.now()
        if moment > now and moment != datetime.combine(now.date(), time.max, tzinfo=UTC):
            raise BadInput(f"as_of: {moment.isoformat()} is in the future; it is {now.isoformat(timespec='seconds')}")
        return await self.reads.find_revision_at(scope, moment)


def check_revision(rev: Revision, as_of: Revision | None) -> None:
    """Raise BadInput for a revision above `rev`, the latest of the space."""
    if as_of is not None and as_of > rev:
        raise BadInput(f"as_of: revision {as_of} given, the space is at {rev}")


def _clean_filter(what: str, given: str | None) -> str | None:
    """Return a text normalized as stored texts are. Raises BadInput for an empty one, which would match everything."""
    if given is None:
        return None
    if not (text := normalize_text(given)):
        raise BadInput(f"{what}: is empty; give a text, or leave it out")
    return text


def _check_page(limit: int, offset: int) -> None:
    check_range("limit", limit, 1, _MAX_ROWS)
    check_range("offset", offset, 0, _MAX_ROWS)
