"""What the loop of an agent is given: its curated files, its gateway where there is one, and its own settings."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.agent.curated import CuratedFiles
from muniment.agent.gateway_service import GatewayService
from muniment.agent.skills import Skill

DEFAULT_TOOL_LIMIT = 16
DEFAULT_USER = "me"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What one instance of an agent consists of, beside its model and its tools.

    It is of one user: its files and its gateway's identity are this person's. `tool_limit` is the most tool calls of
    a run. Without a `gateway` it has its curated files alone."""

    curated: CuratedFiles
    gateway: GatewayService | None = None
    user: str = DEFAULT_USER
    instructions: str = ""
    skills: tuple[Skill, ...] = ()
    tool_limit: int = DEFAULT_TOOL_LIMIT
