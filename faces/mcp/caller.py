"""For whom a client asks and through which agent: by the command line or by its token, never by an argument."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Grant, Scope
from muniment.memory.errors import BadInput, NotPermitted

DEFAULT_AGENT = "supervisor"
_NOT_ONE = (
    "MCP reads the memory of one user through one agent, and the token alone says which: "
    "`muniment token create --user NAME --agents AGENT` makes such a token"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose memory a request concerns, through which agent, and whether it may write."""

    scope: Scope
    agent: str
    allowed: frozenset[str]  # the categories of the agent
    may_write: bool


def create_caller(settings: Settings, scope: Scope, agent: str, *, may_write: bool) -> Caller:
    """Return the caller with the categories of its agent. Raises BadInput for an agent without an allowlist."""
    if agent not in settings.allowlists:
        raise BadInput(f"unknown agent {agent!r}; allowed: {', '.join(sorted(settings.allowlists))}", agent=agent)
    return Caller(scope=scope, agent=agent, allowed=frozenset(settings.allowlists[agent]), may_write=may_write)


def identify_caller(settings: Settings, grant: Grant, *, with_writes: bool, project: str | None = None) -> Caller:
    """Return the caller that a token names: its user and its agent, or without agents the supervisor. The project is
    the one that the program works on.

    It may write where the service lets MCP write and the token permits it. Raises NotPermitted for a token that may not
    read, and for one of no user or of several agents."""
    grant.require_permission("read")
    may_write = with_writes and grant.permits("write")
    try:
        scope, agent = grant.make_scope(project=project), grant.choose_agent() or DEFAULT_AGENT
        return create_caller(settings, scope, agent, may_write=may_write)
    except BadInput:
        raise NotPermitted(_NOT_ONE) from None
