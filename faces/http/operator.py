"""Who operates the installation: whose token may change what concerns everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security

from muniment.faces.http.access import BEARER, UserHeader, UserParameter, choose_name
from muniment.faces.http.service import Service, get_service
from muniment.memory.domain.scope import Grant, Scope
from muniment.memory.errors import Denied, NotPermitted

_NOT_EVERYBODYS = (
    "this concerns everybody: it wants a token that speaks for no single user, is for all agents, and is of the tenant "
    "of this service (`muniment token create --scopes admin`)"
)


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the installation, by their token."""

    grant: Grant
    service: Service

    @property
    def name(self) -> str:
        """How the history calls them: a token is no secret by its id."""
        return f"token {self.grant.id}"


def is_everybodys(grant: Grant, service: Service) -> bool:
    """Whether a token may change what concerns everybody: one with the permission `admin` that is of no user, agent or
    project, and of the tenant of the service."""
    is_limited = grant.owner is not None or bool(grant.agents) or bool(grant.projects)
    return grant.permits("admin") and not is_limited and grant.tenant == service.settings.tenant


def check_operator(grant: Grant, service: Service) -> Operator:
    """Return the operator that a token is for. Raises NotPermitted for one that is a user's, another tenant's, or lacks
    the permission `admin`."""
    grant.require_permission("admin")
    if not is_everybodys(grant, service):
        raise NotPermitted(_NOT_EVERYBODYS)
    return Operator(grant, service)


async def find_operator(request: Request, _: Annotated[object, Security(BEARER)]) -> Operator:
    """Return the operator who asks. Raises NotPermitted."""
    return check_operator(request.state.grant, get_service(request))


@dataclass(frozen=True, slots=True)
class Keeper:
    """Who looks after the memory of one user, or of all users of the token's tenant."""

    scope: Scope | None
    grant: Grant
    service: Service

    async def list_scopes(self) -> list[Scope]:
        """Return the scopes of the spaces that the request concerns."""
        if self.scope is not None:
            return [self.scope]
        return list(await self.service.memory.admin.list_spaces(self.grant.tenant))


async def find_keeper(
    request: Request,
    _: Annotated[object, Security(BEARER)],
    header: UserHeader = None,
    user: UserParameter = None,
) -> Keeper:
    """Return who asks: for the user of the token or of the request, or where there is none for the whole tenant.

    Raises NotPermitted without the permission `admin`, Denied for a token of some agents."""
    grant: Grant = request.state.grant
    grant.require_permission("admin")
    if grant.agents:
        raise Denied("the token is for some agents only, and this has every category")
    named = choose_name("user", header, user)
    scope = None if grant.owner is None and named is None else grant.make_scope(named)
    return Keeper(scope, grant, get_service(request))


OperatorToken = Annotated[Operator, Depends(find_operator)]
KeeperToken = Annotated[Keeper, Depends(find_keeper)]
