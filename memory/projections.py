"""`Projections`: what the memories of a space say slot by slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from datetime import datetime

from muniment.memory.codec import check_calls
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.projections import (
    Lineage,
    Projection,
    ProjectionRequest,
    ProjectionStatus,
    RebuildResult,
)
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.engine import Engine


@check_calls
class Projections:
    """Profile, episodes, skills and the other types of projections. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def list(
        self,
        scope: Scope,
        *,
        types: Sequence[str] = (),
        statuses: Sequence[ProjectionStatus] = (),
        limit: int = 100,
        offset: int = 0,
        as_of: Revision | datetime | None = None,
        allowed: AbstractSet[str] | None = None,
    ) -> Sequence[Projection]:
        """Return projections slot by slot, the active one first, now or as of a revision or a time; with `allowed` only
        those of memories of these categories. Raises BadInput."""
        request = ProjectionRequest(types=tuple(types), statuses=tuple(statuses), limit=limit, offset=offset)
        return await self.engine.projections.list_projections(scope, request, as_of, allowed)

    async def list_slot(self, scope: Scope, given: str) -> Sequence[Projection]:
        """Return what all memories say in one slot, by the id of a projection or of a memory, or its beginning.

        Raises NotFound, BadInput for the beginning of several."""
        return await self.engine.projections.list_slot(scope, given)

    async def list_conflicts(self, scope: Scope) -> Sequence[Sequence[Projection]]:
        """Return the slots in which memories that are trusted alike say different things, the active one first."""
        return await self.engine.projections.list_conflicts(scope)

    async def trace_lineage(self, scope: Scope, memory_id: MemoryId | str) -> Lineage:
        """Return what a memory comes from and what it is part of: turns, observations, projections. Raises NotFound."""
        return await self.engine.projections.trace_lineage(scope, await self.engine.browser.find_id(scope, memory_id))

    async def list_skills(
        self, scope: Scope, *, statuses: Sequence[ProjectionStatus] = (), limit: int = 100, offset: int = 0
    ) -> Sequence[Projection]:
        """Return the skills in these states, else those that are published or wait for a review. Raises BadInput."""
        return await self.engine.skills.list_skills(scope, statuses, limit, offset)

    async def find_skill(self, scope: Scope, given: str) -> Projection:
        """Return the skill whose id, or whose memory's id, begins as given. Raises NotFound, BadInput."""
        return await self.engine.skills.find_skill(scope, given)

    async def review_skill(self, scope: Scope, given: str, *, publish: bool, by: str | None = None) -> Receipt:
        """Publish or reject a skill, by the beginning of its id, in the name of `by` or the scope's actor.

        Raises NotFound, BadInput for one that is so already."""
        return await self.engine.skills.review_skill(scope, given, publish=publish, by=by)

    async def render_skills(self, scope: Scope) -> Mapping[str, str]:
        """Return the published skills as texts of `SKILL.md`, by the name of the folder that each belongs in."""
        return await self.engine.skills.render_skills(scope)

    async def rebuild(self, scope: Scope) -> RebuildResult:
        """Make all projections of a space anew from its memories. Raises NotFound for an unknown space."""
        return await self.engine.projections.rebuild(scope)
