"""The journal of a space read forward, for whoever keeps a copy of it or follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter

from muniment.memory.codec import check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.journal import ChangePage
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.ports.operation.usage import UsageStore

MAX_CHANGES = 1_000  # of a page


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeLog:
    """Reads what has changed in a space since a revision, page by page."""

    recall: Recall
    settings: Settings
    usage: UsageStore

    async def read_page(self, scope: Scope, agent: str | None, since: int, limit: int) -> ChangePage:
        """Return the changes after `since`, oldest first, at most `limit`, each with the memory as it was then.

        An agent sees its categories alone; of a memory that has left them it learns the id. Whoever applies all pages
        from 0 on has what a list of all states has, at each revision. Raises BadInput for a revision that the space
        has not reached, BadConfig for an agent without an allowlist."""
        check_range("since", since, 0, 2**63 - 1)
        check_range("limit", limit, 1, MAX_CHANGES)
        reader = self.settings.make_owner_reader(scope)
        if agent is not None:
            reader = self.recall.make_reader(scope, agent)
        page = await self.usage.read_changes(reader, Revision(since), limit)
        if since > page.rev:
            raise BadInput(
                f"since: revision {since} given, the space is at {page.rev}; a space that was erased begins again at 0",
                since=since,
                rev=page.rev,
            )
        if reader.allowed.issuperset(self.settings.categories):
            return page
        # The lines of other categories are none of the agent's; that a memory is in none of its own any more is.
        left = await self.usage.read_departures(scope, reader.allowed, Revision(since), page.next, limit)
        entries = sorted((*page.entries, *left), key=attrgetter("rev"))[:limit]
        return replace(page, entries=tuple(entries), next=entries[-1].rev if len(entries) == limit else page.next)
