"""What the loop of an agent is given: its curated files, its gateway where there is one, and its own settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from muniment.agent.gateway_service import AuditEvent, Exchange, Recall
from muniment.agent.skills import Skill

DEFAULT_TOOL_LIMIT = 16
DEFAULT_USER = "me"


class Snapshot(Protocol):
    """The curated files as a run has found them."""

    @property
    def prompt(self) -> str:
        """The blocks for the system prompt; empty where there is nothing to show."""
        ...


class Curated(Protocol):
    """The curated files of an agent."""

    async def take_snapshot(self) -> Snapshot:
        """Return the files as they are now."""
        ...


class Gateway(Protocol):
    """The second memory of an agent. It raises nothing of its own: a failure is an event."""

    async def recall_before_run(self, session: str, prompt: str) -> Recall:
        """Search once for what fits a prompt."""
        ...

    async def persist_after_run(self, session: str, exchange: Exchange) -> Sequence[AuditEvent]:
        """Add an exchange to the session, and let the gateway build from it. Returns what came of both."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What one instance of an agent consists of, beside its model and its tools.

    It is of one user: its files and its gateway's identity are this person's. `tool_limit` is the most tool calls of
    a run. Without a `gateway` it has its curated files alone."""

    curated: Curated
    gateway: Gateway | None = None
    user: str = DEFAULT_USER
    instructions: str = ""
    skills: tuple[Skill, ...] = ()
    tool_limit: int = DEFAULT_TOOL_LIMIT
