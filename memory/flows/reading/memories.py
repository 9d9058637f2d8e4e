"""Single memories, pages of memories, and their history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import KINDS, STATES, TRUSTS, Memory, Neighbour
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.flows.reading import as_of as asof
from muniment.memory.flows.reading.as_of import RevisionResolver
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language.normalize import normalize_text

_MOST = 2**31 - 1
_MAX_RELATED = 10  # of a memory's edges that are shown


def _check_names(what: str, given: Sequence[str], allowed: Sequence[str]) -> None:
    if unknown := sorted(set(given) - set(allowed)):
        raise BadInput(f"unknown {what} {unknown[0]!r}; allowed: {', '.join(allowed)}")


def _clean_filter(what: str, given: str | None) -> str | None:
    """A text as what is stored has it. Whoever seeks an empty one does not want all."""
    if given is None:
        return None
    if not (text := normalize_text(given)):
        raise BadInput(f"{what}: is empty; give a text, or leave it out")
    return text


def _check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= _MOST or not 0 <= offset <= _MOST:
        raise BadInput(f"limit: 1 to {_MOST:,} wanted; offset: 0 to {_MOST:,} wanted")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryBrowser:
    """Single memories, pages of memories, and their history."""

    reads: MemoryReads
    revisions: RevisionResolver
    settings: Settings

    async def get_memory(self, scope: Scope, memory_id: MemoryId, as_of: Revision | datetime | None = None) -> Memory:
        """See `Memory.get`."""
        then = await self.revisions.resolve_revision(scope, as_of)
        if then is not None:
            asof.check_revision((await self.reads.find_neighbours(scope, (), 0))[0], then)
        found = await self.reads.get_memory(self.settings.make_owner_reader(scope), memory_id, as_of=then)
        if found is None:
            at = "" if then is None else f" at revision {then}"
            raise NotFound(f"no memory {memory_id} in the space of {scope.owner!r}{at}", id=str(memory_id))
        return found

    async def get_memories(self, scope: Scope, ids: Iterable[MemoryId]) -> dict[MemoryId, Memory]:
        """See `Memory.members`."""
        return (await self.reads.read_members(scope, list(dict.fromkeys(ids)))).memories

    async def find_related(self, scope: Scope, memory_id: MemoryId) -> list[Neighbour]:
        """See `Memory.related`."""
        return await self.reads.find_related(self.settings.make_owner_reader(scope), memory_id, _MAX_RELATED)

    async def list_page(
        self, scope: Scope, listing: ListRequest, as_of: Revision | datetime | None = None
    ) -> MemoryPage:
        """See `Memory.page`."""
        _check_page(listing.limit, listing.offset)
        _check_names("category", listing.categories, sorted(self.settings.categories))
        _check_names("kind", listing.kinds, KINDS)
        _check_names("trust", listing.trusts, TRUSTS)
        _check_names("state", listing.states, STATES)
        then = await self.revisions.resolve_revision(scope, as_of)
        needle, tag = _clean_filter("contains", listing.contains), _clean_filter("tag", listing.tag)
        found = await self.reads.list_memories(
            self.settings.make_owner_reader(scope), replace(listing, contains=needle, tag=tag), as_of=then
        )
        asof.check_revision(found.rev, then)
        return found

    async def read_history(self, scope: Scope, memory_id: MemoryId | None, limit: int) -> Sequence[JournalEntry]:
        """See `Memory.history`. Raises BadInput for a limit that cannot be."""
        _check_page(limit, 0)
        lines = await self.reads.read_history(self.settings.make_owner_reader(scope), memory_id, limit)
        if memory_id is not None and not lines:
            await self.get_memory(scope, memory_id)
        return lines
