"""Who asks: the grant of a request's user and key, and the scope of its user, application and project."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fastapi import Request

from muniment.faces.gateway.bodies import CHAT_PREFIX, IdentityBody
from muniment.faces.http.access import check_name
from muniment.faces.http.service import Service, get_service
from muniment.memory.domain.scope import Grant, Permission, Scope, make_gateway_scope
from muniment.memory.errors import MunimentError, Unauthorized
from muniment.memory.sessions import Sessions

_BAD_CREDENTIALS = "user_id or user_key is not valid; `muniment gateway user` makes and lists users"


class TooManyRequests(MunimentError):
    """The user has asked too often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The user of a request, whose key was valid."""

    service: Service
    grant: Grant
    user: str
    app: str
    project: str

    @property
    def sessions(self) -> Sessions:
        """The sessions of the memory."""
        return self.service.memory.sessions

    @property
    def agent(self) -> str:
        """The agent by whose allowlist is recalled. Raises NotPermitted for a key that is not for it."""
        named = self.service.settings.gateway.agent
        return self.grant.choose_agent(named) or named

    def make_scope(self, session: str, field: str) -> Scope:
        """Return the scope of a chat of the user. Raises BadInput for a name that cannot be one, with the field."""
        check_name(session.removeprefix(CHAT_PREFIX), field)
        return make_gateway_scope(self.user, self.app, self.project, tenant=self.grant.tenant, session=session)


async def find_caller(request: Request, body: IdentityBody, permission: Permission) -> Caller:
    """Return who asks. Raises Unauthorized for a wrong user and a wrong key alike, NotPermitted, TooManyRequests."""
    service = get_service(request)
    grant = await service.tokens.find_grant_of(body.user_id, body.user_key)
    if grant is None or "/" in body.user_id:  # an owner with a slash is a user in an application
        raise Unauthorized(_BAD_CREDENTIALS)
    if wait := service.limits.take_request(grant.id, time.monotonic()):
        raise TooManyRequests("the user has asked too often; wait", seconds=wait)
    grant.require_permission(permission)
    return Caller(service=service, grant=grant, user=body.user_id, app=body.app_id, project=body.project_id)
