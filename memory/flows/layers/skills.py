"""Skills: procedures as people see them, proposed, published or rejected, and as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muniment.memory.domain.layers.projections import Projection, ProjectionRequest, ProjectionStatus
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.flows.layers.projections import Projections
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.rules.procedures.skill_file import name_skill, render_skill
from muniment.memory.rules.projections.types import SKILL

_PUBLISHED: tuple[ProjectionStatus, ...] = ("active", "conflict")
_OPEN: tuple[ProjectionStatus, ...] = (*_PUBLISHED, "pending")
_MAX_SKILLS = 1_000
_SPARE_CHARS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Skills:
    """Lists, publishes, rejects and exports skills. Their state is that of a memory: one transaction changes both."""

    consents: Consents
    projections: Projections

    async def list_skills(
        self, scope: Scope, statuses: Sequence[ProjectionStatus] = (), limit: int = _MAX_SKILLS, offset: int = 0
    ) -> list[Projection]:
        """Return the skills in these states, else those that are published or wait."""
        chosen = tuple(statuses) or _OPEN
        request = ProjectionRequest(types=(SKILL,), statuses=chosen, limit=limit, offset=offset)
        return await self.projections.list_projections(scope, request)

    async def find_skill(self, scope: Scope, given: str) -> Projection:
        """Return the skill whose id, or whose memory's id, begins as given. Raises NotFound, BadInput."""
        return await self.projections.find_projection(scope, given, SKILL)

    async def review_skill(self, scope: Scope, given: str, *, publish: bool, by: str | None = None) -> Receipt:
        """Publish a skill that waits or was rejected, or reject one that waits or is published.

        A published one that was proposed in place of another takes its place. What is rejected is in no answer, and the
        same work does not propose it again. Raises NotFound, BadInput for a skill that is so already."""
        skill = await self.find_skill(scope, given)
        if skill.status not in (("pending", "rejected") if publish else _OPEN):
            now = "published" if skill.status in _PUBLISHED else skill.status
            raise BadInput(f"this skill is {now}: {'publish' if publish else 'reject'} another one", id=str(skill.id))
        return await self.consents.review_memories(scope, [skill.memory], approve=publish, by=by)

    async def render_skills(self, scope: Scope) -> Mapping[str, str]:
        """Return the published skills as files, by the name of the folder that each belongs in."""
        files: dict[str, str] = {}
        for skill in await self.list_skills(scope, _PUBLISHED):
            name = name_skill(skill.title, files.keys(), str(skill.id)[:_SPARE_CHARS])
            files[name] = render_skill(name, skill.data)
        return files
